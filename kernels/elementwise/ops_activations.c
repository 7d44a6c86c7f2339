/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations that are one function of a value, so that what is in front of them computes them,
 * too, though their parts read it twice. NaN stays NaN.
 *
 *   leaky_relu   data, times alpha where it is below 0
 *   prelu        data, times slope where it is below 0; slope is broadcast
 *   silu         data sigmoid(data)
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(leaky, 1, s_select(x0 < 0, x0 *a0, x0));
OPTUNE_SCALAR(sloped, 0, s_select(x0 < 0, x0 *x1, x0));
OPTUNE_SCALAR(gated, 6, x0 *s_sigmoid(x0));

static const optune_op_attr leaky_attrs[] = {
    {.name = "alpha",
     .kind = OPTUNE_ATTR_FLOAT,
     .description = "the factor of values below 0",
     .shown = true},
    {.name = NULL},
};

static const optune_op_input sloped_inputs[] = {
    {"data", "tensor", "any shape", false, false},
    {"slope", "tensor", "the factor of values below 0; broadcast to data", false, false},
    {NULL, NULL, NULL, false, false},
};

/* ---- gradients --------------------------------------------------------------------------- */

static int below_zero(optune_grad *grad)
{
    const int x = optune_grad_input(grad, 0);
    return optune_grad_binary(grad, "less", x, optune_grad_scalar(grad, x, 0));
}

/* dy, times alpha below 0 */
static int of_leaky(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    const int alpha = optune_grad_scalar(grad, dy, optune_call_attr(call, "alpha")->f);
    optune_grad_add(grad, 0,
                    host_choose(grad, below_zero(grad),
                                optune_grad_binary(grad, "multiply", dy, alpha), dy));
    return OPTUNE_OK;
}

/* d data = dy, times slope below 0; d slope = dy data there, else 0 */
static int of_sloped(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0), below = below_zero(grad);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(
            grad, 0,
            host_choose(grad, below,
                        optune_grad_binary(grad, "multiply", dy, optune_grad_input(grad, 1)),
                        dy));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(
            grad, 1,
            host_choose(grad, below,
                        optune_grad_binary(grad, "multiply", dy, optune_grad_input(grad, 0)),
                        optune_grad_scalar(grad, dy, 0)));
    return OPTUNE_OK;
}

/* s + y - y s; s: sigmoid(data) */
static int of_gated(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    const int s = optune_grad_unary(grad, "sigmoid", optune_grad_input(grad, 0));
    const int less =
        optune_grad_binary(grad, "subtract", y, optune_grad_binary(grad, "multiply", y, s));
    return unary_times_slope(grad, optune_grad_binary(grad, "add", s, less));
}

OPTUNE_OPS(activations) = {
    {
        .name = "leaky_relu",
        .summary = "data, times alpha where it is below 0",
        .inputs = unary_inputs,
        .attrs = leaky_attrs,
        .support_level = 1,
        .gradient = of_leaky,
        .samples = (const char *const[]){"leaky_relu(f32[7], alpha=0.1)",
                                         "leaky_relu(f32[3,5,17], alpha=0.3)",
                                         "leaky_relu(f64[9,31], alpha=-0.5)",
                                         "leaky_relu(f32[2,1037], alpha=0.01)", NULL},
        UNARY_FLOAT_OP(leaky),
    },
    {
        .name = "prelu",
        .summary = "data, times slope where it is below 0",
        .inputs = sloped_inputs,
        .support_level = 1,
        .gradient = of_sloped,
        .samples = (const char *const[]){"prelu(f32[7], f32[7])", "prelu(f32[3,5,17], f32[17])",
                                         "prelu(f32[2,3,4,5], f32[3,1,1])",
                                         "prelu(f64[129], f64[])", "prelu(i32[3,70], i32[3,1])",
                                         NULL},
        OPTUNE_BROADCAST_OP(sloped),
    },
    {
        .name = "silu",
        .summary = "data times its logistic function",
        .inputs = unary_inputs,
        .support_level = 1,
        .gradient = of_gated,
        .samples = UNARY_FLOAT_SAMPLES("silu"),
        UNARY_FLOAT_OP(gated),
    },
    {0},
};
