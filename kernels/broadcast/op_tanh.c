/* SPDX-License-Identifier: Apache-2.0 */
/* tanh: the hyperbolic tangent. NaN stays NaN. */
#include "kernels/broadcast/unary.h"
#include "kernels/common/scalar.h"

OPTUNE_SCALAR(expression, 5, s_tanh(x0));

static const optune_op_input inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {NULL, NULL, NULL, false, false},
};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_elemwise_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

static const char *const samples[] = {
    "tanh(f32[7])",      "tanh(f32[3,5,17])", "tanh(f32[])",
    "tanh(f32[2,1037])", "tanh(f64[9,31])",   NULL,
};

OPTUNE_OP(tanh) = {
    .name = "tanh",
    .summary = "hyperbolic tangent",
    .inputs = inputs,
    .support_level = 1,
    .samples = samples,
    .pattern = OPTUNE_ELEMWISE,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
