/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: as one operator, or in the operators that they are made of. */
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

/* `below` where x is less than the limit. */
static value *choose(ot_onnx_node *n, value *x, double limit, value *below, value *above)
{
    value *const in[] = {ot_onnx_2(n, "less", x, ot_onnx_number(n, x, limit)), below, above};
    return ot_onnx_call(n, "where", 3, in, NULL);
}

/* exp(min(x, 0)) - 1: never infinite. */
static value *rise(ot_onnx_node *n, value *x)
{
    value *low = x ? ot_onnx_2(n, "minimum", x, ot_onnx_number(n, x, 0)) : NULL;
    return plus(n, ot_onnx_1(n, "exp", low), -1);
}

/* max(x, 0) + log(1 + exp(-|x|)) */
static value *softplus_of(ot_onnx_node *n, value *x)
{
    value *low = ot_onnx_1(n, "negative", ot_onnx_1(n, "abs", x));
    return ot_onnx_2(n, "add", ot_onnx_1(n, "relu", x),
                     ot_onnx_1(n, "log", plus(n, ot_onnx_1(n, "exp", low), 1)));
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
    return ot_onnx_give(n, 0,
                        choose(n, x, 0, times(n, rise(n, x), ot_onnx_real(n, "alpha", 1)), x));
}

static int selu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    value *low = times(n, rise(n, x), ot_onnx_real(n, "alpha", 1.67326319217681884765625));
    return ot_onnx_give(
        n, 0,
        times(n, choose(n, x, 0, low, x), ot_onnx_real(n, "gamma", 1.05070102214813232421875)));
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
    value *low = ot_onnx_2(n, "minimum", x, ot_onnx_number(n, x, 0));
    low = plus(n, ot_onnx_1(n, "exp", times(n, low, 1 / alpha)), -1);
    return ot_onnx_give(n, 0, choose(n, x, 0, times(n, low, alpha), x));
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

static int hard_swish(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", x, hard_sigmoid_of(n, x, 1.0 / 6, 0.5)));
}

static int softplus(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, softplus_of(n, x)) : n->err->status;
}

static int softsign(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0, ot_onnx_2(n, "divide", x, plus(n, ot_onnx_1(n, "abs", x), 1)));
}

static int mish(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0,
                        ot_onnx_2(n, "multiply", x, ot_onnx_1(n, "tanh", softplus_of(n, x))));
}

static int swish(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (!x)
        return n->err->status;
    if (alpha == 1)
        return ot_onnx_give(n, 0, ot_onnx_1(n, "silu", x));
    value *gate = ot_onnx_1(n, "sigmoid", times(n, x, alpha));
    return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", x, gate));
}

static bool is_product_of(const ot_onnx_proto *proto, const char *a, const char *b)
{
    char *const *in = proto->input;
    return !strcmp(ot_onnx_text_of(proto->op_type), "Mul") &&
           !*ot_onnx_text_of(proto->domain) && proto->n_input == 2 && proto->n_output == 1 &&
           ((!strcmp(in[0], a) && !strcmp(in[1], b)) ||
            (!strcmp(in[0], b) && !strcmp(in[1], a)));
}

/* Where nobody reads it but its product with what it is of, that product is SiLU. */
static int sigmoid(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    ot_onnx_node product;
    if (!x)
        return n->err->status;
    if (!ot_onnx_floating(n, x) || !ot_onnx_reader(n, &product) ||
        !is_product_of(product.proto, n->proto->input[0], n->proto->output[0]) ||
        ot_onnx_named(n->m, product.proto->output[0]))
        return ot_onnx_give(n, 0, ot_onnx_1(n, "sigmoid", x));
    n->m->at->done[product.index] = true;
    return ot_onnx_give(&product, 0, ot_onnx_1(&product, "silu", x));
}

/* x / 2 (1 + g); g: erf(x / sqrt(2)), or tanh(sqrt(2 / pi) (x + 0.044715 x^3)) */
static int gelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *gate;
    const char *how = ot_onnx_word(n, "approximate", "none");
    if (!x)
        return n->err->status;
    if (strcmp(how, "tanh") && strcmp(how, "none"))
        return ot_onnx_refuse(n, "approximation '%.40s' is not supported", how);
    if (*how == 't') {
        value *cube = ot_onnx_2(n, "multiply", x, ot_onnx_2(n, "multiply", x, x));
        value *bend = ot_onnx_2(n, "add", x, times(n, cube, 0.044715));
        gate = ot_onnx_1(n, "tanh", times(n, bend, 0.7978845608028654));
    } else {
        gate = ot_onnx_1(n, "erf", times(n, x, 0.70710678118654757));
    }
    return ot_onnx_give(n, 0, times(n, ot_onnx_2(n, "multiply", x, plus(n, gate, 1)), 0.5));
}

static const ot_onnx_op ops[] = {
    {"LeakyRelu", leaky_relu, NULL},
    {"PRelu", prelu, NULL},
    {"Elu", elu, NULL},
    {"Selu", selu, NULL},
    {"Celu", celu, NULL},
    {"ThresholdedRelu", thresholded_relu, NULL},
    {"HardSigmoid", hard_sigmoid, NULL},
    {"HardSwish", hard_swish, NULL},
    {"Softplus", softplus, NULL},
    {"Softsign", softsign, NULL},
    {"Mish", mish, NULL},
    {"Swish", swish, NULL},
    {"Sigmoid", sigmoid, NULL},
    {"Gelu", gelu, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(activation) = {ops};
