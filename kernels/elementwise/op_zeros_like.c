/* SPDX-License-Identifier: Apache-2.0 */
/* zeros_like: 0 in the shape and dtype of data, whose values are not read. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, 0);

/* Only the output moves. */
static double bytes(const optune_call *call)
{
    return (double)optune_tensor_bytes(&call->output[0]);
}

static const char *const samples[] = {
    "zeros_like(f32[7])",    "zeros_like(f32[3,5,17])",
    "zeros_like(f32[])",     "zeros_like(f32[2,1037])",
    "zeros_like(f64[9,31])", "zeros_like(i32[3,70])",
    "zeros_like(i8[130])",   NULL,
};

/* it does not change with its inputs */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)grad;
    (void)call;
    (void)err;
    return OPTUNE_OK;
}

OPTUNE_OP(zeros_like) = {
    .name = "zeros_like",
    .summary = "zeros of the shape and dtype of data",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .bytes = bytes,
    OPTUNE_ELEMWISE_OP(expression),
};
