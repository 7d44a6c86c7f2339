/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ops that only move values share: the loops of a whole output as one piece, and the
 * checks of axes. What their implementations share is moves.h.
 */
#ifndef OPTUNE_KERNELS_INJECTIVE_H
#define OPTUNE_KERNELS_INJECTIVE_H

#include "optune/define.h"

static const optune_op_input injective_inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

/* Row-major strides, in elements, of a known type. */
void injective_strides(const optune_tensor *type, int64_t *stride);

/* A loop for each dim of the output, which input 0 has yet to be given strides for. */
optune_piece injective_whole(const optune_call *call);

/* The same values in the same order: all that reshaping does to memory. */
int injective_flat(const optune_call *call, optune_piece *piece);

/* The gradient of such an op: d data = dy in the shape of data. */
int injective_flat_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

/* What such ops' rows say alike. */
#define INJECTIVE_FLAT_OP                                                                      \
    .inputs = injective_inputs, .gradient = injective_flat_gradient,                           \
    OPTUNE_INJECTIVE_OP(injective_flat)

/* The same, where relation, gradient and pieces are the file's own, by these names. */
#define INJECTIVE_OWN_OP                                                                       \
    .attrs = attrs, .types = types, .gradient = gradient, .samples = samples,                  \
    OPTUNE_INJECTIVE_OP(pieces)

/* OK when the dtypes of input 0 and the output are one. */
int injective_dtypes(optune_call *call, optune_err *err);

/* An axis counted from the front; ETYPE when there is none. */
int injective_axis(const optune_call *call, int64_t axis, int rank, optune_err *err);

/* To write an attribute that could be said in several ways as one of them. */
static inline optune_attr *injective_attr(optune_call *call, const char *name)
{
    return &call->attr[optune_call_attr(call, name) - call->attr];
}

int injective_known(const optune_call *call);

#endif
