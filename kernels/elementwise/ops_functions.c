/* SPDX-License-Identifier: Apache-2.0 */
/* exp: e to the power of data. NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 3, s_exp(x0));

static const char *const samples[] = {
    "exp(f32[7])", "exp(f32[3,5,17])", "exp(f32[])", "exp(f32[2,1037])", "exp(f64[9,31])", NULL,
};

/* d data = dy exp(data) */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0),
                                       optune_grad_output(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(exp) = {
    .name = "exp",
    .summary = "exponential",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
