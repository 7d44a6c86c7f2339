/* SPDX-License-Identifier: Apache-2.0 */
/* power: lhs to the power of rhs, broadcast, of floating dtypes, with the exceptions of C's pow. */
#include "kernels/broadcast/binary.h"
#include "kernels/broadcast/unary.h"
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 4, s_pow(x0, x1));

static const char *const samples[] = {
    "power(f32[7], f32[7])",
    "power(f32[3,5,17], f32[17])",
    "power(f32[4,1,33], f32[1,6,1])",
    "power(f32[2,3,4,5], f32[3,1,1])",
    "power(f64[129], f64[])",
    "power(f64[5,40], f64[5,40])",
    NULL,
};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_broadcast_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

OPTUNE_OP(power) = {
    .name = "power",
    .summary = "lhs to the power of rhs",
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
