/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an array is, by numpy's object or DLPack's exchange, without an object made for each
 * question. Whatever is not as it should be is not taken, and the package's own way says why.
 */
#include "python/native/array.h"

#include <stdlib.h>
#include <string.h>

/* numpy's array behind the head of its object; its C interface. */
typedef struct numpy_fields {
    char *data;
    int rank;
    Py_ssize_t *dim, *stride;
    PyObject *base, *dtype;
    int flags;
} numpy_fields;

/* Contiguous; aligned and writable, too. */
enum { NUMPY_IN = 0x0001, NUMPY_OUT = 0x0001 | 0x0100 | 0x0400 };

/* DLPack 1's exchange of tensors without Python between. */
typedef struct dl_tensor {
    void *data;
    int32_t device, device_id;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *dim, *stride;
    uint64_t offset;
} dl_tensor;

typedef struct dl_exchange {
    uint32_t major, minor;
    struct dl_exchange *previous;
    void *(*allocate)(void), *(*managed_of)(void), *(*object_of)(void);
    int (*tensor_of)(void *object, dl_tensor *out);
    void *(*stream)(void);
} dl_exchange;

static bool numpy_takes(const plan *p, PyObject *a, const spec *s, int flags,
                        uintptr_t *address)
{
    const numpy_fields *f = (const numpy_fields *)((const char *)a + p->head);
    if (f->rank != s->rank || f->dtype != s->dtype || (f->flags & flags) != flags)
        return false;
    for (int i = 0; i < s->rank; i++)
        if (f->dim[i] != s->dim[i])
            return false;
    *address = (uintptr_t)f->data;
    return true;
}

static bool dlpack_takes(const plan *p, PyObject *a, const spec *s, uintptr_t *address)
{
    dl_tensor t;
    const Py_ssize_t n = PyTuple_Size(p->never);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *said = PyObject_CallFunctionObjArgs(PyTuple_GetItem(p->never, i), a, NULL);
        const bool never = said != Py_False;
        Py_XDECREF(said);
        if (never)
            return false;
    }
    if (p->exchange->tensor_of(a, &t))
        return false;
    if (t.device != 1 || t.rank != s->rank || t.code != s->code || t.bits != s->bits ||
        t.lanes != 1 || (!t.data && s->bytes))
        return false;
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (t.dim[i] != s->dim[i] || (t.stride && t.dim[i] != 1 && t.stride[i] != stride))
            return false;
        stride *= t.dim[i];
    }
    *address = (uintptr_t)t.data + t.offset;
    return true;
}

bool ot_array_taken(const plan *p, PyObject *a, const spec *s, bool written, uintptr_t *address)
{
    if ((PyObject *)Py_TYPE(a) != p->kind)
        return false;
    const bool taken = p->head ? numpy_takes(p, a, s, written ? NUMPY_OUT : NUMPY_IN, address)
                               : dlpack_takes(p, a, s, address);
    if (!taken && PyErr_Occurred())
        PyErr_Clear();
    return taken && !(*address & s->mask);
}

bool ot_spec_read(PyObject *from, spec *s)
{
    PyObject *shape, *dtype;
    Py_ssize_t bytes, itemsize;
    if (!PyArg_ParseTuple(from, "iObbO!nn", &s->place, &dtype, &s->code, &s->bits,
                          &PyTuple_Type, &shape, &itemsize, &bytes))
        return false;
    s->rank = (int)PyTuple_Size(shape);
    if (s->rank > OPTUNE_MAX_RANK || s->place < 0 || s->place >= OPTUNE_MAX_INPUTS) {
        PyErr_SetString(PyExc_ValueError, "too many dims or inputs");
        return false;
    }
    for (int i = 0; i < s->rank; i++)
        s->dim[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    s->mask = (uintptr_t)itemsize - 1;
    s->bytes = (size_t)bytes;
    Py_INCREF(s->dtype = dtype);
    return !PyErr_Occurred();
}

void ot_plan_objects(const plan *p, PyObject *held[PLAN_OBJECTS])
{
    PyObject *const all[] = {p->out.dtype, p->kind, p->never, p->make, p->args, p->kwargs};
    memcpy(held, all, sizeof all);
}

void ot_plan_free(plan *p, int n)
{
    PyObject *held[PLAN_OBJECTS];
    ot_plan_objects(p, held);
    for (int i = 0; i < n; i++)
        Py_XDECREF(p->in[i].dtype);
    for (int i = 0; i < PLAN_OBJECTS; i++)
        Py_XDECREF(held[i]);
    free(p);
}

const dl_exchange *ot_exchange_of(PyObject *kind)
{
    PyObject *capsule = PyObject_GetAttrString(kind, "__dlpack_c_exchange_api__");
    const dl_exchange *found =
        capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    Py_XDECREF(capsule); /* it lives as long as the package that it is of */
    while (found && found->major != 1)
        found = found->previous;
    if (found && !found->tensor_of)
        found = NULL;
    if (!found && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "no exchange of DLPack's version 1");
    return found;
}

PyObject *ot_array_fields(PyObject *self, PyObject *args)
{
    PyObject *array;
    Py_ssize_t head;
    (void)self;
    if (!PyArg_ParseTuple(args, "On", &array, &head))
        return NULL;
    const numpy_fields *f = (const numpy_fields *)((const char *)array + head);
    const int rank = f->rank;
    if (rank < 0 || rank > OPTUNE_MAX_RANK)
        Py_RETURN_NONE;
    PyObject *shape = PyTuple_New(rank);
    for (int i = 0; shape && i < rank; i++)
        PyTuple_SetItem(shape, i, PyLong_FromSsize_t(f->dim[i]));
    return Py_BuildValue("nNiO", (Py_ssize_t)f->data, shape, f->flags, f->dtype);
}
