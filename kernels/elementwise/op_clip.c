/* SPDX-License-Identifier: Apache-2.0 */
/* clip: data limited to a_min .. a_max. NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, s_min(s_max(x0, a0), a1));

static const optune_op_attr attrs[] = {
    {.name = "a_min",
     .kind = OPTUNE_ATTR_FLOAT,
     .description = "the smallest value",
     .shown = true},
    {.name = "a_max",
     .kind = OPTUNE_ATTR_FLOAT,
     .description = "the largest value",
     .shown = true},
    {.name = NULL},
};

static const char *const samples[] = {
    "clip(f32[7], a_min=-0.5, a_max=0.25)",
    "clip(f32[3,5,17], a_min=0.0, a_max=6.0)",
    "clip(f64[9,31], a_min=-0.125, a_max=0.5)",
    "clip(i32[3,70], a_min=-2.0, a_max=50.0)",
    "clip(u1[5,70], a_min=-0.125, a_max=0.5)",
    "clip(u8[5,70], a_min=-3.0, a_max=-1.0)",
    NULL,
};

/* d data = dy where nothing was cut off */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    const int inside = optune_grad_binary(grad, "equal", x, optune_grad_output(grad, 0));
    optune_grad_add(grad, 0, host_choose(grad, inside, dy, zero));
    return OPTUNE_OK;
}

OPTUNE_OP(clip) = {
    .name = "clip",
    .summary = "limits values to a range",
    .inputs = unary_inputs,
    .attrs = attrs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_ELEMWISE_OP(expression),
};
