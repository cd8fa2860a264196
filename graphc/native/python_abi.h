/* What the functions of Python that the library makes have in common. The functions of Python's ABI
   that they need are declared here: no header of Python is needed, and 3.10 and later are one. */

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
extern const char *PyCapsule_GetName(PyObject *);
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

/* What a function of Python keeps: it begins with this. */
typedef struct {
    void (*release)(void *kept);
    PyObject *owner; /* what keeps everything else alive that is pointed to */
} Kept;

static void forget(PyObject *capsule) {
    Kept *kept = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (!kept) return;
    PyObject *owner = kept->owner;
    kept->release(kept);
    Py_DecRef(owner);
}

/* The function of Python that keeps this, or NULL; it is released in any case, with it or now. */
static PyObject *function_with(Kept *kept, const char *kind, PyMethodDef *method) {
    PyObject *capsule = PyCapsule_New(kept, kind, forget);
    if (!capsule) {
        kept->release(kept);
        return NULL;
    }
    Py_IncRef(kept->owner);
    PyObject *function = PyCFunction_NewEx(method, capsule, NULL);
    Py_DecRef(capsule);
    return function;
}

static PyObject *nothing(void) {
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}
