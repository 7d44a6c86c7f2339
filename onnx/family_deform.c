/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions whose windows are deformed: each pixel under the kernel is read where an offset
 * moves it. What is read, the kernel's places one below the other, is one image for each group of
 * offsets; its places as channels are a convolution by 1x1.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { X, WEIGHT, OFFSET, BIAS, MASK };

typedef struct deformed {
    ot_onnx_window window;
    int64_t channels, height, width, k; /* k: places under the kernel */
    int64_t groups, rows, columns;      /* groups of offsets; of the output */
    optune_dtype dtype;                 /* what places are computed in */
} deformed;

static int measure(ot_onnx_node *n, deformed *d)
{
    int64_t x[OPTUNE_MAX_RANK], w[OPTUNE_MAX_RANK], offset[OPTUNE_MAX_RANK];
    value *data = ot_onnx_need(n, X), *weight = ot_onnx_need(n, WEIGHT),
          *at = ot_onnx_need(n, OFFSET);
    if (!data || !weight || !at || !ot_onnx_dims(n, weight, w) ||
        !ot_onnx_dims_at(n, data, ~1u, x) || !ot_onnx_dims_at(n, at, ~1u, offset))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    if (rank != 4 || ot_onnx_rank(n, weight) != 4 || ot_onnx_rank(n, at) != 4)
        return ot_onnx_refuse(n, "over %d dims: only images are supported", rank - 2);
    if (ot_onnx_slide(n, w + 2, &d->window) < 0)
        return n->err->status;
    d->channels = x[1];
    d->height = x[2];
    d->width = x[3];
    d->k = w[2] * w[3];
    d->groups = ot_onnx_int(n, "offset_group", 1);
    d->rows = offset[2];
    d->columns = offset[3];
    if (d->groups < 1 || d->channels % d->groups || offset[1] != 2 * d->k * d->groups)
        return ot_onnx_refuse(n, "%lld offsets of %lld places for %lld groups of %lld channels",
                              (long long)offset[1], (long long)d->k, (long long)d->groups,
                              (long long)d->channels);
    for (int i = 0; i < 2; i++) {
        const ot_onnx_window *s = &d->window;
        const int64_t span = (s->kernel[i] - 1) * s->dilation[i] + 1;
        const int64_t room = x[2 + i] + s->pad[i] + s->pad[2 + i] - span;
        if (x[2 + i] < 1 || room < 0 || room / s->stride[i] + 1 != offset[2 + i])
            return ot_onnx_refuse(n, "%lld windows of %lld in %lld pixels",
                                  (long long)offset[2 + i], (long long)span,
                                  (long long)x[2 + i]);
    }
    const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    d->dtype = ot_onnx_type(n->m, data)->dtype;
    d->dtype = d->dtype.code == OPTUNE_DTYPE_FLOAT && d->dtype.bits == 64 ? d->dtype : f32;
    return OPTUNE_OK;
}

/* A constant of these dims. */
static value *room(ot_onnx_node *n, const deformed *d, int rank, const int64_t *dim)
{
    optune_tensor type = {.dtype = d->dtype, .rank = rank};
    value *all = NULL;
    for (int i = 0; i < rank; i++)
        type.dim[i] = optune_dim_of(dim[i]);
    return ot_onnx_room(n->m, &type, &all, n->err) < 0 ? NULL : all;
}

static void set(const value *constant, int64_t i, double number)
{
    if (constant->type.dtype.bits == 64)
        ((double *)constant->data)[i] = number;
    else
        ((float *)constant->data)[i] = (float)number;
}

/* Where places lie that no offset moves, [k,rows,columns,2] of x and y: -1 and 1 are the sides of
 * the image. */
static value *unmoved(ot_onnx_node *n, const deformed *d)
{
    const ot_onnx_window *w = &d->window;
    value *all = room(n, d, 4, (const int64_t[]){d->k, d->rows, d->columns, 2});
    for (int64_t i = 0; all && i < d->k * d->rows * d->columns; i++) {
        const int64_t k = i / (d->rows * d->columns), row = i / d->columns % d->rows;
        const int64_t y = row * w->stride[0] - w->pad[0] + k / w->kernel[1] * w->dilation[0];
        const int64_t x =
            i % d->columns * w->stride[1] - w->pad[1] + k % w->kernel[1] * w->dilation[1];
        set(all, 2 * i, (double)(2 * x + 1) / (double)d->width - 1);
        set(all, 2 * i + 1, (double)(2 * y + 1) / (double)d->height - 1);
    }
    return all;
}

/* [N*groups,k*rows,columns,2], offsets [N,groups*k*2,rows,columns] being of y and x in pixels. */
static value *places(ot_onnx_node *n, const deformed *d)
{
    const int64_t apart[] = {-1, d->k, 2, d->rows * d->columns};
    const int64_t image[] = {-1, d->k, d->rows, d->columns, 2};
    const int64_t tall[] = {-1, d->k * d->rows, d->columns, 2};
    value *at = ot_onnx_reshape(n, ot_onnx_as(n, ot_onnx_in(n, OFFSET), d->dtype), 4, apart);
    at = at ? ot_onnx_transpose(n, at, 4, (const int[]){0, 1, 3, 2}) : NULL;
    at = ot_onnx_call(n, "reverse", 1, &at, "axis=3");
    value *pixel = room(n, d, 1, (const int64_t[]){2}), *base = unmoved(n, d);
    if (!at || !pixel || !base)
        return NULL;
    set(pixel, 0, 2 / (double)d->width);
    set(pixel, 1, 2 / (double)d->height);
    at = ot_onnx_reshape(n, ot_onnx_2(n, "multiply", at, pixel), 5, image);
    return ot_onnx_reshape(n, ot_onnx_2(n, "add", at, base), 4, tall);
}

static int deform_conv(ot_onnx_node *n)
{
    deformed d;
    int64_t w[OPTUNE_MAX_RANK];
    if (measure(n, &d) < 0)
        return n->err->status;
    const int64_t split[] = {-1, d.channels / d.groups, d.height, d.width};
    const int64_t alone[] = {-1, 1, d.k * d.rows, d.columns};
    const int64_t images[] = {-1, d.channels * d.k, d.rows, d.columns};
    const optune_dtype dtype = ot_onnx_type(n->m, ot_onnx_in(n, X))->dtype;
    value *x = ot_onnx_reshape(n, ot_onnx_as(n, ot_onnx_in(n, X), d.dtype), 4, split);
    value *at = x ? places(n, &d) : NULL, *mask = ot_onnx_in(n, MASK);
    value *all = ot_onnx_call(n, "grid_sample", 2, (value *const[]){x, at},
                              "method=linear, padding_mode=zeros, align_corners=false");
    if (all && mask)
        all = ot_onnx_2(n, "multiply", all,
                        ot_onnx_reshape(n, ot_onnx_as(n, mask, d.dtype), 4, alone));
    all = all ? ot_onnx_reshape(n, ot_onnx_as(n, all, dtype), 4, images) : NULL;
    value *weight = ot_onnx_in(n, WEIGHT), *bias = ot_onnx_in(n, BIAS);
    if (!all || !ot_onnx_dims(n, weight, w))
        return n->err->status;
    weight = ot_onnx_reshape(n, weight, 4, (const int64_t[]){w[0], w[1] * d.k, 1, 1});
    all = ot_onnx_call(n, "conv2d", 2, (value *const[]){all, weight}, "groups=%lld",
                       (long long)ot_onnx_int(n, "group", 1));
    if (all && bias)
        all =
            ot_onnx_2(n, "add", all, ot_onnx_reshape(n, bias, 3, (const int64_t[]){-1, 1, 1}));
    return ot_onnx_give(n, 0, all);
}

static const ot_onnx_op ops[] = {
    {"DeformConv", deform_conv, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(deform) = {ops};
