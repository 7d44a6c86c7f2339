/* SPDX-License-Identifier: Apache-2.0 */
/* Which arrays a function takes, told by what lies behind them; between call.c and array.c. */
#ifndef OPTUNE_PYTHON_NATIVE_ARRAY_H
#define OPTUNE_PYTHON_NATIVE_ARRAY_H

#define Py_LIMITED_API 0x03080000
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "optune/types.h"

/* What an array must be. */
typedef struct spec {
    PyObject *dtype;          /* numpy's */
    unsigned char code, bits; /* DLPack's */
    int place;                /* of an input among all of the workload's */
    int rank;
    int64_t dim[OPTUNE_MAX_RANK];
    uintptr_t mask; /* bits that an address must not have */
    size_t bytes;
} spec;

struct dl_exchange; /* DLPack's */

/* How arrays of one kind are taken. */
typedef struct plan {
    struct plan *next;
    PyObject *kind;
    size_t head; /* numpy: bytes in front of its fields; 0: by DLPack */
    const struct dl_exchange *exchange;
    PyObject *never; /* tuple of predicates, each of which must be false of an array */
    PyObject *make, *args, *kwargs; /* a new output */
    spec out, in[];                 /* one for each input that a call has */
} plan;

/* Whether the array is what the function takes; an error that is set has no meaning here. */
bool ot_array_taken(const plan *p, PyObject *array, const spec *s, bool written,
                    uintptr_t *address);
/* False: with an error set. */
bool ot_spec_read(PyObject *from, spec *s);
/* How objects of that type say where their elements are; NULL: with an error set. */
const struct dl_exchange *ot_exchange_of(PyObject *kind);
/* What a plan holds but for its inputs' dtypes, NULL where it has none. */
enum { PLAN_OBJECTS = 6 };
void ot_plan_objects(const plan *p, PyObject *held[PLAN_OBJECTS]);
void ot_plan_free(plan *p, int n_inputs);
/* fields(array, head): address, shape, flags and dtype of an array of numpy, as they are read
 * here. */
PyObject *ot_array_fields(PyObject *self, PyObject *args);

#endif
