/* SPDX-License-Identifier: Apache-2.0 */
/* Constants by a formula, and integers by their bits. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* An identity matrix, as large as what is given, moved k columns to the right. */
static int eye_like(ot_onnx_node *n)
{
    value *like = ot_onnx_need(n, 0), *made = NULL;
    int64_t dim[OPTUNE_MAX_RANK];
    if (!like || !ot_onnx_dims(n, like, dim))
        return n->err->status;
    optune_tensor type = *ot_onnx_type(n->m, like);
    const int64_t shift = ot_onnx_int(n, "k", 0);
    const int64_t dtype = ot_onnx_int(n, "dtype", 0);
    if (type.rank != 2)
        return ot_onnx_refuse(n, "its input has %d dims, not 2", type.rank);
    int status = dtype ? ot_onnx_dtype((int)dtype, &type.dtype, n->err) : OPTUNE_OK;
    if (status >= 0)
        status = ot_onnx_room(n->m, &type, &made, n->err);
    const double one = 1;
    for (int64_t i = 0; i < dim[0] && status >= 0; i++)
        if (shift > -dim[0] && shift < dim[1] && i + shift >= 0 && i + shift < dim[1])
            ot_elements_set(type.dtype, made->data, i * dim[1] + i + shift, 1, &one);
    return status < 0 ? status : ot_onnx_give(n, 0, made);
}

/* w[i] = c0 - c1 cos(2 pi i / period) + c2 cos(4 pi i / period) */
static int window(ot_onnx_node *n)
{
    static const double shapes[][3] = {
        {0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
    const double *c = shapes[*n->op->arg - '0'];
    value *size = ot_onnx_need(n, 0), *made = NULL;
    ot_onnx_list list;
    optune_tensor type = {.rank = 1};
    int status = size ? ot_onnx_list_of(n, size, "size", &list) : n->err->status;
    if (status >= 0)
        status = ot_onnx_dtype((int)ot_onnx_int(n, "output_datatype", 1), &type.dtype, n->err);
    if (status < 0)
        return status;
    if (list.n != 1 || list.i[0] < 0 || list.i[0] > OPTUNE_MAX_DIM)
        return ot_onnx_refuse(n, "its size is no number");
    type.dim[0] = optune_dim_of(list.i[0]);
    status = ot_onnx_room(n->m, &type, &made, n->err);
    const double turn = 2 * 3.14159265358979323846;
    const int64_t period = ot_onnx_int(n, "periodic", 1) ? list.i[0] : list.i[0] - 1;
    for (int64_t i = 0; i < list.i[0] && status >= 0; i++) {
        const double at = period ? turn * (double)i / (double)period : 0;
        const double w = c[0] - c[1] * cos(at) + c[2] * cos(2 * at);
        ot_elements_set(type.dtype, made->data, i, 1, &w);
    }
    return status < 0 ? status : ot_onnx_give(n, 0, made);
}

/* Shifts by constants: products and quotients by powers of two, 0 from all bits on. */
static int bit_shift(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *by = ot_onnx_need(n, 1), *factor = NULL;
    if (!x || !by)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    const bool left = !strcmp(ot_onnx_word(n, "direction", ""), "LEFT");
    if (!left && strcmp(ot_onnx_word(n, "direction", ""), "RIGHT"))
        return ot_onnx_refuse(n, "its direction is neither LEFT nor RIGHT");
    if (!by->data)
        return ot_onnx_refuse(n, "only shifts by a constant are supported");
    if (dtype.code != OPTUNE_DTYPE_UINT || (!left && dtype.bits > 32))
        return ot_onnx_refuse(n, "shifts of these integers are not supported");
    const void *shift = ot_onnx_look(n, by);
    optune_tensor type = by->type;
    type.dtype = left ? dtype : f64;
    if (!shift || ot_onnx_room(n->m, &type, &factor, n->err) < 0)
        return n->err->status;
    for (int64_t i = 0; i < optune_tensor_elements(&type); i++) {
        double bits;
        ot_elements(by->type.dtype, shift, i, 1, &bits);
        const int bounded = bits < dtype.bits ? (int)bits : dtype.bits;
        const double power = left && bounded == dtype.bits ? 0 : ldexp(1, bounded);
        ot_elements_set(type.dtype, factor->data, i, 1, &power);
    }
    if (left)
        return ot_onnx_give(n, 0, ot_onnx_2(n, "multiply", x, factor));
    value *all = ot_onnx_1(n, "floor", ot_onnx_2(n, "divide", ot_onnx_as(n, x, f64), factor));
    return ot_onnx_give(n, 0, all ? ot_onnx_as(n, all, dtype) : NULL);
}

/* -1 - x, modulo 2^bits */
static int bitwise_not(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    if (!x)
        return n->err->status;
    value *minus = ot_onnx_2(n, "subtract", ot_onnx_number(n, x, 0), x);
    return ot_onnx_give(
        n, 0, minus ? ot_onnx_2(n, "subtract", minus, ot_onnx_number(n, minus, 1)) : NULL);
}

static const ot_onnx_op ops[] = {
    {"EyeLike", eye_like, NULL},
    {"HannWindow", window, "0"},
    {"HammingWindow", window, "1"},
    {"BlackmanWindow", window, "2"},
    {"BitShift", bit_shift, NULL},
    {"BitwiseNot", bitwise_not, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(series) = {ops};
