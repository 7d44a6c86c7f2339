/* SPDX-License-Identifier: Apache-2.0 */
/* Hyperbolic functions and their inverses, by exponentials and logarithms that lose no digits near
 * 0 and are as infinite as the functions are. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static value *plus(ot_onnx_node *n, value *x, double more)
{
    return x ? ot_onnx_2(n, "add", x, ot_onnx_number(n, x, more)) : NULL;
}

static value *times(ot_onnx_node *n, value *x, double factor)
{
    return x ? ot_onnx_2(n, "multiply", x, ot_onnx_number(n, x, factor)) : NULL;
}

/* From where on sums and squares of a few of them are beside the point or beyond the type. */
static double far_of(const ot_onnx_node *n, const value *x, double narrow, double wide)
{
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    return dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 16 ? narrow : wide;
}

/* Of y >= 0: what 1 + y rounds away is put back (Kahan). */
static value *log_of_1_and(ot_onnx_node *n, value *y)
{
    value *u = plus(n, y, 1);
    value *far =
        u ? ot_onnx_2(n, "greater", u, ot_onnx_number(n, u, far_of(n, u, 8000, 3.0e38 / 8)))
          : NULL;
    value *steep = ot_onnx_2(n, "divide", ot_onnx_2(n, "multiply", ot_onnx_1(n, "log", u), y),
                             plus(n, u, -1));
    value *same = u ? ot_onnx_2(n, "equal", u, ot_onnx_number(n, u, 1)) : NULL;
    value *near = ot_onnx_call(n, "where", 3, (value *const[]){same, y, steep}, NULL);
    return ot_onnx_call(n, "where", 3, (value *const[]){far, ot_onnx_1(n, "log", u), near},
                        NULL);
}

/* `of_magnitude` with the sign of x; 0 and NaN stay what they are. */
static value *signed_as(ot_onnx_node *n, value *x, value *of_magnitude)
{
    value *below = ot_onnx_2(n, "less", x, ot_onnx_number(n, x, 0));
    value *const in[] = {below, ot_onnx_1(n, "negative", of_magnitude), of_magnitude};
    return ot_onnx_call(n, "where", 3, in, NULL);
}

/* (e^|x| + e^-|x|) / 2, halved before it is squared: it is infinite no earlier than that. */
static value *cosh_of(ot_onnx_node *n, value *x)
{
    value *root = ot_onnx_1(n, "exp", times(n, ot_onnx_1(n, "abs", x), 0.5));
    value *small =
        times(n, ot_onnx_1(n, "exp", ot_onnx_1(n, "negative", ot_onnx_1(n, "abs", x))), 0.5);
    return ot_onnx_2(n, "add", ot_onnx_2(n, "multiply", times(n, root, 0.5), root), small);
}

static int hyperbolic_cosine(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, cosh_of(n, x)) : n->err->status;
}

static int hyperbolic_sine(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0,
                            ot_onnx_2(n, "multiply", ot_onnx_1(n, "tanh", x), cosh_of(n, x)))
             : n->err->status;
}

/* log(2 x) of what is large, from where on that is the same for x's type. */
static value *log_of_twice(ot_onnx_node *n, value *x, value *otherwise)
{
    value *far = plus(n, ot_onnx_1(n, "log", x), 0.69314718055994531);
    value *large =
        x ? ot_onnx_2(n, "greater", x, ot_onnx_number(n, x, far_of(n, x, 200, 1e9))) : NULL;
    return ot_onnx_call(n, "where", 3, (value *const[]){large, far, otherwise}, NULL);
}

/* log(1 + |x| + x^2 / (1 + sqrt(1 + x^2))) */
static int inverse_sine(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    value *size = ot_onnx_1(n, "abs", x);
    value *root = ot_onnx_1(n, "sqrt", plus(n, ot_onnx_2(n, "multiply", x, x), 1));
    value *part = ot_onnx_2(n, "divide", ot_onnx_2(n, "multiply", x, x), plus(n, root, 1));
    value *near = log_of_1_and(n, ot_onnx_2(n, "add", size, part));
    return ot_onnx_give(n, 0, signed_as(n, x, log_of_twice(n, size, near)));
}

/* log(x + sqrt(x - 1) sqrt(x + 1)): of what is less than 1 NaN */
static int inverse_cosine(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    value *less = plus(n, x, -1);
    value *roots = ot_onnx_2(n, "multiply", ot_onnx_1(n, "sqrt", less),
                             ot_onnx_1(n, "sqrt", plus(n, x, 1)));
    value *near = log_of_1_and(n, ot_onnx_2(n, "add", less, roots));
    return ot_onnx_give(n, 0, log_of_twice(n, x, near));
}

/* log(1 + 2 |x| / (1 - |x|)) / 2 */
static int inverse_tangent(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    value *size = ot_onnx_1(n, "abs", x);
    value *rest = plus(n, ot_onnx_1(n, "negative", size), 1);
    value *y = ot_onnx_2(n, "divide", times(n, size, 2), rest);
    return ot_onnx_give(n, 0, signed_as(n, x, times(n, log_of_1_and(n, y), 0.5)));
}

static const ot_onnx_op ops[] = {
    {"Sinh", hyperbolic_sine, NULL},  {"Cosh", hyperbolic_cosine, NULL},
    {"Asinh", inverse_sine, NULL},    {"Acosh", inverse_cosine, NULL},
    {"Atanh", inverse_tangent, NULL}, {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(hyperbolic) = {ops};
