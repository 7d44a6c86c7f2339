/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: as one operator, or in the operators that they are made of. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static value *times(ot_onnx_node *n, value *x, double factor)
{
    return x ? ot_onnx_2(n, "multiply", x, ot_onnx_number(n, x, factor)) : NULL;
}

static value *plus(ot_onnx_node *n, value *x, double more)
{
    return x ? ot_onnx_2(n, "add", x, ot_onnx_number(n, x, more)) : NULL;
}

static int leaky_relu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(
        n, 0,
        ot_onnx_call(n, "leaky_relu", 1, &x, "alpha=%.17g", ot_onnx_real(n, "alpha", 0.01)));
}

static int prelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *slope = ot_onnx_need(n, 1);
    if (!x || !slope)
        return n->err->status;
    return ot_onnx_give(n, 0, ot_onnx_2(n, "prelu", x, slope));
}

static int elu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(
        n, 0, ot_onnx_call(n, "elu", 1, &x, "alpha=%.17g", ot_onnx_real(n, "alpha", 1)));
}

static int selu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "elu", 1, &x, "alpha=%.17g, gamma=%.17g",
                                     ot_onnx_real(n, "alpha", 1.67326319217681884765625),
                                     ot_onnx_real(n, "gamma", 1.05070102214813232421875)));
}

/* max(x, 0) + min(0, alpha (exp(x / alpha) - 1)): that of x above 0 is never below 0, whatever the
 * sign of alpha. */
static int celu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (!x)
        return n->err->status;
    if (alpha == 0)
        return ot_onnx_refuse(n, "alpha is 0");
    return ot_onnx_give(
        n, 0, ot_onnx_call(n, "elu", 1, &x, "alpha=%.17g, steep=%.17g", alpha, 1 / alpha));
}

static int thresholded_relu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (!x)
        return n->err->status;
    value *const in[] = {ot_onnx_2(n, "greater", x, ot_onnx_number(n, x, alpha)), x,
                         ot_onnx_number(n, x, 0)};
    return ot_onnx_give(n, 0, ot_onnx_call(n, "where", 3, in, NULL));
}

static value *hard_sigmoid_of(ot_onnx_node *n, value *x, double alpha, double beta)
{
    value *line = plus(n, times(n, x, alpha), beta);
    return ot_onnx_call(n, "clip", 1, &line, "a_min=0.0, a_max=1.0");
}

static int hard_sigmoid(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(
        n, 0,
        hard_sigmoid_of(n, x, ot_onnx_real(n, "alpha", 0.2), ot_onnx_real(n, "beta", 0.5)));
}

/* One operator of ours, of floats. */
static int same(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, ot_onnx_1(n, n->op->arg, x)) : n->err->status;
}

static int softsign(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0, ot_onnx_2(n, "divide", x, plus(n, ot_onnx_1(n, "abs", x), 1)));
}

static int swish(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (!x)
        return n->err->status;
    if (alpha == 1)
        return ot_onnx_give(n, 0, ot_onnx_1(n, "silu", x));
    return ot_onnx_give(n, 0, ot_onnx_call(n, "swish", 1, &x, "beta=%.17g", alpha));
}

/* One input through swish, times the other. */
static int swiglu(ot_onnx_node *n)
{
    value *gate = ot_onnx_need(n, 0), *x = ot_onnx_need(n, 1);
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (!gate || !x)
        return n->err->status;
    gate = alpha == 1 ? ot_onnx_1(n, "silu", gate)
                      : ot_onnx_call(n, "swish", 1, &gate, "beta=%.17g", alpha);
    return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", gate, x));
}

static int gelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const char *how = ot_onnx_word(n, "approximate", "none");
    if (!x)
        return n->err->status;
    if (strcmp(how, "tanh") && strcmp(how, "none"))
        return ot_onnx_refuse(n, "approximation '%.40s' is not supported", how);
    return ot_onnx_give(n, 0, ot_onnx_1(n, *how == 't' ? "gelu_tanh" : "gelu", x));
}

/* ---- named by another operator --------------------------------------------------------------- */

/* With its parameters as it has them where none are given; NAN: they must be. */
static const struct {
    const char *name, *op, *first, *second;
    double of[2];
} named[] = {
    {"Relu", "relu", NULL, NULL, {0, 0}},
    {"Sigmoid", "sigmoid", NULL, NULL, {0, 0}},
    {"Tanh", "tanh", NULL, NULL, {0, 0}},
    {"Softplus", "softplus", NULL, NULL, {0, 0}},
    {"HardSwish", "hardswish", NULL, NULL, {0, 0}},
    {"Gelu", "gelu", NULL, NULL, {0, 0}},
    {"LeakyRelu", "leaky_relu", "alpha", NULL, {0.01, 0}},
    {"Elu", "elu", "alpha", NULL, {1, 0}},
    {"Clip", "clip", "a_min", "a_max", {NAN, NAN}},
    {"Selu", "elu", "alpha", "gamma", {1.67326319217681884765625, 1.05070102214813232421875}},
};

value *ot_onnx_activated(ot_onnx_node *n, value *x, const char *name, int given,
                         const double *of)
{
    double p[2];
    if (!*name || !x)
        return x;
    if (!strcmp(name, "HardSigmoid"))
        return hard_sigmoid_of(n, x, given > 0 ? of[0] : 0.2, given > 1 ? of[1] : 0.5);
    for (int i = 0; i < OT_COUNT(named); i++) {
        const char *op = named[i].op, *first = named[i].first, *second = named[i].second;
        for (int k = 0; k < 2; k++)
            p[k] = k < given ? of[k] : named[i].of[k];
        if (strcmp(name, named[i].name) != 0 || isnan(p[0]) || isnan(p[1]))
            continue;
        return second
                   ? ot_onnx_call(n, op, 1, &x, "%s=%.17g, %s=%.17g", first, p[0], second, p[1])
               : first ? ot_onnx_call(n, op, 1, &x, "%s=%.17g", first, p[0])
                       : ot_onnx_1(n, op, x);
    }
    ot_onnx_refuse(n, "activation '%.40s' with %d parameters is not supported", name, given);
    return NULL;
}

static const ot_onnx_op ops[] = {
    {"LeakyRelu", leaky_relu, NULL},
    {"PRelu", prelu, NULL},
    {"Elu", elu, NULL},
    {"Selu", selu, NULL},
    {"Celu", celu, NULL},
    {"ThresholdedRelu", thresholded_relu, NULL},
    {"HardSigmoid", hard_sigmoid, NULL},
    {"HardSwish", same, "hardswish"},
    {"Softplus", same, "softplus"},
    {"Softsign", softsign, NULL},
    {"Mish", same, "mish"},
    {"Swish", swish, NULL},
    {"SwiGLU", swiglu, NULL},
    {"Sigmoid", same, "sigmoid"},
    {"Gelu", gelu, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(activation) = {ops};
