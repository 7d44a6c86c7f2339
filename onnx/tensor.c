/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a file as constants: their types, and elements wherever the file keeps them. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

/* What models that are made of a few bytes may compute or fill. */
static const double computed_limit = 2147483648.0;

enum { MOST_FILES = 16 }; /* that stay open; the elements of others are read at once */

int ot_onnx_dtype(int code, optune_dtype *dtype, optune_err *err)
{
    static const char *const names[] = {
        [1] = "f32",  [2] = "u8",   [3] = "i8",   [4] = "u16",  [5] = "i16",
        [6] = "i32",  [7] = "i64",  [9] = "bool", [10] = "f16", [11] = "f64",
        [12] = "u32", [13] = "u64", [16] = "bf16"};
    if (code >= 0 && code < OT_COUNT(names) && names[code] &&
        ot_parse_dtype(names[code], dtype))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_EUNSUPPORTED, "elements of ONNX's type %d%s", code,
                       code == 8                  ? " (string)"
                       : code == 14 || code == 15 ? " (complex)"
                                                  : "");
}

int ot_onnx_count(ot_onnx *m, const optune_tensor *type, optune_err *err)
{
    if (!ot_tensor_fits(type))
        return optune_fail(err, OPTUNE_ELIMIT, "its dims overflow");
    const size_t bytes = (size_t)optune_tensor_bytes(type);
    m->computed += (double)bytes;
    if (m->computed > computed_limit)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "constants that are computed would take more than %.0f MB",
                           computed_limit / 1e6);
    return OPTUNE_OK;
}

int ot_onnx_room(ot_onnx *m, const optune_tensor *type, ot_onnx_value **value, optune_err *err)
{
    const int status = ot_onnx_count(m, type, err);
    if (status < 0)
        return status;
    const size_t bytes = (size_t)optune_tensor_bytes(type);
    void *data = ot_try_alloc(bytes + 1, "a constant", err);
    if (!data)
        return OPTUNE_ENOMEM;
    *value = ot_onnx_new(m);
    (*value)->type = *type;
    (*value)->data = data;
    return OPTUNE_OK;
}

int ot_onnx_backed(ot_onnx *m, const optune_tensor *type, ot_backing *backing, int depth,
                   ot_onnx_value **value)
{
    if (!backing)
        return OPTUNE_ENOMEM;
    *value = ot_onnx_new(m);
    (*value)->type = *type;
    (*value)->data = backing->data;
    (*value)->backing = backing;
    (*value)->depth = depth;
    return OPTUNE_OK;
}

static int type_of(const ot_onnx_tensor *tensor, optune_tensor *type, optune_err *err)
{
    *type = (optune_tensor){.rank = (int)tensor->n_dims};
    const int status = ot_onnx_dtype(tensor->data_type, &type->dtype, err);
    if (status < 0)
        return status;
    if (tensor->n_dims > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ELIMIT, "%zu dims, more than %d", tensor->n_dims,
                           OPTUNE_MAX_RANK);
    for (int d = 0; d < type->rank; d++) {
        if (tensor->dims[d] < 0 || tensor->dims[d] > OPTUNE_MAX_DIM)
            return optune_fail(err, OPTUNE_ELIMIT, "a dim of %lld", (long long)tensor->dims[d]);
        type->dim[d] = optune_dim_of(tensor->dims[d]);
    }
    return ot_tensor_fits(type) ? OPTUNE_OK
                                : optune_fail(err, OPTUNE_ELIMIT, "its dims overflow");
}

/* Elements that the file holds one by one in fields of a wider type. */
typedef struct field {
    const void *data;
    size_t n, size;
} field;

static field field_of(const ot_onnx_tensor *t, optune_dtype dtype)
{
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        return (field){t->float_data, t->n_float_data, sizeof(float)};
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64)
        return (field){t->double_data, t->n_double_data, sizeof(double)};
    if (dtype.code == OPTUNE_DTYPE_INT && dtype.bits == 64)
        return (field){t->int64_data, t->n_int64_data, sizeof(int64_t)};
    if (dtype.code == OPTUNE_DTYPE_UINT && dtype.bits >= 32)
        return (field){t->uint64_data, t->n_uint64_data, sizeof(uint64_t)};
    return (field){t->int32_data, t->n_int32_data, sizeof(int32_t)};
}

static int wrong_count(size_t has, int64_t needs, const char *what, optune_err *err)
{
    return optune_fail(err, OPTUNE_EDAMAGED, "its dims need %lld %s, the file has %zu",
                       (long long)needs, what, has);
}

/* The low bytes of each: bits of halves, and integers that fit. */
static int narrow(const ot_onnx_tensor *t, const optune_tensor *type, char *to, optune_err *err)
{
    const field from = field_of(t, type->dtype);
    const int64_t n = optune_tensor_elements(type);
    if ((size_t)n != from.n)
        return wrong_count(from.n, n, "elements", err);
    const size_t size = n ? (size_t)(optune_tensor_bytes(type) / n) : 1;
    for (size_t i = 0; i < from.n; i++)
        memcpy(to + i * size, (const char *)from.data + i * from.size, size);
    return OPTUNE_OK;
}

static const char *entry(const ot_onnx_tensor *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && !strcmp(t->external_data[i]->key, key))
            return t->external_data[i]->value;
    return NULL;
}

/* The model keeps the file; one that it has already takes its place. False: it has enough of them,
 * as each takes a descriptor. */
static bool keep(ot_onnx *m, const char *location, ot_onnx_file **file)
{
    for (int i = 0; i < m->outside.n; i++)
        if (!strcmp(m->outside.row[i], location)) {
            ot_onnx_file_close(*file);
            *file = (ot_onnx_file *)(uintptr_t)m->files.row[i];
            return true;
        }
    if (m->files.n == MOST_FILES)
        return false;
    ot_rows_push(&m->outside, ot_arena_copy(&m->arena, location));
    ot_rows_push(&m->files, *file);
    return true;
}

static int external(ot_onnx *m, const ot_onnx_tensor *t, const optune_tensor *type,
                    ot_onnx_value **value, optune_err *err)
{
    const char *location = entry(t, "location"), *offset = entry(t, "offset");
    const char *length = entry(t, "length");
    ot_onnx_piece piece = {.bytes = optune_tensor_bytes(type),
                           .bools = type->dtype.code == OPTUNE_DTYPE_BOOL};
    int64_t n = piece.bytes;
    if (!location || (offset && !ot_parse_int(offset, &piece.offset)) ||
        (length && !ot_parse_int(length, &n)))
        return optune_fail(err, OPTUNE_EDAMAGED, "where its elements lie is not said");
    if (n != piece.bytes)
        return wrong_count((size_t)n, piece.bytes, "bytes", err);
    int status = ot_onnx_external(m->path, location, piece.offset, n, &piece.file, err);
    if (status >= 0 && (n < OT_ONNX_LARGE || !keep(m, location, &piece.file))) {
        status = ot_onnx_room(m, type, value, err);
        if (status >= 0)
            status = ot_onnx_file_read(piece.file, piece.offset, n, (*value)->data, err);
        ot_onnx_file_close(piece.file);
        return status;
    }
    if (status >= 0)
        status = ot_onnx_count(m, type, err);
    if (status >= 0)
        status = ot_onnx_piece_digest(&piece, err);
    return status < 0 ? status
                      : ot_onnx_backed(m, type, ot_onnx_piece_backing(&piece, err), 0, value);
}

/* Any byte but 0 is true in a file, 1 in ours. */
static void settle_bools(const ot_onnx_value *value)
{
    uint8_t *byte = value->data;
    if (value->type.dtype.code == OPTUNE_DTYPE_BOOL && !value->backing)
        for (int64_t i = 0; i < optune_tensor_elements(&value->type); i++)
            byte[i] = byte[i] != 0;
}

/* Elements of whole bytes. */
static int take(ot_onnx *m, ot_onnx_tensor *t, ot_onnx_value **value, optune_err *err)
{
    optune_tensor type;
    int status = type_of(t, &type, err);
    if (status < 0)
        return status;
    const int64_t bytes = optune_tensor_bytes(&type);
    const bool outside =
        t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    if (outside) {
        status = external(m, t, &type, value, err);
        if (status >= 0)
            settle_bools(*value);
        return status;
    }
    const ot_onnx_piece *piece = ot_onnx_piece_of(&m->pieces, t);
    const size_t raw = piece ? (size_t)piece->bytes : t->raw_data.len;
    if (t->has_raw_data && (size_t)bytes != raw)
        return wrong_count(raw, bytes, "bytes", err);
    if (piece)
        return ot_onnx_backed(m, &type, ot_onnx_piece_backing(piece, err), 0, value);
    const bool again = m->model->n_functions || m->depth; /* a body is read each time anew */
    if (t->has_raw_data && again) {
        status = ot_onnx_room(m, &type, value, err);
        if (status >= 0 && bytes)
            memcpy((*value)->data, t->raw_data.data, (size_t)bytes);
        if (status >= 0)
            settle_bools(*value);
        return status;
    }
    if (t->has_raw_data) {
        *value = ot_onnx_new(m);
        (*value)->type = type;
        (*value)->data = bytes ? t->raw_data.data : ot_alloc(1);
        t->raw_data = (ProtobufCBinaryData){0};
        settle_bools(*value);
        return OPTUNE_OK;
    }
    const size_t has = field_of(t, type.dtype).n;
    if (has != (size_t)optune_tensor_elements(&type)) /* before it gets room */
        return wrong_count(has, optune_tensor_elements(&type), "elements", err);
    const double computed = m->computed;
    status = ot_onnx_room(m, &type, value, err);
    m->computed = again ? m->computed : computed;
    if (status >= 0)
        status = narrow(t, &type, (*value)->data, err);
    if (status >= 0)
        settle_bools(*value);
    return status;
}

/* ---- elements of 4 bits, two a byte in a file ------------------------------------------------ */

enum { UINT4 = 21, INT4 = 22, UINT8 = 2 };

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

static int take_nibbles(ot_onnx *m, ot_onnx_tensor *t, ot_onnx_value **value, optune_err *err)
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
    int status = take(m, &bytes, &packed, err);
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

int ot_onnx_take(ot_onnx *m, ot_onnx_tensor *t, ot_onnx_value **value, optune_err *err)
{
    return t->data_type == UINT4 || t->data_type == INT4 ? take_nibbles(m, t, value, err)
                                                         : take(m, t, value, err);
}
