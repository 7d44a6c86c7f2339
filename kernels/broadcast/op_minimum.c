/* SPDX-License-Identifier: Apache-2.0 */
/* minimum: the smaller of lhs and rhs, broadcast. NaN when either is NaN, as NumPy's. */
#include "kernels/broadcast/binary.h"
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 0, s_min(x0, x1));

static const char *const samples[] = {
    "minimum(f32[7], f32[7])",
    "minimum(f32[3,5,17], f32[17])",
    "minimum(f32[4,1,33], f32[1,6,1])",
    "minimum(f32[2,3,4,5], f32[3,1,1])",
    "minimum(f64[129], f64[])",
    "minimum(f64[5,40], f64[5,40])",
    "minimum(i32[3,70], i32[3,1])",
    "minimum(u8[200], u8[200])",
    NULL,
};

OPTUNE_OP(minimum) = {
    .name = "minimum",
    .summary = "the smaller of two values",
    .inputs = binary_inputs,
    .support_level = 1,
    .samples = samples,
    OPTUNE_BROADCAST_OP(expression),
};
