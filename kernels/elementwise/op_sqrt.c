/* SPDX-License-Identifier: Apache-2.0 */
/* sqrt: the square root. Negative values and NaN give NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 2, s_sqrt(x0));

static const char *const samples[] = {
    "sqrt(f32[7])",      "sqrt(f32[3,5,17])", "sqrt(f32[])",
    "sqrt(f32[2,1037])", "sqrt(f64[9,31])",   NULL,
};

/* d data = dy / (2 sqrt(data)) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    const int half = optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0),
                                        optune_grad_scalar(grad, y, 0.5));
    optune_grad_add(grad, 0, optune_grad_binary(grad, "divide", half, y));
    return OPTUNE_OK;
}

OPTUNE_OP(sqrt) = {
    .name = "sqrt",
    .summary = "square root",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
