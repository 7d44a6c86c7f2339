/* SPDX-License-Identifier: Apache-2.0 */
/* Norms and means of powers: pooling by them, scaling to them; and the one of the largest. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* |x|^p */
static value *power_of(ot_onnx_node *n, value *x, double p)
{
    if (p == 2)
        return ot_onnx_2(n, "multiply", x, x);
    value *size = ot_onnx_1(n, "abs", x);
    return p == 1 || !size ? size : ot_onnx_2(n, "power", size, ot_onnx_number(n, size, p));
}

static value *root_of(ot_onnx_node *n, value *x, double p)
{
    if (p == 1 || !x)
        return x;
    return p == 2 ? ot_onnx_1(n, "sqrt", x)
                  : ot_onnx_2(n, "power", x, ot_onnx_number(n, x, 1 / p));
}

/* Opset 1 has it as a float. */
static double exponent(ot_onnx_node *n)
{
    const ot_onnx_attr *p = ot_onnx_attr_of(n, "p");
    const double given = p && p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
                             ? ot_onnx_real(n, "p", 2)
                             : (double)ot_onnx_int(n, "p", 2);
    if (!(given >= 1))
        ot_onnx_refuse(n, "p is %g", given);
    return given;
}

static value *folded(ot_onnx_node *n, const char *op, value *x, int first, int rank)
{
    int64_t axes[OPTUNE_MAX_RANK];
    for (int d = first; d < rank; d++)
        axes[d - first] = d;
    return ot_onnx_call(n, op, 1, &x, "axis=[%s], keepdims=true",
                        ot_onnx_text(n->m, rank - first, axes));
}

static int global_pool(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const double p = exponent(n);
    if (rank >= 0 && rank < 3)
        ot_onnx_refuse(n, "its input has %d dims, fewer than 3", rank);
    if (rank < 3 || n->err->status < 0)
        return n->err->status;
    value *sum = folded(n, "sum", power_of(n, ot_onnx_wide(n, x), p), 2, rank);
    return ot_onnx_give(n, 0, ot_onnx_as(n, root_of(n, sum, p), ot_onnx_type(n->m, x)->dtype));
}

/* Sums over windows of w->data, which are means, pads counted, times their size; may change the
 * pads. */
static value *sums(ot_onnx_node *n, ot_onnx_window *w)
{
    if (!w->data || ot_onnx_pad_up(n, w) < 0)
        return NULL;
    value *mean = ot_onnx_call(
        n, "avg_pool2d", 1, &w->data,
        "pool_size=[%s], strides=[%s], padding=[%s], dilation=[%s], count_include_pad=true",
        ot_onnx_text(n->m, 2, w->kernel), ot_onnx_text(n->m, 2, w->stride),
        ot_onnx_text(n->m, 4, w->pad), ot_onnx_text(n->m, 2, w->dilation));
    const double size = (double)w->kernel[0] * (double)w->kernel[1];
    return mean ? ot_onnx_2(n, "multiply", mean, ot_onnx_number(n, mean, size)) : NULL;
}

/* Over the planes, then over depth. */
static int pool_volume(ot_onnx_node *n, double p)
{
    ot_onnx_volume v;
    int64_t dim[OPTUNE_MAX_RANK];
    if (ot_onnx_volume_of(n, NULL, &v) < 0)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, ot_onnx_in(n, 0))->dtype;
    const int64_t planes[] = {v.dim[0], v.dim[1] * v.dim[2], v.dim[3], v.dim[4]};
    ot_onnx_window w = ot_onnx_plane_of(&v);
    w.data = power_of(n, ot_onnx_wide(n, ot_onnx_in(n, 0)), p);
    w.data = w.data ? ot_onnx_reshape(n, w.data, 4, planes) : NULL;
    value *x = sums(n, &w);
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return n->err->status;
    const int64_t lines[] = {v.dim[0], v.dim[1], v.dim[2], dim[2] * dim[3]};
    const int64_t all[] = {0, 0, -1, dim[2], dim[3]};
    w = (ot_onnx_window){.dims = 2,
                         .kernel = {v.kernel[0], 1},
                         .stride = {v.stride[0], 1},
                         .dilation = {v.dilation[0], 1},
                         .pad = {v.before[0], 0, v.after[0], 0},
                         .data = ot_onnx_reshape(n, x, 4, lines)};
    x = root_of(n, sums(n, &w), p);
    return ot_onnx_give(n, 0,
                        x ? ot_onnx_as(n, ot_onnx_reshape_keeping(n, x, 5, all), dtype) : NULL);
}

static int pool(ot_onnx_node *n)
{
    ot_onnx_window w;
    const double p = exponent(n);
    value *x = ot_onnx_need(n, 0);
    if (!x || n->err->status < 0)
        return n->err->status;
    if (ot_onnx_type(n->m, x)->rank == 5)
        return pool_volume(n, p);
    if (ot_onnx_slide(n, NULL, &w) < 0)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, w.data)->dtype;
    w.data = power_of(n, ot_onnx_wide(n, w.data), p);
    value *root = root_of(n, sums(n, &w), p);
    return ot_onnx_give(n, 0, ot_onnx_unslide(n, &w, ot_onnx_as(n, root, dtype)));
}

/* x over its norm along an axis; of nothing but zeros, zeros. */
static int normalise(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", -1), rank);
    const double p = exponent(n);
    if (axis < 0 || n->err->status < 0)
        return n->err->status;
    value *wide = ot_onnx_wide(n, x);
    value *norm = root_of(n, folded(n, "sum", power_of(n, wide, p), axis, axis + 1), p);
    value *none = norm ? ot_onnx_2(n, "equal", norm, ot_onnx_number(n, norm, 0)) : NULL;
    value *const in[] = {none, ot_onnx_number(n, norm, 1), norm};
    value *all = ot_onnx_2(n, "divide", wide, ot_onnx_call(n, "where", 3, in, NULL));
    return ot_onnx_give(n, 0, ot_onnx_as(n, all, ot_onnx_type(n->m, x)->dtype));
}

/* x / sqrt(mean(x^2) + epsilon) scale, over the last dims from `axis` on */
static value *by_root(ot_onnx_node *n, value *x, value *scale, int64_t axis, double epsilon)
{
    const int rank = x && scale ? ot_onnx_rank(n, x) : -1;
    const int first = rank < 0 ? -1 : ot_onnx_axis(n, axis, rank);
    if (first < 0)
        return NULL;
    value *wide = ot_onnx_wide(n, x);
    value *mean = folded(n, "mean", power_of(n, wide, 2), first, rank);
    value *more = ot_onnx_number(n, wide, ot_onnx_real(n, "epsilon", epsilon));
    value *size = ot_onnx_1(n, "sqrt", ot_onnx_2(n, "add", mean, more));
    value *all =
        ot_onnx_2(n, "multiply", ot_onnx_2(n, "divide", wide, size), ot_onnx_wide(n, scale));
    return ot_onnx_as(n, all, ot_onnx_type(n->m, scale)->dtype);
}

static int root_mean_square(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    value *scale = x ? ot_onnx_need(n, 1) : NULL;
    return ot_onnx_give(n, 0, by_root(n, x, scale, ot_onnx_int(n, "axis", -1), 1e-5));
}

/* The same of a sum, which is output 3. */
static int sum_root_mean_square(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *skip = ot_onnx_need(n, 1), *bias = ot_onnx_in(n, 3);
    value *scale = x && skip ? ot_onnx_need(n, 2) : NULL;
    value *sum = scale ? ot_onnx_2(n, "add", x, skip) : NULL;
    sum = sum && bias ? ot_onnx_2(n, "add", sum, bias) : sum;
    const int status = ot_onnx_give(n, 0, by_root(n, sum, scale, -1, 1e-12));
    return status >= 0 && ot_onnx_wants(n, 3) ? ot_onnx_give(n, 3, sum) : status;
}

/* (x - mean) / (deviation + 1e-9) */
static int mean_variance(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    ot_onnx_list axes;
    const int there = x ? ot_onnx_ints(n, "axes", &axes) : n->err->status;
    if (there < 0)
        return there;
    if (!there)
        axes = (ot_onnx_list){3, {0, 2, 3}};
    const char *over = ot_onnx_text(n->m, axes.n, axes.i);
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    x = ot_onnx_wide(n, x);
    value *mean = ot_onnx_call(n, "mean", 1, &x, "axis=[%s], keepdims=true", over);
    value *from = ot_onnx_2(n, "subtract", x, mean);
    value *square = ot_onnx_2(n, "multiply", from, from);
    value *size = ot_onnx_1(
        n, "sqrt", ot_onnx_call(n, "mean", 1, &square, "axis=[%s], keepdims=true", over));
    size = size ? ot_onnx_2(n, "add", size, ot_onnx_number(n, size, 1e-9)) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_as(n, ot_onnx_2(n, "divide", from, size), dtype));
}

/* 1 where the first of the largest along an axis is, 0 elsewhere; before opset 13 along all dims
 * from the axis on. */
static int hardmax(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    int64_t dim[OPTUNE_MAX_RANK];
    const bool flat = n->m->opset < 13;
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", flat ? 1 : -1), rank);
    if (axis < 0 || !ot_onnx_dims(n, x, dim))
        return n->err->status;
    value *rows = x;
    int64_t extent = dim[axis];
    int dims = rank;
    if (flat) {
        for (int d = axis + 1; d < rank; d++)
            extent *= dim[d];
        int64_t before = 1;
        for (int d = 0; d < axis; d++)
            before *= dim[d];
        rows = ot_onnx_reshape(n, x, 2, (const int64_t[]){before, extent});
        axis = 1;
        dims = 2;
    }
    value *at =
        ot_onnx_call(n, "topk", 1, &rows,
                     "k=1, axis=%d, ret_type=indices, is_ascend=false, dtype=i64", axis);
    value *hot = ot_onnx_2(n, "equal", at, ot_onnx_count_up(n, dims, axis, extent, 1));
    hot = hot ? ot_onnx_as(n, hot, ot_onnx_type(n->m, x)->dtype) : NULL;
    return ot_onnx_give(n, 0, flat ? ot_onnx_reshape(n, hot, rank, dim) : hot);
}

static const ot_onnx_op ops[] = {
    {"GlobalLpPool", global_pool, NULL},
    {"LpPool", pool, NULL},
    {"LpNormalization", normalise, NULL},
    {"RMSNormalization", root_mean_square, NULL},
    {"SimplifiedLayerNormalization", root_mean_square, NULL}, /* onnxruntime's name for it */
    {"com.microsoft::SkipSimplifiedLayerNormalization", sum_root_mean_square, NULL},
    {"MeanVarianceNormalization", mean_variance, NULL},
    {"Hardmax", hardmax, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(power) = {ops};
