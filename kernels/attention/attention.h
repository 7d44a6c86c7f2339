/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attention's rows share: the numbers of a call and the macros that bake them into a body.
 *
 * The query heads that share a key head lie side by side in q and in the output, so that all their
 * queries are the `rows` of one matrix for each of the `heads` = b * hkv: row r of head g is query
 * r % sq of query head (g % hkv) * (hq / hkv) + r / sq.
 */
#ifndef OPTUNE_KERNELS_ATTENTION_H
#define OPTUNE_KERNELS_ATTENTION_H

#include "kernels/host/pattern.h"
#include "kernels/host/tensor.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_MASK };

typedef struct attention_shape {
    int64_t b, hq, hkv, sq, skv, d, dv;
    int64_t heads, rows;
    bool causal, has_mask, f64;
    bool zeros; /* of a query that sees no key; else NaN */
    /* Known at run time, where the numbers are the most there can be: batches, queries, keys. */
    bool any_b, any_sq, any_skv;
    double scale;
    int64_t mask_stride[4]; /* of b, hq, sq, skv, in elements; 0 where the mask is broadcast */
} attention_shape;

/* False while anything is unknown. */
bool attention_shape_of(const optune_call *call, attention_shape *s);
/* The same where batches, queries and keys may be known at run time, up to an end. */
bool attention_most_of(const optune_call *call, attention_shape *s);

static inline bool attention_varies(const attention_shape *s)
{
    return s->any_b || s->any_sq || s->any_skv;
}

/* The factor of the scores; that of an unknown d is 1. */
double attention_scale(const optune_call *call);

/* The op's gradient, by composition (attention_gradient.c). */
int attention_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

/* The op's reference (attention_reference.c). */
void attention_reference(const optune_call *call, const void *const *in, int out_index,
                         const optune_region *region, double *out, double *magnitude);

/* Whether CPU templates compute it: constant, something to do, a C type. */
bool attention_applies(const optune_task *task, attention_shape *s, char *why);
/* The same of those that take batches, queries and keys at run time. */
bool attention_most_applies(const optune_task *task, attention_shape *s, char *why);

static inline int64_t attention_elem(const attention_shape *s)
{
    return s->f64 ? 8 : 4;
}

static inline int64_t attention_lanes(const optune_task *task, const attention_shape *s)
{
    return host_vector_bytes(task) / attention_elem(s);
}

/* The shape, the scale, the types of elements and how they become DTYPE and back. What varies of
 * one that does (VARIES) is in a body's `sizes`, made of the arguments that attention_dims adds. */
void attention_define(optune_plan *plan, int m, const optune_task *task,
                      const attention_shape *s);
void attention_dims(const attention_shape *s, optune_stage *stage);

#endif
