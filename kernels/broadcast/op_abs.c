/* SPDX-License-Identifier: Apache-2.0 */
/* abs: |data|. NaN stays NaN; the smallest integer stays itself. */
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 0, s_abs(x0));

static const optune_op_input inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

static const char *const samples[] = {
    "abs(f32[7])", "abs(f32[3,5,17])", "abs(f64[9,31])", "abs(i32[3,70])", NULL,
};

OPTUNE_OP(abs) = {
    .name = "abs",
    .summary = "magnitude",
    .inputs = inputs,
    .support_level = 1,
    .samples = samples,
    OPTUNE_ELEMWISE_OP(expression),
};
