/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as small integers and back: y = round(x / scale) + zero, cut to the range of the integer,
 * and x = (y - zero) scale.
 */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype u8 = {.code = OPTUNE_DTYPE_UINT, .bits = 8, .lanes = 1};

value *ot_onnx_along(ot_onnx_node *n, value *x, value *by, int64_t axis)
{
    int64_t dim[OPTUNE_MAX_RANK], to[OPTUNE_MAX_RANK], whole[OPTUNE_MAX_RANK];
    const int rank = x && by ? ot_onnx_rank(n, x) : -1;
    const int more = rank < 0 ? -1 : ot_onnx_rank(n, by);
    if (more == 0)
        return by;
    if (more < 0 || !ot_onnx_dims(n, by, dim))
        return NULL;
    if (more == 1 && dim[0] == 1)
        return ot_onnx_reshape(n, by, 0, NULL);
    const int at = more == 1 ? ot_onnx_axis(n, axis, rank) : -1;
    if (at < 0 || !ot_onnx_dims_at(n, x, 1u << at, whole)) {
        if (n->err->status >= 0)
            ot_onnx_refuse(n, "scales in blocks are not supported");
        return NULL;
    }
    if (whole[at] != dim[0]) {
        ot_onnx_refuse(n, "%lld scales for %lld places", (long long)dim[0],
                       (long long)whole[at]);
        return NULL;
    }
    for (int d = 0; d < rank; d++)
        to[d] = d == at ? dim[0] : 1;
    return ot_onnx_reshape(n, by, rank, to);
}

value *ot_onnx_cut(ot_onnx_node *n, value *x, optune_dtype dtype, const double range[2])
{
    const bool sign = dtype.code == OPTUNE_DTYPE_INT;
    if ((!sign && dtype.code != OPTUNE_DTYPE_UINT) || dtype.bits > 16) {
        ot_onnx_refuse(n, "only integers of 8 and 16 bits are supported");
        return NULL;
    }
    const double most = ldexp(1, dtype.bits - sign) - 1, least = sign ? -most - 1 : 0;
    x = ot_onnx_call(n, "clip", 1, &x, "a_min=%.1f, a_max=%.1f", range ? range[0] : least,
                     range ? range[1] : most);
    return x ? ot_onnx_as(n, x, dtype) : NULL;
}

value *ot_onnx_quantised(ot_onnx_node *n, value *x, value *scale, value *zero,
                         optune_dtype dtype)
{
    value *all = ot_onnx_1(n, "round", ot_onnx_2(n, "divide", x, scale));
    all = ot_onnx_as(n, all, f32); /* where the sum has room */
    return ot_onnx_cut(n, zero ? ot_onnx_2(n, "add", all, zero) : all, dtype, NULL);
}

value *ot_onnx_requantised(ot_onnx_node *n, value *sum, value *const by[3], value *zero,
                           optune_dtype dtype, const double range[2])
{
    value *factor = ot_onnx_2(n, "divide", ot_onnx_2(n, "multiply", by[0], by[1]), by[2]);
    value *all = ot_onnx_2(n, "multiply", ot_onnx_as(n, sum, f32), factor);
    all = ot_onnx_1(n, "round", all);
    return ot_onnx_cut(n, zero ? ot_onnx_2(n, "add", all, zero) : all, dtype, range);
}

/* One more dim behind the axis: the places of a block, which share a scale. */
static value *in_blocks(ot_onnx_node *n, value *x, int rank, int64_t axis, int64_t block)
{
    int64_t dim[OPTUNE_MAX_RANK + 1], to[OPTUNE_MAX_RANK + 1];
    const int at = x ? ot_onnx_axis(n, axis, rank) : -1;
    if (at < 0 || !ot_onnx_dims(n, x, dim))
        return NULL;
    if (ot_onnx_rank(n, x) != rank || rank == OPTUNE_MAX_RANK || block < 1 || dim[at] % block) {
        ot_onnx_refuse(n, "%lld places in blocks of %lld", (long long)dim[at],
                       (long long)block);
        return NULL;
    }
    for (int d = 0; d < rank; d++)
        to[d + (d > at)] = dim[d];
    to[at] = dim[at] / block;
    to[at + 1] = block;
    return ot_onnx_reshape(n, x, rank + 1, to);
}

/* A scale for each block, and for each place along other axes: nothing is broadcast. */
static bool many_scales(ot_onnx_node *n, const value *x, const value *by, int64_t axis,
                        int64_t block)
{
    int64_t dim[OPTUNE_MAX_RANK], has[OPTUNE_MAX_RANK];
    const int rank = ot_onnx_rank(n, x), at = ot_onnx_axis(n, axis, rank);
    if (at < 0 || !ot_onnx_dims(n, x, dim) || !ot_onnx_dims(n, by, has))
        return false;
    bool same = ot_onnx_rank(n, by) == rank;
    for (int d = 0; d < rank && same; d++)
        same = has[d] * (d == at ? block : 1) == dim[d];
    if (!same)
        ot_onnx_refuse(n, "its scales or zero points are not one for each block of %lld",
                       (long long)block);
    return same;
}

value *ot_onnx_real_of(ot_onnx_node *n, value *x, value *scale, value *zero)
{
    const optune_dtype dtype = ot_onnx_type(n->m, scale)->dtype;
    const int64_t axis = ot_onnx_int(n, "axis", 1), block = ot_onnx_int(n, "block_size", 0);
    int64_t whole[OPTUNE_MAX_RANK];
    const int rank = ot_onnx_rank(n, x);
    if (block && (rank < 0 || !ot_onnx_dims(n, x, whole)))
        return NULL;
    scale = ot_onnx_as(n, scale, f32);
    zero = zero ? ot_onnx_as(n, zero, f32) : NULL;
    value *all = ot_onnx_as(n, x, f32);
    if (block && (!many_scales(n, x, scale, axis, block) ||
                  (zero && !many_scales(n, x, zero, axis, block))))
        return NULL;
    if (block) {
        scale = in_blocks(n, scale, rank, axis, 1);
        zero = zero ? in_blocks(n, zero, rank, axis, 1) : NULL;
        all = in_blocks(n, all, rank, axis, block);
    } else {
        scale = ot_onnx_along(n, x, scale, axis);
        zero = zero ? ot_onnx_along(n, x, zero, axis) : NULL;
    }
    if (n->err->status < 0)
        return NULL;
    all = zero ? ot_onnx_2(n, "subtract", all, zero) : all;
    all = ot_onnx_2(n, "multiply", all, scale);
    all = block ? ot_onnx_reshape(n, all, rank, whole) : all;
    return all ? ot_onnx_as(n, all, dtype) : NULL;
}

value *ot_onnx_quantised_itself(ot_onnx_node *n, value *x, value **scale, value **zero)
{
    const int rank = ot_onnx_rank(n, x);
    value *ends[2];
    for (int i = 0; i < 2 && rank >= 0; i++) {
        value *end = rank ? ot_onnx_1(n, i ? "max" : "min", x) : x;
        ends[i] = end ? ot_onnx_2(n, i ? "maximum" : "minimum", end, ot_onnx_number(n, end, 0))
                      : NULL;
    }
    value *span = rank < 0 ? NULL : ot_onnx_2(n, "subtract", ends[1], ends[0]);
    *scale = span ? ot_onnx_2(n, "divide", span, ot_onnx_number(n, span, 255)) : NULL;
    if (!*scale)
        return NULL;
    value *none = ot_onnx_2(n, "equal", *scale, ot_onnx_number(n, *scale, 0));
    value *const in[] = {none, ot_onnx_number(n, *scale, 1), *scale};
    value *by = ot_onnx_call(n, "where", 3, in, NULL);
    value *middle = ot_onnx_2(n, "divide", ot_onnx_1(n, "negative", ends[0]), by);
    middle = ot_onnx_call(n, "clip", 1, &middle, "a_min=0.0, a_max=255.0");
    middle = ot_onnx_1(n, "round", middle);
    *scale = by;
    *zero = middle ? ot_onnx_as(n, middle, u8) : NULL;
    return ot_onnx_quantised(n, x, by, middle, u8);
}
