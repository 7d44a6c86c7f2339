/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders, tests of elements, and what else is one formula of them. */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static value *negated(ot_onnx_node *n, value *x)
{
    return x ? ot_onnx_2(n, "equal", x, ot_onnx_number(n, x, 0)) : NULL;
}

static value *choose(ot_onnx_node *n, value *which, value *a, value *b)
{
    return ot_onnx_call(n, "where", 3, (value *const[]){which, a, b}, NULL);
}

/* The whole number next to x on the side of 0. */
static value *truncated(ot_onnx_node *n, value *x)
{
    value *below = x ? ot_onnx_2(n, "less", x, ot_onnx_number(n, x, 0)) : NULL;
    return choose(n, below, ot_onnx_1(n, "ceil", x), ot_onnx_1(n, "floor", x));
}

/* a - b round(a / b), rounded down, or with fmod towards 0; in double precision, where 53 bits hold
 * the numbers. Of floats it is rounded towards 0 first, so that infinity divides, too. */
static int mod(ot_onnx_node *n)
{
    value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (!a || !b)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, a)->dtype;
    const bool real = ot_onnx_floating(n, a), fmod = ot_onnx_int(n, "fmod", 0);
    char name[16];
    if (!real && ot_onnx_divisor(n, b) < 0)
        return n->err->status;
    value *wide[2] = {ot_onnx_call(n, "cast", 1, &a, "dtype=f64"),
                      ot_onnx_call(n, "cast", 1, &b, "dtype=f64")};
    value *by = ot_onnx_call(n, "divide", 2, wide, NULL);
    by = fmod || real ? truncated(n, by) : ot_onnx_1(n, "floor", by);
    value *rest =
        by ? ot_onnx_2(n, "subtract", wide[0], ot_onnx_2(n, "multiply", wide[1], by)) : NULL;
    if (real) { /* by infinity everything is its own rest, but for infinity itself */
        value *far = ot_onnx_1(n, "abs", wide[1]);
        far = far ? ot_onnx_2(n, "equal", far, ot_onnx_number(n, far, (double)INFINITY)) : NULL;
        value *same = ot_onnx_2(n, "add", wide[0], ot_onnx_2(n, "subtract", wide[0], wide[0]));
        rest = choose(n, far, same, rest);
    }
    if (real && !fmod) { /* of the divisor's sign */
        value *zero = rest ? ot_onnx_number(n, rest, 0) : NULL;
        value *other =
            choose(n, ot_onnx_2(n, "less", wide[1], zero), ot_onnx_2(n, "greater", rest, zero),
                   ot_onnx_2(n, "less", rest, zero));
        rest = choose(n, other, ot_onnx_2(n, "add", rest, wide[1]), rest);
    }
    ot_print_dtype(dtype, name, sizeof name);
    return ot_onnx_give(n, 0, ot_onnx_call(n, "cast", 1, &rest, "dtype=%s", name));
}

static int is_nan(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, negated(n, ot_onnx_2(n, "equal", x, x))) : n->err->status;
}

/* Beyond every number that a type has. */
static int is_infinite(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *up = NULL, *down = NULL;
    if (!x)
        return n->err->status;
    const bool above = ot_onnx_int(n, "detect_positive", 1);
    const bool below = ot_onnx_int(n, "detect_negative", 1);
    up = ot_onnx_2(n, "equal", x, ot_onnx_number(n, x, (double)INFINITY));
    down = ot_onnx_2(n, "equal", x, ot_onnx_number(n, x, -(double)INFINITY));
    if (above && below)
        return ot_onnx_give(n, 0, up ? ot_onnx_2(n, "maximum", up, down) : NULL);
    if (!above && !below)
        return ot_onnx_give(n, 0, up ? ot_onnx_2(n, "minimum", up, down) : NULL);
    return ot_onnx_give(n, 0, above ? up : down);
}

/* x + bias below -lambd, x - bias above lambd, 0 between; of integers cut off towards 0. */
static int shrink(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const double limit = ot_onnx_real(n, "lambd", 0.5), bias = ot_onnx_real(n, "bias", 0);
    if (!x)
        return n->err->status;
    const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    if (!ot_onnx_floating(n, x))
        x = ot_onnx_as(n, x, f64);
    value *low = ot_onnx_2(n, "less", x, ot_onnx_number(n, x, -limit));
    value *high = ot_onnx_2(n, "greater", x, ot_onnx_number(n, x, limit));
    value *other = choose(n, high, ot_onnx_2(n, "subtract", x, ot_onnx_number(n, x, bias)),
                          ot_onnx_number(n, x, 0));
    value *all = choose(n, low, ot_onnx_2(n, "add", x, ot_onnx_number(n, x, bias)), other);
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, dtype));
}

static const ot_onnx_op ops[] = {
    {"Mod", mod, NULL},       {"IsNaN", is_nan, NULL}, {"IsInf", is_infinite, NULL},
    {"Shrink", shrink, NULL}, {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(remainder) = {ops};
