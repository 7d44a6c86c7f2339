/* SPDX-License-Identifier: Apache-2.0 */
/* divide: lhs / rhs, broadcast, of floating dtypes. By zero: infinity, or NaN of 0 / 0. */
#include "kernels/broadcast/binary.h"
#include "kernels/broadcast/unary.h"
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 0, x0 / x1);

static const char *const samples[] = {
    "divide(f32[7], f32[7])",
    "divide(f32[3,5,17], f32[17])",
    "divide(f32[4,1,33], f32[1,6,1])",
    "divide(f32[2,3,4,5], f32[3,1,1])",
    "divide(f64[129], f64[])",
    "divide(f64[5,40], f64[5,40])",
    NULL,
};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_broadcast_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

OPTUNE_OP(divide) = {
    .name = "divide",
    .summary = "quotient of two tensors",
    .inputs = binary_inputs,
    .support_level = 1,
    .samples = samples,
    .pattern = OPTUNE_BROADCAST,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
