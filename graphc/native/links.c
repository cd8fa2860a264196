/* Functions of Python that run chains over arrays. Arrays that stay where they are, are told when such
   a function is made; a call brings the others. */

#include "python_abi.h"

#define CHAIN "graphc.chain"
#define LONG 100000 /* operations after which other threads should go on meanwhile */

typedef struct Chain Chain;
extern Chain *graphc_chain(const Plan *, int64_t, const int64_t *, int64_t);
extern void graphc_chain_free(Chain *);
extern int graphc_chain_bind(Chain *, int64_t, void *, int, const Py_ssize_t *,
                             const Py_ssize_t *);
extern int graphc_chain_number(Chain *, int64_t, double);
extern int graphc_chain_run(Chain *);
extern int64_t graphc_chain_work(const Chain *);

typedef struct {
    Kept kept;
    Chain *chain;
    int64_t arguments, given;
    int wide, is_long;
    struct {
        int64_t place;
        int is_number;
    } told[]; /* what each argument of a call is for */
} Link;

static void release_link(void *kept) {
    Link *link = kept;
    graphc_chain_free(link->chain);
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
    return nothing();
}

static PyMethodDef link_method = {"chain", (void (*)(void))link_run, METH_FASTCALL, "one chain"};

/* `about` is (owner of the plan, shape, operands, what stands for an array that a call brings, what
   for a number, the number of last axes over which results are sums). */
EXPORT PyObject *graphc_link(const Plan *plan, PyObject *about) {
    PyObject *sizes = PyTuple_GetItem(about, 1), *operands = PyTuple_GetItem(about, 2);
    PyObject *array = PyTuple_GetItem(about, 3), *number = PyTuple_GetItem(about, 4);
    PyObject *last = PyTuple_GetItem(about, 5);
    if (!sizes || !operands || !array || !number || !last) return NULL;
    const int64_t summed = PyLong_AsLong(last);
    const Py_ssize_t axes = PyTuple_Size(sizes), count = PyTuple_Size(operands);
    const int64_t arguments = graphc_plan_arguments(plan);
    if (axes < 0 || count != arguments + graphc_plan_results(plan)) {
        failed("a chain of operations does not have the operands of its plan");
        return NULL;
    }
    int64_t *shape = malloc(((size_t)axes + 1) * sizeof *shape);
    Link *link = calloc(1, sizeof *link + (size_t)count * sizeof *link->told);
    for (Py_ssize_t k = 0; shape && k < axes; k++)
        shape[k] = PyLong_AsLong(PyTuple_GetItem(sizes, k));
    if (shape && link && !PyErr_Occurred()) link->chain = graphc_chain(plan, axes, shape, summed);
    free(shape);
    if (!link || !link->chain) {
        free(link);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    link->kept = (Kept){release_link, about};
    link->arguments = arguments;
    link->wide = graphc_plan_wide(plan);
    link->is_long = graphc_chain_work(link->chain) > LONG;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *one = PyTuple_GetItem(operands, k);
        if (one == array || one == number) {
            link->told[link->given].place = k;
            link->told[link->given++].is_number = one == number;
        } else if (bind(link, k, one)) {
            release_link(link);
            return NULL;
        }
    }
    return function_with(&link->kept, CHAIN, &link_method);
}

/* Chains that are told everything when they are made, one after the other. */

#define CHAINS "graphc.chains"

typedef struct {
    Kept kept;
    Py_ssize_t count;
    const Link *link[];
} Links;

static PyObject *links_run(PyObject *self, PyObject *unused) {
    (void)unused;
    const Links *links = PyCapsule_GetPointer(self, CHAINS);
    if (!links) return NULL;
    for (Py_ssize_t k = 0; k < links->count; k++)
        if (run_link(links->link[k])) return NULL;
    return nothing();
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
    links->kept = (Kept){free, functions};
    links->count = count;
    return function_with(&links->kept, CHAINS, &links_method);
}
