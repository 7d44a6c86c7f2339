/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of one or more tensors, element by element, that ours know by another name. */
#include <string.h>

#include "onnx/onnx.h"

static int unary(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, ot_onnx_1(n, n->op->arg, x)) : n->err->status;
}

/* Two inputs, NumPy's rule; before opset 7 an attribute said another. */
static int binary(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (ot_onnx_int(n, "broadcast", 0))
        return ot_onnx_refuse(n, "opset 6's 'broadcast' is not supported: convert to opset 7");
    return a && b ? ot_onnx_give(n, 0, ot_onnx_2(n, n->op->arg, a, b)) : n->err->status;
}

static bool floating(const ot_onnx_node *n, const ot_onnx_value *value)
{
    const int code = ot_onnx_type(n->m, value)->dtype.code;
    return code == OPTUNE_DTYPE_FLOAT || code == OPTUNE_DTYPE_BFLOAT;
}

static ot_onnx_value *cast(ot_onnx_node *n, ot_onnx_value *value, optune_dtype dtype)
{
    char name[16];
    ot_print_dtype(dtype, name, sizeof name);
    return ot_onnx_call(n, "cast", 1, &value, "dtype=%s", name);
}

/* Quotients of integers are cut off towards 0. */
static int divide(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (!a || !b || floating(n, a))
        return binary(n);
    const optune_dtype real = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const optune_dtype whole = ot_onnx_type(n->m, a)->dtype;
    if (!b->data)
        return ot_onnx_refuse(n, "integers are only divided by constants");
    for (int64_t i = 0; i < optune_tensor_elements(&b->type); i++) {
        double by;
        ot_elements(b->type.dtype, b->data, i, 1, &by);
        if (by == 0)
            return ot_onnx_refuse(n, "an integer is divided by 0");
    }
    ot_onnx_value *all = ot_onnx_2(n, "divide", cast(n, a, real), cast(n, b, real));
    return ot_onnx_give(n, 0, all ? cast(n, all, whole) : NULL);
}

/* The result has the base's type; powers of integers are those of doubles, rounded down to it. */
static int power(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (!a || !b)
        return n->err->status;
    const optune_dtype wide = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const optune_dtype base = ot_onnx_type(n->m, a)->dtype;
    const bool same = optune_dtype_equal(base, ot_onnx_type(n->m, b)->dtype);
    double by = 0;
    if (b->data && !b->type.rank)
        ot_elements(b->type.dtype, b->data, 0, 1, &by);
    if (by == 2) /* as variances are written */
        return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", a, a));
    if (floating(n, a))
        return ot_onnx_give(n, 0, ot_onnx_2(n, "power", a, same ? b : cast(n, b, base)));
    ot_onnx_value *all = ot_onnx_2(n, "power", cast(n, a, wide), cast(n, b, wide));
    return ot_onnx_give(n, 0, all ? cast(n, all, base) : NULL);
}

/* Of any number of inputs. */
static int variadic(ot_onnx_node *n)
{
    ot_onnx_value *all = ot_onnx_need(n, 0);
    for (int i = 1; i < (int)n->proto->n_input && all; i++) {
        ot_onnx_value *next = ot_onnx_need(n, i);
        all = next ? ot_onnx_2(n, n->op->arg, all, next) : NULL;
    }
    if (all && !strcmp(n->op->name, "Mean"))
        all = ot_onnx_2(n, "divide", all, ot_onnx_number(n, all, (double)n->proto->n_input));
    return ot_onnx_give(n, 0, all);
}

/* Not, and comparisons that ours lack, of truth values. */
static int negate(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, ot_onnx_2(n, "equal", x, ot_onnx_number(n, x, 0)))
             : n->err->status;
}

static int differ(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    ot_onnx_value *same = a && b ? ot_onnx_2(n, "equal", a, b) : NULL;
    return ot_onnx_give(n, 0,
                        same ? ot_onnx_2(n, "equal", same, ot_onnx_number(n, same, 0)) : NULL);
}

static int or_equal(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (!a || !b)
        return n->err->status;
    return ot_onnx_give(
        n, 0,
        ot_onnx_2(n, "maximum", ot_onnx_2(n, n->op->arg, a, b), ot_onnx_2(n, "equal", a, b)));
}

static int reciprocal(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    return ot_onnx_give(n, 0, x ? ot_onnx_2(n, "divide", ot_onnx_number(n, x, 1), x) : NULL);
}

static int sign(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    ot_onnx_value *zero = ot_onnx_number(n, x, 0), *one = ot_onnx_number(n, x, 1);
    ot_onnx_value *const up[] = {ot_onnx_2(n, "greater", x, zero), one, zero};
    ot_onnx_value *const down[] = {ot_onnx_2(n, "less", x, zero), one, zero};
    return ot_onnx_give(n, 0,
                        ot_onnx_2(n, "subtract", ot_onnx_call(n, "where", 3, up, NULL),
                                  ot_onnx_call(n, "where", 3, down, NULL)));
}

static int where(ot_onnx_node *n)
{
    ot_onnx_value *const in[] = {ot_onnx_need(n, 0), ot_onnx_need(n, 1), ot_onnx_need(n, 2)};
    return ot_onnx_give(n, 0, ot_onnx_call(n, "where", 3, in, NULL));
}

static int cast_to(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    ot_onnx_value *like = strcmp(n->op->name, "CastLike") ? NULL : ot_onnx_need(n, 1);
    optune_dtype dtype = {0};
    if (!x || n->err->status < 0)
        return n->err->status;
    if (like)
        dtype = ot_onnx_type(n->m, like)->dtype;
    else if (ot_onnx_dtype((int)ot_onnx_int(n, "to", 0), &dtype, n->err) < 0)
        return n->err->status;
    if (optune_dtype_equal(dtype, ot_onnx_type(n->m, x)->dtype))
        return ot_onnx_give(n, 0, x);
    return ot_onnx_give(n, 0, cast(n, x, dtype));
}

/* A limit as an attribute of old opsets, or a constant input. */
static int limit(ot_onnx_node *n, const char *name, int i, double *value)
{
    const ot_onnx_value *in = ot_onnx_in(n, i);
    *value = ot_onnx_real(n, name, *value);
    if (!in)
        return OPTUNE_OK;
    if (!in->data || optune_tensor_elements(&in->type) != 1)
        return ot_onnx_refuse(n, "'%s' is no constant number", name);
    ot_elements(in->type.dtype, in->data, 0, 1, value);
    return OPTUNE_OK;
}

static int clip(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    double low = -3.4028234663852886e38, high = -low;
    if (x && !floating(n, x)) {
        low = -9.3e18;
        high = 1.9e19;
    }
    int status = x ? limit(n, "min", 1, &low) : n->err->status;
    if (status >= 0)
        status = limit(n, "max", 2, &high);
    if (status < 0)
        return status;
    if (low > high) /* all become the upper one */
        low = high;
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "clip", 1, &x, "a_min=%.17g, a_max=%.17g", low, high));
}

static const ot_onnx_op ops[] = {
    {"Abs", unary, "abs"},
    {"Ceil", unary, "ceil"},
    {"Erf", unary, "erf"},
    {"Exp", unary, "exp"},
    {"Floor", unary, "floor"},
    {"Log", unary, "log"},
    {"Neg", unary, "negative"},
    {"Relu", unary, "relu"},
    {"Round", unary, "round"},
    {"Sigmoid", unary, "sigmoid"},
    {"Sqrt", unary, "sqrt"},
    {"Tanh", unary, "tanh"},
    {"Add", binary, "add"},
    {"Sub", binary, "subtract"},
    {"Mul", binary, "multiply"},
    {"Div", divide, "divide"},
    {"Pow", power, NULL},
    {"And", binary, "minimum"},
    {"Or", binary, "maximum"},
    {"Equal", binary, "equal"},
    {"Less", binary, "less"},
    {"Greater", binary, "greater"},
    {"LessOrEqual", or_equal, "less"},
    {"GreaterOrEqual", or_equal, "greater"},
    {"Xor", differ, NULL},
    {"Not", negate, NULL},
    {"Sum", variadic, "add"},
    {"Mean", variadic, "add"},
    {"Max", variadic, "maximum"},
    {"Min", variadic, "minimum"},
    {"Reciprocal", reciprocal, NULL},
    {"Sign", sign, NULL},
    {"Where", where, NULL},
    {"Cast", cast_to, NULL},
    {"CastLike", cast_to, NULL},
    {"Clip", clip, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(arithmetic) = {ops};
