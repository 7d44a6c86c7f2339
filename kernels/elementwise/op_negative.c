/* SPDX-License-Identifier: Apache-2.0 */
/* negative: -data. The smallest integer is its own negative. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, -x0);

static const char *const samples[] = {
    "negative(f32[7])",    "negative(f32[3,5,17])",
    "negative(f32[])",     "negative(f32[2,1037])",
    "negative(f64[9,31])", "negative(i32[3,70])",
    "negative(i8[130])",   NULL,
};

/* d data = -dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0, optune_grad_unary(grad, "negative", optune_grad_adjoint(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(negative) = {
    .name = "negative",
    .summary = "changes the sign",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_ELEMWISE_OP(expression),
};
