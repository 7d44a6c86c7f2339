/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of an axis whose ends only a run knows: rows of a table of positions, a part of a mask. The
 * axis holds a number of places, so that the dims of the inputs which would reach behind it are out
 * of their ranges from then on.
 */
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

enum {
    MOST_PADS = 1 << 24, /* a table of places */
    MOST_IN_FRONT = 16,  /* elements that every run is to have, where a part ends behind them */
};

ot_onnx_value *ot_onnx_length_open(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype)
{
    const optune_tensor one = {.dtype = dtype, .rank = 1, .dim = {optune_dim_of(1)}};
    ot_onnx_value *number = NULL;
    const double is = (double)dim->min;
    if (optune_dim_known(dim)) {
        if (ot_onnx_room(n->m, &one, &number, n->err) >= 0)
            ot_elements_set(dtype, number->data, 0, 1, &is);
        return number;
    }
    ot_onnx_value *all = ot_onnx_ones_along(n, dim, dtype, 1, 0);
    return ot_onnx_call(n, "sum", 1, &all, "axis=[0], keepdims=true");
}

/* 0, 1, 2 ..., as many as this dim. */
static ot_onnx_value *count_up(ot_onnx_node *n, const optune_dim *dim, optune_dtype dtype)
{
    if (optune_dim_known(dim))
        return ot_onnx_as(n, ot_onnx_count_up(n, 1, 0, dim->min, 1), dtype);
    ot_onnx_value *all = ot_onnx_ones_along(n, dim, dtype, 1, 0);
    return ot_onnx_call(n, "cumsum", 1, &all, "axis=0, exclusive=true");
}

/* From one to before another; `by_end`: of a value as long as `to`, so that each run is asked for
 * the limits that it has. */
static ot_onnx_value *count_between(ot_onnx_node *n, const optune_dim *from,
                                    const optune_dim *to, bool by_end, optune_dtype dtype)
{
    const optune_dim *const ends[] = {to, from};
    optune_dim length = {.min = 0, .max = OPTUNE_DIM_MAX};
    if (optune_dim_known(from)) {
        ot_onnx_value *all = count_up(n, to, dtype);
        return all && from->min ? ot_onnx_part(n, all, 0, from->min, OPTUNE_MAX_DIM) : all;
    }
    optune_dim_compute(&length, 2, ends, (const int64_t[]){1, -1}, 0, 1);
    ot_onnx_value *all = count_up(n, &length, dtype), *first;
    if (!by_end && (ot_onnx_has_line(n, from) || optune_dim_known(&length)))
        first = ot_onnx_length_open(n, from, dtype);
    else
        first = ot_onnx_2(n, "subtract", ot_onnx_length_open(n, to, dtype),
                          ot_onnx_length_open(n, &length, dtype));
    return ot_onnx_2(n, "add", all, first);
}

ot_onnx_value *ot_onnx_count_open(ot_onnx_node *n, const optune_dim *from, const optune_dim *to,
                                  optune_dtype dtype)
{
    return count_between(n, from, to, false, dtype);
}

static bool same(const optune_dim *a, const optune_dim *b)
{
    return *a->name && !strcmp(a->name, b->name);
}

ot_onnx_value *ot_onnx_stretch(ot_onnx_node *n, ot_onnx_value *value, int axis,
                               const optune_dim *from, const optune_dim *to)
{
    const optune_dim has = ot_onnx_type(n->m, value)->dim[axis];
    const bool known = optune_dim_known(&has);
    char only[OPTUNE_DIM_NAME_SIZE];
    const bool one = ot_onnx_only_name(to, only);
    if (!known && same(&has, to) && optune_dim_known(from) && from->min == 0)
        return value;
    if (known && !one && !ot_onnx_has_line(n, to) && !ot_onnx_ones_along(n, to, i64, 1, 0))
        return NULL; /* that which is bounded */
    if (known ? has.min < 1 || !ot_onnx_confine(n, to, has.min, true) : !same(&has, to)) {
        ot_onnx_ask(n, to, -1);
        return NULL;
    }
    ot_onnx_value *places = count_between(n, from, to, !one, i64);
    return ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){value, places}, "axis=%d", axis);
}

bool ot_onnx_cut_open(ot_onnx_node *n, const ot_onnx_value *value, int axis, int64_t from,
                      int64_t to, int64_t step)
{
    const optune_dim dim = ot_onnx_type(n->m, value)->dim[axis];
    const bool to_end = to >= dim.max;
    const int64_t before = from < 0 ? -from : from, behind = to < 0 ? -to : 0;
    if (from <= -INT32_MAX || from >= INT32_MAX || to <= INT32_MIN || step < 1 ||
        (from < 0 && to >= 0 && !to_end) ||
        (to > MOST_IN_FRONT && !to_end && dim.min < to)) /* fewer would be all there are */
        return ot_onnx_ask(n, &dim, axis) >= 0;
    int64_t least = before + behind; /* where both ends are within the dim, in this order */
    if (to >= 0 && !to_end)
        least = to;
    else if (from < 0)
        least = before > behind ? before : before + behind;
    else if (to_end &&
             from < step) /* one that is shorter has nothing there, by the same formula */
        least = 0;
    return ot_onnx_confine(n, &dim, least, false);
}

/* These places of an axis, counted from its end where they are below 0: from one on as many as
 * `count`, by steps. */
static ot_onnx_value *places_from(ot_onnx_node *n, ot_onnx_value *value, int axis, int64_t from,
                                  int64_t step, int64_t count)
{
    const optune_tensor type = {.dtype = i64, .rank = 1, .dim = {optune_dim_of(count)}};
    ot_onnx_value *index = NULL;
    if (ot_onnx_room(n->m, &type, &index, n->err) < 0)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)index->data)[i] = from + i * step;
    return ot_onnx_call(n, "take", 2, (ot_onnx_value *const[]){value, index}, "axis=%d", axis);
}

ot_onnx_value *ot_onnx_pad_open(ot_onnx_node *n, ot_onnx_value *value, int axis,
                                const char *mode, int64_t before, int64_t after)
{
    const optune_dim dim = ot_onnx_type(n->m, value)->dim[axis];
    const int64_t more = before > after ? before : after;
    const int step = *mode == 'e' ? 0 : *mode == 'w' ? 1 : -1;
    ot_onnx_value *part[3];
    int parts = 0;
    if (before < 0 || after < 0 || more > MOST_PADS) {
        ot_onnx_ask(n, &dim, axis);
        return NULL;
    }
    if (!ot_onnx_confine(n, &dim, step == 0 ? 1 : more + (step < 0), false))
        return NULL;
    if (before)
        part[parts++] = places_from(n, value, axis,
                                    step == 0  ? 0
                                    : step > 0 ? -before
                                               : before,
                                    step, before);
    part[parts++] = value;
    if (after)
        part[parts++] = places_from(n, value, axis,
                                    step == 0  ? -1
                                    : step > 0 ? 0
                                               : -2,
                                    step, after);
    for (int i = 0; i < parts; i++)
        if (!part[i])
            return NULL;
    return ot_onnx_join(n, axis, parts, part);
}
