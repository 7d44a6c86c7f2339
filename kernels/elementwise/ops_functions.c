/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a real number. NaN stays NaN.
 *
 *   exp       e to the power of data
 *   log       the natural logarithm: of 0 minus infinity, of negative values NaN
 *   sqrt      the square root: of negative values NaN
 *   tanh      the hyperbolic tangent
 *   sigmoid   1 / (1 + exp(-data))
 *   erf       2 / sqrt(pi) times the integral of exp(-t^2) from 0 to data
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(exp_of, 3, s_exp(x0));
OPTUNE_SCALAR(log_of, 3, s_log(x0));
OPTUNE_SCALAR(sqrt_of, 2, s_sqrt(x0));
OPTUNE_SCALAR(tanh_of, 5, s_tanh(x0));
OPTUNE_SCALAR(sigmoid_of, 5, s_sigmoid(x0));
OPTUNE_SCALAR(erf_of, 16, s_erf(x0));

/* ---- gradients: d data is dy times the slope ---------------------------------------------- */

/* y */
static int exp_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return unary_times_slope(grad, optune_grad_output(grad, 0));
}

/* 1 / data */
static int log_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0),
                                       optune_grad_input(grad, 0)));
    return OPTUNE_OK;
}

/* 1 / (2 y) */
static int sqrt_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    const int half = optune_grad_binary(grad, "multiply", optune_grad_adjoint(grad, 0),
                                        optune_grad_scalar(grad, y, 0.5));
    optune_grad_add(grad, 0, optune_grad_binary(grad, "divide", half, y));
    return OPTUNE_OK;
}

/* 1 - y y */
static int tanh_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    return unary_times_slope(
        grad, optune_grad_binary(grad, "subtract", optune_grad_scalar(grad, y, 1),
                                 optune_grad_binary(grad, "multiply", y, y)));
}

/* y - y y */
static int sigmoid_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int y = optune_grad_output(grad, 0);
    return unary_times_slope(
        grad,
        optune_grad_binary(grad, "subtract", y, optune_grad_binary(grad, "multiply", y, y)));
}

/* 2 / sqrt(pi) exp(-data^2) */
static int erf_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int square = optune_grad_binary(grad, "multiply", x, x);
    const int bell =
        optune_grad_unary(grad, "exp", optune_grad_unary(grad, "negative", square));
    return unary_times_slope(
        grad, optune_grad_binary(grad, "multiply", bell,
                                 optune_grad_scalar(grad, x, 1.1283791670955126)));
}

/* ---- rows --------------------------------------------------------------------------------- */

#define FUNCTION(op, text)                                                                     \
    .name = #op, .summary = text, .inputs = unary_inputs, .support_level = 1,                  \
    .gradient = op##_gradient, .samples = UNARY_FLOAT_SAMPLES(#op), UNARY_FLOAT_OP(op##_of)

OPTUNE_OPS(functions) = {
    {FUNCTION(exp, "exponential")},
    {FUNCTION(log, "natural logarithm")},
    {FUNCTION(sqrt, "square root")},
    {FUNCTION(tanh, "hyperbolic tangent")},
    {FUNCTION(sigmoid, "logistic function"), .presets = ACTIVATION_PRESETS("sigmoid")},
    {FUNCTION(erf, "error function")},
    {0},
};
