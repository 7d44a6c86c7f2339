/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort: the elements along an axis in order, Relay's sort. NaN, -0.0 and what cannot be told
 * apart: kernels/order/order.h, which it shares with argsort and topk.
 */
#include "kernels/order/order.h"

static const optune_op_attr attrs[] = {ORDER_AXIS, ORDER_ASCEND("true"), {0}};

static const char *const vectors[] = {
    "sort(f32[1024])", "sort(f32[65536])", "sort(f32[1048576])", "sort(f32[16777216])", NULL,
};

static const char *const scores[] = {
    "sort(f32[1000], is_ascend=false)",
    "sort(f32[80,8400], is_ascend=false)",
    "sort(f32[32,32000], is_ascend=false)",
    NULL,
};

static const char *const windows[] = {
    "sort(f32[262144,9])",
    "sort(f32[65536,25])",
    "sort(f32[64,4096], axis=0)",
    NULL,
};

static const optune_preset presets[] = {
    {"vectors", "one line, from what the first cache holds to 64 MB", vectors},
    {"scores", "ranked scores: 1000 classes, 80 classes of 8400 boxes, a vocabulary", scores},
    {"windows", "median filters of 3 x 3 and 5 x 5, and the median over 64 frames", windows},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "sort(f32[1])",
    "sort(f32[2,7])",
    "sort(f32[37,19], is_ascend=false)",
    "sort(f32[3,1037])",
    "sort(f32[2,300,5], axis=1)",
    "sort(f32[33,32], axis=0, is_ascend=false)",
    "sort(f64[5,129])",
    "sort(f64[40,9], axis=0, is_ascend=false)",
    "sort(i32[3,511], is_ascend=false)",
    "sort(i32[9,70,3], axis=1)",
    "sort(i64[2,333])",
    "sort(i64[17,18], axis=0, is_ascend=false)",
    "sort(f32[70000])",
    "sort(bf16[3,1037])",
    "sort(f16[33,32], axis=0, is_ascend=false)",
    NULL,
};

/* d data = dy, each element from where it was put: its place is the argsort of the argsort. What is
 * equal is told apart as argsort does, by its index. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int x = optune_grad_input(grad, 0), axis = (int)optune_call_int(call, "axis");
    const int order = optune_grad_same(grad, "argsort", 1, &x, NULL);
    const int place = optune_grad_call(grad, "argsort", 1, &order, "axis=%d", axis);
    const int inputs[] = {optune_grad_adjoint(grad, 0), place};
    optune_grad_add(grad, 0, optune_grad_call(grad, "gather", 2, inputs, "axis=%d", axis));
    return OPTUNE_OK;
}

OPTUNE_OP(sort) = {
    .name = "sort",
    .summary = "elements along an axis in order",
    .attrs = attrs,
    .n_outputs = 1,
    .types = order_types,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    ORDER_OP,
};
