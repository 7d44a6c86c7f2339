/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argsort: the indices that put the elements along an axis in order, Relay's argsort without
 * valid_count. Stable; NaN, -0.0 and ties: kernels/order/order.h, which it shares with sort.
 */
#include "kernels/order/order.h"

static const optune_op_attr attrs[] = {ORDER_AXIS, ORDER_ASCEND("true"), ORDER_DTYPE, {0}};

static const char *const boxes[] = {
    "argsort(f32[8400], is_ascend=false)",
    "argsort(f32[100,1000], is_ascend=false)",
    "argsort(f32[80,8400], is_ascend=false)",
    NULL,
};

static const char *const vectors[] = {
    "argsort(f32[1024])",
    "argsort(f32[65536])",
    "argsort(f32[1048576])",
    "argsort(i32[1048576])",
    NULL,
};

static const char *const experts[] = {
    "argsort(i32[8192])",
    "argsort(f32[4096,64], is_ascend=false)",
    NULL,
};

static const optune_preset presets[] = {
    {"boxes", "non-maximum suppression: boxes by their scores, alone and for each class",
     boxes},
    {"vectors", "one line, from what the first cache holds to 4 MB", vectors},
    {"experts", "tokens by their expert, and 64 experts of 4096 tokens ranked", experts},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "argsort(f32[1])",
    "argsort(f32[2,7])",
    "argsort(f32[37,19], is_ascend=false)",
    "argsort(f32[3,1037], dtype=i64)",
    "argsort(f32[2,300,5], axis=1)",
    "argsort(f32[33,32], axis=0, is_ascend=false)",
    "argsort(f64[5,129])",
    "argsort(f64[40,9], axis=0, is_ascend=false, dtype=i64)",
    "argsort(i32[3,2511], is_ascend=false)",
    "argsort(i32[9,70,3], axis=1)",
    "argsort(i64[2,333])",
    "argsort(f32[70000])",
    "argsort(f16[3,1037])",
    "argsort(bf16[33,32], axis=0, is_ascend=false)",
    NULL,
};

OPTUNE_OP(argsort) = {
    .name = "argsort",
    .summary = "indices that put the elements along an axis in order",
    .attrs = attrs,
    .n_outputs = 1,
    .types = order_types,
    .presets = presets,
    .samples = samples,
    ORDER_OP,
};
