/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations, in the operators they are made of. */
#include "onnx/onnx.h"

static ot_onnx_value *scaled(ot_onnx_node *n, ot_onnx_value *x, ot_onnx_value *scale,
                             ot_onnx_value *shift)
{
    x = scale ? ot_onnx_2(n, "multiply", x, scale) : x;
    return shift ? ot_onnx_2(n, "add", x, shift) : x;
}

/* [C] beside data of this rank, whose channels are its second dim. */
static ot_onnx_value *channels(ot_onnx_node *n, ot_onnx_value *value, int rank)
{
    int64_t dim[OPTUNE_MAX_RANK] = {-1};
    for (int d = 1; d < rank - 1; d++)
        dim[d] = 1;
    return value && rank > 2 ? ot_onnx_reshape(n, value, rank - 1, dim) : value;
}

static int batch_normalization(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *scale, *shift;
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    const int status = rank < 0 ? n->err->status : ot_onnx_affine(n, &scale, &shift);
    if (status < 0)
        return status;
    if (rank < 2)
        return ot_onnx_refuse(n, "its input has %d dims, fewer than 2", rank);
    const optune_dtype dtype = ot_onnx_type(n->m, data)->dtype;
    data = ot_onnx_wide(n, data); /* the shift may be far off what it is taken from */
    scale = data ? ot_onnx_as(n, scale, ot_onnx_type(n->m, data)->dtype) : NULL;
    shift = data ? ot_onnx_as(n, shift, ot_onnx_type(n->m, data)->dtype) : NULL;
    data = scaled(n, data, channels(n, scale, rank), channels(n, shift, rank));
    return ot_onnx_give(n, 0, ot_onnx_as(n, data, dtype));
}

ot_onnx_value *ot_onnx_standardised(ot_onnx_node *n, ot_onnx_value *x, const char *axes,
                                    double epsilon, ot_onnx_value *moments[2])
{
    ot_onnx_value *mean = ot_onnx_call(n, "mean", 1, &x, "axis=[%s], keepdims=true", axes);
    ot_onnx_value *from = ot_onnx_2(n, "subtract", x, mean);
    ot_onnx_value *square = ot_onnx_2(n, "multiply", from, from);
    ot_onnx_value *variance =
        ot_onnx_call(n, "mean", 1, &square, "axis=[%s], keepdims=true", axes);
    ot_onnx_value *more = ot_onnx_number(n, x, ot_onnx_real(n, "epsilon", epsilon));
    ot_onnx_value *deviation = ot_onnx_1(n, "sqrt", ot_onnx_2(n, "add", variance, more));
    if (moments && deviation) {
        moments[0] = mean;
        moments[1] = ot_onnx_2(n, "divide", ot_onnx_number(n, deviation, 1), deviation);
    }
    return ot_onnx_2(n, "divide", from, deviation);
}

static const char *axes_from(ot_onnx *m, int first, int rank)
{
    int64_t axes[OPTUNE_MAX_RANK];
    for (int d = first; d < rank; d++)
        axes[d - first] = d;
    return ot_onnx_text(m, rank - first, axes);
}

static int layer_normalization(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1);
    const int rank = data && scale ? ot_onnx_rank(n, data) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", -1), rank);
    if (axis < 0)
        return n->err->status;
    const bool more = ot_onnx_wants(n, 1) || ot_onnx_wants(n, 2);
    optune_dtype stash;
    int status = ot_onnx_dtype((int)ot_onnx_int(n, "stash_type", 1), &stash, n->err);
    if (status < 0)
        return status;
    ot_onnx_value *moments[2] = {NULL, NULL};
    ot_onnx_value *all = ot_onnx_standardised(
        n, ot_onnx_wide(n, data), axes_from(n->m, axis, rank), 1e-5, more ? moments : NULL);
    all = scaled(n, all, ot_onnx_wide(n, scale), ot_onnx_wide(n, ot_onnx_in(n, 2)));
    status = ot_onnx_give(n, 0, ot_onnx_as(n, all, ot_onnx_type(n->m, data)->dtype));
    for (int i = 0; i < 2 && more && status >= 0; i++)
        status = ot_onnx_give(n, i + 1, ot_onnx_as(n, moments[i], stash));
    return status;
}

/* Scaled and shifted by channel, of the data's own type again. */
static ot_onnx_value *channelwise(ot_onnx_node *n, ot_onnx_value *all)
{
    const int rank = all ? ot_onnx_rank(n, all) : -1;
    all = scaled(n, all, channels(n, ot_onnx_wide(n, ot_onnx_in(n, 1)), rank),
                 channels(n, ot_onnx_wide(n, ot_onnx_in(n, 2)), rank));
    return ot_onnx_as(n, all, ot_onnx_type(n->m, ot_onnx_in(n, 0))->dtype);
}

static int instance_normalization(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1);
    const int rank = data && scale ? ot_onnx_rank(n, data) : -1;
    if (rank < 0)
        return n->err->status;
    if (rank < 3)
        return ot_onnx_refuse(n, "its input has %d dims, fewer than 3", rank);
    return ot_onnx_give(
        n, 0,
        channelwise(n, ot_onnx_standardised(n, ot_onnx_wide(n, data), axes_from(n->m, 2, rank),
                                            1e-5, NULL)));
}

/* Each group of channels is one row. */
static int group_normalization(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK];
    const int64_t groups = ot_onnx_int(n, "num_groups", 0);
    if (!data || !scale || !ot_onnx_dims_at(n, data, ~1u, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    if (rank < 3 || groups < 1 || dim[1] % groups)
        return ot_onnx_refuse(n, "%lld groups do not divide its channels", (long long)groups);
    ot_onnx_value *rows =
        ot_onnx_reshape_keeping(n, ot_onnx_wide(n, data), 3, (const int64_t[]){0, groups, -1});
    rows = rows ? ot_onnx_standardised(n, rows, "2", 1e-5, NULL) : NULL;
    dim[0] = 0;
    if (n->m->opset >= 21)
        return ot_onnx_give(n, 0, channelwise(n, ot_onnx_reshape_keeping(n, rows, rank, dim)));
    /* Scales and shifts are the groups', too, before. */
    return ot_onnx_give(n, 0, ot_onnx_reshape_keeping(n, channelwise(n, rows), rank, dim));
}

/* The mean over neighbouring channels is pooling over columns of an image [C, H * W]. */
/* base^beta of what is not negative; the usual exponents are square roots, which cost a tenth. */
static ot_onnx_value *raised(ot_onnx_node *n, ot_onnx_value *base, double beta)
{
    ot_onnx_value *root = beta == 0.5 || beta == 0.75 ? ot_onnx_1(n, "sqrt", base) : NULL;
    if (beta == 0.5)
        return root;
    if (beta == 0.75)
        return ot_onnx_2(n, "multiply", root, ot_onnx_1(n, "sqrt", root));
    return ot_onnx_2(n, "power", base, ot_onnx_number(n, base, beta));
}

static int lrn(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    int64_t dim[OPTUNE_MAX_RANK];
    const int64_t size = ot_onnx_int(n, "size", 0);
    if (!data || !ot_onnx_dims_at(n, data, ~1u, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    dim[0] = 0; /* as many as there are */
    if (rank < 2 || size < 1 || size > 1 << 20)
        return ot_onnx_refuse(n, "size %lld over %d dims", (long long)size, rank);
    const int64_t image[] = {dim[0], 1, dim[1], -1};
    ot_onnx_value *wide = ot_onnx_wide(n, data);
    ot_onnx_value *square =
        ot_onnx_reshape_keeping(n, ot_onnx_2(n, "multiply", wide, wide), 4, image);
    ot_onnx_value *mean =
        ot_onnx_call(n, "avg_pool2d", 1, &square,
                     "pool_size=[%lld,1], padding=[%lld,0,%lld,0], "
                     "count_include_pad=true",
                     (long long)size, (long long)((size - 1) / 2), (long long)(size / 2));
    ot_onnx_value *base = scaled(n, ot_onnx_reshape_keeping(n, mean, rank, dim),
                                 ot_onnx_number(n, wide, ot_onnx_real(n, "alpha", 1e-4)),
                                 ot_onnx_number(n, wide, ot_onnx_real(n, "bias", 1)));
    ot_onnx_value *by = raised(n, base, ot_onnx_real(n, "beta", 0.75));
    return ot_onnx_give(
        n, 0, ot_onnx_as(n, ot_onnx_2(n, "divide", wide, by), ot_onnx_type(n->m, data)->dtype));
}

static const ot_onnx_op ops[] = {
    {"BatchNormalization", batch_normalization, NULL},
    {"LayerNormalization", layer_normalization, NULL},
    {"InstanceNormalization", instance_normalization, NULL},
    {"GroupNormalization", group_normalization, NULL},
    {"LRN", lrn, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(norm) = {ops};
