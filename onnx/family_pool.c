/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over lines, images and volumes, and over all of them. */
#include <string.h>

#include "onnx/onnx.h"

/* No window that starts in the last pad has anything of what is in front of it. */
static bool never_in_pads(const ot_onnx_window *w)
{
    bool never = true;
    for (int d = 0; d < 2; d++) {
        const int64_t span = (w->kernel[d] - 1) * w->dilation[d] + 1;
        never = never && w->stride[d] + w->pad[2 + d] <= span;
    }
    return never;
}

/* Windows less one along dim d, of so many elements, as ONNX rounds up: none starts in the last
 * pad; *room is what they all slide over. */
static int64_t last_window(const ot_onnx_window *w, int d, int64_t extent, int64_t *room)
{
    const int64_t span = (w->kernel[d] - 1) * w->dilation[d] + 1;
    *room = extent + w->pad[d] + w->pad[2 + d] - span;
    const int64_t most = (*room + w->stride[d] - 1) / w->stride[d];
    return most * w->stride[d] >= extent + w->pad[d] ? most - 1 : most;
}

/* Rounding up counts a window that starts in the last pad in ours, not in ONNX's. 1: ours is as
 * ONNX's; 0: rounding down is, where dims differ with more of a pad, unless `counted`: what it has
 * is then divided by; negative: neither. */
static int rounds_up(ot_onnx_node *n, ot_onnx_window *w, bool counted)
{
    int64_t dim[OPTUNE_MAX_RANK], more[2] = {0};
    bool up = true, down = true;
    if (!ot_onnx_int(n, "ceil_mode", 0))
        return 0;
    if (never_in_pads(w)) /* whatever the dims are */
        return 1;
    if (!ot_onnx_dims_at(n, w->data, ~3u, dim)) /* of images and channels any number */
        return n->err->status;
    for (int d = 0; d < 2; d++) {
        int64_t room;
        const int64_t last = last_window(w, d, dim[2 + d], &room);
        up = up && last == (room + w->stride[d] - 1) / w->stride[d];
        down = down && last == room / w->stride[d];
        more[d] = last == room / w->stride[d] ? 0 : last * w->stride[d] - room;
    }
    if (up || down)
        return up;
    if (counted)
        return ot_onnx_refuse(n, "rounds up along one dim, down along the other");
    for (int d = 0; d < 2; d++)
        w->pad[2 + d] += more[d];
    return 0;
}

int ot_onnx_pad_up(ot_onnx_node *n, ot_onnx_window *w)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_int(n, "ceil_mode", 0))
        return OPTUNE_OK;
    if (!ot_onnx_dims_at(n, w->data, ~3u, dim))
        return n->err->status;
    for (int d = 0; d < 2; d++) {
        int64_t room;
        const int64_t more = last_window(w, d, dim[2 + d], &room) * w->stride[d] - room;
        w->pad[2 + d] += more > 0 ? more : 0;
    }
    return OPTUNE_OK;
}

ot_onnx_value *ot_onnx_pooled(ot_onnx_node *n, const char *op, ot_onnx_window *w)
{
    const bool mean = !strcmp(op, "avg_pool2d");
    const bool counted = mean && ot_onnx_int(n, "count_include_pad", 0);
    const char *pad = counted ? "true" : "false";
    const int up = rounds_up(n, w, counted);
    if (up < 0)
        return NULL;
    const char *layout =
        w->block ? ot_arena_printf(&n->m->arena, ", layout=NCHW%lldc", (long long)w->block)
                 : "";
    return ot_onnx_call(
        n, op, 1, &w->data,
        "pool_size=[%s], strides=[%s], padding=[%s], dilation=[%s], ceil_mode=%s%s%s%s",
        ot_onnx_text(n->m, 2, w->kernel), ot_onnx_text(n->m, 2, w->stride),
        ot_onnx_text(n->m, 4, w->pad), ot_onnx_text(n->m, 2, w->dilation),
        up ? "true" : "false", mean ? ", count_include_pad=" : "", mean ? pad : "", layout);
}

static int volume_places(ot_onnx_node *n, const ot_onnx_volume *v, const ot_onnx_value *pooled)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims(n, pooled, dim))
        return n->err->status;
    ot_onnx_places p = {.dims = 3, .columns = ot_onnx_int(n, "storage_order", 0) == 1};
    for (int d = 0; d < 3; d++) {
        p.kernel[d] = v->kernel[d];
        p.stride[d] = v->stride[d];
        p.dilation[d] = v->dilation[d];
        p.before[d] = v->before[d];
        p.windows[d] = dim[2 + d];
    }
    return ot_onnx_give(n, 1, ot_onnx_places_of(n, ot_onnx_need(n, 0), &p));
}

/* Over the planes, then over depth: the largest of the largest, and the mean of means, as pads are
 * counted, or not, along each dim by itself. */
static int pool_volume(ot_onnx_node *n, const char *op)
{
    ot_onnx_volume v;
    int64_t dim[OPTUNE_MAX_RANK];
    const int status = ot_onnx_volume_of(n, NULL, &v);
    if (status < 0)
        return status;
    ot_onnx_window w = ot_onnx_plane_of(&v);
    w.data =
        ot_onnx_reshape(n, ot_onnx_need(n, 0), 4,
                        (const int64_t[]){v.dim[0], v.dim[1] * v.dim[2], v.dim[3], v.dim[4]});
    ot_onnx_value *x = w.data ? ot_onnx_pooled(n, op, &w) : NULL;
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return n->err->status;
    w = (ot_onnx_window){.dims = 2,
                         .kernel = {v.kernel[0], 1},
                         .stride = {v.stride[0], 1},
                         .dilation = {v.dilation[0], 1},
                         .pad = {v.before[0], 0, v.after[0], 0}};
    w.data = ot_onnx_reshape(n, x, 4,
                             (const int64_t[]){v.dim[0], v.dim[1], v.dim[2], dim[2] * dim[3]});
    x = w.data ? ot_onnx_pooled(n, op, &w) : NULL;
    x = ot_onnx_reshape_keeping(n, x, 5, (const int64_t[]){0, 0, -1, dim[2], dim[3]});
    if (!x || ot_onnx_give(n, 0, x) < 0)
        return n->err->status;
    return ot_onnx_wants(n, 1) ? volume_places(n, &v, x) : OPTUNE_OK;
}

/* Of what was pooled, where it was, when somebody reads that. */
static int places(ot_onnx_node *n, const ot_onnx_window *w, const ot_onnx_value *pooled)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_wants(n, 1))
        return OPTUNE_OK;
    if (!ot_onnx_dims(n, pooled, dim))
        return n->err->status;
    ot_onnx_places p = {.dims = 2, .columns = ot_onnx_int(n, "storage_order", 0) == 1};
    for (int d = 0; d < 2; d++) {
        p.kernel[d] = w->kernel[d];
        p.stride[d] = w->stride[d];
        p.dilation[d] = w->dilation[d];
        p.before[d] = w->pad[d];
        p.windows[d] = dim[2 + d];
    }
    ot_onnx_value *at = ot_onnx_places_of(n, w->data, &p);
    return at ? ot_onnx_give(n, 1, ot_onnx_unslide(n, w, at)) : n->err->status;
}

static int pool(ot_onnx_node *n)
{
    ot_onnx_window w;
    const ot_onnx_value *data = ot_onnx_in(n, 0);
    if (ot_onnx_wants(n, 1) && strcmp(n->op->arg, "max_pool2d") != 0)
        return ot_onnx_refuse(n, "it has one output, not two");
    const bool volume = data && ot_onnx_type(n->m, data)->rank == 5;
    if (volume && strstr(n->op->name, "::Nhwc"))
        return ot_onnx_refuse(n, "volumes whose channels come last are not supported");
    if (volume)
        return pool_volume(n, n->op->arg);
    if (ot_onnx_slide(n, NULL, &w) < 0)
        return n->err->status;
    ot_onnx_value *all = ot_onnx_pooled(n, n->op->arg, &w);
    const int status = all ? ot_onnx_give(n, 0, ot_onnx_unslide(n, &w, all)) : n->err->status;
    return status < 0 ? status : places(n, &w, all);
}

static int global(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    if (rank < 0)
        return n->err->status;
    if (rank < 3)
        return ot_onnx_refuse(n, "its input has %d dims, fewer than 3", rank);
    if (rank == 4 && !strcmp(n->op->arg, "mean"))
        return ot_onnx_give(n, 0, ot_onnx_1(n, "global_avg_pool2d", data));
    int64_t axes[OPTUNE_MAX_RANK];
    for (int d = 2; d < rank; d++)
        axes[d - 2] = d;
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, n->op->arg, 1, &data, "axis=[%s], keepdims=true",
                                     ot_onnx_text(n->m, rank - 2, axes)));
}

static const ot_onnx_op ops[] = {
    {"MaxPool", pool, "max_pool2d"},     {"com.microsoft::NhwcMaxPool", pool, "max_pool2d"},
    {"AveragePool", pool, "avg_pool2d"}, {"GlobalAveragePool", global, "mean"},
    {"GlobalMaxPool", global, "max"},    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(pool) = {ops};
