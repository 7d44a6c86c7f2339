/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators whose output dims follow from values. What they give is as large as a run finds it;
 * what needs its size while the model is read is refused.
 */
#include <math.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* Coordinates as columns. */
static int non_zero(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x || ot_onnx_rank(n, x) < 0)
        return n->err->status;
    if (ot_onnx_rank(n, x) == 0)
        return ot_onnx_refuse(n, "of a scalar it is not supported");
    value *at = ot_onnx_call(n, "argwhere", 1, &x, NULL);
    return ot_onnx_give(n, 0, at ? ot_onnx_transpose(n, at, 2, (const int[]){1, 0}) : NULL);
}

static int compress(ot_onnx_node *n)
{
    value *const in[] = {ot_onnx_need(n, 0), ot_onnx_need(n, 1)};
    const int rank = in[0] ? ot_onnx_rank(n, in[0]) : -1;
    const int64_t asked = ot_onnx_int(n, "axis", INT64_MIN);
    if (rank < 0 || !in[1])
        return n->err->status;
    if (asked == INT64_MIN)
        return ot_onnx_give(n, 0, ot_onnx_call(n, "compress", 2, in, NULL));
    const int axis = ot_onnx_axis(n, asked, rank);
    return axis < 0 ? n->err->status
                    : ot_onnx_give(n, 0, ot_onnx_call(n, "compress", 2, in, "axis=%d", axis));
}

static int unique(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return n->err->status;
    if (ot_onnx_int(n, "axis", INT64_MIN) != INT64_MIN && rank != 1)
        return ot_onnx_refuse(n, "an axis of several is not supported");
    if (rank != 1)
        x = ot_onnx_reshape(n, x, 1, (const int64_t[]){-1});
    const bool counts = ot_onnx_wants(n, 3);
    value *all = x ? ot_onnx_call(n, "unique", 1, &x, "is_sorted=%s, return_counts=%s",
                                  ot_onnx_int(n, "sorted", 1) ? "true" : "false",
                                  counts ? "true" : "false")
                   : NULL;
    int status = all ? OPTUNE_OK : n->err->status;
    for (int i = 0; i < (counts ? 4 : 3) && status >= 0; i++)
        if (i == 0 || ot_onnx_wants(n, i))
            status = ot_onnx_give(n, i, ot_onnx_get(n, all, i));
    return status;
}

/* One of its limits, which are constants. */
static bool limit(ot_onnx_node *n, int i, double *number)
{
    const value *given = ot_onnx_in(n, i);
    if (given && (!given->data || optune_tensor_elements(&given->type) != 1)) {
        ot_onnx_refuse(n, "its limits are no constant numbers");
        return false;
    }
    if (given)
        ot_elements(given->type.dtype, given->data, 0, 1, number);
    return true;
}

static int non_max_suppression(ot_onnx_node *n)
{
    value *const in[] = {ot_onnx_need(n, 0), ot_onnx_need(n, 1)};
    double most = 0, overlap = 0, score = -3.4028234663852886e38;
    if (!in[0] || !in[1] || !limit(n, 2, &most) || !limit(n, 3, &overlap) ||
        !limit(n, 4, &score))
        return n->err->status;
    return ot_onnx_give(n, 0,
                        ot_onnx_call(n, "non_max_suppression", 2, in,
                                     "max_output_size=%lld, iou_threshold=%.9g, "
                                     "score_threshold=%.9g, center_point_box=%s",
                                     (long long)fmin(fmax(most, 0), 0x1p40), overlap, score,
                                     ot_onnx_int(n, "center_point_box", 0) ? "true" : "false"));
}

static const ot_onnx_op ops[] = {
    {"NonZero", non_zero, NULL}, {"Compress", compress, NULL},
    {"Unique", unique, NULL},    {"NonMaxSuppression", non_max_suppression, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(values) = {ops};
