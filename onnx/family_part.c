/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tensors, and tensors of parts. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

enum { MOST_PARTS = 1024, FEW_SLICES = 4 };
/* Padding by elements makes a table of places. */
enum { MOST_REPEATED = 1 << 24 };

static int concat(ot_onnx_node *n)
{
    const int n_in = (int)n->proto->n_input;
    ot_onnx_value **in = ot_arena_alloc(&n->m->arena, (size_t)(n_in + 1) * sizeof *in);
    for (int i = 0; i < n_in; i++)
        if (!(in[i] = ot_onnx_need(n, i)))
            return n->err->status;
    const int rank = n_in ? ot_onnx_rank(n, in[0]) : 0;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 1), rank);
    return axis < 0 ? n->err->status : ot_onnx_give(n, 0, ot_onnx_join(n, axis, n_in, in));
}

/* Sizes as they are given, or as equal as they can be. */
static int split_sizes(ot_onnx_node *n, int64_t extent, ot_onnx_list *list)
{
    const int there = ot_onnx_list_at(n, "split", 1, list);
    const int64_t parts = (int64_t)n->proto->n_output;
    if (there)
        return there;
    if (parts < 1 || parts > OT_ONNX_LIST)
        return ot_onnx_refuse(n, "%lld parts, more than %d", (long long)parts,
                              (int)OT_ONNX_LIST);
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; i++)
        list->i[list->n++] = i < parts - 1 ? each : extent - each * (parts - 1);
    return 1;
}

static int split(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    int64_t dim[OPTUNE_MAX_RANK], at = 0;
    ot_onnx_list list;
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    const int axis = rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    if (axis < 0 || !ot_onnx_dims_at(n, data, 1u << axis, dim))
        return n->err->status;
    int status = split_sizes(n, dim[axis], &list);
    if (status >= 0 && list.n != (int)n->proto->n_output)
        status = ot_onnx_refuse(n, "%d parts for %zu outputs", list.n, n->proto->n_output);
    for (int i = 0; i < list.n && status >= 0; i++) {
        if (list.i[i] < 0 || list.i[i] > dim[axis] - at)
            return ot_onnx_refuse(n, "its parts do not fit into %lld", (long long)dim[axis]);
        status = ot_onnx_give(n, i, ot_onnx_part(n, data, axis, at, at + list.i[i]));
        at += list.i[i];
    }
    return status;
}

/* One axis as `strided_slice` says it: within the dim, an end before it where it runs backwards. */
static void clamp(int64_t extent, int64_t step, int64_t *from, int64_t *to)
{
    *from += *from < 0 ? extent : 0;
    *to += *to < 0 ? extent : 0;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
    *from = *from < 0 ? 0 : *from > high ? high : *from;
    *to = *to < low ? low : *to > high ? high : *to;
    *to = *to < 0 ? -extent - 1 : *to;
}

/* What Slice says of axes, each an axis from the front. */
typedef struct cuts {
    int n, axis[OPTUNE_MAX_RANK];
    int64_t from[OPTUNE_MAX_RANK], to[OPTUNE_MAX_RANK], step[OPTUNE_MAX_RANK];
} cuts;

/* A list of integers at this input, of which only a run may know some. */
static int limits_at(ot_onnx_node *n, const char *name, int i, ot_onnx_list *list,
                     optune_dim dim[OT_ONNX_LIST])
{
    const ot_onnx_value *given = ot_onnx_in(n, i);
    if (given && given->sizes) {
        list->n = ot_onnx_sizes_of(given, dim);
        return list->n < 0 ? ot_onnx_refuse(n, "'%s' is no list of integers", name) : list->n;
    }
    if (ot_onnx_list_at(n, name, i, list) < 0)
        return n->err->status;
    for (int k = 0; k < list->n; k++)
        dim[k] = (optune_dim){.min = list->i[k], .max = list->i[k]};
    return list->n;
}

/* Between limits that only a run knows the data become that part, of which all is taken. */
static int stretched(ot_onnx_node *n, ot_onnx_value **data, const optune_dim *from,
                     const optune_dim *to, cuts *c, int i)
{
    c->from[i] = from->min;
    c->to[i] = to->min;
    const bool ends = to->min == to->max;
    if (ends && from->min == from->max)
        return OPTUNE_OK;
    if (c->step[i] != 1 || from->min < 0 || ends)
        return ot_onnx_ask(n, ends ? from : to, -1);
    *data = ot_onnx_stretch(n, *data, c->axis[i], from, to);
    c->from[i] = 0;
    c->to[i] = OPTUNE_DIM_MAX;
    return *data ? OPTUNE_OK : n->err->status;
}

static int cuts_of(ot_onnx_node *n, ot_onnx_value **data, cuts *c)
{
    optune_dim from[OT_ONNX_LIST], to[OT_ONNX_LIST];
    ot_onnx_list starts, ends, axes, steps;
    const int rank = ot_onnx_rank(n, *data);
    for (int i = 3; i < 5; i++)
        if (ot_onnx_in(n, i) && ot_onnx_in(n, i)->sizes)
            return ot_onnx_ask_sizes(n, ot_onnx_in(n, i));
    const int some = ot_onnx_list_at(n, "axes", 3, &axes);
    const int stepped = some < 0 ? some : ot_onnx_list_at(n, "steps", 4, &steps);
    if (stepped < 0 || limits_at(n, "starts", 1, &starts, from) < 0 ||
        limits_at(n, "ends", 2, &ends, to) < 0)
        return n->err->status;
    if (starts.n != ends.n || (some && axes.n != starts.n) ||
        (stepped && steps.n != starts.n) || starts.n > rank)
        return ot_onnx_refuse(n, "its lists differ in length");
    c->n = starts.n;
    for (int i = 0; i < c->n; i++) {
        c->axis[i] = ot_onnx_axis(n, some ? axes.i[i] : i, rank);
        if (c->axis[i] < 0)
            return n->err->status;
        c->step[i] = stepped ? steps.i[i] : 1;
        if (c->step[i] == 0 || c->step[i] > OPTUNE_MAX_DIM || c->step[i] < -OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a step of %lld", (long long)c->step[i]);
        if (stretched(n, data, &from[i], &to[i], c, i) < 0)
            return n->err->status;
    }
    return OPTUNE_OK;
}

/* Limits from the last number of 32 bits on are the ends of an open axis. */
static void limits_of_open(cuts *c, int i)
{
    if (c->from[i] <= -INT32_MAX)
        c->from[i] = 0;
    else if (c->from[i] >= INT32_MAX && c->step[i] < 0)
        c->from[i] = -1;
    if (c->to[i] >= INT32_MAX)
        c->to[i] = OPTUNE_DIM_MAX;
    else if (c->to[i] <= -INT32_MAX)
        c->to[i] = -OPTUNE_DIM_MAX;
}

static int slice(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    int64_t dim[OPTUNE_MAX_RANK], from[OPTUNE_MAX_RANK] = {0}, to[OPTUNE_MAX_RANK];
    int64_t step[OPTUNE_MAX_RANK];
    cuts c;
    if (!data || ot_onnx_rank(n, data) < 0 || cuts_of(n, &data, &c) < 0 ||
        !ot_onnx_dims_at(n, data, 0, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data);
    for (int d = 0; d < rank; d++) {
        to[d] = dim[d] < 0 ? OPTUNE_MAX_DIM : dim[d];
        step[d] = 1;
    }
    for (int i = 0; i < c.n; i++) {
        const int d = c.axis[i];
        if (dim[d] < 0)
            limits_of_open(&c, i);
        if (c.from[i] == 0 && c.to[i] >= ot_onnx_type(n->m, data)->dim[d].max && c.step[i] == 1)
            continue; /* all of it */
        if (dim[d] < 0 && c.step[i] == -1 && c.from[i] == -1 && c.to[i] < -OPTUNE_MAX_DIM) {
            data = ot_onnx_call(n, "reverse", 1, &data, "axis=%d", d);
            if (!data)
                return n->err->status;
            continue;
        }
        step[d] = c.step[i];
        if (dim[d] < 0 && c.step[i] > 0) {
            if (!ot_onnx_cut_open(n, data, d, c.from[i], c.to[i], c.step[i]))
                return n->err->status;
            from[d] = c.from[i];
            to[d] = c.to[i] < ot_onnx_type(n->m, data)->dim[d].max ? c.to[i] : OPTUNE_MAX_DIM;
            continue;
        }
        if (!ot_onnx_dims_at(n, data, 1u << d, dim))
            return n->err->status;
        from[d] = c.from[i] < -dim[d] ? -dim[d] : c.from[i];
        to[d] = c.to[i] < -dim[d] - 1 ? -dim[d] - 1 : c.to[i];
        clamp(dim[d], step[d], &from[d], &to[d]);
    }
    return ot_onnx_give(
        n, 0,
        ot_onnx_call(n, "strided_slice", 1, &data, "begin=[%s], end=[%s], strides=[%s]",
                     ot_onnx_text(n->m, rank, from), ot_onnx_text(n->m, rank, to),
                     ot_onnx_text(n->m, rank, step)));
}

/* The element that stands at `at` beyond the ends of an axis. */
static int64_t beyond(const char *mode, int64_t at, int64_t extent)
{
    if (*mode == 'e')
        return at < 0 ? 0 : at >= extent ? extent - 1 : at;
    const int64_t period = *mode == 'w' ? extent : extent > 1 ? 2 * (extent - 1) : 1;
    at = (at % period + period) % period;
    return at < extent ? at : period - at;
}

/* Padded with the tensor's own elements: a lookup along each axis that grows. */
static ot_onnx_value *repeated(ot_onnx_node *n, ot_onnx_value *data, const char *mode,
                               const int64_t *before, const int64_t *after)
{
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = ot_onnx_rank(n, data);
    if (!ot_onnx_dims_at(n, data, 0, dim))
        return NULL;
    for (int d = 0; d < rank && data; d++) {
        if (dim[d] < 0 && (before[d] || after[d])) {
            data = ot_onnx_pad_open(n, data, d, mode, before[d], after[d]);
            continue;
        }
        const int64_t extent = before[d] + dim[d] + after[d];
        /* A pad below 0 takes elements away; what comes round again is of those that are left. */
        const int64_t cut = *mode == 'w' && before[d] < 0 ? -before[d] : 0;
        const int64_t left = dim[d] - cut + (*mode == 'w' && after[d] < 0 ? after[d] : 0);
        optune_tensor type = {.dtype = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1},
                              .rank = 1};
        ot_onnx_value *index = NULL;
        if (!before[d] && !after[d])
            continue;
        if (left < 1 || extent < 1 || extent > MOST_REPEATED) {
            ot_onnx_refuse(n, "axis %d would become %lld", d, (long long)extent);
            return NULL;
        }
        type.dim[0] = optune_dim_of(extent);
        if (ot_onnx_room(n->m, &type, &index, n->err) < 0)
            return NULL;
        for (int64_t i = 0; i < extent; i++)
            ((int64_t *)index->data)[i] = cut + beyond(mode, i - before[d] - cut, left);
        data = ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){data, index}, "axis=%d", d);
    }
    return data;
}

/* Infinities and NaN are no attribute's value: they come as constants beside the data. */
static ot_onnx_value *beside(ot_onnx_node *n, ot_onnx_value *data, int rank,
                             const int64_t *before, const int64_t *after, double value)
{
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_value *number = ot_onnx_number(n, data, value);
    if (!ot_onnx_dims(n, data, dim))
        return NULL;
    for (int d = 0; d < rank && data; d++) {
        const int64_t begin = before[d] < 0 ? -before[d] : 0;
        const int64_t extent = dim[d] + (after[d] < 0 ? after[d] : 0) - begin;
        const int64_t count[] = {before[d], after[d]};
        ot_onnx_value *pads[2] = {NULL}, *part[3];
        int n_parts = 0;
        if (extent < dim[d])
            data = ot_onnx_part(n, data, d, begin, begin + extent);
        for (int end = 0; end < 2; end++) {
            dim[d] = count[end];
            if (count[end] > 0)
                pads[end] = ot_onnx_call(n, "broadcast_to", 1, &number, "shape=[%s]",
                                         ot_onnx_text(n->m, rank, dim));
        }
        if (pads[0])
            part[n_parts++] = pads[0];
        part[n_parts++] = data;
        if (pads[1])
            part[n_parts++] = pads[1];
        if (n_parts > 1)
            data = ot_onnx_join(n, d, n_parts, part);
        dim[d] = extent + (before[d] > 0 ? before[d] : 0) + (after[d] > 0 ? after[d] : 0);
    }
    return data;
}

static int pad(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0);
    const ot_onnx_value *fill = ot_onnx_in(n, 2);
    const char *mode = ot_onnx_word(n, "mode", "constant");
    double value = ot_onnx_real(n, "value", 0);
    int64_t before[OPTUNE_MAX_RANK] = {0}, after[OPTUNE_MAX_RANK] = {0};
    ot_onnx_list list, axes;
    const int rank = data ? ot_onnx_rank(n, data) : -1;
    if (rank < 0 || ot_onnx_list_at(n, "pads", 1, &list) < 0)
        return n->err->status;
    const int some = ot_onnx_list_at(n, "axes", 3, &axes);
    const int n_axes = some > 0 ? axes.n : rank;
    if (some < 0)
        return some;
    if (strcmp(mode, "constant") && strcmp(mode, "edge") && strcmp(mode, "reflect") &&
        strcmp(mode, "wrap"))
        return ot_onnx_refuse(n, "mode '%.40s' is not supported", mode);
    if (list.n != 2 * n_axes || (fill && !fill->data))
        return ot_onnx_refuse(
            n, "'pads' has %d values for %d axes, or its value is no constant", list.n, n_axes);
    if (fill && optune_tensor_elements(&fill->type) == 1)
        ot_elements(fill->type.dtype, fill->data, 0, 1, &value);
    for (int i = 0; i < n_axes; i++) {
        const int d = ot_onnx_axis(n, some > 0 ? axes.i[i] : i, rank);
        if (d < 0)
            return n->err->status;
        before[d] = list.i[i];
        after[d] = list.i[i + n_axes];
        for (int end = 0; end < 2; end++) {
            const int64_t pads = end ? after[d] : before[d];
            if (pads > OPTUNE_MAX_DIM || pads < -OPTUNE_MAX_DIM)
                return ot_onnx_refuse(n, "a pad of %lld", (long long)pads);
        }
    }
    if (*mode != 'c')
        return ot_onnx_give(n, 0, repeated(n, data, mode, before, after));
    if (!isfinite(value))
        return ot_onnx_give(n, 0, beside(n, data, rank, before, after, value));
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "pad", 1, &data, "before=[%s], after=[%s], value=%.17g",
                                     ot_onnx_text(n->m, rank, before),
                                     ot_onnx_text(n->m, rank, after), value));
}

/* An axis many times over: broadcast along a new one in front of it. */
static ot_onnx_value *many_times(ot_onnx_node *n, ot_onnx_value *data, int axis, int64_t times)
{
    int64_t dim[OPTUNE_MAX_RANK + 1], whole[OPTUNE_MAX_RANK];
    const int rank = ot_onnx_rank(n, data);
    if (!ot_onnx_dims(n, data, whole))
        return NULL;
    if (rank == OPTUNE_MAX_RANK || times > OPTUNE_MAX_DIM) {
        ot_onnx_refuse(n, "%lld repeats of %d dims", (long long)times, rank);
        return NULL;
    }
    for (int d = 0; d <= rank; d++)
        dim[d] = d < axis ? whole[d] : d == axis ? times : whole[d - 1];
    data = ot_onnx_call(n, "expand_dims", 1, &data, "axis=%d", axis);
    data = ot_onnx_call(n, "broadcast_to", 1, &data, "shape=[%s]",
                        ot_onnx_text(n->m, rank + 1, dim));
    if (!data) /* more than a tensor may have: the product below may overflow */
        return NULL;
    whole[axis] *= times;
    return ot_onnx_reshape(n, data, rank, whole);
}

static int tile(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *repeats = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_list list;
    bool none = false;
    const int rank = data && repeats ? ot_onnx_rank(n, data) : -1;
    if (rank < 0 || ot_onnx_list_of(n, repeats, "repeats", &list) < 0)
        return n->err->status;
    if (list.n != rank)
        return ot_onnx_refuse(n, "'repeats' has %d values for %d dims", list.n, rank);
    for (int d = 0; d < rank; d++) {
        if (list.i[d] < 0 || list.i[d] > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "%lld repeats", (long long)list.i[d]);
        none = none || list.i[d] == 0;
    }
    if (none) {
        if (!ot_onnx_dims(n, data, dim))
            return n->err->status;
        for (int d = 0; d < rank; d++)
            if (__builtin_mul_overflow(dim[d], list.i[d], &dim[d]) || dim[d] > OPTUNE_MAX_DIM)
                return ot_onnx_refuse(n, "%lld repeats of axis %d", (long long)list.i[d], d);
        return ot_onnx_give(n, 0,
                            ot_onnx_nothing(n, ot_onnx_type(n->m, data)->dtype, rank, dim));
    }
    for (int d = rank - 1; d >= 0 && data; d--) {
        if (list.i[d] > MOST_PARTS) {
            data = many_times(n, data, d, list.i[d]);
            continue;
        }
        ot_onnx_value *part[MOST_PARTS];
        for (int i = 0; i < (int)list.i[d]; i++)
            part[i] = data;
        data = ot_onnx_join(n, d, (int)list.i[d], part);
    }
    return ot_onnx_give(n, 0, data);
}

/* Slices one after another; indices that count up are one slice. */
static ot_onnx_value *slices(ot_onnx_node *n, ot_onnx_value *data, int axis, int count,
                             const int64_t *index)
{
    ot_onnx_value *part[OT_ONNX_LIST];
    int n_parts = 0;
    for (int i = 0; i < count;) {
        int next = i + 1;
        while (next < count && index[next] == index[next - 1] + 1)
            next++;
        part[n_parts++] = ot_onnx_part(n, data, axis, index[i], index[next - 1] + 1);
        i = next;
    }
    return ot_onnx_join(n, axis, n_parts, part);
}

/* Few constant indices: slices. */
static int gather_slices(ot_onnx_node *n, ot_onnx_value *data, ot_onnx_value *indices, int axis)
{
    int64_t dim[OPTUNE_MAX_RANK], to[OPTUNE_MAX_RANK];
    ot_onnx_list list;
    if (ot_onnx_list_of(n, indices, "indices", &list) < 0 ||
        !ot_onnx_dims_at(n, data, 1u << axis, dim))
        return n->err->status;
    const int rank = ot_onnx_rank(n, data), more = indices->type.rank;
    for (int i = 0; i < list.n; i++) {
        list.i[i] += list.i[i] < 0 ? dim[axis] : 0;
        if (list.i[i] < 0 || list.i[i] >= dim[axis])
            return ot_onnx_refuse(n, "an index outside 0 to %lld", (long long)dim[axis] - 1);
    }
    ot_onnx_value *all = slices(n, data, axis, list.n, list.i);
    int k = 0;
    for (int d = 0; d < axis; d++)
        to[k++] = dim[d];
    for (int d = 0; d < more; d++)
        to[k++] = indices->type.dim[d].min;
    for (int d = axis + 1; d < rank; d++)
        to[k++] = dim[d];
    return ot_onnx_give(n, 0,
                        more == 1 ? all
                        : more    ? ot_onnx_reshape(n, all, k, to)
                                  : ot_onnx_call(n, "squeeze", 1, &all, "axis=[%d]", axis));
}

/* No index of an axis that has nothing; false: there is something, or the node has failed. */
static bool gathers_nothing(ot_onnx_node *n, ot_onnx_value *data, const ot_onnx_value *indices,
                            int axis, ot_onnx_value **all)
{
    int64_t dim[OPTUNE_MAX_RANK], to[OPTUNE_MAX_RANK];
    const optune_tensor *type = ot_onnx_type(n->m, data), *at = ot_onnx_type(n->m, indices);
    if (type->dim[axis].max != 0 || !optune_tensor_known(at) || optune_tensor_elements(at) ||
        !ot_onnx_dims(n, data, dim))
        return false;
    int k = 0;
    for (int d = 0; d < axis; d++)
        to[k++] = dim[d];
    for (int d = 0; d < at->rank; d++)
        to[k++] = at->dim[d].min;
    for (int d = axis + 1; d < type->rank; d++)
        to[k++] = dim[d];
    *all = ot_onnx_nothing(n, type->dtype, k, to);
    return true;
}

/* Whether the indices are one slice after another, or so few of them. */
static bool are_slices(const ot_onnx_value *indices)
{
    int64_t runs = 1;
    double before = 0, at;
    if (!indices->data || indices->backing) /* those are many */
        return false;
    const int64_t n = optune_tensor_elements(&indices->type);
    for (int64_t i = 0; i < n; i++, before = at) {
        ot_elements(indices->type.dtype, indices->data, i, 1, &at);
        runs += i > 0 && at != before + 1;
    }
    return n >= 1 && n <= OT_ONNX_LIST && runs <= FEW_SLICES;
}

static int gather(ot_onnx_node *n)
{
    ot_onnx_value *data = ot_onnx_need(n, 0), *indices = ot_onnx_need(n, 1);
    const int rank = data && indices ? ot_onnx_rank(n, data) : -1;
    const int more = rank < 0 ? -1 : ot_onnx_rank(n, indices);
    const int axis = more < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", 0), rank);
    if (axis < 0)
        return n->err->status;
    if (rank - 1 + more > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "a result of %d dims", rank - 1 + more);
    ot_onnx_value *nothing = NULL;
    if (gathers_nothing(n, data, indices, axis, &nothing) || n->err->status < 0)
        return ot_onnx_give(n, 0, nothing);
    if (are_slices(indices) && optune_dim_known(&ot_onnx_type(n->m, data)->dim[axis]))
        return gather_slices(n, data, indices, axis);
    return ot_onnx_give(
        n, 0,
        ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){data, indices}, "axis=%d", axis));
}

static const ot_onnx_op ops[] = {
    {"Concat", concat, NULL}, {"Split", split, NULL}, {"Slice", slice, NULL},
    {"Pad", pad, NULL},       {"Tile", tile, NULL},   {"Gather", gather, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(part) = {ops};
