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

/* Where the elements of an output come from, for any size of any dim. Data and output are boxes of
 * the same axes; a dim counts steps of `unit` along its axis, or what is `within` one such block.
 * An axis of the output is a slice of the data's, as strided_slice says it, or, with a step of 0,
 * the data with `from` in front of it and `to` behind. */
typedef struct injective_dim {
    int axis;
    int64_t unit, within; /* within > 0: a part of a block of so many, which is its extent */
} injective_dim;

typedef struct injective_places {
    int axes, n_in, n_out;
    injective_dim in[OPTUNE_MAX_RANK], out[OPTUNE_MAX_RANK];
    int64_t from[OPTUNE_MAX_RANK], to[OPTUNE_MAX_RANK], step[OPTUNE_MAX_RANK];
    int joined; /* the axis along which inputs lie one behind another; -1: there is one input */
    double fill; /* what is neither in the data */
} injective_places;

/* As many axes as data has dims, each as it is. */
injective_places injective_axes(const optune_call *call);

/* The places of a call of an operator of this room, whose ranks and attributes are known: what its
 * pieces are for constant dims. */
void transpose_places(const optune_call *call, injective_places *to);
void reverse_places(const optune_call *call, injective_places *to);
void pad_places(const optune_call *call, injective_places *to);
void concatenate_places(const optune_call *call, injective_places *to);
void strided_slice_places(const optune_call *call, injective_places *to);
void layout_transform_places(const optune_call *call, injective_places *to);

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
