/* Functions of Python that run a plan at one point. The functions of Python's stable ABI that they
   need are declared here: no header of Python is needed, and 3.10 and later are one. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

typedef struct PyObject PyObject;
typedef ptrdiff_t Py_ssize_t;
typedef struct {
    const char *name;
    void (*function)(void);
    int flags;
    const char *doc;
} PyMethodDef;
enum { METH_NOARGS = 0x0004, METH_FASTCALL = 0x0080 };
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
enum { PyBUF_WRITABLE = 0x01, PyBUF_FORMAT = 0x04, PyBUF_STRIDES = 0x18 };

extern double PyFloat_AsDouble(PyObject *);
extern PyObject *PyFloat_FromDouble(double);
extern PyObject *PyErr_Occurred(void);
extern PyObject *PyErr_NoMemory(void);
extern void PyErr_SetString(PyObject *, const char *);
extern PyObject *PyExc_TypeError;
extern PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
extern PyObject *PyCFunction_GetSelf(PyObject *);
extern PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern PyObject *PyTuple_New(Py_ssize_t);
extern int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
extern PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
extern void PyBuffer_Release(Py_buffer *);
extern Py_ssize_t PyTuple_Size(PyObject *);
extern PyObject *PyDict_New(void);
extern int PyDict_SetItem(PyObject *, PyObject *, PyObject *);
extern PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
extern long PyLong_AsLong(PyObject *);
extern void Py_IncRef(PyObject *);
extern void Py_DecRef(PyObject *);
extern PyObject _Py_NoneStruct;

typedef struct Plan Plan;
extern int64_t graphc_slots(const Plan *);
extern int64_t graphc_plan_arguments(const Plan *);
extern int64_t graphc_plan_results(const Plan *);
extern int graphc_plan_wide(const Plan *);
extern void graphc_point_start(const Plan *, void *);
extern void graphc_point(const Plan *, void *);

#define NAME "graphc.point"

/* What a call returns: all numbers, or what most functions are asked for, made here because it
   takes Python longer than the plan. */
enum { ALL_NUMBERS, ONE_NUMBER, NAMED_NUMBERS, ONE_AND_NAMED };

typedef struct {
    const Plan *plan;
    PyObject *owner; /* what keeps the plan, the arrays and all below alive */
    PyObject *kind;  /* the type of a result, called with a float */
    PyObject *names; /* of the last results, a tuple */
    long form;
    int64_t arguments, results;
    int wide;
    void *values; /* a place for each slot */
    int borrowed; /* they are an array's, into which others write */
} Point;

static void forget(PyObject *capsule) {
    Point *point = PyCapsule_GetPointer(capsule, NAME);
    if (!point) return;
    Py_DecRef(point->owner);
    if (!point->borrowed) free(point->values);
    free(point);
}

static PyObject *result(const Point *point, double value) {
    PyObject *number = PyFloat_FromDouble(value);
    if (!number) return NULL;
    PyObject *found = PyObject_CallFunctionObjArgs(point->kind, number, NULL);
    Py_DecRef(number);
    return found;
}

static PyObject *named(const Point *point, const double *numbers) {
    PyObject *found = PyDict_New();
    const Py_ssize_t count = PyTuple_Size(point->names);
    for (Py_ssize_t k = 0; found && k < count; k++) {
        PyObject *number = result(point, numbers[k]);
        if (!number || PyDict_SetItem(found, PyTuple_GetItem(point->names, k), number)) {
            Py_DecRef(found);
            found = NULL;
        }
        Py_DecRef(number);
    }
    return found;
}

/* Takes over what it puts into the tuple. */
static int put(PyObject *tuple, Py_ssize_t place, PyObject *item) {
    return item ? PyTuple_SetItem(tuple, place, item) : -1;
}

static PyObject *returned(const Point *point, const double *numbers) {
    if (point->form == ONE_NUMBER) return result(point, *numbers);
    if (point->form == NAMED_NUMBERS) return named(point, numbers);
    const int pair = point->form == ONE_AND_NAMED;
    const Py_ssize_t count = pair ? 1 : (Py_ssize_t)point->results;
    PyObject *found = PyTuple_New(count + pair);
    if (!found) return NULL;
    int failed = 0;
    for (Py_ssize_t k = 0; k < count && !failed; k++)
        failed = put(found, k, result(point, numbers[k]));
    if (pair && !failed) failed = put(found, 1, named(point, numbers + 1));
    if (!failed) return found;
    Py_DecRef(found);
    return NULL;
}

/* Numbers in, numbers out. Making objects of Python, and asking them for numbers, may run other
   code, which may call us again: in between nothing of ours stands in the values. */
static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    const Point *point = PyCapsule_GetPointer(self, NAME);
    if (!point) return NULL;
    if (count != point->arguments) {
        PyErr_SetString(PyExc_TypeError, "the number of arguments is not that of the plan");
        return NULL;
    }
    double few[32], *numbers = few;
    const int64_t most = point->arguments > point->results ? point->arguments : point->results;
    if (most > 32 && !(numbers = malloc((size_t)most * sizeof *numbers))) return PyErr_NoMemory();
    PyObject *found = NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        numbers[k] = PyFloat_AsDouble(given[k]);
        if (numbers[k] == -1.0 && PyErr_Occurred()) goto done;
    }
    double *wide = point->values;
    float *narrow = point->values;
    for (int64_t k = 0; k < point->arguments; k++)
        if (point->wide)
            wide[k] = numbers[k];
        else
            narrow[k] = (float)numbers[k];
    graphc_point(point->plan, point->values);
    for (int64_t k = 0; k < point->results; k++)
        numbers[k] = point->wide ? wide[point->arguments + k] : (double)narrow[point->arguments + k];
    found = returned(point, numbers);
done:
    if (numbers != few) free(numbers);
    return found;
}

/* From the values of the arguments to those of the results, where they stand. */
static PyObject *again(PyObject *self, PyObject *unused) {
    (void)unused;
    Point *point = PyCapsule_GetPointer(self, NAME);
    if (!point) return NULL;
    graphc_point(point->plan, point->values);
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static PyMethodDef call_method = {"call", (void (*)(void))call, METH_FASTCALL, "one point"};
static PyMethodDef again_method = {"again", (void (*)(void))again, METH_NOARGS, "one point"};

static PyObject *made(Point *point, PyMethodDef *method) {
    point->arguments = graphc_plan_arguments(point->plan);
    point->results = graphc_plan_results(point->plan);
    point->wide = graphc_plan_wide(point->plan);
    graphc_point_start(point->plan, point->values);
    PyObject *capsule = PyCapsule_New(point, NAME, forget);
    if (!capsule) {
        if (!point->borrowed) free(point->values);
        free(point);
        return NULL;
    }
    Py_IncRef(point->owner);
    PyObject *function = PyCFunction_NewEx(method, capsule, NULL);
    Py_DecRef(capsule);
    return function;
}

/* Whether the plan has the results that a call returns, so many and so named. */
static int has_results(const Plan *plan, long form, Py_ssize_t names) {
    const int64_t results = graphc_plan_results(plan);
    if (form == ALL_NUMBERS) return 1;
    if (form == ONE_NUMBER) return results >= 1;
    return names >= 0 && ((form == NAMED_NUMBERS && results >= names) ||
                          (form == ONE_AND_NAMED && results > names));
}

/* `about` is (owner of the plan, type of a result, form, names). */
EXPORT PyObject *graphc_callable(const Plan *plan, PyObject *about) {
    if (PyTuple_Size(about) < 4) {
        PyErr_SetString(PyExc_TypeError, "a call is described by a tuple of four");
        return NULL;
    }
    const long form = PyLong_AsLong(PyTuple_GetItem(about, 2));
    const Py_ssize_t names = PyTuple_Size(PyTuple_GetItem(about, 3));
    if (PyErr_Occurred()) return NULL;
    if (!has_results(plan, form, names)) {
        PyErr_SetString(PyExc_TypeError, "the plan does not have the results of the call");
        return NULL;
    }
    Point *point = calloc(1, sizeof *point);
    void *values = calloc((size_t)graphc_slots(plan) + 1, sizeof(double));
    if (!point || !values) {
        free(point);
        free(values);
        return PyErr_NoMemory();
    }
    point->plan = plan;
    point->owner = about;
    point->kind = PyTuple_GetItem(about, 1);
    point->form = form;
    point->names = PyTuple_GetItem(about, 3);
    point->values = values;
    return made(point, &call_method);
}

/* `values` has a place for each slot of the plan; the owner keeps them. */
EXPORT PyObject *graphc_buffers(const Plan *plan, void *values, PyObject *owner) {
    Point *point = calloc(1, sizeof *point);
    if (!point) return PyErr_NoMemory();
    point->plan = plan;
    point->owner = owner;
    point->values = values;
    point->borrowed = 1;
    return made(point, &again_method);
}

/* A function of C that was compiled for one graph, on arrays that stay where they are. */

#define DOOR "graphc.door"

typedef void (*Function)(const void *in, void *out, void *work);
typedef struct {
    Function function;
    const void *in;
    void *out, *work;
    PyObject *owner; /* what keeps the function and the arrays alive */
} Door;

static void close_door(PyObject *capsule) {
    Door *door = PyCapsule_GetPointer(capsule, DOOR);
    if (!door) return;
    Py_DecRef(door->owner);
    free(door);
}

static PyObject *through(PyObject *self, PyObject *unused) {
    (void)unused;
    const Door *door = PyCapsule_GetPointer(self, DOOR);
    if (!door) return NULL;
    door->function(door->in, door->out, door->work);
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static PyMethodDef through_method = {"through", (void (*)(void))through, METH_NOARGS, "one call"};

EXPORT PyObject *graphc_door(Function function, const void *in, void *out, void *work,
                             PyObject *owner) {
    Door *door = malloc(sizeof *door);
    if (!door) return PyErr_NoMemory();
    *door = (Door){function, in, out, work, owner};
    PyObject *capsule = PyCapsule_New(door, DOOR, close_door);
    if (!capsule) {
        free(door);
        return NULL;
    }
    Py_IncRef(owner);
    PyObject *made_door = PyCFunction_NewEx(&through_method, capsule, NULL);
    Py_DecRef(capsule);
    return made_door;
}

/* A chain over arrays. Those that stay where they are, are told when it is made. */

#define CHAIN "graphc.chain"
#define LONG 100000 /* operations after which other threads should go on meanwhile */

typedef struct Chain Chain;
extern Chain *graphc_chain(const Plan *, int64_t, const int64_t *);
extern void graphc_chain_free(Chain *);
extern int graphc_chain_bind(Chain *, int64_t, void *, int, const Py_ssize_t *,
                             const Py_ssize_t *);
extern int graphc_chain_number(Chain *, int64_t, double);
extern int graphc_chain_run(Chain *);
extern int64_t graphc_chain_work(const Chain *);

typedef struct {
    Chain *chain;
    PyObject *owner; /* what keeps the plan and the arrays alive */
    int64_t arguments, given;
    int wide, is_long;
    struct {
        int64_t place;
        int is_number;
    } told[]; /* what each argument of a call is for */
} Link;

static void unlink_arrays(PyObject *capsule) {
    Link *link = PyCapsule_GetPointer(capsule, CHAIN);
    if (!link) return;
    graphc_chain_free(link->chain);
    Py_DecRef(link->owner);
    free(link);
}

static int failed(const char *why) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, why);
    return -1;
}

/* 0 after the chain knows where an array stands. */
static int bind(const Link *link, int64_t place, PyObject *array) {
    const int is_result = place >= link->arguments;
    Py_buffer seen;
    if (PyObject_GetBuffer(array, &seen, PyBUF_STRIDES | PyBUF_FORMAT | is_result)) return -1;
    const char letter = link->wide ? 'd' : 'f', *format = seen.format ? seen.format : "";
    if (*format == '=' || *format == '@' || *format == '^') format++; /* the machine's own order */
    int fits = format[0] == letter && !format[1];
    fits = fits && graphc_chain_bind(link->chain, place, seen.buf, seen.ndim, seen.shape, seen.strides);
    PyBuffer_Release(&seen);
    return fits ? 0 : failed("an array does not fit the chain of operations that takes it");
}

/* 0 after the chain ran. */
static int run_link(const Link *link) {
    void *thread = link->is_long ? PyEval_SaveThread() : NULL;
    const int ran = graphc_chain_run(link->chain);
    if (link->is_long) PyEval_RestoreThread(thread);
    return ran ? 0 : failed("a chain of operations was not told all of its arrays");
}

static PyObject *link_run(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    Link *link = PyCapsule_GetPointer(self, CHAIN);
    if (!link) return NULL;
    if (count != link->given) {
        PyErr_SetString(PyExc_TypeError, "the number of arrays is not that of the chain");
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!link->told[k].is_number) {
            if (bind(link, link->told[k].place, given[k])) return NULL;
            continue;
        }
        const double number = PyFloat_AsDouble(given[k]);
        if (number == -1.0 && PyErr_Occurred()) return NULL;
        if (!graphc_chain_number(link->chain, link->told[k].place, number))
            return PyErr_NoMemory();
    }
    if (run_link(link)) return NULL;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static PyMethodDef link_method = {"chain", (void (*)(void))link_run, METH_FASTCALL, "one chain"};

/* `about` is (owner of the plan, shape, operands, what stands for an array that a call brings, what
   for a number). */
EXPORT PyObject *graphc_link(const Plan *plan, PyObject *about) {
    enum { MOST = 32 };
    int64_t shape[MOST];
    PyObject *sizes = PyTuple_GetItem(about, 1), *operands = PyTuple_GetItem(about, 2);
    PyObject *array = PyTuple_GetItem(about, 3), *number = PyTuple_GetItem(about, 4);
    if (!sizes || !operands || !array || !number) return NULL;
    const Py_ssize_t axes = PyTuple_Size(sizes), count = PyTuple_Size(operands);
    const int64_t arguments = graphc_plan_arguments(plan);
    if (axes < 0 || axes > MOST || count != arguments + graphc_plan_results(plan)) {
        failed("a chain of operations does not have the operands of its plan");
        return NULL;
    }
    for (Py_ssize_t k = 0; k < axes; k++) shape[k] = PyLong_AsLong(PyTuple_GetItem(sizes, k));
    if (PyErr_Occurred()) return NULL;
    Link *link = calloc(1, sizeof *link + (size_t)count * sizeof *link->told);
    Chain *chain = graphc_chain(plan, axes, shape);
    PyObject *capsule = link && chain ? PyCapsule_New(link, CHAIN, unlink_arrays) : NULL;
    if (!capsule) {
        free(link);
        graphc_chain_free(chain);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Py_IncRef(about);
    link->chain = chain;
    link->owner = about;
    link->arguments = arguments;
    link->wide = graphc_plan_wide(plan);
    link->is_long = graphc_chain_work(chain) > LONG;
    PyObject *function = NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *one = PyTuple_GetItem(operands, k);
        if (one == array || one == number) {
            link->told[link->given].place = k;
            link->told[link->given++].is_number = one == number;
        } else if (bind(link, k, one)) {
            goto done;
        }
    }
    function = PyCFunction_NewEx(&link_method, capsule, NULL);
done:
    Py_DecRef(capsule);
    return function;
}

/* Chains that are told everything when they are made, one after the other. */

#define CHAINS "graphc.chains"

typedef struct {
    PyObject *owner; /* the tuple of their functions */
    Py_ssize_t count;
    const Link *link[];
} Links;

static void forget_links(PyObject *capsule) {
    Links *links = PyCapsule_GetPointer(capsule, CHAINS);
    if (!links) return;
    Py_DecRef(links->owner);
    free(links);
}

static PyObject *links_run(PyObject *self, PyObject *unused) {
    (void)unused;
    const Links *links = PyCapsule_GetPointer(self, CHAINS);
    if (!links) return NULL;
    for (Py_ssize_t k = 0; k < links->count; k++)
        if (run_link(links->link[k])) return NULL;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static PyMethodDef links_method = {"chains", (void (*)(void))links_run, METH_NOARGS, "chains"};

EXPORT PyObject *graphc_links(PyObject *functions) {
    const Py_ssize_t count = PyTuple_Size(functions);
    if (count < 0) return NULL;
    Links *links = malloc(sizeof *links + (size_t)count * sizeof *links->link);
    if (!links) return PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *self = PyCFunction_GetSelf(PyTuple_GetItem(functions, k));
        const Link *link = self ? PyCapsule_GetPointer(self, CHAIN) : NULL;
        if (!link || link->given) {
            failed("a chain of operations is not told all of its arrays");
            free(links);
            return NULL;
        }
        links->link[k] = link;
    }
    links->owner = functions;
    links->count = count;
    PyObject *capsule = PyCapsule_New(links, CHAINS, forget_links);
    if (!capsule) {
        free(links);
        return NULL;
    }
    Py_IncRef(functions);
    PyObject *function = PyCFunction_NewEx(&links_method, capsule, NULL);
    Py_DecRef(capsule);
    return function;
}
