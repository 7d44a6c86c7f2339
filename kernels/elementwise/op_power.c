/* SPDX-License-Identifier: Apache-2.0 */
/* power: lhs to the power of rhs, broadcast, of floating dtypes, with the exceptions of C's pow. */
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

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

/* d lhs = dy rhs lhs^(rhs-1), d rhs = dy output log(lhs) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int a = optune_grad_input(grad, 0), b = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0);
    const int less = optune_grad_binary(grad, "subtract", b, optune_grad_scalar(grad, b, 1));
    const int slope =
        optune_grad_binary(grad, "multiply", b, optune_grad_binary(grad, "power", a, less));
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0, optune_grad_binary(grad, "multiply", dy, slope));
    if (!optune_grad_wants(grad, 1))
        return OPTUNE_OK;
    const int weighed = optune_grad_binary(grad, "multiply", dy, optune_grad_output(grad, 0));
    optune_grad_add(
        grad, 1,
        optune_grad_binary(grad, "multiply", weighed, optune_grad_unary(grad, "log", a)));
    return OPTUNE_OK;
}

OPTUNE_OP(power) = {
    .name = "power",
    .summary = "lhs to the power of rhs",
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
