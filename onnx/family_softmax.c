/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm: along one axis, before opset 13 over all from it on. */
#include "onnx/onnx.h"

ot_onnx_value *ot_onnx_softmax(ot_onnx_node *n, ot_onnx_value *x, bool flat)
{
    const int rank = ot_onnx_rank(n, x);
    const int axis =
        rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", flat ? 1 : -1), rank);
    int64_t dim[OPTUNE_MAX_RANK], rows = 1;
    if (axis < 0)
        return NULL;
    if (!flat || axis == rank - 1)
        return ot_onnx_call(n, "softmax", 1, &x, "axis=%d", axis);
    if (!ot_onnx_dims(n, x, dim))
        return NULL;
    for (int d = 0; d < axis; d++)
        rows *= dim[d];
    ot_onnx_value *lines = ot_onnx_reshape(n, x, 2, (const int64_t[]){rows, -1});
    return ot_onnx_reshape(n, ot_onnx_call(n, "softmax", 1, &lines, "axis=1"), rank, dim);
}

static int plain(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, ot_onnx_softmax(n, x, n->m->opset < 13)) : n->err->status;
}

ot_onnx_value *ot_onnx_log_softmax(ot_onnx_node *n, ot_onnx_value *x, const char *axes)
{
    ot_onnx_value *most = ot_onnx_call(n, "max", 1, &x, "axis=[%s], keepdims=true", axes);
    ot_onnx_value *below = ot_onnx_2(n, "subtract", x, most);
    ot_onnx_value *power = ot_onnx_1(n, "exp", below);
    ot_onnx_value *sum = ot_onnx_call(n, "sum", 1, &power, "axis=[%s], keepdims=true", axes);
    return ot_onnx_2(n, "subtract", below, ot_onnx_1(n, "log", sum));
}

static int logarithm(ot_onnx_node *n)
{
    ot_onnx_value *x = ot_onnx_need(n, 0);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    const bool flat = n->m->opset < 13;
    const int axis =
        rank < 0 ? -1 : ot_onnx_axis(n, ot_onnx_int(n, "axis", flat ? 1 : -1), rank);
    if (axis < 0)
        return n->err->status;
    int64_t axes[OPTUNE_MAX_RANK];
    int n_axes = 0;
    for (int d = axis; d < (flat ? rank : axis + 1); d++)
        axes[n_axes++] = d;
    return ot_onnx_give(n, 0, ot_onnx_log_softmax(n, x, ot_onnx_text(n->m, n_axes, axes)));
}

static const ot_onnx_op ops[] = {
    {"Softmax", plain, NULL},
    {"LogSoftmax", logarithm, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(softmax) = {ops};
