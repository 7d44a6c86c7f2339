/* SPDX-License-Identifier: Apache-2.0 */
/* greater: lhs > rhs, broadcast, as bool. Of NaN: false. */
#include "kernels/elementwise/compare.h"

OPTUNE_SCALAR(expression, 0, x0 > x1);

static const char *const samples[] = {
    "greater(f32[7], f32[7])",       "greater(f32[3,5,17], f32[17])",
    "greater(f64[5,40], f64[5,1])",  "greater(i32[2,3,90], i32[3,1])",
    "greater(bool[130], bool[130])", NULL,
};

/* it does not change with its inputs */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)grad;
    (void)call;
    (void)err;
    return OPTUNE_OK;
}

OPTUNE_OP(greater) = {
    .name = "greater",
    .summary = "whether the left value is larger",
    .inputs = binary_inputs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_BROADCAST,
    .n_outputs = 1,
    .scalar = &expression,
    .types = compare_types,
    .flops = optune_pattern_flops,
    .reference = optune_pattern_reference,
};
