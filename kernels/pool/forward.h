/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the poolings share as ops: their input, counts, which element a tap reads, and where their
 * gradient goes. Host code only.
 */
#ifndef OPTUNE_KERNELS_POOL_FORWARD_H
#define OPTUNE_KERNELS_POOL_FORWARD_H

#include <math.h>

#include "kernels/pool/pool.h"

#define POOL_INPUTS                                                                            \
    {                                                                                          \
        .name = "data", .type = "tensor [N,C,H,W] or [N,C/c,H,W,c]",                           \
        .description = "Activations, in `layout`."                                             \
    }

double pool_forward_flops(const optune_call *call);

/* What tap (i, j) of window (y, x) reads. */
static inline double pool_read(const pool_walk *w, int64_t plane, int64_t lane, int64_t y,
                               int64_t x, int64_t i, int64_t j)
{
    const int64_t at = pool_in_at(&w->s, plane, pool_position(&w->s.y, y, i),
                                  pool_position(&w->s.x, x, j), lane);
    return tensor_element(w->in[0], w->dtype, at);
}

void pool_forward_reference(const optune_call *call, const void *const *in,
                            const optune_region *region, double *out, double *magnitude,
                            pool_visit each);

/* d data: what the operator `name` makes of dy and data. */
static inline int pool_forward_gradient(optune_grad *grad, const char *name)
{
    const int inputs[] = {optune_grad_adjoint(grad, 0), optune_grad_input(grad, 0)};
    optune_grad_add(grad, 0, optune_grad_same(grad, name, 2, inputs, NULL));
    return OPTUNE_OK;
}

#endif
