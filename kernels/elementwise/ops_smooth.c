/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations of networks that read their value several times where they are spelled out: one call
 * joins what is in front. NaN stays NaN.
 *
 *   gelu         data times the normal distribution's share below it, by the error function
 *   gelu_tanh    the same by the usual approximation with tanh
 *   swish        data sigmoid(beta data)
 *   hardswish    data clip(data + 3, 0, 6) / 6
 *   softplus     log(1 + exp(data))
 *   mish         data tanh(softplus(data))
 *   elu          gamma data; gamma alpha (exp(steep data) - 1) where data is below 0
 *
 * Written so that nothing cancels: 0.5 (1 + tanh(u)) is sigmoid(2 u), exp(t) - 1 is
 * tanh(t / 2) (exp(t) + 1), tanh(log(1 + e)) is e (e + 2) / (e (e + 2) + 2), and the error that
 * 1 + e makes of a small e is taken back by e / ((1 + e) - 1). One below 0 does in gelu, whose
 * reference says so. What an exponential is taken of is rounded, hence the many roundings of
 * gelu_tanh and swish far below 0.
 */
#include "kernels/elementwise/unary.h"
#include "kernels/host/gradient.h"
#include "kernels/host/region_lines.h"
#include "kernels/host/scalar.h"
#include "kernels/host/tensor.h"

OPTUNE_SCALAR(of_gelu, 20, x0 / 2 * (1 + s_erf(x0 * (s_sqrt(2) / 2))));
OPTUNE_SCALAR(of_gelu_tanh, 128,
              x0 *s_sigmoid(s_select(1, 1.5957691216057308, 0) *
                            (x0 + s_select(1, 0.044715, 0) * x0 * x0 * x0)));
OPTUNE_SCALAR(of_swish, 96, x0 *s_sigmoid(a0 *x0));
OPTUNE_SCALAR(of_hardswish, 4, x0 *(s_min(s_max(x0 + 3, 0), 6) * s_select(1, 1.0 / 6, 0)));
OPTUNE_SCALAR(of_softplus, 10,
              s_max(x0, 0) + s_select(1 + s_exp(-s_abs(x0)) == 1, s_exp(-s_abs(x0)),
                                      s_log(1 + s_exp(-s_abs(x0))) *
                                          (s_exp(-s_abs(x0)) / ((1 + s_exp(-s_abs(x0))) - 1))));
OPTUNE_SCALAR(of_mish, 12,
              x0 *(s_exp(s_min(x0, 20)) * (s_exp(s_min(x0, 20)) + 2) /
                   (s_exp(s_min(x0, 20)) * (s_exp(s_min(x0, 20)) + 2) + 2)));
OPTUNE_SCALAR(of_elu, 16,
              s_select(x0 < 0, a1 *a0 *(s_tanh(a2 *x0 / 2) * (s_exp(a2 * x0) + 1)), a1 *x0));

/* Where `at` lies in a tensor of this type. */
static int64_t offset_of(const optune_tensor *type, const int64_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < type->rank; d++)
        offset = offset * type->dim[d].min + at[d];
    return offset;
}

/* 1 + erf is known to a part of 1, not of what it is. */
static void gelu_reference(const optune_call *call, const void *const *in, int out_index,
                           const optune_region *region, double *out, double *magnitude)
{
    const optune_tensor *type = &call->input[0].type;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    (void)out_index;
    for (bool some = region_begin(region, at); some; some = region_next(region, at), n++) {
        const double x = tensor_element(in[0], type->dtype, offset_of(type, at));
        out[n] = of_gelu.value((const double[OPTUNE_MAX_OPERANDS]){x},
                               (const double[OPTUNE_MAX_NUMBERS]){0});
        magnitude[n] = fabs(x);
    }
}

static const optune_op_attr swish_attrs[] = {
    {.name = "beta",
     .kind = OPTUNE_ATTR_FLOAT,
     .description = "the factor of data in the logistic function",
     .shown = true},
    {.name = NULL},
};

static const optune_op_attr elu_attrs[] = {
    {.name = "alpha",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "1.0",
     .description = "how far below 0 it goes, before gamma",
     .shown = true},
    {.name = "gamma",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "1.0",
     .description = "the factor of all"},
    {.name = "steep",
     .kind = OPTUNE_ATTR_FLOAT,
     .value = "1.0",
     .description = "the factor of data in the exponential"},
    {.name = NULL},
};

/* ---- gradients: d data is dy times the slope ---------------------------------------------- */

static int scaled(optune_grad *grad, int x, double factor)
{
    return optune_grad_binary(grad, "multiply", x, optune_grad_scalar(grad, x, factor));
}

static int plus(optune_grad *grad, int x, double more)
{
    return optune_grad_binary(grad, "add", x, optune_grad_scalar(grad, x, more));
}

static int product(optune_grad *grad, int x, int y)
{
    return optune_grad_binary(grad, "multiply", x, y);
}

/* s + x s (1 - s) inner: of x s; s: the logistic function of what `inner` is the slope of */
static int gated_slope(optune_grad *grad, int s, int inner)
{
    const int y = optune_grad_output(grad, 0);
    const int bend = optune_grad_binary(grad, "subtract", y, product(grad, y, s));
    return optune_grad_binary(grad, "add", s, product(grad, bend, inner));
}

/* (1 + erf(x / sqrt(2))) / 2 + x exp(-x^2 / 2) / sqrt(2 pi) */
static int gelu_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int below = optune_grad_unary(grad, "erf", scaled(grad, x, 0.70710678118654752));
    const int share = scaled(grad, plus(grad, below, 1), 0.5);
    const int bell = optune_grad_unary(grad, "exp", scaled(grad, product(grad, x, x), -0.5));
    const int bend = scaled(grad, product(grad, x, bell), 0.39894228040143268);
    return unary_times_slope(grad, optune_grad_binary(grad, "add", share, bend));
}

static int gelu_tanh_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const double steep = 1.5957691216057308, cube = 0.044715;
    const int x = optune_grad_input(grad, 0);
    /* of 1000 on s is 0 or 1 and x s (1 - s) 0, times what must not be infinite */
    const int square = optune_grad_binary(grad, "minimum", product(grad, x, x),
                                          optune_grad_scalar(grad, x, 1000));
    const int u = product(grad, x, plus(grad, scaled(grad, square, steep * cube), steep));
    const int inner = plus(grad, scaled(grad, square, 3 * steep * cube), steep);
    return unary_times_slope(grad,
                             gated_slope(grad, optune_grad_unary(grad, "sigmoid", u), inner));
}

static int swish_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const double beta = optune_call_attr(call, "beta")->f;
    const int x = optune_grad_input(grad, 0);
    const int s = optune_grad_unary(grad, "sigmoid", scaled(grad, x, beta));
    return unary_times_slope(grad, gated_slope(grad, s, optune_grad_scalar(grad, x, beta)));
}

/* 0 below -3, 1 above 3, x / 3 + 1 / 2 between */
static int hardswish_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0), line = plus(grad, scaled(grad, x, 1. / 3), 0.5);
    const int low = optune_grad_binary(grad, "less", x, optune_grad_scalar(grad, x, -3));
    const int high = optune_grad_binary(grad, "greater", x, optune_grad_scalar(grad, x, 3));
    const int rest = host_choose(grad, high, optune_grad_scalar(grad, x, 1), line);
    return unary_times_slope(grad,
                             host_choose(grad, low, optune_grad_scalar(grad, x, 0), rest));
}

static int softplus_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return unary_times_slope(grad,
                             optune_grad_unary(grad, "sigmoid", optune_grad_input(grad, 0)));
}

/* t + x (1 - t^2) sigmoid(x); t: tanh(softplus(x)) */
static int mish_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int t = optune_grad_unary(grad, "tanh", optune_grad_unary(grad, "softplus", x));
    const int rest = optune_grad_binary(grad, "subtract", optune_grad_scalar(grad, x, 1),
                                        product(grad, t, t));
    const int bend =
        product(grad, product(grad, x, rest), optune_grad_unary(grad, "sigmoid", x));
    return unary_times_slope(grad, optune_grad_binary(grad, "add", t, bend));
}

/* gamma; below 0 steep (y + gamma alpha) */
static int elu_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const double alpha = optune_call_attr(call, "alpha")->f;
    const double gamma = optune_call_attr(call, "gamma")->f;
    const double steep = optune_call_attr(call, "steep")->f;
    const int x = optune_grad_input(grad, 0), y = optune_grad_output(grad, 0);
    const int low = optune_grad_binary(grad, "less", x, optune_grad_scalar(grad, x, 0));
    const int below = scaled(grad, plus(grad, y, gamma * alpha), steep);
    return unary_times_slope(grad,
                             host_choose(grad, low, below, optune_grad_scalar(grad, x, gamma)));
}

/* ---- rows --------------------------------------------------------------------------------- */

#define SMOOTH(op, text)                                                                       \
    .name = #op, .summary = text, .inputs = unary_inputs, .support_level = 3,                  \
    .gradient = op##_gradient, .samples = UNARY_FLOAT_SAMPLES(#op), UNARY_FLOAT_OP(of_##op)

OPTUNE_OPS(smooth) = {
    {
        .name = "gelu",
        .summary = "data times the normal distribution's share below it",
        .inputs = unary_inputs,
        .pattern = OPTUNE_ELEMWISE,
        .n_outputs = 1,
        .support_level = 3,
        .types = unary_float_types,
        .flops = optune_pattern_flops,
        .terms = optune_pattern_terms,
        .reference = gelu_reference,
        .scalar = &of_gelu,
        .gradient = gelu_gradient,
        .samples = UNARY_FLOAT_SAMPLES("gelu"),
        .presets = ACTIVATION_PRESETS("gelu"),
    },
    {SMOOTH(gelu_tanh, "gelu by its usual approximation with tanh")},
    {SMOOTH(hardswish, "data times clip(data + 3, 0, 6) / 6")},
    {SMOOTH(softplus, "logarithm of 1 + exp(data)")},
    {SMOOTH(mish, "data times the hyperbolic tangent of its softplus")},
    {
        .name = "swish",
        .summary = "data times the logistic function of beta times it",
        .inputs = unary_inputs,
        .attrs = swish_attrs,
        .support_level = 3,
        .gradient = swish_gradient,
        .samples = (const char *const[]){"swish(f32[7], beta=1.702)",
                                         "swish(f32[3,5,17], beta=-0.5)",
                                         "swish(f64[9,31], beta=2.0)",
                                         "swish(f32[2,1037], beta=1.702)", NULL},
        UNARY_FLOAT_OP(of_swish),
    },
    {
        .name = "elu",
        .summary = "gamma data, below 0 gamma alpha (exp(steep data) - 1)",
        .inputs = unary_inputs,
        .attrs = elu_attrs,
        .support_level = 3,
        .gradient = elu_gradient,
        .samples = (const char *const[]){"elu(f32[7], alpha=1.0)",
                                         "elu(f32[3,5,17], alpha=1.673, gamma=1.051)",
                                         "elu(f64[9,31], alpha=0.5, steep=2.0)",
                                         "elu(f32[2,1037], alpha=-0.3)", NULL},
        UNARY_FLOAT_OP(of_elu),
    },
    {0},
};
