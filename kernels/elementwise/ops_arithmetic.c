/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on two operands, broadcast; NaN when either is.
 *
 *   add, subtract, multiply   integers wrap
 *   divide                    of floating dtypes; by zero: infinity, or NaN of 0 / 0
 *   power                     of floating dtypes, with the exceptions of C's pow
 */
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(plus, 0, x0 + x1);
OPTUNE_SCALAR(minus, 0, x0 - x1);
OPTUNE_SCALAR(times, 0, x0 *x1);
OPTUNE_SCALAR(over, 0, x0 / x1);
OPTUNE_SCALAR(raised, 4, s_pow(x0, x1));

/* ---- gradients --------------------------------------------------------------------------- */

/* d lhs = d rhs = dy, each summed down to its shape */
static int of_add(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, dy);
    optune_grad_add(grad, 1, dy);
    return OPTUNE_OK;
}

/* d lhs = dy, d rhs = -dy */
static int of_subtract(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, dy);
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1, optune_grad_unary(grad, "negative", dy));
    return OPTUNE_OK;
}

/* d lhs = dy rhs, d rhs = dy lhs */
static int of_multiply(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int a = optune_grad_input(grad, 0), b = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0, optune_grad_binary(grad, "multiply", dy, b));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1, optune_grad_binary(grad, "multiply", dy, a));
    return OPTUNE_OK;
}

/* d lhs = dy / rhs, d rhs = -dy / rhs * output */
static int of_divide(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int rhs = optune_grad_input(grad, 1);
    const int share = optune_grad_binary(grad, "divide", optune_grad_adjoint(grad, 0), rhs);
    optune_grad_add(grad, 0, share);
    if (!optune_grad_wants(grad, 1))
        return OPTUNE_OK;
    const int product =
        optune_grad_binary(grad, "multiply", share, optune_grad_output(grad, 0));
    optune_grad_add(grad, 1, optune_grad_unary(grad, "negative", product));
    return OPTUNE_OK;
}

/* d lhs = dy rhs lhs^(rhs-1), and 0 where rhs is 0, also of lhs 0; d rhs = dy output log(lhs), and
 * 0 where lhs is 0 and rhs not below it: 0 to any of these powers is the same. */
static int of_power(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int a = optune_grad_input(grad, 0), b = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0), zero = optune_grad_scalar(grad, dy, 0);
    const int less = optune_grad_binary(grad, "subtract", b, optune_grad_scalar(grad, b, 1));
    const int slope =
        optune_grad_binary(grad, "multiply", b, optune_grad_binary(grad, "power", a, less));
    if (optune_grad_wants(grad, 0))
        optune_grad_add(
            grad, 0,
            optune_grad_binary(grad, "multiply", dy, host_choose(grad, b, slope, zero)));
    if (!optune_grad_wants(grad, 1))
        return OPTUNE_OK;
    const int growth = optune_grad_binary(grad, "multiply", optune_grad_output(grad, 0),
                                          optune_grad_unary(grad, "log", a));
    const int below = optune_grad_binary(grad, "less", b, zero);
    const int known = host_choose(grad, a, growth, host_choose(grad, below, growth, zero));
    optune_grad_add(grad, 1, optune_grad_binary(grad, "multiply", dy, known));
    return OPTUNE_OK;
}

/* ---- rows -------------------------------------------------------------------------------- */

static int float_types(optune_call *call, optune_err *err)
{
    const int status = optune_broadcast_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

#define RESNET50(op)                                                                           \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[1,256,56,56], f32[1,256,56,56])", op "(f32[1,512,28,28], f32[1,512,28,28])",  \
            op "(f32[1,1024,14,14], f32[1,1024,14,14])",                                       \
            op "(f32[1,2048,7,7], f32[1,2048,7,7])", NULL                                      \
    }

#define BIAS(op)                                                                               \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[1,64,112,112], f32[64,1,1])", op "(f32[128,3072], f32[3072])", NULL           \
    }

#define LARGE(op)                                                                              \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(f32[67108864], f32[67108864])", NULL                                              \
    }

#define PRESETS(op, what)                                                                      \
    (const optune_preset[])                                                                    \
    {                                                                                          \
        {"resnet50", what " of ResNet-50, batch 1", RESNET50(op)},                             \
            {"bias", "one value for each channel", BIAS(op)},                                  \
            {"large", "256 MB each: limited by memory", LARGE(op)},                            \
        {                                                                                      \
            .name = NULL                                                                       \
        }                                                                                      \
    }

#define ROW(op, text, expression)                                                              \
    .name = #op, .summary = text, .inputs = binary_inputs, .support_level = 1,                 \
    .gradient = of_##op, .samples = BINARY_SAMPLES(#op), OPTUNE_BROADCAST_OP(expression)

#define FLOAT_ROW(op, text, expression)                                                        \
    .name = #op, .summary = text, .inputs = binary_inputs, .support_level = 1,                 \
    .gradient = of_##op, .samples = BINARY_FLOAT_SAMPLES(#op), .pattern = OPTUNE_BROADCAST,    \
    .n_outputs = 1, .scalar = &(expression), .types = float_types,                             \
    .flops = optune_pattern_flops, .terms = optune_pattern_terms,                              \
    .reference = optune_pattern_reference

OPTUNE_OPS(arithmetic) = {
    {ROW(add, "sum of two tensors", plus), .presets = PRESETS("add", "the residual sums")},
    {ROW(subtract, "difference of two tensors", minus)},
    {ROW(multiply, "product of two tensors", times),
     .presets = PRESETS("multiply", "products in the shapes")},
    {FLOAT_ROW(divide, "quotient of two tensors", over)},
    {FLOAT_ROW(power, "lhs to the power of rhs", raised)},
    {0},
};
