/* SPDX-License-Identifier: Apache-2.0 */
/* tanh: the hyperbolic tangent. NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 5, s_tanh(x0));

static const char *const samples[] = {
    "tanh(f32[7])",      "tanh(f32[3,5,17])", "tanh(f32[])",
    "tanh(f32[2,1037])", "tanh(f64[9,31])",   NULL,
};

/* d data = dy (1 - y y) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    const int slope = optune_grad_binary(grad, "subtract", optune_grad_scalar(grad, y, 1),
                                         optune_grad_binary(grad, "multiply", y, y));
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0), slope));
    return OPTUNE_OK;
}

OPTUNE_OP(tanh) = {
    .name = "tanh",
    .summary = "hyperbolic tangent",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
