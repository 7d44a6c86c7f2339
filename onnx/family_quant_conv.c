/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of small integers, summed in 32 bits; what is padded is the data's zero. */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

/* In 32 bits, less its zero: one for all, or one for each place along axis 0. */
static value *less_zero(ot_onnx_node *n, value *x, int zero_at)
{
    value *zero = ot_onnx_in(n, zero_at);
    value *wide = ot_onnx_as(n, x, i32);
    return zero && wide ? ot_onnx_2(n, "subtract", wide,
                                    ot_onnx_along(n, wide, ot_onnx_as(n, zero, i32), 0))
                        : wide;
}

/* Sums over windows of input 0, with two dims to slide over, and a bias (NULL: 0). */
static value *sums(ot_onnx_node *n, int weight_at, int zero_at, int weight_zero_at, value *bias,
                   ot_onnx_window *slide)
{
    int64_t dim[OPTUNE_MAX_RANK];
    value *weight = ot_onnx_need(n, weight_at), *zero = ot_onnx_in(n, zero_at);
    if (!weight || !ot_onnx_dims(n, weight, dim))
        return NULL;
    const int rank = ot_onnx_rank(n, weight);
    if (rank != 3 && rank != 4) {
        ot_onnx_refuse(n, "a weight of %d dims: only 3 and 4 are supported", rank);
        return NULL;
    }
    if (ot_onnx_slide(n, dim + 2, slide) < 0)
        return NULL;
    const int one = zero ? ot_onnx_rank(n, zero) : 0;
    int64_t zeros[OPTUNE_MAX_RANK] = {1};
    if (slide->dims != rank - 2 || one > 1 || (one == 1 && !ot_onnx_dims(n, zero, zeros)) ||
        zeros[0] != 1) {
        ot_onnx_refuse(n, "its weight has %d dims, its data another number, or several zeros",
                       rank);
        return NULL;
    }
    weight = less_zero(n, weight, weight_zero_at);
    value *all = ot_onnx_narrow_conv(n, slide, zero, weight, bias);
    if (all || n->err->status < 0)
        return all;
    value *x = less_zero(n, slide->data, zero_at);
    if (rank == 3)
        weight = ot_onnx_call(n, "expand_dims", 1, &weight, "axis=2");
    all = ot_onnx_exact_conv(n, x, weight, ot_onnx_window_text(n, slide));
    return all && bias ? ot_onnx_2(n, "add", all, ot_onnx_along(n, all, bias, 1)) : all;
}

static int integer_conv(ot_onnx_node *n)
{
    ot_onnx_window slide;
    value *all = sums(n, 1, 2, 3, NULL, &slide);
    return ot_onnx_give(n, 0, all ? ot_onnx_unslide(n, &slide, all) : NULL);
}

static int linear_conv(ot_onnx_node *n)
{
    static const int scale_at[] = {1, 4, 6};
    ot_onnx_window slide;
    value *bias = ot_onnx_in(n, 8);
    value *all = sums(n, 3, 2, 5, bias ? ot_onnx_as(n, bias, i32) : NULL, &slide);
    value *zero = all ? ot_onnx_need(n, 7) : NULL, *by[3] = {NULL};
    for (int i = 0; i < 3 && all && zero && n->err->status >= 0; i++) {
        by[i] = ot_onnx_need(n, scale_at[i]);
        by[i] = by[i] ? ot_onnx_along(n, all, ot_onnx_as(n, by[i], f32), 1) : NULL;
    }
    if (!all || !zero || n->err->status < 0)
        return n->err->status;
    value *shift = ot_onnx_along(n, all, ot_onnx_as(n, zero, f32), 1);
    all = ot_onnx_requantised(n, all, by, shift, ot_onnx_type(n->m, zero)->dtype, NULL);
    return ot_onnx_give(n, 0, all ? ot_onnx_unslide(n, &slide, all) : NULL);
}

static const ot_onnx_op ops[] = {
    {"ConvInteger", integer_conv, NULL},
    {"QLinearConv", linear_conv, NULL},
    {"com.microsoft::QLinearConv", linear_conv, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(quant_conv) = {ops};
