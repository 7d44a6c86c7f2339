/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements in another shape or order. */
#include <string.h>

#include "onnx/onnx.h"

static int identity(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, x) : n->err->status;
}

int ot_onnx_dropped(ot_onnx_node *n, ot_onnx_value *x, int training_input)
{
    const ot_onnx_value *training = ot_onnx_in(n, training_input);
    if (training && (!training->data || *(const char *)training->data))
        return ot_onnx_refuse(n, "only inference is supported");
    const int status = x ? ot_onnx_give(n, 0, x) : n->err->status;
    if (status < 0 || !ot_onnx_wants(n, 1))
        return status;
    return ot_onnx_give(n, 1,
                        ot_onnx_as(n, ot_onnx_1(n, "ones_like", ot_onnx_need(n, 0)),
                                   (optune_dtype){OPTUNE_DTYPE_BOOL, 1, 1}));
}

static int dropout(ot_onnx_node *n)
{
    return ot_onnx_dropped(n, ot_onnx_need(n, 0), 2);
}

static int reshape(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    ot_onnx_list list = {0};
    const ot_onnx_value *shape = ot_onnx_in(n, 1);
    if (data && shape && shape->sizes)
        return ot_onnx_give(n, 0, ot_onnx_reshape_open(n, data, shape));
    const int status = data ? ot_onnx_list_at(n, "shape", 1, &list) : n->err->status;
    if (status < 0)
        return status;
    if (!status || list.n > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "a shape of %d dims", list.n);
    int64_t dim[OPTUNE_MAX_RANK], all = 1;
    if (!ot_onnx_dims_at(n, data, 0, dim))
        return n->err->status;
    for (int d = 0; d < ot_onnx_rank(n, data); d++)
        all *= dim[d];
    for (int d = 0; d < list.n; d++)
        if (list.i[d] < -1)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)list.i[d]);
    for (int d = 0; d < list.n && all; d++)
        if (list.i[d] == 0 && ot_onnx_int(n, "allowzero", 0))
            return ot_onnx_refuse(n, "a dim of 0 where its input has elements");
    return ot_onnx_give(n, 0,
                        ot_onnx_int(n, "allowzero", 0)
                            ? ot_onnx_reshape(n, data, list.n, list.i)
                            : ot_onnx_reshape_keeping(n, data, list.n, list.i));
}

static int flatten(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    int64_t axis = ot_onnx_int(n, "axis", 1), dim[OPTUNE_MAX_RANK];
    if (rank < 0)
        return n->err->status;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return ot_onnx_refuse(n, "there is no axis %lld in %d dims", (long long)axis, rank);
    if (axis == 1 && rank > 1) /* whatever the batch is */
        return ot_onnx_give(n, 0,
                            ot_onnx_reshape_keeping(n, data, 2, (const int64_t[]){0, -1}));
    if (!ot_onnx_dims_at(n, data, 0, dim))
        return n->err->status;
    int64_t to[] = {1, 1};
    bool open[] = {false, false}; /* one of the two may be */
    for (int d = 0; d < rank; d++) {
        open[d >= axis] = open[d >= axis] || dim[d] < 0;
        to[d >= axis] *= dim[d];
    }
    if (open[0] && open[1] && !ot_onnx_dims_at(n, data, (1u << axis) - 1, dim))
        return n->err->status;
    for (int side = 0; side < 2; side++)
        to[side] = open[side] ? -1 : to[side];
    return ot_onnx_give(n, 0, ot_onnx_reshape(n, data, 2, to));
}

static int transpose(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    int axes[OPTUNE_MAX_RANK];
    ot_onnx_list list;
    const int there = rank < 0 ? n->err->status : ot_onnx_ints(n, "perm", &list);
    if (there < 0)
        return there;
    if (there && list.n != rank)
        return ot_onnx_refuse(n, "'perm' has %d axes of %d", list.n, rank);
    for (int d = 0; d < rank; d++) {
        axes[d] = there ? ot_onnx_axis(n, list.i[d], rank) : rank - 1 - d;
        if (axes[d] < 0)
            return n->err->status;
    }
    return ot_onnx_give(n, 0, ot_onnx_transpose(n, data, rank, axes));
}

static int squeeze(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    ot_onnx_list list;
    const int there = data ? ot_onnx_list_at(n, "axes", 1, &list) : n->err->status;
    if (there < 0)
        return there;
    return ot_onnx_give(n, 0,
                        there && !list.n ? data
                                         : ot_onnx_call(n, "squeeze", 1, &data, "axis=[%s]",
                                                        ot_onnx_text(n->m, list.n, list.i)));
}

/* From the front on, so that each axis is where it will be at the end. */
static int unsqueeze(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    ot_onnx_list list;
    const int there = data ? ot_onnx_list_at(n, "axes", 1, &list) : n->err->status;
    const int rank = there < 0 ? -1 : ot_onnx_rank(n, data);
    if (rank < 0)
        return n->err->status;
    unsigned wanted = 0;
    if (rank + list.n > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "more than %d dims", OPTUNE_MAX_RANK);
    for (int i = 0; i < list.n; i++) {
        const int axis = ot_onnx_axis(n, list.i[i], rank + list.n);
        if (axis < 0)
            return n->err->status;
        if (wanted >> axis & 1)
            return ot_onnx_refuse(n, "'axes' names axis %d twice", axis);
        wanted |= 1u << axis;
    }
    for (int d = 0; d < rank + list.n; d++)
        if (wanted >> d & 1)
            data = ot_onnx_call(n, "expand_dims", 1, &data, "axis=%d", d);
    return ot_onnx_give(n, 0, data);
}

/* Where one of both is 1, the other; else that of the data, which the shape's must not differ from.
 * NULL: only a run knows, and the node has failed. */
static const optune_dim *wider(ot_onnx_node *n, const optune_dim *data, const optune_dim *shape)
{
    const bool known = optune_dim_known(data), told = optune_dim_known(shape);
    if (known && data->min == 1)
        return shape;
    if ((told && shape->min == 1) || (*data->name && !strcmp(data->name, shape->name)) ||
        (known && told && data->min == shape->min))
        return data;
    if (known && told)
        ot_onnx_refuse(n, "a dim of %lld does not become one of %lld", (long long)data->min,
                       (long long)shape->min);
    else
        ot_onnx_ask(n, known ? shape : data, -1);
    return NULL;
}

/* To a shape of which some dims only a run knows. */
static int expand_open(ot_onnx_node *n, ot_onnx_value *data, const ot_onnx_value *shape)
{
    optune_dim list[OT_ONNX_LIST], all[OPTUNE_MAX_RANK];
    const optune_dim one = optune_dim_of(1);
    const optune_tensor *type = ot_onnx_type(n->m, data);
    const int own = ot_onnx_rank(n, data), given = ot_onnx_sizes_of(shape, list);
    const int rank = own > given ? own : given;
    bool stays = own == rank;
    if (own < 0 || given < 0)
        return ot_onnx_refuse(n, "a shape that is no list of integers");
    if (rank > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "%d dims, more than %d", rank, OPTUNE_MAX_RANK);
    for (int d = 0; d < rank; d++) {
        const optune_dim *a = d + own < rank ? &one : &type->dim[d + own - rank];
        const optune_dim *b = d + given < rank ? &one : &list[d + given - rank];
        const optune_dim *to = wider(n, a, b);
        if (!to)
            return n->err->status;
        stays = stays && (to == a || (optune_dim_known(to) && to->min == 1));
        all[d] = *to;
    }
    return ot_onnx_give(n, 0, stays ? data : ot_onnx_spread(n, data, rank, all));
}

static int expand(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *shape = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK], all[OPTUNE_MAX_RANK];
    ot_onnx_list list;
    if (data && shape &&
        (shape->sizes || (shape->data && !optune_tensor_known(ot_onnx_type(n->m, data)))))
        return expand_open(n, data, shape);
    if (!data || !shape || ot_onnx_list_of(n, shape, "shape", &list) < 0 ||
        !ot_onnx_dims(n, data, dim))
        return n->err->status;
    const int own = ot_onnx_rank(n, data), rank = own > list.n ? own : list.n;
    if (rank > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "%d dims, more than %d", rank, OPTUNE_MAX_RANK);
    for (int d = 0; d < rank; d++) {
        const int64_t a = d + own < rank ? 1 : dim[d + own - rank];
        const int64_t b = d + list.n < rank ? 1 : list.i[d + list.n - rank];
        all[d] = a == 1 ? b : a;
    }
    return ot_onnx_give(
        n, 0,
        ot_onnx_call(n, "broadcast_to", 1, &data, "shape=[%s]", ot_onnx_text(n->m, rank, all)));
}

/* The same where the image's dims are not known: C and the block go last, where each part of it has
 * only one dim to join that is not. */
static ot_onnx_value *depth_to_any_space(ot_onnx_node *n, ot_onnx_value *data, int64_t b,
                                         int64_t c, bool crd)
{
    const int64_t split[2][6] = {{0, 0, 0, b, b, c}, {0, 0, 0, c, b, b}};
    static const int axes[2][6] = {{0, 2, 4, 5, 1, 3}, {0, 2, 5, 3, 1, 4}};
    ot_onnx_value *all = ot_onnx_transpose(n, data, 4, (const int[]){0, 2, 3, 1});
    all = ot_onnx_transpose(n, ot_onnx_reshape_keeping(n, all, 6, split[crd]), 6, axes[crd]);
    all = ot_onnx_reshape_keeping(n, all, 5,
                                  (const int64_t[]){0, 0, 0, 0, -1}); /* N, W, b, C, H b */
    all = ot_onnx_transpose(n, all, 5, (const int[]){0, 3, 4, 1, 2});
    return ot_onnx_reshape_keeping(n, all, 4, (const int64_t[]){0, 0, 0, -1});
}

/* A dim of block * block * C as C and the block, whose rows and columns join the image's. */
static int depth_to_space(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int64_t b = ot_onnx_int(n, "blocksize", 0);
    int64_t dim[OPTUNE_MAX_RANK];
    if (!data || !ot_onnx_dims_at(n, data, 2, dim))
        return n->err->status;
    if (ot_onnx_rank(n, data) != 4 || b < 1 || b > 1 << 15 || dim[1] % (b * b))
        return ot_onnx_refuse(n, "blocks of %lld do not divide its channels", (long long)b);
    const int64_t c = dim[1] / (b * b), h = dim[2], w = dim[3];
    const bool crd = !strcmp(ot_onnx_word(n, "mode", "DCR"), "CRD");
    if (h < 0 || w < 0)
        return ot_onnx_give(n, 0, depth_to_any_space(n, data, b, c, crd));
    const int64_t split[2][6] = {{0, b, b, c, h, w}, {0, c, b, b, h, w}};
    static const int axes[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    ot_onnx_value *all = ot_onnx_reshape_keeping(n, data, 6, split[crd]);
    all = ot_onnx_transpose(n, all, 6, axes[crd]);
    return ot_onnx_give(
        n, 0, ot_onnx_reshape_keeping(n, all, 4, (const int64_t[]){0, c, h * b, w * b}));
}

static int space_to_depth(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const int64_t b = ot_onnx_int(n, "blocksize", 0);
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    if (rank < 0 || !ot_onnx_dims_at(n, data, ~1u, dim))
        return n->err->status;
    if (rank != 4 || b < 1 || dim[2] % b || dim[3] % b)
        return ot_onnx_refuse(n, "blocks of %lld do not divide its image", (long long)b);
    const int64_t c = dim[1], h = dim[2] / b, w = dim[3] / b;
    ot_onnx_value *all =
        ot_onnx_reshape_keeping(n, data, 6, (const int64_t[]){0, c, h, b, w, b});
    const bool crd = !strcmp(ot_onnx_word(n, "mode", "DCR"), "CRD");
    static const int axes[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
    all = ot_onnx_transpose(n, all, 6, axes[crd]);
    return ot_onnx_give(
        n, 0, ot_onnx_reshape_keeping(n, all, 4, (const int64_t[]){0, b * b * c, h, w}));
}

static const ot_onnx_op ops[] = {
    {"Identity", identity, NULL},
    {"Dropout", dropout, NULL},
    {"Reshape", reshape, NULL},
    {"Flatten", flatten, NULL},
    {"Transpose", transpose, NULL},
    {"Squeeze", squeeze, NULL},
    {"Unsqueeze", unsqueeze, NULL},
    {"Expand", expand, NULL},
    {"DepthToSpace", depth_to_space, NULL},
    {"SpaceToDepth", space_to_depth, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(shape) = {ops};
