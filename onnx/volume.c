/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions over volumes [N,C,D,H,W], by those over images: the planes that a window has in
 * depth stand behind each other as channels, one image for each place in depth.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;
enum { D, H, W, DIMS };

typedef ot_onnx_volume volume;

/* A number for each dim; 0: there are none. */
static int each_dim(ot_onnx_node *n, const char *name, int64_t otherwise, int64_t *to)
{
    ot_onnx_list list;
    const int there = ot_onnx_ints(n, name, &list);
    if (there < 0)
        return there;
    if (there && list.n != DIMS)
        return ot_onnx_refuse(n, "'%s' has %d values, not %d", name, list.n, (int)DIMS);
    for (int d = 0; d < DIMS; d++) {
        to[d] = there ? list.i[d] : otherwise;
        if (to[d] < 1 || to[d] > 1 << 20)
            return ot_onnx_refuse(n, "'%s' has the value %lld", name, (long long)to[d]);
    }
    return there;
}

static int pads_of(ot_onnx_node *n, volume *v)
{
    const char *how = ot_onnx_word(n, "auto_pad", "NOTSET");
    ot_onnx_list list = {0};
    const int there = ot_onnx_ints(n, "pads", &list);
    if (there < 0 || !strcmp(how, "VALID"))
        return there < 0 ? there : OPTUNE_OK;
    if (strcmp(how, "NOTSET") && strncmp(how, "SAME_", 5))
        return ot_onnx_refuse(n, "'auto_pad' is '%.40s'", how);
    if (*how == 'N' && there && list.n != 2 * DIMS)
        return ot_onnx_refuse(n, "'pads' has %d values, not %d", list.n, 2 * (int)DIMS);
    for (int d = 0; d < DIMS; d++) {
        const int64_t extent = v->dim[2 + d], stride = v->stride[d];
        const int64_t span = (v->kernel[d] - 1) * v->dilation[d] + 1;
        int64_t all = ((extent + stride - 1) / stride - 1) * stride + span - extent;
        all = all > 0 ? all : 0;
        v->before[d] = *how == 'N' ? list.i[d] : how[5] == 'U' ? all / 2 : all - all / 2;
        v->after[d] = *how == 'N' ? list.i[DIMS + d] : all - v->before[d];
        if (v->before[d] < 0 || v->after[d] < 0 || v->before[d] > 1 << 20 ||
            v->after[d] > 1 << 20)
            return ot_onnx_refuse(n, "'pads' has the values %lld and %lld",
                                  (long long)v->before[d], (long long)v->after[d]);
    }
    return OPTUNE_OK;
}

int ot_onnx_volume_of(ot_onnx_node *n, const int64_t *kernel, volume *v)
{
    value *x = ot_onnx_need(n, 0);
    *v = (volume){.kernel = {0}};
    if (!x || !ot_onnx_dims_at(n, x, ~1u, v->dim))
        return n->err->status;
    if (ot_onnx_rank(n, x) != 2 + DIMS)
        return ot_onnx_refuse(n, "its weight is for volumes, its data have %d dims",
                              ot_onnx_rank(n, x));
    int status = each_dim(n, "strides", 1, v->stride);
    if (status >= 0)
        status = each_dim(n, "dilations", 1, v->dilation);
    if (status >= 0)
        status = each_dim(n, "kernel_shape", 1, v->kernel);
    if (status >= 0 && !status && !kernel)
        status = ot_onnx_refuse(n, "attribute 'kernel_shape' is missing");
    for (int d = 0; d < DIMS && kernel && status >= 0; d++) {
        if (status && v->kernel[d] != kernel[d])
            return ot_onnx_refuse(n, "'kernel_shape' says %lld where its weight has %lld",
                                  (long long)v->kernel[d], (long long)kernel[d]);
        v->kernel[d] = kernel[d];
    }
    return status < 0 ? status : pads_of(n, v);
}

ot_onnx_window ot_onnx_plane_of(const volume *v)
{
    return (ot_onnx_window){.dims = 2,
                            .kernel = {v->kernel[H], v->kernel[W]},
                            .stride = {v->stride[H], v->stride[W]},
                            .dilation = {v->dilation[H], v->dilation[W]},
                            .pad = {v->before[H], v->before[W], v->after[H], v->after[W]}};
}

/* Every stride-th plane of depth, `count` of them from `from` on, as one of several: [N,C,1,..]. */
static value *planes(ot_onnx_node *n, value *x, int64_t from, int64_t stride, int64_t count)
{
    const long long end = (long long)(from + (count - 1) * stride + 1);
    value *some = ot_onnx_call(n, "strided_slice", 1, &x,
                               "begin=[0,0,%lld], end=[%lld,%lld,%lld], strides=[1,1,%lld]",
                               (long long)from, (long long)OPTUNE_MAX_DIM,
                               (long long)OPTUNE_MAX_DIM, end, (long long)stride);
    return ot_onnx_call(n, "expand_dims", 1, &some, "axis=2");
}

int ot_onnx_slide_volume(ot_onnx_node *n, const int64_t *kernel, ot_onnx_window *w)
{
    volume v;
    const int status = ot_onnx_volume_of(n, kernel, &v);
    if (status < 0)
        return status;
    const int64_t span = (v.kernel[D] - 1) * v.dilation[D] + 1;
    const int64_t room = v.dim[2] + v.before[D] + v.after[D] - span;
    const int64_t depth = room < 0 ? 0 : room / v.stride[D] + 1;
    if (depth < 1 || v.kernel[D] > OT_ONNX_LIST)
        return ot_onnx_refuse(n, "%lld planes in depth under a kernel of %lld",
                              (long long)v.dim[2], (long long)v.kernel[D]);
    value *x = ot_onnx_need(n, 0), *tap[OT_ONNX_LIST];
    if (v.before[D] || v.after[D])
        x = ot_onnx_call(n, "pad", 1, &x,
                         "before=[0,0,%lld,0,0], after=[0,0,%lld,0,0], value=0.0",
                         (long long)v.before[D], (long long)v.after[D]);
    for (int64_t k = 0; k < v.kernel[D]; k++)
        if (!x || !(tap[k] = planes(n, x, k * v.dilation[D], v.stride[D], depth)))
            return n->err->status;
    x = ot_onnx_join(n, 2, (int)v.kernel[D], tap);
    x = ot_onnx_transpose(n, x, 6, (const int[]){0, 3, 1, 2, 4, 5});
    *w = ot_onnx_plane_of(&v);
    w->dims = DIMS;
    w->depth = depth;
    w->data = ot_onnx_reshape(n, x, 4,
                              (const int64_t[]){ot_onnx_times(v.dim[0], depth),
                                                v.dim[1] * v.kernel[D], v.dim[3], v.dim[4]});
    return w->data ? OPTUNE_OK : n->err->status;
}

value *ot_onnx_unslide_volume(ot_onnx_node *n, const ot_onnx_window *w, value *x)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return NULL;
    const int64_t batch = dim[0] < 0 ? -1 : dim[0] / w->depth;
    const int64_t all[] = {batch, w->depth, dim[1], dim[2], dim[3]};
    x = ot_onnx_reshape(n, x, 5, all);
    return x ? ot_onnx_transpose(n, x, 5, (const int[]){0, 2, 1, 3, 4}) : NULL;
}
