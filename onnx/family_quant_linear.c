/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised operators that ONNX has not and onnxruntime writes (com.microsoft): what the numbers
 * stand for is computed in float32 and rounded to the output's scale; products are summed as
 * integers of 32 bits. An input is three: its integers, their scale, their zero, which may be left
 * out.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

/* What the integers `x` stand for, by the scale and the zero from input `at` on. */
static value *real_of(ot_onnx_node *n, value *x, int at)
{
    value *scale = ot_onnx_need(n, at), *zero = ot_onnx_in(n, at + 1);
    if (!x || !scale)
        return NULL;
    value *all = ot_onnx_as(n, x, f32);
    if (zero)
        all = ot_onnx_2(n, "subtract", all, ot_onnx_along(n, x, ot_onnx_as(n, zero, f32), 1));
    return ot_onnx_2(n, "multiply", all, ot_onnx_along(n, x, ot_onnx_as(n, scale, f32), 1));
}

static value *real(ot_onnx_node *n, int at)
{
    return real_of(n, ot_onnx_need(n, at), at + 1);
}

/* What an output is rounded by. */
typedef struct end {
    value *scale, *zero; /* zero: NULL is 0 */
    optune_dtype dtype;
} end;

/* From input `at` on, against `all`; without a zero it is of `like`'s dtype. */
static bool end_of(ot_onnx_node *n, value *all, int at, const value *like, end *e)
{
    value *scale = all ? ot_onnx_need(n, at) : NULL, *zero = ot_onnx_in(n, at + 1);
    *e = (end){0};
    if ((!scale || !like) && n->err->status >= 0)
        ot_onnx_refuse(n, "it cannot be computed");
    if (n->err->status < 0)
        return false;
    e->dtype = ot_onnx_type(n->m, zero ? zero : like)->dtype;
    e->scale = ot_onnx_along(n, all, ot_onnx_as(n, scale, f32), 1);
    e->zero = zero ? ot_onnx_along(n, all, ot_onnx_as(n, zero, f32), 1) : NULL;
    return n->err->status >= 0;
}

/* `all` by the scale and the zero from input `at` on. */
static int give_rounded(ot_onnx_node *n, value *all, int at, const value *like)
{
    end e;
    return end_of(n, all, at, like, &e)
               ? ot_onnx_give(n, 0, ot_onnx_quantised(n, all, e.scale, e.zero, e.dtype))
               : n->err->status;
}

/* ---- one by one -------------------------------------------------------------------------- */

static int binary(ot_onnx_node *n)
{
    value *all = ot_onnx_2(n, n->op->arg, real(n, 0), real(n, 3));
    return give_rounded(n, all, 6, ot_onnx_in(n, 0));
}

static int sigmoid(ot_onnx_node *n)
{
    return give_rounded(n, ot_onnx_1(n, "sigmoid", real(n, 0)), 3, ot_onnx_in(n, 0));
}

static int leaky_relu(ot_onnx_node *n)
{
    value *x = real(n, 0);
    value *all =
        ot_onnx_call(n, "leaky_relu", 1, &x, "alpha=%.17g", ot_onnx_real(n, "alpha", 0.01));
    return give_rounded(n, all, 3, ot_onnx_in(n, 0));
}

static int where(ot_onnx_node *n)
{
    value *const in[] = {ot_onnx_need(n, 0), real(n, 1), real(n, 4)};
    return give_rounded(n, ot_onnx_call(n, "where", 3, in, NULL), 7, ot_onnx_in(n, 1));
}

static int softmax(ot_onnx_node *n)
{
    value *x = real(n, 0);
    const bool flat = ot_onnx_int(n, "opset", n->m->opset) < 13;
    return give_rounded(n, x ? ot_onnx_softmax(n, x, flat) : NULL, 3, ot_onnx_in(n, 0));
}

/* ---- over several ------------------------------------------------------------------------ */

/* The output's scale and zero come first. */
static int concat(ot_onnx_node *n)
{
    const int parts = ((int)n->proto->n_input - 2) / 3;
    value **part =
        ot_arena_alloc(&n->m->arena, (size_t)(parts > 0 ? parts + 1 : 1) * sizeof *part);
    if (parts < 1 || (int)n->proto->n_input != 2 + 3 * parts)
        return ot_onnx_refuse(n, "%zu inputs are no scale, zero and triples of each part",
                              n->proto->n_input);
    for (int i = 0; i < parts; i++)
        if (!(part[i] = real(n, 2 + 3 * i)))
            return n->err->status;
    const int rank = ot_onnx_rank(n, part[0]);
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 1), rank);
    if (axis < 0)
        return n->err->status;
    return give_rounded(n, ot_onnx_join(n, axis, parts, part), 0, ot_onnx_in(n, 2));
}

/* A whole sum by one factor, which its scales and the places make, as onnxruntime rounds it. */
static int global_pool(ot_onnx_node *n)
{
    enum {
        WHOLE = 1 << 24,
        MOST = 1 << 9
    }; /* a float32 is exact up to, of a byte less its zero */
    value *x = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1), *zero = ot_onnx_in(n, 2);
    const bool last = ot_onnx_int(n, "channels_last", 0) != 0;
    const int rank = x && scale ? ot_onnx_rank(n, x) : -1;
    int64_t axes[OPTUNE_MAX_RANK], dim[OPTUNE_MAX_RANK], places = 1;
    if (rank >= 0 && rank < 3)
        return ot_onnx_refuse(n, "its input has %d dims, fewer than 3", rank);
    if (rank < 0 || !ot_onnx_dims_at(n, x, last ? ~(1u | 1u << (rank - 1)) : ~3u, dim))
        return n->err->status;
    for (int d = 2; d < rank; d++) {
        axes[d - 2] = last ? d - 1 : d;
        places *= dim[axes[d - 2]];
    }
    const optune_dtype wide = places < WHOLE / MOST ? f32 : i32;
    value *all = ot_onnx_as(n, x, wide);
    if (zero)
        all = ot_onnx_2(n, "subtract", all, ot_onnx_along(n, x, ot_onnx_as(n, zero, wide), 1));
    all = ot_onnx_call(n, "sum", 1, &all, "axis=[%s], keepdims=true",
                       ot_onnx_text(n->m, rank - 2, axes));
    all = ot_onnx_as(n, all, f32);
    end e;
    if (!end_of(n, all, 3, x, &e))
        return n->err->status;
    scale = ot_onnx_along(n, all, ot_onnx_as(n, scale, f32), 1);
    value *over = ot_onnx_2(n, "multiply", e.scale, ot_onnx_number(n, e.scale, (double)places));
    all = ot_onnx_1(n, "round",
                    ot_onnx_2(n, "multiply", all, ot_onnx_2(n, "divide", scale, over)));
    all = e.zero ? ot_onnx_2(n, "add", all, e.zero) : all;
    return ot_onnx_give(n, 0, all ? ot_onnx_cut(n, all, e.dtype, NULL) : NULL);
}

/* The zero is added before it is rounded. */
static int pool(ot_onnx_node *n)
{
    ot_onnx_window w;
    end e;
    if (ot_onnx_slide(n, NULL, &w) < 0 ||
        (ot_onnx_int(n, "count_include_pad", 0) && ot_onnx_pad_up(n, &w) < 0))
        return n->err->status; /* a mean of whole windows, also where they hang over */
    w.data = real_of(n, w.data, 1);
    value *all = w.data ? ot_onnx_pooled(n, "avg_pool2d", &w) : NULL;
    all = all ? ot_onnx_unslide(n, &w, all) : NULL;
    if (!end_of(n, all, 3, ot_onnx_in(n, 0), &e))
        return n->err->status;
    all = ot_onnx_2(n, "divide", all, e.scale);
    all = ot_onnx_1(n, "round", e.zero ? ot_onnx_2(n, "add", all, e.zero) : all);
    return ot_onnx_give(n, 0, all ? ot_onnx_cut(n, all, e.dtype, NULL) : NULL);
}

static int mean(ot_onnx_node *n)
{
    value *x = real(n, 0);
    ot_onnx_list axes;
    const int some = x ? ot_onnx_ints(n, "axes", &axes) : n->err->status;
    if (some < 0)
        return n->err->status;
    const char *kept = ot_onnx_int(n, "keepdims", 1) ? "true" : "false";
    value *all = some ? ot_onnx_call(n, "mean", 1, &x, "axis=[%s], keepdims=%s",
                                     ot_onnx_text(n->m, axes.n, axes.i), kept)
                      : ot_onnx_call(n, "mean", 1, &x, "keepdims=%s", kept);
    return give_rounded(n, all, 3, ot_onnx_in(n, 0));
}

/* ---- products ---------------------------------------------------------------------------- */

/* Input `at` in 32 bits less the zero at `zero_at`, which is one, or one for each place along the
 * axis; turned over before if it must be. */
static value *less_zero(ot_onnx_node *n, value *x, int zero_at, int axis, bool flip)
{
    value *zero = ot_onnx_in(n, zero_at);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return NULL;
    if (flip && rank != 2) {
        ot_onnx_refuse(n, "a side of %d dims, not 2", rank);
        return NULL;
    }
    x = ot_onnx_as(n, x, i32);
    x = flip ? ot_onnx_transpose(n, x, 2, (const int[]){1, 0}) : x;
    return zero && x ? ot_onnx_2(n, "subtract", x,
                                 ot_onnx_along(n, x, ot_onnx_as(n, zero, i32), axis))
                     : x;
}

/* Input 0 less its zero times input `right` less its own; `turns`: as the attributes say. */
static value *product(ot_onnx_node *n, int zero_at, int right, int right_zero_at, bool turns)
{
    const bool turn_a = turns && ot_onnx_int(n, "transA", 0) != 0;
    const bool turn_b = turns && ot_onnx_int(n, "transB", 0) != 0;
    value *x = ot_onnx_need(n, 0);
    value *b = x ? less_zero(n, ot_onnx_need(n, right), right_zero_at, -1, turn_b) : NULL;
    value *sum =
        b && !turn_a ? ot_onnx_narrow_product(n, x, ot_onnx_in(n, zero_at), b, NULL) : NULL;
    if (sum || !b || n->err->status < 0)
        return sum;
    value *a = less_zero(n, x, zero_at, -2, turn_a);
    return a ? ot_onnx_exact_product(n, a, b) : NULL;
}

/* What the sums stand for: times both scales, that of the right side one for all or for each
 * column. */
static value *scaled(ot_onnx_node *n, value *sum, value *left, value *right)
{
    value *all = ot_onnx_as(n, sum, f32);
    value *by = all && left ? ot_onnx_along(n, all, ot_onnx_as(n, left, f32), -2) : NULL;
    value *and = by && right ? ot_onnx_along(n, all, ot_onnx_as(n, right, f32), -1) : NULL;
    return and? ot_onnx_2(n, "multiply", all, ot_onnx_2(n, "multiply", by, and)) : NULL;
}

/* alpha (a b + c); c in 32 bits, of both scales */
static int gemm(ot_onnx_node *n)
{
    value *c = ot_onnx_in(n, 6), *sum = product(n, 2, 3, 5, true);
    if (c && sum)
        sum = ot_onnx_2(n, "add", sum, ot_onnx_as(n, c, i32));
    value *all = sum ? scaled(n, sum, ot_onnx_need(n, 1), ot_onnx_need(n, 4)) : NULL;
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (all && alpha != 1)
        all = ot_onnx_2(n, "multiply", all, ot_onnx_number(n, all, alpha));
    return ot_onnx_in(n, 7) ? give_rounded(n, all, 7, ot_onnx_in(n, 0))
                            : ot_onnx_give(n, 0, all);
}

/* A product that is a float again, with a bias. */
static value *with_bias(ot_onnx_node *n, value *sum, value *left, value *right, int bias_at)
{
    value *all = sum ? scaled(n, sum, left, right) : NULL, *bias = ot_onnx_in(n, bias_at);
    return all && bias ? ot_onnx_2(n, "add", all, bias) : all;
}

ot_onnx_value *ot_onnx_quantised_sum(ot_onnx_node *n, const ot_onnx_quantised_product *p)
{
    value *sum = product(n, p->zero, p->right, p->right_zero, false);
    return with_bias(n, sum, ot_onnx_need(n, p->scale), ot_onnx_need(n, p->right_scale),
                     p->bias);
}

static int product_to_float(ot_onnx_node *n)
{
    const ot_onnx_quantised_product p = {
        .right = 1, .zero = 4, .right_zero = 5, .scale = 2, .right_scale = 3, .bias = 6};
    return ot_onnx_give(n, 0, ot_onnx_quantised_sum(n, &p));
}

/* The left side is quantised by what its values span. */
static int dynamic_product(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *scale = NULL, *zero = NULL;
    value *a = x ? ot_onnx_quantised_itself(n, x, &scale, &zero) : NULL;
    value *b = a ? less_zero(n, ot_onnx_need(n, 1), 3, -1, false) : NULL;
    if (!b || !zero)
        return n->err->status < 0 ? n->err->status : ot_onnx_refuse(n, "it cannot be computed");
    value *sum = ot_onnx_narrow_product(n, a, zero, b, NULL);
    if (!sum && n->err->status >= 0) {
        a = ot_onnx_2(n, "subtract", ot_onnx_as(n, a, i32), ot_onnx_as(n, zero, i32));
        sum = ot_onnx_exact_product(n, a, b);
    }
    return ot_onnx_give(n, 0, with_bias(n, sum, scale, ot_onnx_need(n, 2), 4));
}

#define MS "com.microsoft::"
static const ot_onnx_op ops[] = {
    {MS "QLinearAdd", binary, "add"},
    {MS "QLinearMul", binary, "multiply"},
    {MS "QLinearSigmoid", sigmoid, NULL},
    {MS "QLinearLeakyRelu", leaky_relu, NULL},
    {MS "QLinearWhere", where, NULL},
    {MS "QLinearSoftmax", softmax, NULL},
    {MS "QLinearConcat", concat, NULL},
    {MS "QLinearGlobalAveragePool", global_pool, NULL},
    {MS "QLinearAveragePool", pool, NULL},
    {MS "QLinearReduceMean", mean, NULL},
    {MS "QGemm", gemm, NULL},
    {MS "MatMulIntegerToFloat", product_to_float, NULL},
    {MS "DynamicQuantizeMatMul", dynamic_product, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(quant_linear) = {ops};
