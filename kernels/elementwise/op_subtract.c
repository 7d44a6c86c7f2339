/* SPDX-License-Identifier: Apache-2.0 */
/* subtract: lhs - rhs, broadcast. Integers wrap; NaN when either is. */
#include "kernels/elementwise/binary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, x0 - x1);

static const char *const samples[] = {
    "subtract(f32[7], f32[7])",
    "subtract(f32[3,5,17], f32[17])",
    "subtract(f32[4,1,33], f32[1,6,1])",
    "subtract(f32[2,3,4,5], f32[3,1,1])",
    "subtract(f64[129], f64[])",
    "subtract(f64[5,40], f64[5,40])",
    "subtract(i32[3,70], i32[3,1])",
    "subtract(u8[200], u8[200])",
    NULL,
};

/* d lhs = dy, d rhs = -dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, dy);
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1, optune_grad_unary(grad, "negative", dy));
    return OPTUNE_OK;
}

OPTUNE_OP(subtract) = {
    .name = "subtract",
    .summary = "difference of two tensors",
    .inputs = binary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_BROADCAST_OP(expression),
};
