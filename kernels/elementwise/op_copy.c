/* SPDX-License-Identifier: Apache-2.0 */
/* copy: output = data, in memory of its own. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, x0);

static const char *const samples[] = {
    "copy(f32[7])",    "copy(f32[3,5,17])", "copy(f32[])",   "copy(f32[2,1037])",
    "copy(f64[9,31])", "copy(i32[3,70])",   "copy(i8[130])", NULL,
};

/* d data = dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0, optune_grad_adjoint(grad, 0));
    return OPTUNE_OK;
}

OPTUNE_OP(copy) = {
    .name = "copy",
    .summary = "the same values",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_ELEMWISE_OP(expression),
};
