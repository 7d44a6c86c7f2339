/* SPDX-License-Identifier: Apache-2.0 */
/* ceil: the smallest whole number that is not below data. NaN and infinities stay. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, -s_floor(-x0));

static const char *const samples[] = {
    "ceil(f32[7])",      "ceil(f32[3,5,17])", "ceil(f32[])",
    "ceil(f32[2,1037])", "ceil(f64[9,31])",   NULL,
};

/* it is flat wherever it has a slope */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)grad;
    (void)call;
    (void)err;
    return OPTUNE_OK;
}

OPTUNE_OP(ceil) = {
    .name = "ceil",
    .summary = "rounds up to a whole number",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    UNARY_FLOAT_OP(expression),
};
