/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows put back where they were cut out, summed where they overlap: what each place of the image
 * gets is looked up among the windows, so that it gets nothing else. Transposed convolutions over
 * volumes are such a sum along depth, of what those over planes give.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype int32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

enum { MOST_LOOKS = 1 << 26 }; /* at elements of windows, along a dim */

/* One dim: windows, and places of the image. */
typedef struct line {
    int64_t kernel, stride, dilation, windows, before, places;
} line;

/* The next element k >= *k of a window that place `at` gets, and which window's; false: none. */
static bool next(const line *l, int64_t at, int64_t *k, int64_t *window)
{
    for (; *k < l->kernel; ++*k) {
        const int64_t from = at + l->before - *k * l->dilation;
        *window = from / l->stride;
        if (from >= 0 && from % l->stride == 0 && *window < l->windows)
            return true;
    }
    return false;
}

/* The most elements that one place gets. */
static int64_t most(const line *l)
{
    int64_t all = 0, window;
    for (int64_t at = 0; at < l->places; at++) {
        int64_t n = 0;
        for (int64_t k = 0; next(l, at, &k, &window); k++)
            n++;
        all = n > all ? n : all;
    }
    return all;
}

/* For each of `between` and each place: which of [kernel,between,windows] elements it gets, or the
 * one behind them, which is 0. [many,between,places] as one list. */
static value *places(ot_onnx_node *n, const line *l, int64_t between, int64_t many)
{
    const int64_t row = between * l->places, nothing = l->kernel * between * l->windows;
    value *made = NULL;
    optune_tensor type = {.dtype = int32, .rank = 1};
    type.dim[0] = optune_dim_of(many * row);
    if (nothing > INT32_MAX) {
        ot_onnx_refuse(n, "windows of %lld elements in all", (long long)nothing);
        return NULL;
    }
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    int32_t *to = made->data;
    for (int64_t i = 0; i < many * row; i++)
        to[i] = (int32_t)nothing;
    for (int64_t i = 0; i < between; i++)
        for (int64_t at = 0; at < l->places; at++) {
            int32_t *next_to = to + i * l->places + at;
            int64_t window;
            for (int64_t k = 0; next(l, at, &k, &window); k++, next_to += row)
                *next_to = (int32_t)((k * between + i) * l->windows + window);
        }
    return made;
}

/* [batch,kernel,between,windows,beside] to [batch,between,places,beside]. */
static value *fold_along(ot_onnx_node *n, value *x, const line *l, int64_t batch,
                         int64_t between, int64_t beside)
{
    const int64_t many = most(l);
    value *table = many ? places(n, l, between, many) : NULL;
    x = ot_onnx_reshape(n, x, 3,
                        (const int64_t[]){batch, l->kernel * between * l->windows, beside});
    x = ot_onnx_call(n, "pad", 1, &x, "before=[0,0,0], after=[0,1,0], value=0.0");
    x = table && x ? ot_onnx_call(n, "take", 2, (value *const[]){x, table}, "axis=1") : NULL;
    x = ot_onnx_reshape(n, x, 4, (const int64_t[]){batch, many, between * l->places, beside});
    x = ot_onnx_call(n, "sum", 1, &x, "axis=[1]");
    return ot_onnx_reshape(n, x, 4, (const int64_t[]){batch, between, l->places, beside});
}

/* Along columns, then along rows. */
ot_onnx_value *ot_onnx_fold(ot_onnx_node *n, value *x, const ot_onnx_window *w,
                            const int64_t added[2])
{
    int64_t dim[OPTUNE_MAX_RANK];
    line l[2];
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return NULL;
    for (int d = 0; d < 2; d++) {
        l[d] = (line){.kernel = w->kernel[d],
                      .stride = w->stride[d],
                      .dilation = w->dilation[d],
                      .windows = dim[2 + d],
                      .before = w->pad[d]};
        l[d].places = (l[d].windows - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] +
                      1 + added[d] - w->pad[d] - w->pad[2 + d];
        if (l[d].places > MOST_LOOKS / l[d].kernel) {
            ot_onnx_refuse(n, "an image of %lld places by windows of %lld elements in one dim",
                           (long long)l[d].places, (long long)l[d].kernel);
            return NULL;
        }
        if (l[d].places < 1 || most(&l[d]) < 1) {
            ot_onnx_refuse(n, "its pads leave nothing of an image");
            return NULL;
        }
    }
    x = fold_along(n, x, &l[0], dim[0], l[1].kernel, l[1].windows);
    if (l[1].kernel > 1 || l[1].places != l[1].windows || l[1].stride > 1)
        x = fold_along(n, x, &l[1], dim[0], l[0].places, 1);
    return ot_onnx_reshape(n, x, 4, (const int64_t[]){dim[0], 1, l[0].places, l[1].places});
}

ot_onnx_value *ot_onnx_transpose_volume(ot_onnx_node *n, const ot_onnx_volume *v, value *weight,
                                        const int64_t added[3])
{
    int64_t dim[OPTUNE_MAX_RANK];
    const ot_onnx_window w = ot_onnx_plane_of(v);
    const int64_t batch = v->dim[0], depth = v->dim[2];
    value *x = ot_onnx_transpose(n, ot_onnx_need(n, 0), 5, (const int[]){0, 2, 1, 3, 4});
    x = ot_onnx_reshape(
        n, x, 4,
        (const int64_t[]){ot_onnx_times(batch, depth), v->dim[1], v->dim[3], v->dim[4]});
    x = ot_onnx_call(n, "conv2d_transpose", 2, (value *const[]){x, weight},
                     "%s, output_padding=[%s]", ot_onnx_window_text(n, &w),
                     ot_onnx_text(n->m, 2, added + 1));
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return NULL;
    const int64_t channels = dim[1] / v->kernel[0], plane = dim[2] * dim[3];
    x = ot_onnx_reshape(n, x, 5,
                        (const int64_t[]){batch, depth, channels, v->kernel[0], plane});
    x = x ? ot_onnx_transpose(n, x, 5, (const int[]){0, 2, 3, 1, 4}) : NULL;
    x = ot_onnx_reshape(
        n, x, 4, (const int64_t[]){ot_onnx_times(batch, channels), v->kernel[0], depth, plane});
    const ot_onnx_window along = {.kernel = {v->kernel[0], 1},
                                  .stride = {v->stride[0], 1},
                                  .dilation = {v->dilation[0], 1},
                                  .pad = {v->before[0], 0, v->after[0], 0}};
    int64_t out[OPTUNE_MAX_RANK];
    x = ot_onnx_fold(n, x, &along, (const int64_t[]){added[0], 0});
    if (!x || !ot_onnx_dims_at(n, x, ~1u, out))
        return NULL;
    return ot_onnx_reshape(n, x, 5, (const int64_t[]){batch, channels, out[2], dim[2], dim[3]});
}
