/* SPDX-License-Identifier: Apache-2.0 */
/* abs: |data|. NaN stays NaN; the smallest integer stays itself. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, s_abs(x0));

static const char *const samples[] = {
    "abs(f32[7])", "abs(f32[3,5,17])", "abs(f64[9,31])", "abs(i32[3,70])", NULL,
};

/* d data = dy, or -dy where data is not positive, and 0 of 0 */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int dy = optune_grad_adjoint(grad, 0);
    const int positive = optune_grad_binary(grad, "greater", x, optune_grad_scalar(grad, x, 0));
    const int minus = optune_grad_unary(grad, "negative", dy);
    const int away = host_choose(grad, positive, dy, minus);
    const int zero = optune_grad_scalar(grad, dy, 0);
    optune_grad_add(grad, 0, host_choose(grad, x, away, zero));
    return OPTUNE_OK;
}

OPTUNE_OP(abs) = {
    .name = "abs",
    .summary = "magnitude",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_ELEMWISE_OP(expression),
};
