/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast_to_like: data in the shape of `like`, whose values are not read. */
#include "kernels/elementwise/to.h"

OPTUNE_SCALAR(expression, 0, x0);

static const optune_op_input inputs[] = {
    {"data", "tensor", "broadcasts to the shape of like", false, false},
    {"like", "tensor", "has the shape and dtype of the output", false, false},
    {NULL, NULL, NULL, false, false},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *like = &call->input[1].type, *out = &call->output[0];
    const int rank = like->rank >= 0 ? like->rank : out->rank;
    if (rank >= 0 &&
        (!optune_tensor_set_rank(like, rank) || !optune_tensor_set_rank(out, rank)))
        return optune_types_differ(err, "their shapes are one", "like", like, "output", out);
    for (int d = 0; d < rank; d++)
        if (!optune_dim_unify(&like->dim[d], &out->dim[d]))
            return optune_types_differ(err, "their shapes are one", "like", like, "output",
                                       out);
    if (!optune_dtype_unify(&like->dtype, &out->dtype))
        return optune_types_differ(err, "their dtypes differ", "like", like, "output", out);
    const int status = broadcast_to_output(call, err);
    optune_dtype_unify(&like->dtype, &out->dtype);
    return status;
}

static double bytes(const optune_call *call)
{
    return (double)(optune_tensor_bytes(&call->input[0].type) +
                    optune_tensor_bytes(&call->output[0]));
}

static const char *const samples[] = {
    "broadcast_to_like(f32[], f32[7])",
    "broadcast_to_like(f32[17], f32[3,5,17])",
    "broadcast_to_like(f32[4,1,33], f32[4,6,33])",
    "broadcast_to_like(f64[3,1,1], f64[2,3,4,5])",
    "broadcast_to_like(i32[3,1], i32[3,70])",
    NULL,
};

OPTUNE_OP(broadcast_to_like) = {
    .name = "broadcast_to_like",
    .summary = "data in the shape of another tensor",
    .inputs = inputs,
    .support_level = 10,
    .bytes = bytes,
    .samples = samples,
    BROADCAST_TO_OP(expression),
};
