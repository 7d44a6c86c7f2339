/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with weights of 4 and 8 bits in groups, as calls of dense_nbits: com.microsoft's
 * MatMulNBits, and DequantizeLinear of a constant whose one reader is a product. The weight of the
 * latter never becomes floats: what DequantizeLinear gives stands for its parts, and only that
 * reader ever sees it.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static int64_t row_bytes(int bits, int64_t k)
{
    return bits == 4 ? k / 2 + k % 2 : k;
}

value *ot_onnx_nbits_product(ot_onnx_node *n, value *a, const ot_onnx_nbits *w)
{
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = a ? ot_onnx_rank(n, a) : -1;
    if (rank < 0)
        return NULL;
    if (rank < 1) {
        ot_onnx_refuse(n, "numbers have no matrix product");
        return NULL;
    }
    if (rank != 2) {
        if (!ot_onnx_dims(n, a, dim))
            return NULL;
        int64_t rows = 1;
        for (int d = 0; d < rank - 1; d++)
            rows *= dim[d];
        a = ot_onnx_reshape(n, a, 2, (const int64_t[]){rows, dim[rank - 1]});
    }
    value *const in[] = {a, w->weight, w->scale, w->zero};
    value *all = ot_onnx_call(n, "dense_nbits", w->zero ? 4 : 3, in, "bits=%d, group=%lld",
                              w->bits, (long long)w->group);
    if (rank == 2)
        return all;
    dim[rank - 1] = w->n;
    return ot_onnx_reshape(n, all, rank, dim);
}

/* ---- MatMulNBits ------------------------------------------------------------------------- */

value *ot_onnx_unpacked(ot_onnx_node *n, value *packed, int64_t rows, int64_t groups)
{
    const optune_tensor type = {.dtype = ot_onnx_type(n->m, packed)->dtype,
                                .rank = 2,
                                .dim = {optune_dim_of(rows), optune_dim_of(groups)}};
    value *all = NULL;
    const uint8_t *from = packed->data ? ot_onnx_look(n, packed) : NULL;
    if (!packed->data)
        ot_onnx_refuse(n, "zero points of 4 bits that are not constant");
    if (from && optune_tensor_elements(&packed->type) != rows * row_bytes(4, groups)) {
        ot_onnx_refuse(n, "%lld bytes of zero points for %lld rows of %lld",
                       (long long)optune_tensor_elements(&packed->type), (long long)rows,
                       (long long)row_bytes(4, groups));
        return NULL;
    }
    if (!from || ot_onnx_room(n->m, &type, &all, n->err) < 0)
        return NULL;
    uint8_t *to = all->data;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t g = 0; g < groups; g++)
            to[r * groups + g] = from[r * row_bytes(4, groups) + g / 2] >> (g % 2 ? 4 : 0) & 15;
    return all;
}

/* Zero points [N,G] of bytes or floats, of as many elements as the file must have. */
static value *zeros(ot_onnx_node *n, const ot_onnx_nbits *w, int64_t groups)
{
    value *zero = ot_onnx_in(n, 3);
    int64_t dim[OPTUNE_MAX_RANK], all = 1;
    if (!zero || !ot_onnx_dims(n, zero, dim))
        return NULL;
    const optune_dtype dtype = ot_onnx_type(n->m, zero)->dtype;
    const bool bytes = dtype.code == OPTUNE_DTYPE_UINT && dtype.bits == 8;
    const int64_t columns = bytes ? row_bytes(w->bits, groups) : groups;
    for (int d = 0; d < ot_onnx_rank(n, zero); d++)
        all *= dim[d];
    if (all != w->n * columns) {
        ot_onnx_refuse(n, "%lld zero points for %lld rows of %lld", (long long)all,
                       (long long)w->n, (long long)columns);
        return NULL;
    }
    return bytes && w->bits == 4 ? ot_onnx_unpacked(n, zero, w->n, groups)
                                 : ot_onnx_reshape(n, zero, 2, (const int64_t[]){w->n, groups});
}

static int matmul_nbits(ot_onnx_node *n)
{
    value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1), *scale = ot_onnx_need(n, 2);
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_nbits w = {.bits = (int)ot_onnx_int(n, "bits", 4),
                       .group = ot_onnx_int(n, "block_size", 0),
                       .n = ot_onnx_int(n, "N", 0)};
    const int64_t k = ot_onnx_int(n, "K", 0);
    if (!a || !b || !scale)
        return n->err->status;
    if (w.bits != 4 && w.bits != 8)
        return ot_onnx_refuse(n, "%d bits: only 4 and 8 are supported", w.bits);
    if (w.group < 16 || (w.group & (w.group - 1)) || w.group > 1 << 30 || k < 1 || w.n < 1 ||
        k > OPTUNE_MAX_DIM || w.n > OPTUNE_MAX_DIM)
        return ot_onnx_refuse(n, "K %lld, N %lld and blocks of %lld", (long long)k,
                              (long long)w.n, (long long)w.group);
    if (ot_onnx_in(n, 4))
        return ot_onnx_refuse(n, "its input g_idx, an order of the groups, is not supported");
    if (ot_onnx_int(n, "weight_prepacked", 0))
        return ot_onnx_refuse(n, "its weight is packed for somebody's kernel");
    const int64_t groups = (k + w.group - 1) / w.group;
    const int64_t whole = groups * row_bytes(w.bits, w.group), used = row_bytes(w.bits, k);
    int64_t all = 1;
    if (!ot_onnx_dims(n, b, dim))
        return n->err->status;
    for (int d = 0; d < ot_onnx_rank(n, b); d++)
        all *= dim[d];
    if (all != w.n * whole)
        return ot_onnx_refuse(n, "its weight has %lld bytes, not %lld", (long long)all,
                              (long long)(w.n * whole));
    b = ot_onnx_reshape(n, b, 2, (const int64_t[]){w.n, whole});
    w.weight = b && used < whole ? ot_onnx_part(n, b, 1, 0, used) : b;
    w.scale = ot_onnx_reshape(n, scale, 2, (const int64_t[]){w.n, groups});
    w.zero = zeros(n, &w, groups);
    if (n->err->status < 0)
        return n->err->status;
    value *out = ot_onnx_nbits_product(n, a, &w), *bias = ot_onnx_in(n, 5);
    return ot_onnx_give(n, 0, bias ? ot_onnx_2(n, "add", out, bias) : out);
}

/* ---- DequantizeLinear before a product ----------------------------------------------------- */

/* A weight of bytes, as rows or columns, as rows of `bits`. */
typedef struct repacked {
    ot_backing *bytes;
    int64_t n, k;
    bool by_rows;
} repacked;

/* Rows of two integers a byte. */
static void repack(const repacked *r, const uint8_t *from, uint8_t *to)
{
    const int64_t bytes = row_bytes(4, r->k);
    memset(to, 0, (size_t)(r->n * bytes));
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t k = 0; k < r->k; k++) {
            const uint8_t q = from[r->by_rows ? i * r->k + k : k * r->n + i] & 15;
            to[i * bytes + k / 2] |= (uint8_t)(q << (k % 2 ? 4 : 0));
        }
}

static int repack_again(void *from, void *to, size_t bytes, optune_err *err)
{
    const repacked *r = from;
    (void)bytes;
    const int status = ot_backing_hold(r->bytes, err);
    if (status < 0)
        return status;
    repack(r, r->bytes->data, to);
    ot_backing_let_go(r->bytes);
    return OPTUNE_OK;
}

static void forget(void *from)
{
    repacked *r = from;
    ot_backing_close(r->bytes);
    free(r);
}

static value *nibble_weight(ot_onnx_node *n, value *x, const ot_onnx_nbits *w, int64_t k,
                            bool by_rows)
{
    const optune_tensor type = {.dtype = x->type.dtype,
                                .rank = 2,
                                .dim = {optune_dim_of(w->n), optune_dim_of(row_bytes(4, k))}};
    repacked r = {.n = w->n, .k = k, .by_rows = by_rows};
    value *all = NULL;
    if (!x->backing || w->n * row_bytes(4, k) < OT_ONNX_LARGE) {
        const void *from = ot_onnx_look(n, x);
        if (!from || ot_onnx_room(n->m, &type, &all, n->err) < 0)
            return NULL;
        repack(&r, from, all->data);
        return all;
    }
    if (ot_onnx_count(n->m, &type, n->err) < 0)
        return NULL;
    repacked *own = ot_alloc(sizeof *own);
    r.bytes = ot_backing_share(x->backing);
    *own = r;
    ot_backing *backing =
        ot_backing_new((size_t)(w->n * row_bytes(4, k)), repack_again, forget, own, n->err);
    if (!backing)
        forget(own);
    return ot_onnx_backed(n->m, &type, backing, x->depth + 1, &all) < 0 ? NULL : all;
}

/* Scales or zero points, one for all, for each output feature or for each group, as [N,G]. */
static value *grouped(ot_onnx_node *n, value *by, const ot_onnx_nbits *w, int64_t groups,
                      bool by_rows)
{
    if (by->type.rank == 2)
        return by_rows ? by : ot_onnx_transpose(n, by, 2, (const int[]){1, 0});
    if (by->type.rank == 1 && by->type.dim[0].min == w->n)
        return ot_onnx_reshape(n, by, 2, (const int64_t[]){w->n, 1});
    by = ot_onnx_reshape(n, by, 2, (const int64_t[]){1, 1});
    return ot_onnx_call(n, "broadcast_to", 1, &by, "shape=[%lld,%lld]", (long long)w->n,
                        (long long)groups);
}

/* An u8 weight without zero points: they are 0, not the middle. */
static value *no_zeros(ot_onnx_node *n, const ot_onnx_nbits *w, int64_t groups,
                       optune_dtype dtype)
{
    const optune_tensor type = {
        .dtype = dtype, .rank = 2, .dim = {optune_dim_of(w->n), optune_dim_of(groups)}};
    value *all = NULL;
    if (ot_onnx_room(n->m, &type, &all, n->err) < 0)
        return NULL;
    memset(all->data, 0, (size_t)(w->n * groups));
    return all;
}

/* The one node that reads what this one gives, a product whose right side it is. */
static const ot_onnx_proto *product_behind(const ot_onnx_node *n, bool *by_rows)
{
    ot_onnx_node reader;
    if (!ot_onnx_reader(n, &reader))
        return NULL;
    const ot_onnx_proto *p = reader.proto;
    const char *domain = ot_onnx_text_of(p->domain);
    const bool gemm = p->op_type && !strcmp(p->op_type, "Gemm");
    if ((*domain && strcmp(domain, "ai.onnx")) || !p->op_type ||
        (!gemm && strcmp(p->op_type, "MatMul")) || p->n_input < 2 ||
        strcmp(p->input[1], n->proto->output[0]))
        return NULL;
    *by_rows = gemm && ot_onnx_int(&reader, "transB", 0);
    return p;
}

/* Whether scales (or zero points) of this type fit groups along k. */
static bool fits(const optune_tensor *t, bool by_rows, int64_t group, int64_t groups,
                 int64_t rows, int64_t axis)
{
    const int along_k = by_rows ? 1 : 0;
    if (group)
        return t->rank == 2 && axis == along_k && t->dim[along_k].min == groups &&
               t->dim[1 - along_k].min == rows;
    return t->rank == 0 || (t->rank == 1 && t->dim[0].min == 1) ||
           (t->rank == 1 && axis == 1 - along_k && t->dim[0].min == rows);
}

value *ot_onnx_dequantised(ot_onnx_node *n, value *x, value *scale, value *zero)
{
    bool by_rows = false;
    if (!x->data || !scale->data || (zero && !zero->data) || x->type.rank != 2 ||
        (x->type.dtype.code != OPTUNE_DTYPE_INT && x->type.dtype.code != OPTUNE_DTYPE_UINT) ||
        x->type.dtype.bits != 8 || !ot_onnx_floating(n, scale) || scale->type.dtype.bits > 32 ||
        ot_onnx_int(n, "output_dtype", 0) || !product_behind(n, &by_rows))
        return NULL;
    const int64_t k = x->type.dim[by_rows ? 1 : 0].min;
    ot_onnx_nbits w = {.bits = x->nibbles ? 4 : 8,
                       .n = x->type.dim[by_rows ? 0 : 1].min,
                       .group = ot_onnx_int(n, "block_size", 0)};
    int64_t axis = ot_onnx_int(n, "axis", 1);
    axis += axis < 0 ? 2 : 0;
    if (k < 1 || w.n < 1 || w.group < 0 || w.group > 1 << 30)
        return NULL;
    const int64_t groups = w.group ? (k + w.group - 1) / w.group : 1;
    if (!fits(&scale->type, by_rows, w.group, groups, w.n, axis) ||
        (zero && (!fits(&zero->type, by_rows, w.group, groups, w.n, axis) ||
                  !optune_dtype_equal(zero->type.dtype, x->type.dtype))))
        return NULL;
    w.weight = w.bits == 4 ? nibble_weight(n, x, &w, k, by_rows)
               : by_rows   ? x
                           : ot_onnx_transpose(n, x, 2, (const int[]){1, 0});
    w.scale = grouped(n, scale, &w, groups, by_rows);
    if (zero)
        w.zero = grouped(n, zero, &w, groups, by_rows);
    else if (x->type.dtype.code == OPTUNE_DTYPE_UINT)
        w.zero = no_zeros(n, &w, groups, x->type.dtype);
    if (!w.weight || !w.scale || n->err->status < 0)
        return NULL;
    ot_onnx_nbits *own = ot_arena_alloc(&n->m->arena, sizeof *own);
    *own = w;
    value *all = ot_onnx_new(n->m);
    all->nbits = own;
    return all;
}

static const ot_onnx_op ops[] = {
    {"com.microsoft::MatMulNBits", matmul_nbits, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(nbits) = {ops};
