/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of 4 bits, two a byte in a file: as bytes, which only DequantizeLinear may read, since
 * any other operator would take them for integers of 8 bits.
 */
#include <stdlib.h>

#include "onnx/onnx.h"

enum { UINT4 = 21, INT4 = 22, UINT8 = 2 };

bool ot_onnx_is_nibbles(int code)
{
    return code == UINT4 || code == INT4;
}

typedef struct unpacked {
    ot_backing *bytes;
    int64_t n;
    bool is_signed;
} unpacked;

static void unpack(const unpacked *u, const uint8_t *from, uint8_t *to)
{
    for (int64_t i = 0; i < u->n; i++) {
        const uint8_t q = from[i / 2] >> (i % 2 ? 4 : 0) & 15;
        to[i] = u->is_signed && q > 7 ? (uint8_t)(q | 0xf0) : q;
    }
}

static int unpack_again(void *from, void *to, size_t bytes, optune_err *err)
{
    const unpacked *u = from;
    (void)bytes;
    const int status = ot_backing_hold(u->bytes, err);
    if (status < 0)
        return status;
    unpack(u, u->bytes->data, to);
    ot_backing_let_go(u->bytes);
    return OPTUNE_OK;
}

static void forget(void *from)
{
    unpacked *u = from;
    ot_backing_close(u->bytes);
    free(u);
}

int ot_onnx_take_nibbles(ot_onnx *m, ot_onnx_tensor *t, ot_onnx_value **value, optune_err *err)
{
    optune_tensor type = {
        .dtype = {.code = t->data_type == INT4 ? OPTUNE_DTYPE_INT : OPTUNE_DTYPE_UINT,
                  .bits = 8,
                  .lanes = 1},
        .rank = (int)t->n_dims};
    int64_t n = 1;
    if (t->n_dims > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ELIMIT, "%zu dims, more than %d", t->n_dims,
                           OPTUNE_MAX_RANK);
    for (int d = 0; d < type.rank; d++) {
        if (t->dims[d] < 0 || t->dims[d] > OPTUNE_MAX_DIM)
            return optune_fail(err, OPTUNE_ELIMIT, "a dim of %lld", (long long)t->dims[d]);
        type.dim[d] = optune_dim_of(t->dims[d]);
    }
    if (!ot_tensor_fits(&type))
        return optune_fail(err, OPTUNE_ELIMIT, "its dims overflow");
    n = optune_tensor_elements(&type);
    /* The bytes themselves, wherever the file keeps them. */
    ot_onnx_tensor bytes = *t;
    int64_t dim = n / 2 + n % 2;
    ot_onnx_value *packed = NULL;
    bytes.data_type = UINT8;
    bytes.n_dims = 1;
    bytes.dims = &dim;
    int status = ot_onnx_take(m, &bytes, &packed, err);
    t->raw_data = bytes.raw_data;
    if (status < 0)
        return status;
    unpacked u = {.n = n, .is_signed = t->data_type == INT4};
    if (!packed->backing) {
        status = ot_onnx_room(m, &type, value, err);
        if (status >= 0)
            unpack(&u, packed->data, (*value)->data);
    } else {
        status = ot_onnx_count(m, &type, err);
        if (status < 0)
            return status;
        unpacked *own = ot_alloc(sizeof *own);
        u.bytes = ot_backing_share(packed->backing);
        *own = u;
        ot_backing *backing = ot_backing_new((size_t)n, unpack_again, forget, own, err);
        if (!backing)
            forget(own);
        status = ot_onnx_backed(m, &type, backing, 1, value);
    }
    if (status >= 0)
        (*value)->nibbles = true;
    return status;
}
