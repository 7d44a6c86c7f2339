/* SPDX-License-Identifier: Apache-2.0 */
/* What onnxruntime's optimizer makes of diffusion models (com.microsoft), in the operators that
 * these are. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* One half of the last dim, times the GELU of the other. */
static int bias_split_gelu(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *bias = ot_onnx_need(n, 1);
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = x && bias ? ot_onnx_rank(n, x) : -1;
    if (rank < 0 || (rank && !ot_onnx_dims_at(n, x, 1u << (rank - 1), dim)))
        return n->err->status;
    if (rank < 1 || dim[rank - 1] % 2)
        return ot_onnx_refuse(n, "its last dim has no halves");
    const int64_t half = dim[rank - 1] / 2;
    x = ot_onnx_2(n, "add", x, bias);
    value *right = x ? ot_onnx_part(n, x, rank - 1, half, 2 * half) : NULL;
    value *left = right ? ot_onnx_part(n, x, rank - 1, 0, half) : NULL;
    return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", left, ot_onnx_1(n, "gelu", right)));
}

/* x + bias + skip */
static int bias_add(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *bias = ot_onnx_need(n, 1), *skip = ot_onnx_need(n, 2);
    return x && bias && skip
               ? ot_onnx_give(n, 0, ot_onnx_2(n, "add", ot_onnx_2(n, "add", x, bias), skip))
               : n->err->status;
}

/* The normalisation of images [N,H,W,C] or [N,C,H,W] over groups of channels. */
static value *grouped(ot_onnx_node *n, value *x)
{
    static const int forth[] = {0, 3, 1, 2}, back[] = {0, 2, 3, 1};
    value *scale = ot_onnx_need(n, 1), *shift = ot_onnx_need(n, 2);
    const bool last = ot_onnx_int(n, "channels_last", 1) != 0;
    const int64_t groups = ot_onnx_int(n, "groups", 0),
                  activation = ot_onnx_int(n, "activation", 0);
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = x && scale && shift ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return NULL;
    if (rank != 4 || activation < 0 || activation > 1) {
        ot_onnx_refuse(n, "%d dims, activation %lld", rank, (long long)activation);
        return NULL;
    }
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    x = ot_onnx_wide(n, x);
    x = last && x ? ot_onnx_transpose(n, x, 4, forth) : x;
    if (!x || !ot_onnx_dims_at(n, x, ~1u, dim))
        return NULL;
    if (groups < 1 || dim[1] % groups) {
        ot_onnx_refuse(n, "%lld groups do not divide its channels", (long long)groups);
        return NULL;
    }
    static const int64_t channels[] = {-1, 1, 1};
    value *rows = ot_onnx_reshape_keeping(n, x, 3, (const int64_t[]){0, groups, -1});
    dim[0] = 0;
    x = ot_onnx_reshape_keeping(n, rows ? ot_onnx_standardised(n, rows, "2", 1e-5, NULL) : NULL,
                                4, dim);
    x = ot_onnx_2(n, "multiply", x, ot_onnx_reshape(n, ot_onnx_wide(n, scale), 3, channels));
    x = ot_onnx_2(n, "add", x, ot_onnx_reshape(n, ot_onnx_wide(n, shift), 3, channels));
    x = activation ? ot_onnx_1(n, "silu", x) : x;
    x = last && x ? ot_onnx_transpose(n, x, 4, back) : x;
    return ot_onnx_as(n, x, dtype);
}

static int group_norm(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    return x ? ot_onnx_give(n, 0, grouped(n, x)) : n->err->status;
}

/* The same of a sum, which is output 1; what is added may be a number for each channel. */
static int skip_group_norm(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *skip = ot_onnx_need(n, 3), *bias = ot_onnx_in(n, 4);
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = x && skip ? ot_onnx_rank(n, skip) : -1;
    if (rank < 0 || (rank == 2 && !ot_onnx_dims_at(n, skip, 1u << 1, dim)))
        return n->err->status;
    if (!ot_onnx_int(n, "channels_last", 1))
        return ot_onnx_refuse(n, "with channels in front it is not supported");
    if (rank == 2)
        skip = ot_onnx_reshape(n, skip, 4, (const int64_t[]){-1, 1, 1, dim[1]});
    x = ot_onnx_2(n, "add", x, skip);
    x = x && bias ? ot_onnx_2(n, "add", x, bias) : x;
    const int status = ot_onnx_give(n, 0, x ? grouped(n, x) : NULL);
    return status >= 0 && ot_onnx_wants(n, 1) ? ot_onnx_give(n, 1, x) : status;
}

#define MS "com.microsoft::"
static const ot_onnx_op ops[] = {
    {MS "BiasSplitGelu", bias_split_gelu, NULL},
    {MS "BiasAdd", bias_add, NULL},
    {MS "GroupNorm", group_norm, NULL},
    {MS "SkipGroupNorm", skip_group_norm, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(diffusion) = {ops};
