/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over lines and images, and over all of them. */
#include <string.h>

#include "onnx/onnx.h"

static int pool(ot_onnx_node *n)
{
    ot_onnx_window w;
    const int status = ot_onnx_slide(n, NULL, &w);
    if (status < 0)
        return status;
    const bool mean = !strcmp(n->op->arg, "avg_pool2d");
    const char *pad = mean && ot_onnx_int(n, "count_include_pad", 0) ? "true" : "false";
    ot_onnx_value *all = ot_onnx_call(
        n, n->op->arg, 1, &w.data,
        "pool_size=[%s], strides=[%s], padding=[%s], dilation=[%s], ceil_mode=%s%s%s",
        ot_onnx_text(n->m, 2, w.kernel), ot_onnx_text(n->m, 2, w.stride),
        ot_onnx_text(n->m, 4, w.pad), ot_onnx_text(n->m, 2, w.dilation),
        ot_onnx_int(n, "ceil_mode", 0) ? "true" : "false", mean ? ", count_include_pad=" : "",
        mean ? pad : "");
    return ot_onnx_give(n, 0, ot_onnx_unslide(n, &w, all));
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
    {"MaxPool", pool, "max_pool2d"},
    {"AveragePool", pool, "avg_pool2d"},
    {"GlobalAveragePool", global, "mean"},
    {"GlobalMaxPool", global, "max"},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(pool) = {ops};
