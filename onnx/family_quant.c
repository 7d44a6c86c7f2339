/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators to small integers and back, and products of them, which are summed in 32 bits.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};
static const optune_dtype u8 = {.code = OPTUNE_DTYPE_UINT, .bits = 8, .lanes = 1};

static int quantize(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1), *zero = ot_onnx_in(n, 2);
    const int64_t axis = ot_onnx_int(n, "axis", 1);
    optune_dtype dtype = zero ? ot_onnx_type(n->m, zero)->dtype : u8;
    if (!x || !scale)
        return n->err->status;
    if (ot_onnx_int(n, "block_size", 0))
        return ot_onnx_refuse(n, "scales in blocks are not supported");
    const int64_t asked = ot_onnx_int(n, "output_dtype", 0);
    if (asked && ot_onnx_dtype((int)asked, &dtype, n->err) < 0)
        return n->err->status;
    optune_dtype in = n->m->opset < 23 ? f32 : ot_onnx_type(n->m, scale)->dtype;
    const int64_t precision = ot_onnx_int(n, "precision", 0);
    if (precision && ot_onnx_dtype((int)precision, &in, n->err) < 0)
        return n->err->status;
    scale = ot_onnx_along(n, x, ot_onnx_as(n, scale, in), axis);
    if (zero)
        zero = ot_onnx_along(n, x, ot_onnx_as(n, zero, f32), axis);
    if (n->err->status < 0)
        return n->err->status;
    return ot_onnx_give(n, 0, ot_onnx_quantised(n, ot_onnx_as(n, x, in), scale, zero, dtype));
}

static int dequantize(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *scale = ot_onnx_need(n, 1), *zero = ot_onnx_in(n, 2);
    if (!x || !scale)
        return n->err->status;
    value *all = ot_onnx_dequantised(n, x, scale, zero);
    if (!all && n->err->status >= 0)
        all = ot_onnx_dequantised_later(n, x, scale, zero);
    const int code = ot_onnx_type(n->m, x)->dtype.code;
    if (!all && n->err->status >= 0 && code != OPTUNE_DTYPE_INT && code != OPTUNE_DTYPE_UINT)
        return ot_onnx_refuse(n, "only integers are supported");
    if (!all && n->err->status >= 0)
        all = ot_onnx_real_of(n, x, scale, zero);
    ot_onnx_note_integers(n, all, x, scale, zero);
    return ot_onnx_give(n, 0, all);
}

static int quantize_itself(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *scale = NULL, *zero = NULL;
    value *all = x ? ot_onnx_quantised_itself(n, x, &scale, &zero) : NULL;
    int status = ot_onnx_give(n, 0, all);
    if (status >= 0)
        status = ot_onnx_give(n, 1, scale);
    return status < 0 ? status : ot_onnx_give(n, 2, zero);
}

/* A side of an integer product less its zero: one for all, or for each row or column. */
static value *side(ot_onnx_node *n, int at, int zero_at, int axis)
{
    value *x = ot_onnx_need(n, at), *zero = ot_onnx_in(n, zero_at);
    const int rank = x ? ot_onnx_rank(n, x) : -1;
    if (rank < 0)
        return NULL;
    value *wide = ot_onnx_as(n, x, i32);
    if (!zero)
        return wide;
    if (rank < 2)
        axis = -1;
    return ot_onnx_2(n, "subtract", wide, ot_onnx_along(n, x, ot_onnx_as(n, zero, i32), axis));
}

/* Both sides less their zeros, b from input `right` on, whose zero is input `right_zero`. */
static value *product(ot_onnx_node *n, int right, int right_zero)
{
    value *b = side(n, right, right_zero, -1);
    value *sum =
        b ? ot_onnx_narrow_product(n, ot_onnx_need(n, 0), ot_onnx_in(n, 2), b, NULL) : NULL;
    if (sum || n->err->status < 0)
        return sum;
    value *a = side(n, 0, 2, -2);
    return ot_onnx_exact_product(n, a, b);
}

static int integer_product(ot_onnx_node *n)
{
    return ot_onnx_give(n, 0, product(n, 1, 3));
}

static int linear_product(ot_onnx_node *n)
{
    value *sum = product(n, 3, 5);
    value *zero = ot_onnx_need(n, 7), *by[3];
    const int at[] = {1, 4, 6};
    for (int i = 0; i < 3 && sum; i++) {
        by[i] = ot_onnx_need(n, at[i]);
        by[i] =
            by[i] ? ot_onnx_along(n, sum, ot_onnx_as(n, by[i], f32), i == 0 ? -2 : -1) : NULL;
    }
    if (!sum || !zero || n->err->status < 0)
        return n->err->status < 0 ? n->err->status : ot_onnx_refuse(n, "it cannot be computed");
    value *shift = ot_onnx_along(n, sum, ot_onnx_as(n, zero, f32), -1);
    return ot_onnx_give(
        n, 0, ot_onnx_requantised(n, sum, by, shift, ot_onnx_type(n->m, zero)->dtype, NULL));
}

static const ot_onnx_op ops[] = {
    {"QuantizeLinear", quantize, NULL},
    {"DequantizeLinear", dequantize, NULL},
    {"com.microsoft::QuantizeLinear", quantize, NULL},
    {"com.microsoft::DequantizeLinear", dequantize, NULL},
    {"DynamicQuantizeLinear", quantize_itself, NULL},
    {"MatMulInteger", integer_product, NULL},
    {"QLinearMatMul", linear_product, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(quant) = {ops};
