/* Functions of Python that run a plan at one point, or a function that was compiled for one graph. */

#include "python_abi.h"

#define NAME "graphc.point"

/* What a call returns: all numbers, or what most functions are asked for, made here because it
   takes Python longer than the plan. */
enum { ALL_NUMBERS, ONE_NUMBER, NAMED_NUMBERS, ONE_AND_NAMED };

typedef struct {
    Kept kept;
    const Plan *plan;
    PyObject *kind;  /* the type of a result, called with a float */
    PyObject *names; /* of the last results, a tuple */
    long form;
    int64_t arguments, results;
    int wide;
    void *values; /* a place for each slot */
    int borrowed; /* they are an array's, into which others write */
} Point;

static void release_point(void *kept) {
    Point *point = kept;
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
    return nothing();
}

static PyMethodDef call_method = {"call", (void (*)(void))call, METH_FASTCALL, "one point"};
static PyMethodDef again_method = {"again", (void (*)(void))again, METH_NOARGS, "one point"};

static PyObject *made(Point *point, PyMethodDef *method) {
    point->arguments = graphc_plan_arguments(point->plan);
    point->results = graphc_plan_results(point->plan);
    point->wide = graphc_plan_wide(point->plan);
    graphc_point_start(point->plan, point->values);
    return function_with(&point->kept, NAME, method);
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
    point->kept = (Kept){release_point, about};
    point->plan = plan;
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
    point->kept = (Kept){release_point, owner};
    point->plan = plan;
    point->values = values;
    point->borrowed = 1;
    return made(point, &again_method);
}

/* A function of C that was compiled for one graph, on arrays that stay where they are. */

#define DOOR "graphc.door"

typedef void (*Function)(const void *in, void *out, void *work);
typedef struct {
    Kept kept;
    Function function;
    const void *in;
    void *out, *work;
} Door;

static PyObject *through(PyObject *self, PyObject *unused) {
    (void)unused;
    const Door *door = PyCapsule_GetPointer(self, DOOR);
    if (!door) return NULL;
    door->function(door->in, door->out, door->work);
    return nothing();
}

static PyMethodDef through_method = {"through", (void (*)(void))through, METH_NOARGS, "one call"};

EXPORT PyObject *graphc_door(Function function, const void *in, void *out, void *work,
                             PyObject *owner) {
    Door *door = malloc(sizeof *door);
    if (!door) return PyErr_NoMemory();
    *door = (Door){{free, owner}, function, in, out, work};
    return function_with(&door->kept, DOOR, &through_method);
}
