/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of an angle in radians, and angles of what they give. NaN stays NaN.
 *
 *   sin cos tan   of infinities NaN
 *   asin acos     from -pi/2 to pi/2 and from 0 to pi; of what is beyond -1 or 1 NaN
 *   atan          from -pi/2 to pi/2
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(sin_of, 5, s_sin(x0));
OPTUNE_SCALAR(cos_of, 5, s_cos(x0));
OPTUNE_SCALAR(tan_of, 6, s_tan(x0));
OPTUNE_SCALAR(asin_of, 5, s_asin(x0));
OPTUNE_SCALAR(acos_of, 5, s_acos(x0));
OPTUNE_SCALAR(atan_of, 6, s_atan(x0));

/* ---- gradients: d data is dy times, or over, the slope ------------------------------------ */

static int over(optune_grad *grad, int adjoint, int steepness)
{
    optune_grad_add(grad, 0, optune_grad_binary(grad, "divide", adjoint, steepness));
    return OPTUNE_OK;
}

/* 1 + x^2, or 1 - x^2 */
static int one_and_square(optune_grad *grad, int x, const char *op)
{
    return optune_grad_binary(grad, op, optune_grad_scalar(grad, x, 1),
                              optune_grad_binary(grad, "multiply", x, x));
}

/* cos(data) */
static int sin_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return unary_times_slope(grad, optune_grad_unary(grad, "cos", optune_grad_input(grad, 0)));
}

/* -sin(data) */
static int cos_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int sine = optune_grad_unary(grad, "sin", optune_grad_input(grad, 0));
    return unary_times_slope(grad, optune_grad_unary(grad, "negative", sine));
}

/* 1 + y^2 */
static int tan_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return unary_times_slope(grad, one_and_square(grad, optune_grad_output(grad, 0), "add"));
}

/* 1 / sqrt(1 - data^2) */
static int asin_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int rest = one_and_square(grad, optune_grad_input(grad, 0), "subtract");
    return over(grad, optune_grad_adjoint(grad, 0), optune_grad_unary(grad, "sqrt", rest));
}

/* -1 / sqrt(1 - data^2) */
static int acos_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int rest = one_and_square(grad, optune_grad_input(grad, 0), "subtract");
    const int down = optune_grad_unary(grad, "negative", optune_grad_adjoint(grad, 0));
    return over(grad, down, optune_grad_unary(grad, "sqrt", rest));
}

/* 1 / (1 + data^2) */
static int atan_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return over(grad, optune_grad_adjoint(grad, 0),
                one_and_square(grad, optune_grad_input(grad, 0), "add"));
}

/* ---- rows --------------------------------------------------------------------------------- */

#define ANGLE(op, text)                                                                        \
    .name = #op, .summary = text, .inputs = unary_inputs, .support_level = 3,                  \
    .gradient = op##_gradient, .samples = UNARY_FLOAT_SAMPLES(#op), UNARY_FLOAT_OP(op##_of)

OPTUNE_OPS(trigonometric) = {
    {ANGLE(sin, "sine")},
    {ANGLE(cos, "cosine")},
    {ANGLE(tan, "tangent")},
    {ANGLE(asin, "inverse sine")},
    {ANGLE(acos, "inverse cosine")},
    {ANGLE(atan, "inverse tangent")},
    {0},
};
