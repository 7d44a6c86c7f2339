/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all rows of dense_nbits share: the call's numbers in one struct, and what the stages of
 * generated implementations have in common. Included by rows only.
 */
#ifndef OPTUNE_KERNELS_NBITS_H
#define OPTUNE_KERNELS_NBITS_H

#include "kernels/matmul/matmul.h"

enum { NBITS_DATA, NBITS_WEIGHT, NBITS_SCALE, NBITS_ZERO }; /* indices of the inputs */

typedef struct nbits_shape {
    int64_t m, n, k; /* m: the most, where it varies */
    int64_t bits;
    int64_t group, groups; /* elements of depth that share a scale (k at most), and how many */
    int64_t row_bytes;     /* of the weight */
    int64_t scale_bytes;   /* of one scale */
    bool m_varies;
    bool is_signed;       /* the weight's integers */
    bool zero, zero_real; /* zero points are given; they are floats */
    optune_phase phase;   /* PREPACK when all that is packed is constant, else TIMED */
} nbits_shape;

/* How many elements of a row of k share a scale: `group`, where it is not 0 and less than k. */
static inline int64_t nbits_group(const optune_call *call, int64_t k)
{
    const int64_t group = optune_call_int(call, "group");
    return group == 0 || group > k ? k : group;
}

/* The bytes that a row of k elements takes. */
static inline int64_t nbits_bytes(int64_t bits, int64_t k)
{
    return bits == 4 ? k / 2 + k % 2 : k;
}

/* The dims that a strategy's `when` may name: m n k. */
bool nbits_dim(const optune_call *call, const char *name, optune_dim *value);

/* The numbers of a call that is solved but for a number of rows that may be a range. */
nbits_shape nbits_shape_of(const optune_call *call);

/* What every generated implementation asks for: dims of at least 1, constant but for the rows. */
bool nbits_applies(const optune_task *task, char *why);

/* nbits_gradient.c: the op's rule. */
int nbits_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

void nbits_define(optune_plan *plan, int module, const nbits_shape *s);

/* The rows at run time, when they vary. */
static inline void nbits_rows(optune_stage *stage, const nbits_shape *s)
{
    if (s->m_varies)
        stage->arg[stage->n_args++] = optune_dim_arg(NBITS_DATA, 0);
}

/* "float_of_half", what makes a float of an element that is stored so; "" for float32. */
const char *nbits_float_of(optune_dtype dtype);

#endif
