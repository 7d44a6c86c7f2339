/* SPDX-License-Identifier: Apache-2.0 */
/* relu: the larger of data and 0. NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, s_max(x0, 0));

static const char *const samples[] = {
    "relu(f32[7])",    "relu(f32[3,5,17])", "relu(f32[])",   "relu(f32[2,1037])",
    "relu(f64[9,31])", "relu(i32[3,70])",   "relu(i8[130])", NULL,
};

/* d data = dy where data is positive */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    const int positive = optune_grad_binary(grad, "greater", x, zero);
    optune_grad_add(
        grad, 0, optune_grad_call(grad, "where", 3, (const int[]){positive, dy, zero}, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(relu) = {
    .name = "relu",
    .summary = "the larger of data and 0",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .presets = ACTIVATION_PRESETS("relu"),
    OPTUNE_ELEMWISE_OP(expression),
};
