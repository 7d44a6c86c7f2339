/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapse_sum_like: data summed over the dims that broadcasting `like` to data's shape would
 * fill: the gradient of broadcasting. The values of `like` are not read.
 */
#include "kernels/reduce/arguments.h"

static const optune_reduce expressions = {&reduce_zero, &reduce_value, &reduce_plus,
                                          &reduce_value, true};

static const optune_op_input inputs[] = {
    {"data", "tensor", "what is summed", false, false},
    {"like", "tensor", "broadcasts to the shape of data", false, false},
    {NULL, NULL, NULL, false, false},
};

/* like and the output are one type; data has each dim of it where that is not 1. */
static int types(optune_call *call, optune_err *err)
{
    static const char why[] = "their types are one";
    optune_tensor *data = &call->input[0].type, *like = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    const int rank = like->rank >= 0 ? like->rank : out->rank;
    bool same = optune_dtype_unify(&like->dtype, &out->dtype) &&
                optune_dtype_unify(&data->dtype, &out->dtype) &&
                optune_dtype_unify(&like->dtype, &out->dtype);
    if (rank >= 0)
        same = same && optune_tensor_set_rank(like, rank) && optune_tensor_set_rank(out, rank);
    for (int d = 0; d < rank && same; d++)
        same = optune_dim_unify(&like->dim[d], &out->dim[d]);
    if (!same)
        return optune_types_differ(err, why, "like", like, "output", out);
    if (reduce_roomy(call, OPTUNE_OK, err) < 0)
        return OPTUNE_ETYPE;
    if (rank < 0 || data->rank < 0)
        return 1;
    if (rank > data->rank)
        return optune_types_differ(err, "it has more dims than data", "like", like, "data",
                                   data);
    for (int d = 0; d < rank; d++) {
        const optune_dim *to = &like->dim[d];
        if ((to->min > 1 || to->max < 1) &&
            !optune_dim_unify(&like->dim[d], &data->dim[d + data->rank - rank]))
            return optune_types_differ(err, "a dim that is not 1 is data's", "like", like,
                                       "data", data);
    }
    return optune_tensor_known(data) && optune_tensor_known(like) && optune_tensor_known(out)
               ? OPTUNE_OK
               : 1;
}

static double bytes(const optune_call *call)
{
    return (double)(optune_tensor_bytes(&call->input[0].type) +
                    optune_tensor_bytes(&call->output[0]));
}

static const char *const samples[] = {
    "collapse_sum_like(f32[33,70], f32[70])",   "collapse_sum_like(f32[33,70], f32[33,1])",
    "collapse_sum_like(f32[3,5,17], f32[5,1])", "collapse_sum_like(f32[2,3,4,5], f32[1,3,1,1])",
    "collapse_sum_like(f64[2,65], f64[])",      "collapse_sum_like(f32[4,9], f32[4,9])",
    "collapse_sum_like(i32[3,70], i32[3,1])",   NULL,
};

/* d data = dy, broadcast */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "broadcast_to_like", optune_grad_adjoint(grad, 0),
                                       optune_grad_input(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(collapse_sum_like) = {
    .name = "collapse_sum_like",
    .summary = "the sum over what was broadcast",
    .inputs = inputs,
    .support_level = 10,
    .bytes = bytes,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_REDUCTION,
    .n_outputs = 1,
    .reduce = &expressions,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
