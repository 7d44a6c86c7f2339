/* SPDX-License-Identifier: Apache-2.0 */
/* log: the natural logarithm. 0 gives minus infinity, negative values and NaN give NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 3, s_log(x0));

static const char *const samples[] = {
    "log(f32[7])", "log(f32[3,5,17])", "log(f32[])", "log(f32[2,1037])", "log(f64[9,31])", NULL,
};

/* d data = dy / data */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0),
                                       optune_grad_input(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(log) = {
    .name = "log",
    .summary = "natural logarithm",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
