/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk: the k largest (or smallest) elements along an axis in order, Relay's topk. Its outputs
 * are values and indices, or one of them by `ret_type`; k below 1 means all. Stable; NaN, -0.0
 * and ties: kernels/order/order.h, which it shares with sort.
 */
#include "kernels/order/order.h"

static const optune_op_attr attrs[] = {
    {.name = "k",
     .kind = OPTUNE_ATTR_INT,
     .value = "1",
     .description = "how many of each line; below 1: all",
     .shown = true},
    ORDER_AXIS,
    {.name = "ret_type",
     .kind = OPTUNE_ATTR_WORD,
     .value = "both",
     .words = "both values indices",
     .description = "which outputs there are"},
    ORDER_ASCEND("false"),
    ORDER_DTYPE,
    {0},
};

static const char *const output_names[] = {"values", "indices"};

static int outputs(const optune_call *call)
{
    return strcmp(optune_call_word(call, "ret_type"), "both") == 0 ? 2 : 1;
}

/* All of a line is k=0, whichever way it is said; indices that are not given have no type. */
static int types(optune_call *call, optune_err *err)
{
    const int status = order_types(call, err);
    const optune_tensor *data = &call->input[0].type;
    optune_attr *k = host_attr(call, "k");
    if (status < 0 || data->rank < 0)
        return status;
    const int64_t axis = optune_call_int(call, "axis");
    const optune_dim *along = &data->dim[axis < 0 ? axis + data->rank : axis];
    if (k->i[0] < 1 || (optune_dim_known(along) && along->min == k->i[0]))
        k->i[0] = 0;
    if (order_indices(call) < 0)
        host_attr(call, "dtype")->dtype = (optune_dtype){OPTUNE_DTYPE_INT, 32, 1};
    return status;
}

static const char *const vocabulary[] = {
    "topk(f32[1,32000], k=50)",
    "topk(f32[1,50257], k=50)",
    "topk(f32[32,50257], k=50)",
    "topk(f32[4,201028], k=8)",
    NULL,
};

static const char *const experts[] = {
    "topk(f32[4096,64], k=2)",
    "topk(f32[4096,8], k=2)",
    "topk(f32[4096,256], k=8)",
    NULL,
};

static const char *const classes[] = {
    "topk(f32[128,1000], k=5)",
    "topk(f32[128,1000], k=1, ret_type=indices)",
    "topk(f32[128,1000], k=0)",
    NULL,
};

static const char *const boxes[] = {
    "topk(f32[1,120000], k=2000)",
    "topk(f32[80,8400], k=300)",
    "topk(f32[1,100,128,128], k=1, axis=1)",
    NULL,
};

static const optune_preset presets[] = {
    {"vocabulary", "sampling from the 50 best of 32000 and 50257 tokens; beams of 4",
     vocabulary},
    {"experts", "gating of 4096 tokens: 2 of 8 and of 64 experts, 8 of 256", experts},
    {"classes", "the 5 best, the best and the whole ranking of 1000 classes", classes},
    {"boxes", "candidates before non-maximum suppression; the class of every pixel", boxes},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "topk(f32[1], k=1)",
    "topk(f32[3,17], k=3)",
    "topk(f32[37,64], k=2, is_ascend=true)",
    "topk(f32[2,1037], k=9, dtype=i64)",
    "topk(f32[2,3037], k=70, ret_type=values)",
    "topk(f32[5,301], k=5, ret_type=indices)",
    "topk(f32[3,150,32], k=4, axis=1)",
    "topk(f32[2,300,5], k=20, axis=1, is_ascend=true)",
    "topk(f32[4,33], k=0)",
    "topk(f64[3,513], k=6)",
    "topk(f64[130,9], k=3, axis=0, ret_type=values)",
    "topk(i32[7,201], k=8)",
    "topk(i64[2,133], k=2, is_ascend=true, dtype=i64)",
    "topk(i32[3,1037], k=9, is_ascend=true)",
    "topk(i64[2,2001], k=70, ret_type=values)",
    "topk(f32[20000], k=40)",
    "topk(f64[2,9001], k=33, is_ascend=true)",
    "topk(bf16[3,2037], k=9)",
    "topk(f16[2,3037], k=70, ret_type=values)",
    "topk(f16[5,300,3], k=4, axis=1, is_ascend=true)",
    "topk(bf16[2,9001], k=33, is_ascend=true, dtype=i64)",
    NULL,
};

/* d data = zeros, to which each value's dy is added at its index; indices receive nothing. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const bool both = outputs(call) == 2;
    const int indices = both ? optune_grad_output(grad, 1)
                             : optune_grad_same(grad, "topk", 1, &x, "ret_type=indices");
    const int inputs[] = {optune_grad_unary(grad, "zeros_like", x), indices,
                          optune_grad_adjoint(grad, 0)};
    optune_grad_add(grad, 0,
                    optune_grad_call(grad, "scatter_add", 3, inputs, "axis=%d",
                                     (int)optune_call_int(call, "axis")));
    return OPTUNE_OK;
}

OPTUNE_OP(topk) = {
    .name = "topk",
    .summary = "the k best along an axis, their values and their indices",
    .attrs = attrs,
    .n_outputs = 2,
    .output_names = output_names,
    .types = types,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    .outputs = outputs,
    ORDER_OP,
};
