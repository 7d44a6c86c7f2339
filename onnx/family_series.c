/* SPDX-License-Identifier: Apache-2.0 */
/* Constants by a formula, and integers by their bits. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};

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

/* The numbers at these places of a table, 0 to `last`. */
static value *by_bits(ot_onnx_node *n, value *places, optune_dtype dtype, int last,
                      const double *table)
{
    const optune_tensor type = {.dtype = dtype, .rank = 1, .dim = {optune_dim_of(last + 1)}};
    value *all = NULL;
    if (!places || ot_onnx_room(n->m, &type, &all, n->err) < 0)
        return NULL;
    ot_elements_set(dtype, all->data, 0, last + 1, table);
    return ot_onnx_call(n, "take", 2, (value *const[]){all, places}, "axis=0");
}

/* x divided by powers of two, rounded down, in double precision, which has every number of 32 bits;
 * of 64 the two halves go by themselves. */
static value *quotient(ot_onnx_node *n, value *x, value *power)
{
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    value *part[2] = {x, NULL}, *all = NULL;
    if (dtype.bits > 32) {
        part[0] = ot_onnx_2(n, "bitwise_and", x, ot_onnx_number(n, x, UINT32_MAX));
        part[1] = part[0] ? ot_onnx_2(n, "subtract", x, part[0]) : NULL;
    }
    for (int i = 0; i < 2 && power; i++) {
        if (i && dtype.bits <= 32)
            break;
        value *q = part[i] ? ot_onnx_as(n, part[i], f64) : NULL;
        q = q ? ot_onnx_1(n, "floor", ot_onnx_2(n, "divide", q, power)) : NULL;
        q = q ? ot_onnx_as(n, q, dtype) : NULL;
        all = i ? ot_onnx_2(n, "add", all, q) : q;
    }
    return all;
}

/* By how many bits is a place in a table: all of them for what is negative or more. */
static int bit_shift(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0), *by = ot_onnx_need(n, 1);
    if (!x || !by)
        return n->err->status;
    const optune_dtype dtype = ot_onnx_type(n->m, x)->dtype;
    const bool left = !strcmp(ot_onnx_word(n, "direction", ""), "LEFT");
    const bool sign = dtype.code == OPTUNE_DTYPE_INT;
    double power[64 + 1] = {0};
    if (!left && strcmp(ot_onnx_word(n, "direction", ""), "RIGHT"))
        return ot_onnx_refuse(n, "its direction is neither LEFT nor RIGHT");
    if ((dtype.code != OPTUNE_DTYPE_UINT && !sign) || dtype.bits > 64)
        return ot_onnx_refuse(n, "it is for integers");
    by = ot_onnx_as(n, by, i64);
    value *all = by ? ot_onnx_number(n, by, dtype.bits) : NULL;
    value *const chosen[] = {by ? ot_onnx_2(n, "less", by, ot_onnx_number(n, by, 0)) : NULL,
                             all, all ? ot_onnx_2(n, "minimum", by, all) : NULL};
    by = ot_onnx_call(n, "where", 3, chosen, NULL);
    for (int i = 0; i <= dtype.bits; i++)
        power[i] = !left || i < dtype.bits ? ldexp(1, i) : 0;
    if (left && sign) /* as its bits are read */
        power[dtype.bits - 1] = -power[dtype.bits - 1];
    value *factor = by_bits(n, by, left ? dtype : f64, dtype.bits, power);
    return ot_onnx_give(n, 0,
                        !factor ? NULL
                        : left  ? ot_onnx_2(n, "multiply", x, factor)
                                : quotient(n, x, factor));
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
