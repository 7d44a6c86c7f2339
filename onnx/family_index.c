/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that choose elements: the largest, those at indices that may only be known when the
 * model runs, those on one side of a diagonal. Lookups along several axes are one in the flattened
 * data, at indices that are computed.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype int64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
static const optune_dtype truth = {.code = OPTUNE_DTYPE_BOOL, .bits = 1, .lanes = 1};

/* A constant with room for its elements. */
static value *room(ot_onnx_node *n, optune_dtype dtype, int rank, const int64_t *dim)
{
    value *made = NULL;
    optune_tensor type = {.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        type.dim[d] = optune_dim_of(dim[d]);
    return ot_onnx_room(n->m, &type, &made, n->err) < 0 ? NULL : made;
}

/* 0, step, 2 step ... along one dim of `rank` dims. */
ot_onnx_value *ot_onnx_count_up(ot_onnx_node *n, int rank, int axis, int64_t extent,
                                int64_t step)
{
    int64_t dim[OPTUNE_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dim[d] = d == axis ? extent : 1;
    value *made = room(n, int64, rank, dim);
    for (int64_t i = 0; i < extent && made; i++)
        ((int64_t *)made->data)[i] = i * step;
    return made;
}

/* As 64-bit integers from 0 on: those below 0 count from the end. */
ot_onnx_value *ot_onnx_from_start(ot_onnx_node *n, value *index, int64_t extent)
{
    if (index && ot_onnx_type(n->m, index)->dtype.bits != 64)
        index = ot_onnx_call(n, "cast", 1, &index, "dtype=i64");
    value *const in[] = {
        index ? ot_onnx_2(n, "less", index, ot_onnx_number(n, index, 0)) : NULL,
        index ? ot_onnx_2(n, "add", index, ot_onnx_number(n, index, (double)extent)) : NULL,
        index};
    return ot_onnx_call(n, "where", 3, in, NULL);
}

ot_onnx_value *ot_onnx_place_along(ot_onnx_node *n, ot_onnx_value *index, int axis, int rank,
                                   const int64_t *dim, const int64_t *some)
{
    int64_t stride = 1;
    value *at = ot_onnx_from_start(n, index, dim[axis]);
    for (int d = rank - 1; d >= 0 && at; d--) {
        if (d == axis)
            at = stride == 1
                     ? at
                     : ot_onnx_2(n, "multiply", at, ot_onnx_number(n, at, (double)stride));
        stride *= dim[d];
    }
    stride = 1;
    for (int d = rank - 1; d >= 0 && at; d--) {
        if (some[d] > dim[d] && d != axis) {
            ot_onnx_refuse(n, "more indices than elements along axis %d", d);
            return NULL;
        }
        if (d != axis && some[d] > 1)
            at = ot_onnx_2(n, "add", at, ot_onnx_count_up(n, rank, d, some[d], stride));
        stride *= dim[d];
    }
    return at;
}

/* Of the first elements of data where there are fewer indices beside the axis. */
static int gather_elements(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0), *index = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK];
    if (!data || !index || !ot_onnx_dims_at(n, data, 0, dim) ||
        !ot_onnx_dims_at(n, index, 0, some))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    const int axis = ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    if (axis < 0)
        return n->err->status;
    if (ot_onnx_rank(n, index) != rank)
        return ot_onnx_refuse(n, "its inputs differ in rank");
    for (int d = 0; d < rank && data; d++) {
        const optune_dim *all = &ot_onnx_type(n->m, data)->dim[d];
        const optune_dim *part = &ot_onnx_type(n->m, index)->dim[d];
        if (d == axis || (*all->name && !strcmp(all->name, part->name)))
            continue;
        if (dim[d] < 0 || some[d] < 0)
            return ot_onnx_ask(n, some[d] < 0 ? part : all, d);
        if (some[d] > dim[d])
            return ot_onnx_refuse(n, "more indices than elements along axis %d", d);
        if (some[d] < dim[d])
            data = ot_onnx_part(n, data, d, 0, some[d]);
    }
    return ot_onnx_give(
        n, 0, ot_onnx_call(n, "gather", 2, (value *const[]){data, index}, "axis=%d", axis));
}

/* The last dim of the indices holds a place in the first dims of data behind the batch's, which
 * both have. */
static int gather_nd(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0), *index = ot_onnx_need(n, 1), *at = NULL;
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK], rows = 1;
    const int rank = data && index ? ot_onnx_rank(n, data) : -1;
    const int places = rank < 0 ? -1 : ot_onnx_rank(n, index) - 1;
    const int64_t batch = ot_onnx_int(n, "batch_dims", 0);
    if (n->err->status < 0 || !ot_onnx_dims_at(n, index, places < 0 ? 0 : 1u << places, some))
        return n->err->status;
    if (batch < 0 || batch > places || batch >= rank)
        return ot_onnx_refuse(n, "%lld batch dims of %d", (long long)batch, rank);
    const int64_t deep = places < 0 ? 0 : some[places], first = batch + deep;
    if (deep < 1 || first > rank || places + rank - first > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "places of %lld numbers in %d dims", (long long)deep, rank);
    if (!ot_onnx_dims_at(n, data, (1u << first) - 1, dim))
        return n->err->status;
    for (int64_t d = deep - 1; d >= 0; d--) {
        value *one = ot_onnx_part(n, index, places, d, d + 1);
        one = ot_onnx_call(n, "squeeze", 1, &one, "axis=[%d]", places);
        one = ot_onnx_from_start(n, one, dim[batch + d]);
        if (one && rows != 1)
            one = ot_onnx_2(n, "multiply", one, ot_onnx_number(n, one, (double)rows));
        at = at && one ? ot_onnx_2(n, "add", at, one) : one;
        rows *= dim[batch + d];
    }
    for (int d = (int)batch - 1; d >= 0 && at; d--) {
        at = ot_onnx_2(n, "add", at, ot_onnx_count_up(n, places, d, dim[d], rows));
        rows *= dim[d];
    }
    int64_t to[OPTUNE_MAX_RANK + 1] = {rows};
    for (int64_t d = first; d < rank; d++)
        to[d - first + 1] = dim[d];
    value *lines = first == 1 ? data : ot_onnx_reshape(n, data, rank - (int)first + 1, to);
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "take", 2, (value *const[]){lines, at}, "axis=0"));
}

static int top_k(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0);
    ot_onnx_list k = {0};
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", -1), rank);
    const int there = axis < 0 ? n->err->status : ot_onnx_list_at(n, "k", 1, &k);
    if (there < 0)
        return there;
    if (!there) { /* an attribute of opset 1 */
        k.n = 1;
        k.i[0] = ot_onnx_int(n, "k", 0);
    }
    if (k.n != 1 || k.i[0] < 1)
        return ot_onnx_refuse(n, "its k is no number above 0");
    value *both =
        ot_onnx_call(n, "topk", 1, &data, "k=%lld, axis=%d, is_ascend=%s, dtype=i64",
                     (long long)k.i[0], axis, ot_onnx_int(n, "largest", 1) ? "false" : "true");
    const int status = ot_onnx_give(n, 0, ot_onnx_get(n, both, 0));
    return status < 0 ? status : ot_onnx_give(n, 1, ot_onnx_get(n, both, 1));
}

/* What is above the diagonal, or below it, and 0 elsewhere. */
static int triangle(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *shift = ot_onnx_in(n, 1);
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_list k = {0};
    if (!x || !ot_onnx_dims(n, x, dim) || (shift && ot_onnx_list_of(n, shift, "k", &k) < 0))
        return n->err->status;
    const int rank = ot_onnx_rank(n, x);
    if (rank < 2 || k.n > 1)
        return ot_onnx_refuse(n, "%d dims, %d numbers as k", rank, k.n);
    const bool upper = ot_onnx_int(n, "upper", 1);
    value *mask = room(n, truth, 2, dim + rank - 2);
    for (int64_t i = 0; mask && i < dim[rank - 2]; i++)
        for (int64_t j = 0; j < dim[rank - 1]; j++)
            ((uint8_t *)mask->data)[i * dim[rank - 1] + j] =
                upper ? j >= i + k.i[0] : j <= i + k.i[0];
    value *const in[] = {mask, x, ot_onnx_number(n, x, 0)};
    return ot_onnx_give(n, 0, ot_onnx_call(n, "where", 3, in, NULL));
}

static int one_hot(ot_onnx_node *n)
{
    value *index = ot_onnx_need(n, 0), *depth = ot_onnx_need(n, 1), *two = ot_onnx_need(n, 2);
    double deep = 0;
    const int rank = index && depth && two ? ot_onnx_rank(n, index) + 1 : 0;
    const int axis = rank < 1 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", -1), rank);
    if (axis < 0)
        return n->err->status;
    if (!depth->data || optune_tensor_elements(&depth->type) != 1)
        return ot_onnx_refuse(n, "its depth is no constant number");
    ot_elements(depth->type.dtype, depth->data, 0, 1, &deep);
    if (!(deep >= 1) || deep > 1e9 || rank > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "a depth of %g, %d dims", deep, rank);
    if (ot_onnx_type(n->m, index)->dtype.code != OPTUNE_DTYPE_INT)
        index = ot_onnx_call(n, "cast", 1, &index, "dtype=i64");
    index = ot_onnx_from_start(n, index, (int64_t)deep);
    index = ot_onnx_call(n, "expand_dims", 1, &index, "axis=%d", axis);
    value *hot =
        ot_onnx_2(n, "equal", index, ot_onnx_count_up(n, rank, axis, (int64_t)deep, 1));
    value *const in[] = {hot, ot_onnx_reshape(n, ot_onnx_part(n, two, 0, 1, 2), 0, NULL),
                         ot_onnx_reshape(n, ot_onnx_part(n, two, 0, 0, 1), 0, NULL)};
    return ot_onnx_give(n, 0, ot_onnx_call(n, "where", 3, in, NULL));
}

static const ot_onnx_op ops[] = {
    {"GatherElements", gather_elements, NULL},
    {"GatherND", gather_nd, NULL},
    {"TopK", top_k, NULL},
    {"Trilu", triangle, NULL},
    {"OneHot", one_hot, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(index) = {ops};
