/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast_to: data in a larger shape, by NumPy's rule. */
#include "kernels/elementwise/to.h"

OPTUNE_SCALAR(expression, 0, x0);

static const optune_op_input inputs[] = {
    {"data", "tensor", "broadcasts to shape", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {
    {.name = "shape",
     .kind = OPTUNE_ATTR_INTS,
     .description = "the output's",
     .min = 0,
     .max = OPTUNE_MAX_DIM,
     .shown = true},
    {.name = NULL},
};

static int types(optune_call *call, optune_err *err)
{
    const optune_attr *shape = optune_call_attr(call, "shape");
    optune_tensor *out = &call->output[0];
    bool fits = shape->n <= OPTUNE_MAX_RANK && optune_tensor_set_rank(out, shape->n);
    for (int d = 0; d < shape->n && fits; d++) {
        optune_dim want = optune_dim_of(shape->i[d]);
        fits = optune_dim_unify(&out->dim[d], &want);
    }
    if (!fits)
        return optune_fail(err, OPTUNE_ETYPE, "the output has another shape than 'shape' says");
    return broadcast_to_output(call, err);
}

static const char *const samples[] = {
    "broadcast_to(f32[], shape=[7])",
    "broadcast_to(f32[17], shape=[3,5,17])",
    "broadcast_to(f32[4,1,33], shape=[4,6,33])",
    "broadcast_to(f64[3,1,1], shape=[2,3,4,5])",
    "broadcast_to(i32[3,1], shape=[3,70])",
    NULL,
};

OPTUNE_OP(broadcast_to) = {
    .name = "broadcast_to",
    .summary = "data in a larger shape",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 4,
    .samples = samples,
    BROADCAST_TO_OP(expression),
};
