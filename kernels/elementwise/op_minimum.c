/* SPDX-License-Identifier: Apache-2.0 */
/* minimum: the smaller of lhs and rhs, broadcast. NaN when either is NaN, as NumPy's. */
#include "kernels/elementwise/binary.h"
#include "kernels/host/scalar.h"

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

/* dy goes to the one that is chosen, to rhs when both are equal */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int a = optune_grad_input(grad, 0), b = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    const int first = optune_grad_binary(grad, "less", a, b);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(
            grad, 0, optune_grad_call(grad, "where", 3, (const int[]){first, dy, zero}, NULL));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(
            grad, 1, optune_grad_call(grad, "where", 3, (const int[]){first, zero, dy}, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(minimum) = {
    .name = "minimum",
    .summary = "the smaller of two values",
    .inputs = binary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_BROADCAST_OP(expression),
};
