/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, strides and pads of what slides over an image; lines are images of one row. */
#include <string.h>

#include "onnx/onnx.h"

/* A list of one value for each dim, the last ones first to be filled: rows of lines get `row`. */
static int lay_out(ot_onnx_node *n, const char *name, int dims, int64_t row, int64_t otherwise,
                   int64_t to[2])
{
    ot_onnx_list list;
    const int there = ot_onnx_ints(n, name, &list);
    if (there < 0)
        return there;
    if (there && list.n != dims)
        return ot_onnx_refuse(n, "'%s' has %d values, not %d", name, list.n, dims);
    to[0] = row;
    for (int d = 0; d < dims; d++) {
        to[2 - dims + d] = there ? list.i[d] : otherwise;
        if (to[2 - dims + d] < 1 || to[2 - dims + d] > 1 << 20)
            return ot_onnx_refuse(n, "'%s' has the value %lld", name,
                                  (long long)to[2 - dims + d]);
    }
    return there;
}

/* SAME: as many windows as strides fit. */
static int pad_same(ot_onnx_node *n, bool upper, ot_onnx_window *w)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims_at(n, w->data, ~3u, dim))
        return OPTUNE_EUNSUPPORTED;
    for (int d = 2 - w->dims; d < 2; d++) {
        const int64_t extent = dim[w->dims + d], stride = w->stride[d];
        const int64_t windows = (extent + stride - 1) / stride;
        const int64_t span = (w->kernel[d] - 1) * w->dilation[d] + 1;
        const int64_t all = (windows - 1) * stride + span - extent;
        const int64_t less = all > 0 ? all / 2 : 0, more = all > 0 ? all - less : 0;
        w->pad[d] = upper ? less : more;
        w->pad[2 + d] = upper ? more : less;
    }
    return OPTUNE_OK;
}

static int pad_given(ot_onnx_node *n, ot_onnx_window *w)
{
    ot_onnx_list list;
    const int there = ot_onnx_ints(n, "pads", &list);
    if (there < 0 || !there)
        return there;
    if (list.n != 2 * w->dims)
        return ot_onnx_refuse(n, "'pads' has %d values, not %d", list.n, 2 * w->dims);
    for (int i = 0; i < list.n; i++) {
        if (list.i[i] < 0 || list.i[i] > 1 << 20)
            return ot_onnx_refuse(n, "'pads' has the value %lld", (long long)list.i[i]);
        w->pad[w->dims == 2 ? i : 2 * i + 1] = list.i[i];
    }
    return OPTUNE_OK;
}

static int pads(ot_onnx_node *n, ot_onnx_window *w)
{
    const char *how = ot_onnx_word(n, "auto_pad", "NOTSET");
    if (!strcmp(how, "SAME_UPPER") || !strcmp(how, "SAME_LOWER"))
        return pad_same(n, how[5] == 'U', w);
    if (!strcmp(how, "VALID"))
        return OPTUNE_OK;
    return !strcmp(how, "NOTSET") ? pad_given(n, w)
                                  : ot_onnx_refuse(n, "'auto_pad' is '%.40s'", how);
}

/* onnxruntime's optimizer writes windows over images whose channels come last. */
static bool channels_last(const ot_onnx_node *n)
{
    return ot_onnx_int(n, "channels_last", strstr(n->op->name, "::Nhwc") != NULL) != 0;
}

/* The same with channels in front of `dims` dims, or behind them again. */
static ot_onnx_value *turned(ot_onnx_node *n, ot_onnx_value *x, int dims, bool back)
{
    int axes[4] = {0};
    for (int d = 0; d < dims; d++)
        axes[back ? 1 + d : 2 + d] = back ? 2 + d : 1 + d;
    axes[back ? 1 + dims : 1] = back ? 1 : 1 + dims;
    return ot_onnx_transpose(n, x, 2 + dims, axes);
}

int ot_onnx_slide(ot_onnx_node *n, const int64_t *kernel, ot_onnx_window *w)
{
    *w = (ot_onnx_window){.data = ot_onnx_need(n, 0)};
    const int rank = w->data ? ot_onnx_rank(n, w->data) : -1;
    if (rank < 0)
        return n->err->status;
    w->dims = rank - 2;
    if (w->dims != 1 && w->dims != 2)
        return ot_onnx_refuse(n, "over %d dims: only 1 and 2 are supported here", w->dims);
    if (channels_last(n) && !(w->data = turned(n, w->data, w->dims, false)))
        return n->err->status;
    int status = lay_out(n, "strides", w->dims, 1, 1, w->stride);
    if (status >= 0)
        status = lay_out(n, "dilations", w->dims, 1, 1, w->dilation);
    if (status >= 0)
        status = lay_out(n, "kernel_shape", w->dims, 1, 1, w->kernel);
    if (status >= 0 && !status && !kernel)
        status = ot_onnx_refuse(n, "attribute 'kernel_shape' is missing");
    for (int d = 2 - w->dims; d < 2 && kernel && status >= 0; d++) {
        const int64_t own = kernel[d - (2 - w->dims)];
        if (status && w->kernel[d] != own)
            return ot_onnx_refuse(n, "'kernel_shape' says %lld where its weight has %lld",
                                  (long long)w->kernel[d], (long long)own);
        w->kernel[d] = own;
    }
    if (status >= 0)
        status = pads(n, w);
    if (status >= 0 && w->dims == 1) {
        w->data = ot_onnx_call(n, "expand_dims", 1, &w->data, "axis=2");
        status = w->data ? OPTUNE_OK : n->err->status;
    }
    return status < 0 ? status : OPTUNE_OK;
}

ot_onnx_value *ot_onnx_unslide(ot_onnx_node *n, const ot_onnx_window *w, ot_onnx_value *value)
{
    if (w->dims == 1)
        value = ot_onnx_call(n, "squeeze", 1, &value, "axis=[2]");
    return value && channels_last(n) ? turned(n, value, w->dims, true) : value;
}

const char *ot_onnx_window_text(const ot_onnx_node *n, const ot_onnx_window *w)
{
    return ot_arena_printf(
        &n->m->arena, "strides=[%s], padding=[%s], dilation=[%s], groups=%lld",
        ot_onnx_text(n->m, 2, w->stride), ot_onnx_text(n->m, 4, w->pad),
        ot_onnx_text(n->m, 2, w->dilation), (long long)ot_onnx_int(n, "group", 1));
}
