/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument and the attributes of reductions over axes, as Relay's. No axis: all of them
 * (with `exclude`: none).
 */
#ifndef OPTUNE_KERNELS_REDUCE_ARGUMENTS_H
#define OPTUNE_KERNELS_REDUCE_ARGUMENTS_H

#include "kernels/host/scalar.h"

static const optune_op_input reduce_inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr reduce_attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[]",
     .description = "dims to reduce, negative ones from the end; none: all",
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .shown = true},
    {.name = "keepdims",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "leave reduced dims as 1"},
    {.name = "exclude",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "reduce all dims but those of axis"},
    {.name = NULL},
};

/* The sum's identity and what it does to one value; most reductions share them. */
OPTUNE_SCALAR(reduce_zero, 0, 0);
OPTUNE_SCALAR(reduce_value, 0, x0);
OPTUNE_SCALAR(reduce_plus, 0, x0 + x1);

/* A relation's status, but for bool, in which a sum has no room: what is counted in it wraps at the
 * byte that holds it. */
static inline int reduce_roomy(const optune_call *call, int status, optune_err *err)
{
    return status < 0 || call->output[0].dtype.code != OPTUNE_DTYPE_BOOL
               ? status
               : optune_fail(
                     err, OPTUNE_ETYPE,
                     "'%s' of bool has no room for a sum: cast it to an integer first, or "
                     "take max, which tells whether any is true",
                     call->op->name);
}

/* ---- gradients --------------------------------------------------------------------------- */

/* A value of the output's shape, with the reduced dims put back as 1. */
int reduce_kept(optune_grad *grad, const optune_call *call, int value);

/* The same, broadcast to the shape of the input. */
static inline int reduce_spread(optune_grad *grad, const optune_call *call, int value)
{
    return optune_grad_binary(grad, "broadcast_to_like", reduce_kept(grad, call, value),
                              optune_grad_input(grad, 0));
}

/* The reduced dims behind the kept ones, and both as the two dims of a matrix: for rules that walk
 * along what is reduced. Of constant dims. */
typedef struct reduce_turn {
    int order[OPTUNE_MAX_RANK], back[OPTUNE_MAX_RANK];
    optune_tensor turned, lines;
} reduce_turn;

reduce_turn reduce_turn_of(const optune_call *call);

/* A value of the input's shape as that matrix, and back. */
int reduce_turned(optune_grad *grad, const reduce_turn *turn, int value);
int reduce_turned_back(optune_grad *grad, const reduce_turn *turn, int value);

/* For max and min: what equals the output receives dy, divided among equals. */
void reduce_give_to_chosen(optune_grad *grad, const optune_call *call);

#endif
