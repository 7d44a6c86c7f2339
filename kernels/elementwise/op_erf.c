/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erf: the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to data. NaN
 * stays NaN.
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 16, s_erf(x0));

static const char *const samples[] = {
    "erf(f32[7])", "erf(f32[3,5,17])", "erf(f32[])", "erf(f32[2,1037])", "erf(f64[9,31])", NULL,
};

/* d data = dy 2 / sqrt(pi) exp(-data^2) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int square = optune_grad_binary(grad, "multiply", x, x);
    const int bell =
        optune_grad_unary(grad, "exp", optune_grad_unary(grad, "negative", square));
    const int slope = optune_grad_binary(grad, "multiply", bell,
                                         optune_grad_scalar(grad, x, 1.1283791670955126));
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0), slope));
    return OPTUNE_OK;
}

OPTUNE_OP(erf) = {
    .name = "erf",
    .summary = "error function",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
