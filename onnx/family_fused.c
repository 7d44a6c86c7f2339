/* SPDX-License-Identifier: Apache-2.0 */
/* What onnxruntime's optimizer makes of several nodes (com.microsoft), in the operators that these
 * are. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* One function of the input, and of a bias added to it first where there is one. */
static int of_sum(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *bias = ot_onnx_in(n, 1);
    if (!x)
        return n->err->status;
    return ot_onnx_give(n, 0,
                        ot_onnx_1(n, n->op->arg, bias ? ot_onnx_2(n, "add", x, bias) : x));
}

static int quick_gelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    return ot_onnx_give(
        n, 0, ot_onnx_call(n, "swish", 1, &x, "beta=%.17g", ot_onnx_real(n, "alpha", 1.702)));
}

/* Bias and, where there is one, what the layer was given are added; nothing is dropped. */
static int bias_dropout(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *bias = ot_onnx_need(n, 1), *residual = ot_onnx_in(n, 2);
    if (!x || !bias)
        return n->err->status;
    x = ot_onnx_2(n, "add", x, bias);
    return ot_onnx_dropped(n, residual && x ? ot_onnx_2(n, "add", x, residual) : x, 4);
}

/* Over all dims from the axis on. */
static int bias_softmax(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *bias = ot_onnx_need(n, 1);
    x = x && bias ? ot_onnx_2(n, "add", x, bias) : NULL;
    return x ? ot_onnx_give(n, 0, ot_onnx_softmax(n, x, true)) : n->err->status;
}

/* The GELU, by tanh, of a product of input 1 and a bias. */
static int gemm_gelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *weight = ot_onnx_need(n, 1), *bias = ot_onnx_in(n, 2);
    value *all = x && weight ? ot_onnx_product(n, x, weight) : NULL;
    all = bias && all ? ot_onnx_2(n, "add", all, bias) : all;
    return ot_onnx_give(n, 0, all ? ot_onnx_1(n, "gelu_tanh", all) : NULL);
}

/* A side of a product: its first dim behind those of the batch where `batch` says so, and its last
 * two turned over where `flip` does. */
static value *side(ot_onnx_node *n, int i, const char *flip, const char *batch)
{
    value *x = ot_onnx_need(n, i);
    int order[OPTUNE_MAX_RANK];
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 2)
        return rank < 0 ? NULL : x;
    for (int d = 0; d < rank; d++)
        order[d] = d;
    for (int d = 0; d < rank - 1 && ot_onnx_int(n, batch, 0); d++)
        order[d] = d < rank - 2 ? d + 1 : 0;
    if (ot_onnx_int(n, flip, 0)) {
        const int last = order[rank - 1];
        order[rank - 1] = order[rank - 2];
        order[rank - 2] = last;
    }
    return ot_onnx_transpose(n, x, rank, order);
}

/* alpha a b */
static int product(ot_onnx_node *n)
{
    value *a = side(n, 0, "transA", "transBatchA");
    value *b = a ? side(n, 1, "transB", "transBatchB") : NULL;
    value *all = b ? ot_onnx_product(n, a, b) : NULL;
    const double alpha = ot_onnx_real(n, "alpha", 1);
    if (all && alpha != 1)
        all = ot_onnx_2(n, "multiply", all, ot_onnx_number(n, all, alpha));
    return ot_onnx_give(n, 0, all);
}

ot_onnx_value *ot_onnx_layer_normalised(ot_onnx_node *n, value *sum, value *scale, value *shift,
                                        optune_dtype dtype)
{
    value *wide = sum ? ot_onnx_wide(n, sum) : NULL;
    const int rank = wide ? ot_onnx_rank(n, wide) : -1;
    if (rank < 1) {
        if (n->err->status >= 0)
            ot_onnx_refuse(n, "its input has no dims");
        return NULL;
    }
    const int64_t last = rank - 1;
    value *all = ot_onnx_standardised(n, wide, ot_onnx_text(n->m, 1, &last), 1e-12, NULL);
    all = ot_onnx_2(n, "multiply", all, ot_onnx_wide(n, scale));
    all = shift && all ? ot_onnx_2(n, "add", all, ot_onnx_wide(n, shift)) : all;
    return ot_onnx_as(n, all, dtype);
}

/* The layer normalisation of a sum, which is output 3. */
static int skip_layer_norm(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *skip = ot_onnx_need(n, 1), *scale = ot_onnx_need(n, 2);
    value *shift = ot_onnx_in(n, 3), *bias = ot_onnx_in(n, 4);
    if (!x || !skip || !scale)
        return n->err->status;
    value *sum = ot_onnx_2(n, "add", x, skip);
    sum = bias ? ot_onnx_2(n, "add", sum, bias) : sum;
    const int status = ot_onnx_give(
        n, 0, ot_onnx_layer_normalised(n, sum, scale, shift, ot_onnx_type(n->m, x)->dtype));
    return status >= 0 && ot_onnx_wants(n, 3) ? ot_onnx_give(n, 3, sum) : status;
}

#define MS "com.microsoft::"
static const ot_onnx_op ops[] = {
    {MS "Gelu", of_sum, "gelu"},
    {MS "BiasGelu", of_sum, "gelu"},
    {MS "FastGelu", of_sum, "gelu_tanh"},
    {MS "QuickGelu", quick_gelu, NULL},
    {MS "BiasDropout", bias_dropout, NULL},
    {MS "BiasSoftmax", bias_softmax, NULL},
    {MS "GemmFastGelu", gemm_gelu, NULL},
    {MS "FusedMatMul", product, NULL},
    {MS "TransposeMatMul", product, NULL},
    {MS "SkipLayerNormalization", skip_layer_norm, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(fused) = {ops};
