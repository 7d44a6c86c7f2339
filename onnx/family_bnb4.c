/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with weights of bitsandbytes' 4-bit formats (com.microsoft): each half of a byte is the
 * place of a number in a table, times the largest magnitude of its block. A weight of many elements
 * becomes floats whenever somebody holds it, as what is read of a file does.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* By `quant_type`: floats of a sign, two bits of exponent and one of mantissa, over the largest of
 * them, 12; and the quantiles of a normal distribution. */
static const float tables[2][16] = {
    {0, 0.0625f / 12, 8.f / 12, 1, 4.f / 12, 6.f / 12, 2.f / 12, 3.f / 12, -0.f, -0.0625f / 12,
     -8.f / 12, -1, -4.f / 12, -6.f / 12, -2.f / 12, -3.f / 12},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
     0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1},
};

typedef struct packed {
    ot_backing *bytes;
    float *most; /* of each block */
    const float *table;
    int64_t elements, block;
} packed;

/* The first element of a byte is its high half. */
static void unpack(const packed *p, const uint8_t *from, float *to)
{
    for (int64_t i = 0; i < p->elements; i++)
        to[i] = p->table[from[i / 2] >> (i % 2 ? 0 : 4) & 15] * p->most[i / p->block];
}

static int unpack_again(void *from, void *to, size_t bytes, optune_err *err)
{
    const packed *p = from;
    (void)bytes;
    const int status = ot_backing_hold(p->bytes, err);
    if (status < 0)
        return status;
    unpack(p, p->bytes->data, to);
    ot_backing_let_go(p->bytes);
    return OPTUNE_OK;
}

static void forget(void *from)
{
    packed *p = from;
    ot_backing_close(p->bytes);
    free(p->most);
    free(p);
}

/* [N,K] of the bytes `b`; takes `p->most` over. */
static value *floats(ot_onnx_node *n, value *b, packed *p, int64_t rows, int64_t columns)
{
    const optune_tensor type = {.dtype = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1},
                                .rank = 2,
                                .dim = {optune_dim_of(rows), optune_dim_of(columns)}};
    const size_t bytes = (size_t)p->elements * sizeof(float);
    value *all = NULL;
    if (!b->backing || bytes < OT_ONNX_LARGE) {
        const void *from = ot_onnx_look(n, b);
        if (from && ot_onnx_room(n->m, &type, &all, n->err) >= 0)
            unpack(p, from, all->data);
        free(p->most);
        return all;
    }
    packed *own = ot_alloc(sizeof *own);
    *own = *p;
    own->bytes = ot_backing_share(b->backing);
    ot_backing *backing = ot_onnx_count(n->m, &type, n->err) < 0
                              ? NULL
                              : ot_backing_new(bytes, unpack_again, forget, own, n->err);
    if (!backing)
        forget(own);
    return backing && ot_onnx_backed(n->m, &type, backing, b->depth + 1, &all) >= 0 ? all
                                                                                    : NULL;
}

/* How many elements a constant has. */
static int64_t elements_of(const value *x)
{
    return x->data ? optune_tensor_elements(&x->type) : -1;
}

static int matmul(ot_onnx_node *n)
{
    value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1), *most = ot_onnx_need(n, 2);
    const int64_t rows = ot_onnx_int(n, "N", 0), columns = ot_onnx_int(n, "K", 0),
                  block = ot_onnx_int(n, "block_size", 0),
                  kind = ot_onnx_int(n, "quant_type", -1);
    if (!a || !b || !most)
        return n->err->status;
    if (kind != 0 && kind != 1)
        return ot_onnx_refuse(n, "'quant_type' is %lld: only 0 (FP4) and 1 (NF4) are supported",
                              (long long)kind);
    if (!ot_onnx_int(n, "transB", 1))
        return ot_onnx_refuse(n, "'transB' is 0: its weight must lie row by row");
    if (rows < 1 || columns < 1 || block < 1 || block > OPTUNE_MAX_DIM ||
        rows > OPTUNE_MAX_DIM / columns)
        return ot_onnx_refuse(n, "K %lld, N %lld and blocks of %lld", (long long)columns,
                              (long long)rows, (long long)block);
    const int64_t all = rows * columns, blocks = (all + block - 1) / block;
    if (elements_of(b) != (all + 1) / 2 || b->type.dtype.bits != 8)
        return ot_onnx_refuse(n, "its weight is no constant of %lld bytes",
                              (long long)((all + 1) / 2));
    if (elements_of(most) != blocks || !ot_onnx_floating(n, most))
        return ot_onnx_refuse(n, "its largest magnitudes are no constant of %lld numbers",
                              (long long)blocks);
    const void *read = ot_onnx_look(n, most);
    if (!read)
        return n->err->status;
    packed p = {.most = ot_alloc((size_t)blocks * sizeof(float)),
                .table = tables[kind],
                .elements = all,
                .block = block};
    for (int64_t i = 0; i < blocks; i++) {
        double one;
        ot_elements(most->type.dtype, read, i, 1, &one);
        p.most[i] = (float)one;
    }
    value *weight = floats(n, b, &p, rows, columns);
    weight = weight ? ot_onnx_as(n, weight, ot_onnx_type(n->m, a)->dtype) : NULL;
    weight = weight ? ot_onnx_transpose(n, weight, 2, (const int[]){1, 0}) : NULL;
    return ot_onnx_give(n, 0, weight ? ot_onnx_product(n, a, weight) : NULL);
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::MatMulBnb4", matmul, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(bnb4) = {ops};
