/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid: 1 / (1 + exp(-data)). NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 5, s_sigmoid(x0));

static const char *const samples[] = {
    "sigmoid(f32[7])",      "sigmoid(f32[3,5,17])", "sigmoid(f32[])",
    "sigmoid(f32[2,1037])", "sigmoid(f64[9,31])",   NULL,
};

/* d data = dy (y - y y) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    const int slope =
        optune_grad_binary(grad, "subtract", y, optune_grad_binary(grad, "multiply", y, y));
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0), slope));
    return OPTUNE_OK;
}

OPTUNE_OP(sigmoid) = {
    .name = "sigmoid",
    .summary = "logistic function",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .presets = ACTIVATION_PRESETS("sigmoid"),
    UNARY_FLOAT_OP(expression),
};
