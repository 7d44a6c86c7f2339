/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements put at places. Where nothing is said of a reduction, ONNX demands that places differ;
 * exporters write some that do not, and of updates of one place the last one stays, as
 * everywhere else: each place looks up which one that is.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static value *added(ot_onnx_node *n, value *data, value *at, value *updates)
{
    return ot_onnx_call(n, "scatter_add", 3, (value *const[]){data, at, updates}, "axis=0");
}

/* How ONNX calls a reduction and we do. */
static const struct {
    const char *theirs, *ours;
} joined[] = {{"mul", "multiply"}, {"min", "minimum"}, {"max", "maximum"}};

/* A constant of `count` integers: 0, 1 ..., or all of them -1. */
static value *integers(ot_onnx_node *n, optune_dtype dtype, int64_t count, bool up)
{
    const optune_tensor type = {.dtype = dtype, .rank = 1, .dim = {optune_dim_of(count)}};
    value *made = NULL;
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    if (!up)
        memset(made->data, 0xff, (size_t)optune_tensor_bytes(&type));
    for (int64_t i = 0; up && i < count; i++)
        if (dtype.bits == 32)
            ((int32_t *)made->data)[i] = (int32_t)i;
        else
            ((int64_t *)made->data)[i] = i;
    return made;
}

/* `data` [N] or [N,L] with each of `updates`, [M] or [M,L], in place of what is at its place, `at`
 * [M]. What depends on places alone is computed while the file is read where they are constant: it
 * counts with all that is computed, so it is narrow. */
static value *replaced(ot_onnx_node *n, value *data, value *at, value *updates, int64_t places,
                       int64_t count)
{
    const optune_dtype dtype = {
        .code = OPTUNE_DTYPE_INT, .bits = count <= INT32_MAX ? 32 : 64, .lanes = 1};
    if (count == 0)
        return data;
    value *table = integers(n, dtype, places, false), *number = integers(n, dtype, count, true);
    value *last = table && number ? ot_onnx_call(n, "scatter_reduce", 3,
                                                 (value *const[]){table, at, number},
                                                 "axis=0, mode=maximum")
                                  : NULL;
    value *hit = last ? ot_onnx_2(n, "greater", last, ot_onnx_number(n, last, -1)) : NULL;
    if (hit && ot_onnx_rank(n, data) == 2)
        hit = ot_onnx_reshape(n, hit, 2, (const int64_t[]){places, 1});
    /* Of no update, -1, the last one is looked up, and left. */
    value *taken =
        hit ? ot_onnx_call(n, "take", 2, (value *const[]){updates, last}, "axis=0") : NULL;
    return ot_onnx_call(n, "where", 3, (value *const[]){hit, taken, data}, NULL);
}

/* `data` [N] or [N,L] with `updates` [M] or [M,L] in place of, or joined to, what is at `at`
 * [M]. */
static value *put(ot_onnx_node *n, value *data, value *at, value *updates)
{
    const char *how = ot_onnx_word(n, "reduction", "none"), *ours = NULL;
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK];
    if (!data || !at || !updates || !ot_onnx_dims(n, data, dim) ||
        !ot_onnx_dims(n, updates, some))
        return NULL;
    for (int i = 0; i < OT_COUNT(joined); i++)
        if (!strcmp(how, joined[i].theirs))
            ours = joined[i].ours;
    if (!ours && strcmp(how, "add") && strcmp(how, "none")) {
        ot_onnx_refuse(n, "reduction '%.40s' is not supported", how);
        return NULL;
    }
    if (!ours && ot_onnx_type(n->m, data)->dtype.code == OPTUNE_DTYPE_BOOL) {
        const optune_dtype byte = {.code = OPTUNE_DTYPE_UINT, .bits = 8, .lanes = 1};
        value *bytes = put(n, ot_onnx_as(n, data, byte), at, ot_onnx_as(n, updates, byte));
        return bytes ? ot_onnx_2(n, "greater", bytes, ot_onnx_number(n, bytes, 0)) : NULL;
    }
    if (!strcmp(how, "none"))
        return replaced(n, data, at, updates, dim[0], some[0]);
    if (ot_onnx_rank(n, data) == 2) {
        at = ot_onnx_reshape(n, at, 2, (const int64_t[]){some[0], 1});
        at = ot_onnx_call(n, "broadcast_to", 1, &at, "shape=[%s]", ot_onnx_text(n->m, 2, some));
    }
    if (!ours)
        return added(n, data, at, updates);
    return ot_onnx_call(n, "scatter_reduce", 3, (value *const[]){data, at, updates},
                        "axis=0, mode=%s", ours);
}

/* Along one axis, the place along the others being the update's own. */
static int scatter_elements(ot_onnx_node *n)
{
    static const int64_t line[] = {-1};
    value *data = ot_onnx_need(n, 0), *index = ot_onnx_need(n, 1),
          *updates = ot_onnx_need(n, 2);
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK];
    if (!data || !index || !updates || !ot_onnx_dims(n, data, dim) ||
        !ot_onnx_dims(n, index, some))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    const int axis = ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    if (axis < 0)
        return n->err->status;
    if (ot_onnx_rank(n, index) != rank)
        return ot_onnx_refuse(n, "its inputs differ in rank");
    value *at = ot_onnx_place_along(n, index, axis, rank, dim, some);
    value *all = put(n, ot_onnx_reshape(n, data, 1, line), ot_onnx_reshape(n, at, 1, line),
                     ot_onnx_reshape(n, updates, 1, line));
    return ot_onnx_give(n, 0, ot_onnx_reshape(n, all, rank, dim));
}

/* The last dim of the indices holds a place in the first dims of data. */
static int scatter_nd(ot_onnx_node *n)
{
    value *data = ot_onnx_need(n, 0), *index = ot_onnx_need(n, 1),
          *updates = ot_onnx_need(n, 2), *at = NULL;
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK], rows = 1, inner = 1, lines = 1;
    if (!data || !index || !updates || !ot_onnx_dims(n, data, dim) ||
        !ot_onnx_dims(n, index, some))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data), places = ot_onnx_rank(n, index) - 1;
    const int64_t deep = places < 0 ? 0 : some[places];
    if (deep < 1 || deep > rank)
        return ot_onnx_refuse(n, "places of %lld numbers in %d dims", (long long)deep, rank);
    for (int d = 0; d < places; d++)
        lines *= some[d];
    for (int64_t d = deep; d < rank; d++)
        inner *= dim[d];
    index = ot_onnx_reshape(n, index, 2, (const int64_t[]){lines, deep});
    for (int64_t d = deep - 1; d >= 0 && index; d--) {
        value *one = ot_onnx_from_start(n, ot_onnx_part(n, index, 1, d, d + 1), dim[d]);
        if (one && rows != 1)
            one = ot_onnx_2(n, "multiply", one, ot_onnx_number(n, one, (double)rows));
        at = at && one ? ot_onnx_2(n, "add", at, one) : one;
        rows *= dim[d];
    }
    const int deeper = inner == 1 ? 1 : 2;
    const int64_t whole[] = {rows, inner}, part[] = {lines, inner};
    value *all = put(n, ot_onnx_reshape(n, data, deeper, whole),
                     ot_onnx_reshape(n, at, 1, (const int64_t[]){lines}),
                     ot_onnx_reshape(n, updates, deeper, part));
    return ot_onnx_give(n, 0, ot_onnx_reshape(n, all, rank, dim));
}

/* The first elements of each sequence the other way round, as many as it has. */
static int reverse_sequence(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *lengths = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK], across[2] = {1, 1};
    const int64_t time = ot_onnx_int(n, "time_axis", 0),
                  batch = ot_onnx_int(n, "batch_axis", 1);
    if (!x || !lengths || !ot_onnx_dims(n, x, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, x);
    if (rank < 2 || time < 0 || time > 1 || batch != 1 - time)
        return ot_onnx_refuse(n, "time and batch are not the first two of its %d dims", rank);
    int64_t rest = 1;
    for (int d = 2; d < rank; d++)
        rest *= dim[d];
    across[batch] = dim[batch];
    value *length = ot_onnx_reshape(n, lengths, 2, across);
    value *step = ot_onnx_count_up(n, 2, (int)time, dim[time], 1);
    if (length && ot_onnx_type(n->m, length)->dtype.bits != 64)
        length = ot_onnx_call(n, "cast", 1, &length, "dtype=i64");
    value *last =
        length ? ot_onnx_2(n, "subtract", length, ot_onnx_number(n, length, 1)) : NULL;
    value *const in[] = {ot_onnx_2(n, "less", step, length),
                         ot_onnx_2(n, "subtract", last, step), step};
    value *at = ot_onnx_call(n, "where", 3, in, NULL);
    if (at && time == 0)
        at = ot_onnx_2(n, "multiply", at, ot_onnx_number(n, at, (double)dim[1]));
    at = ot_onnx_2(n, "add", at,
                   ot_onnx_count_up(n, 2, (int)batch, dim[batch], time == 0 ? 1 : dim[1]));
    value *rows = ot_onnx_reshape(n, x, 2, (const int64_t[]){dim[0] * dim[1], rest});
    value *all = ot_onnx_call(n, "take", 2, (value *const[]){rows, at}, "axis=0");
    return ot_onnx_give(n, 0, ot_onnx_reshape(n, all, rank, dim));
}

/* A cache with the update's rows from each sequence's own place on: each row looks up what is
 * written there, and stays where nothing is. Circular: behind the last row comes the first. */
static int cache_written(ot_onnx_node *n)
{
    value *past = ot_onnx_need(n, 0), *update = ot_onnx_need(n, 1), *from = ot_onnx_in(n, 2);
    int64_t dim[OPTUNE_MAX_RANK], some[OPTUNE_MAX_RANK], outer = 1, inner = 1;
    const int rank = past && update ? ot_onnx_rank(n, past) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", -2), rank);
    const bool circular = !strcmp(ot_onnx_word(n, "mode", "linear"), "circular");
    if (axis < 0 || !ot_onnx_dims(n, past, dim) || !ot_onnx_dims(n, update, some))
        return n->err->status;
    if (axis == 0 || ot_onnx_rank(n, update) != rank || some[axis] > dim[axis] || !some[axis] ||
        !dim[0])
        return ot_onnx_refuse(n, "an update of %lld rows along axis %d of a cache of %lld",
                              (long long)some[axis], axis, (long long)dim[axis]);
    for (int d = 0; d < rank; d++) {
        outer *= d < axis ? dim[d] : 1;
        inner *= d > axis ? dim[d] : 1;
        if (d != axis && some[d] != dim[d])
            return ot_onnx_refuse(n, "its update has %lld elements along axis %d, not %lld",
                                  (long long)some[d], d, (long long)dim[d]);
    }
    const int64_t rows = dim[axis], heads = outer / dim[0];
    value *row = ot_onnx_count_up(n, 4, 2, rows, 1), *since = row;
    if (from && row) { /* how far behind the first that is written */
        from = ot_onnx_reshape(n, ot_onnx_as(n, from, ot_onnx_type(n->m, row)->dtype), 4,
                               (const int64_t[]){-1, 1, 1, 1});
        since = ot_onnx_2(n, "subtract", row, from);
    }
    if (!since)
        return n->err->status;
    value *none = ot_onnx_2(n, "less", since, ot_onnx_number(n, since, 0));
    if (circular && none) {
        value *later = ot_onnx_2(n, "add", since, ot_onnx_number(n, since, (double)rows));
        since = ot_onnx_call(n, "where", 3, (value *const[]){none, later, since}, NULL);
    }
    value *last = since ? ot_onnx_number(n, since, (double)(some[axis] - 1)) : NULL;
    value *at = last ? ot_onnx_2(n, "minimum", since, last) : NULL;
    at = at ? ot_onnx_2(n, "maximum", at, ot_onnx_number(n, at, 0)) : NULL;
    value *there = at ? ot_onnx_2(n, "equal", at, since) : NULL;
    at = there ? ot_onnx_2(n, "add", at, ot_onnx_count_up(n, 4, 0, dim[0], heads * some[axis]))
               : NULL;
    at = at ? ot_onnx_2(n, "add", at, ot_onnx_count_up(n, 4, 1, heads, some[axis])) : NULL;
    at = ot_onnx_reshape(n, at, 3, (const int64_t[]){dim[0], heads, rows});
    value *table = ot_onnx_reshape(n, update, 2, (const int64_t[]){outer * some[axis], inner});
    value *in[] = {there, NULL, NULL};
    in[1] =
        table && at ? ot_onnx_call(n, "take", 2, (value *const[]){table, at}, "axis=0") : NULL;
    in[2] = ot_onnx_reshape(n, past, 4, (const int64_t[]){dim[0], heads, rows, inner});
    value *all = in[1] && in[2] ? ot_onnx_call(n, "where", 3, in, NULL) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_reshape(n, all, rank, dim));
}

/* What pooling took, back at its places, which count through all that the windows span; 0
 * elsewhere, and behind it where the result is to be larger. Windows that overlap may have taken
 * one element several times. */
static int unpooled(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *at = ot_onnx_need(n, 1);
    ot_onnx_window w;
    ot_onnx_list shape = {0};
    optune_tensor flat = {.rank = 1};
    int64_t dim[OPTUNE_MAX_RANK], more[OPTUNE_MAX_RANK] = {0}, all = 1;
    if (!x || !at || !ot_onnx_dims(n, x, dim) || ot_onnx_slide(n, NULL, &w) < 0)
        return n->err->status;
    const int rank = ot_onnx_rank(n, x);
    if (ot_onnx_in(n, 2) && ot_onnx_list_of(n, ot_onnx_in(n, 2), "output_shape", &shape) < 0)
        return n->err->status;
    if (shape.n && shape.n != rank)
        return ot_onnx_refuse(n, "'output_shape' has %d values, not %d", shape.n, rank);
    for (int d = 0; d < rank; d++) {
        const int k = d - w.dims;
        if (d > 1)
            dim[d] = (dim[d] - 1) * w.stride[k] + w.kernel[k] - w.pad[k] - w.pad[2 + k];
        if (dim[d] < 0 || dim[d] > OPTUNE_MAX_DIM || all * dim[d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)dim[d]);
        all *= dim[d];
        if (shape.n && (shape.i[d] < 0 || shape.i[d] > OPTUNE_MAX_DIM))
            return ot_onnx_refuse(n, "a dim of %lld", (long long)shape.i[d]);
        more[d] = shape.n ? shape.i[d] - dim[d] : 0;
        if (more[d] < -dim[d] || more[d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)shape.i[d]);
    }
    value *zeros = NULL;
    flat.dtype = ot_onnx_type(n->m, x)->dtype;
    flat.dim[0] = optune_dim_of(all);
    if (ot_onnx_room(n->m, &flat, &zeros, n->err) < 0)
        return n->err->status;
    x = ot_onnx_reshape(n, x, 1, (const int64_t[]){-1});
    at = ot_onnx_reshape(n, at, 1, (const int64_t[]){-1});
    /* Windows that overlap may have the same largest element: each gives its part of it. */
    value *count = added(n, zeros, at, ot_onnx_1(n, "ones_like", x));
    count =
        count && at ? ot_onnx_call(n, "take", 2, (value *const[]){count, at}, "axis=0") : NULL;
    value *y = added(n, zeros, at, ot_onnx_2(n, "divide", x, count));
    y = ot_onnx_reshape(n, y, rank, dim);
    if (shape.n)
        y = ot_onnx_call(n, "pad", 1, &y, "before=[%s], after=[%s]",
                         rank == 4 ? "0,0,0,0" : "0,0,0", ot_onnx_text(n->m, rank, more));
    return ot_onnx_give(n, 0, y);
}

static const ot_onnx_op ops[] = {
    {"TensorScatter", cache_written, NULL},
    {"ScatterElements", scatter_elements, NULL},
    {"Scatter", scatter_elements, NULL}, /* what it was called before opset 11 */
    {"ScatterND", scatter_nd, NULL},
    {"MaxUnpool", unpooled, NULL},
    {"ReverseSequence", reverse_sequence, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(scatter) = {ops};
