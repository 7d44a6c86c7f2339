/* SPDX-License-Identifier: Apache-2.0 */
/* Images out of their windows, and cut or filled up around their middle. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static int two(ot_onnx_node *n, const char *name, int64_t otherwise, int64_t *to, int count)
{
    ot_onnx_list list;
    const int there = ot_onnx_ints(n, name, &list);
    if (there < 0)
        return there;
    if (there && list.n != count)
        return ot_onnx_refuse(n, "'%s' has %d values, not %d", name, list.n, count);
    for (int i = 0; i < count; i++) {
        to[i] = there ? list.i[i] : otherwise;
        if (to[i] < otherwise || to[i] > 1 << 20)
            return ot_onnx_refuse(n, "'%s' has the value %lld", name, (long long)to[i]);
    }
    return OPTUNE_OK;
}

/* [N,C*K,L], K elements of each of L windows, to [N,C,H,W]. */
static int col2im(ot_onnx_node *n)
{
    ot_onnx_window w = {.dims = 2};
    ot_onnx_list image, block;
    int64_t dim[OPTUNE_MAX_RANK], windows[2], added[2];
    value *x = ot_onnx_need(n, 0);
    if (!x || !ot_onnx_need(n, 1) || !ot_onnx_need(n, 2) ||
        ot_onnx_list_at(n, "image_shape", 1, &image) < 0 ||
        ot_onnx_list_at(n, "block_shape", 2, &block) < 0 ||
        two(n, "strides", 1, w.stride, 2) < 0 || two(n, "dilations", 1, w.dilation, 2) < 0 ||
        two(n, "pads", 0, w.pad, 4) < 0 || !ot_onnx_dims_at(n, x, ~1u, dim))
        return n->err->status;
    if (ot_onnx_rank(n, x) != 3 || image.n != 2 || block.n != 2)
        return ot_onnx_refuse(n, "over %d dims of windows of %d: only 2 are supported", image.n,
                              block.n);
    for (int d = 0; d < 2; d++) {
        w.kernel[d] = block.i[d];
        if (block.i[d] < 1 || block.i[d] > 1 << 10 || image.i[d] < 1 ||
            image.i[d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "an image of %lld by windows of %lld",
                                  (long long)image.i[d], (long long)block.i[d]);
        const int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
        const int64_t room = image.i[d] + w.pad[d] + w.pad[2 + d] - span;
        if (room < 0)
            return ot_onnx_refuse(n, "a window spans %lld of %lld", (long long)span,
                                  (long long)(room + span));
        windows[d] = room / w.stride[d] + 1;
        added[d] = room % w.stride[d];
    }
    const int64_t k = w.kernel[0] * w.kernel[1];
    if (dim[1] % k || dim[2] % windows[0] || dim[2] / windows[0] != windows[1])
        return ot_onnx_refuse(
            n, "its input has %lld windows of %lld, not %lld by %lld of a multiple of %lld",
            (long long)dim[2], (long long)dim[1], (long long)windows[0], (long long)windows[1],
            (long long)k);
    x = ot_onnx_reshape(n, x, 4, (const int64_t[]){-1, k, windows[0], windows[1]});
    x = ot_onnx_fold(n, x, &w, added);
    return ot_onnx_give(
        n, 0,
        ot_onnx_reshape(n, x, 4, (const int64_t[]){-1, dim[1] / k, image.i[0], image.i[1]}));
}

/* What is cut off or added, half of it at either end: of an odd number the end has more. */
static int center(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *shape = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK], before[OPTUNE_MAX_RANK] = {0}, after[OPTUNE_MAX_RANK] = {0};
    ot_onnx_list axes, to;
    const int rank = x && shape ? ot_onnx_rank(n, x) : -1;
    if (rank < 0 || ot_onnx_list_of(n, shape, "shape", &to) < 0)
        return n->err->status;
    const int some = ot_onnx_ints(n, "axes", &axes);
    if (some < 0)
        return some;
    if (to.n != (some ? axes.n : rank))
        return ot_onnx_refuse(n, "its shape has %d values for %d axes", to.n,
                              some ? axes.n : rank);
    for (int i = 0; i < to.n; i++) {
        const int d = ot_onnx_axis(n, some ? axes.i[i] : i, rank);
        if (d < 0 || !ot_onnx_dims_at(n, x, 1u << d, dim))
            return n->err->status;
        if (to.i[i] < 0 || to.i[i] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)to.i[i]);
        const int64_t more = to.i[i] - dim[d];
        before[d] = more / 2; /* of what is cut off, too, the end has more */
        after[d] = more - before[d];
    }
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "pad", 1, &x, "before=[%s], after=[%s], value=0.0",
                                     ot_onnx_text(n->m, rank, before),
                                     ot_onnx_text(n->m, rank, after)));
}

static const ot_onnx_op ops[] = {
    {"Col2Im", col2im, NULL},
    {"CenterCropPad", center, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(fold) = {ops};
