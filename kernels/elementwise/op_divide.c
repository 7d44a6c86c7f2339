/* SPDX-License-Identifier: Apache-2.0 */
/* divide: lhs / rhs, broadcast, of floating dtypes. By zero: infinity, or NaN of 0 / 0. */
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

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

/* d lhs = dy / rhs, d rhs = -dy / rhs * output */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int rhs = optune_grad_input(grad, 1);
    const int share = optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0), rhs);
    optune_grad_add(grad, 0, share);
    if (!optune_grad_wants(grad, 1))
        return OPTUNE_OK;
    const int product =
        optune_grad_binary(grad, "multiply", share, optune_grad_output(grad, 0));
    optune_grad_add(grad, 1, optune_grad_unary(grad, "negative", product));
    return OPTUNE_OK;
}

OPTUNE_OP(divide) = {
    .name = "divide",
    .summary = "quotient of two tensors",
    .inputs = binary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .pattern = OPTUNE_BROADCAST,
    .n_outputs = 1,
    .scalar = &expression,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
