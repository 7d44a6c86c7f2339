/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gradients of pooling share as ops: inputs, counts, and which windows hold an element.
 * Host code only.
 */
#ifndef OPTUNE_KERNELS_POOL_GRAD_H
#define OPTUNE_KERNELS_POOL_GRAD_H

#include <math.h>

#include "kernels/pool/pool.h"

enum { POOL_GRAD, POOL_DATA }; /* indices of the inputs */

#define POOL_GRAD_INPUTS                                                                       \
    {.name = "grad",                                                                           \
     .type = "tensor [N,C,OH,OW] or [N,C/c,OH,OW,c]",                                          \
     .description = "Gradient of the pooled, in `layout`."},                                   \
    {                                                                                          \
        .name = "data", .type = "tensor [N,C,H,W] or [N,C/c,H,W,c]",                           \
        .description = "What was pooled, in `layout`."                                         \
    }

double pool_grad_flops(const optune_call *call);

/* Windows that hold one element, at most. */
double pool_grad_terms(const optune_call *call);

/* The gradient of the result of window (oy, ox). */
static inline double pool_grad_of(const pool_walk *w, int64_t plane, int64_t lane, int64_t oy,
                                  int64_t ox)
{
    return tensor_element(w->in[POOL_GRAD], w->dtype, pool_out_at(&w->s, plane, oy, ox, lane));
}

void pool_grad_reference(const optune_call *call, const void *const *in,
                         const optune_region *region, double *out, double *magnitude,
                         pool_share share);

/* What templates of gradients ask: any layout of float32 or float64. */
static inline bool pool_grad_applies(const optune_task *task, char *why)
{
    pool_shape s;
    pool_backward_shape(task->call, &s);
    return pool_applies(task, &s, why);
}

/* A task's own memory: `per_task` elements; and the stage's first three arguments. */
optune_stage pool_grad_stage(const optune_task *task, const pool_shape *s, optune_plan *plan,
                             int module, int64_t per_task);

#endif
