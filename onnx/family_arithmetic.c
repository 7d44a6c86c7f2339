/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of one or more tensors, element by element, that ours know by another name. */
#include <float.h>
#include <math.h>
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

static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};

/* The exponent may have a dtype of its own; powers of integers are cut off towards 0. */
static int power(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0), *y = ot_onnx_need(n, 1);
    if (!x || !y)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    double by = 0;
    if (y->data && !y->type.rank)
        ot_elements(y->type.dtype, y->data, 0, 1, &by);
    ot_onnx_value *square = by == 2 || by == 3 ? ot_onnx_2(n, "multiply", x, x) : NULL;
    if (by == 2) /* as variances are written */
        return ot_onnx_give(n, 0, square);
    if (by == 3) /* as GELU by tanh is */
        return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", square, x));
    if (ot_onnx_floating(n, x) && optune_dtype_equal(dtype, ot_onnx_type(n->m, y)->dtype))
        return binary(n);
    if (ot_onnx_floating(n, x))
        return ot_onnx_give(n, 0, ot_onnx_2(n, "power", x, ot_onnx_as(n, y, dtype)));
    ot_onnx_value *all = ot_onnx_2(n, "power", ot_onnx_as(n, x, f64), ot_onnx_as(n, y, f64));
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, dtype));
}

int ot_onnx_divisor(ot_onnx_node *n, ot_onnx_value *b)
{
    const void *elements = b->data ? ot_onnx_look(n, b) : NULL;
    if (b->data && !elements)
        return n->err->status;
    for (int64_t i = 0; elements && i < optune_tensor_elements(&b->type); i++) {
        double by;
        ot_elements(b->type.dtype, elements, i, 1, &by);
        if (by == 0)
            return ot_onnx_refuse(n, "an integer is divided by 0");
    }
    return OPTUNE_OK;
}

/* Quotients of integers are cut off towards 0, in double precision. */
static int divide(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (!a || !b || ot_onnx_floating(n, a))
        return binary(n);
    const optune_dtype whole = ot_onnx_type(n->m, a)->dtype;
    if (ot_onnx_divisor(n, b) < 0)
        return n->err->status;
    ot_onnx_value *all = ot_onnx_2(n, "divide", ot_onnx_as(n, a, f64), ot_onnx_as(n, b, f64));
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, whole));
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

/* 1, -1, or what is neither: 0 and NaN stay. */
static int sign(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    ot_onnx_value *zero = ot_onnx_number(n, x, 0);
    ot_onnx_value *const below[] = {ot_onnx_2(n, "less", x, zero), ot_onnx_number(n, x, -1), x};
    ot_onnx_value *const all[] = {ot_onnx_2(n, "greater", x, zero), ot_onnx_number(n, x, 1),
                                  ot_onnx_call(n, "where", 3, below, NULL)};
    return ot_onnx_give(n, 0, ot_onnx_call(n, "where", 3, all, NULL));
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
    return ot_onnx_give(n, 0, ot_onnx_as(n, x, dtype));
}

/* A finite number that a limit is: an attribute of old opsets, a constant input, or `usual`. */
static bool limit(const ot_onnx_node *n, const char *name, int i, double usual, double *value)
{
    const ot_onnx_value *in = ot_onnx_in(n, i);
    *value = ot_onnx_real(n, name, usual);
    if (in && (!in->data || optune_tensor_elements(&in->type) != 1))
        return false;
    if (in)
        ot_elements(in->type.dtype, in->data, 0, 1, value);
    return isfinite(*value);
}

/* The largest finite value. */
static double largest(optune_dtype dtype)
{
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        return 0x1.fep127;
    return dtype.bits == 16 ? 65504 : dtype.bits == 32 ? FLT_MAX : DBL_MAX;
}

/* One operator where numbers say it; else each limit by itself, exact in any dtype. */
static int clip(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    double low, high;
    if (!x)
        return n->err->status;
    const double most = largest(ot_onnx_type(n->m, x)->dtype);
    const bool numbers = limit(n, "min", 1, -most, &low) && limit(n, "max", 2, most, &high);
    if (ot_onnx_floating(n, x) && numbers)
        return ot_onnx_give(n, 0,
                            ot_onnx_call(n, "clip", 1, &x, "a_min=%.17g, a_max=%.17g",
                                         low > high ? high : low, high));
    const char *const names[] = {"min", "max"}, *const ops[] = {"maximum", "minimum"};
    for (int i = 0; i < 2 && x; i++) {
        ot_onnx_value *in = ot_onnx_in(n, i + 1);
        if (ot_onnx_attr_of(n, names[i]))
            in = ot_onnx_number(n, x, ot_onnx_real(n, names[i], 0));
        x = in ? ot_onnx_2(n, ops[i], x, in) : x;
    }
    return ot_onnx_give(n, 0, x);
}

static const ot_onnx_op ops[] = {
    {"Abs", unary, "abs"},
    {"Ceil", unary, "ceil"},
    {"Erf", unary, "erf"},
    {"Exp", unary, "exp"},
    {"Sin", unary, "sin"},
    {"Cos", unary, "cos"},
    {"Tan", unary, "tan"},
    {"Asin", unary, "asin"},
    {"Acos", unary, "acos"},
    {"Atan", unary, "atan"},
    {"Floor", unary, "floor"},
    {"Log", unary, "log"},
    {"Neg", unary, "negative"},
    {"Relu", unary, "relu"},
    {"Round", unary, "round"},
    {"Sqrt", unary, "sqrt"},
    {"Tanh", unary, "tanh"},
    {"Add", binary, "add"},
    {"Sub", binary, "subtract"},
    {"Mul", binary, "multiply"},
    {"Div", divide, "divide"},
    {"Pow", power, "power"},
    {"And", binary, "minimum"},
    {"Or", binary, "maximum"},
    {"Equal", binary, "equal"},
    {"Less", binary, "less"},
    {"Greater", binary, "greater"},
    {"LessOrEqual", or_equal, "less"},
    {"GreaterOrEqual", or_equal, "greater"},
    {"Xor", differ, NULL},
    {"BitwiseAnd", binary, "bitwise_and"},
    {"BitwiseOr", binary, "bitwise_or"},
    {"BitwiseXor", binary, "bitwise_xor"},
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
