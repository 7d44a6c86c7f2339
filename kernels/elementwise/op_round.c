/* SPDX-License-Identifier: Apache-2.0 */
/* round: the nearest whole number, halves to the even one. NaN and infinities stay. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, s_round(x0));

static const char *const samples[] = {
    "round(f32[7])",      "round(f32[3,5,17])", "round(f32[])",
    "round(f32[2,1037])", "round(f64[9,31])",   NULL,
};

/* it is flat wherever it has a slope */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)grad;
    (void)call;
    (void)err;
    return OPTUNE_OK;
}

OPTUNE_OP(round) = {
    .name = "round",
    .summary = "rounds to the nearest whole number, halves to even",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
