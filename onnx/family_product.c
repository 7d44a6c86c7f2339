/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. A right side that is constant is transposed once, while the model is read. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

static ot_onnx_value *flipped(ot_onnx_node *n, ot_onnx_value *value, bool flip)
{
    return flip ? ot_onnx_transpose(n, value, 2, (const int[]){1, 0}) : value;
}

static ot_onnx_value *times(ot_onnx_node *n, ot_onnx_value *value, double factor)
{
    return value && factor != 1
               ? ot_onnx_2(n, "multiply", value, ot_onnx_number(n, value, factor))
               : value;
}

/* What is added; nothing, whatever it holds, where its factor is 0. */
static ot_onnx_value *addend(ot_onnx_node *n, double beta)
{
    return beta == 0 ? NULL : times(n, ot_onnx_in(n, 2), beta);
}

/* The output, behind the activation that onnxruntime's optimizer names; of Selu its second
 * parameter is gamma. */
static int give(ot_onnx_node *n, ot_onnx_value *all)
{
    const char *word = ot_onnx_word(n, "activation", "");
    const char *const names[] = {
        "activation_alpha",
        strcmp(word, "Selu") == 0 ? "activation_gamma" : "activation_beta",
    };
    double of[2];
    int given = 0;
    while (given < 2 && ot_onnx_attr_of(n, names[given])) {
        of[given] = ot_onnx_real(n, names[given], 0);
        given++;
    }
    if (!given && ot_onnx_attr_of(n, names[1]))
        return ot_onnx_refuse(n, "'%s' without '%s' is not supported", names[1], names[0]);
    return ot_onnx_give(n, 0, ot_onnx_activated(n, all, word, given, of));
}

/* The same, of a weight of 4 or 8 bits. */
static int gemm_nbits(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0);
    const double alpha = ot_onnx_real(n, "alpha", 1), beta = ot_onnx_real(n, "beta", 1);
    if (!a || ot_onnx_rank(n, a) < 0)
        return n->err->status;
    if (ot_onnx_rank(n, a) != 2)
        return ot_onnx_refuse(n, "its left side has %d dims, not 2", ot_onnx_rank(n, a));
    a = flipped(n, a, ot_onnx_int(n, "transA", 0));
    ot_onnx_value *all = ot_onnx_nbits_product(n, a, ot_onnx_in(n, 1)->nbits);
    all = times(n, all, alpha);
    ot_onnx_value *c = addend(n, beta);
    if (!all || n->err->status < 0)
        return n->err->status;
    return give(n, c ? ot_onnx_2(n, "add", all, c) : all);
}

/* alpha a b + beta c */
static int gemm(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (b && b->nbits)
        return gemm_nbits(n);
    if (!a || !b || ot_onnx_rank(n, a) < 0 || ot_onnx_rank(n, b) < 0)
        return n->err->status;
    if (ot_onnx_rank(n, a) != 2 || ot_onnx_rank(n, b) != 2)
        return ot_onnx_refuse(n, "its sides have %d and %d dims, not 2", ot_onnx_rank(n, a),
                              ot_onnx_rank(n, b));
    const double alpha = ot_onnx_real(n, "alpha", 1), beta = ot_onnx_real(n, "beta", 1);
    if (!ot_onnx_floating(n, a) && (alpha != floor(alpha) || beta != floor(beta)))
        return ot_onnx_refuse(n, "integers times %g and %g", alpha, beta);
    a = flipped(n, a, ot_onnx_int(n, "transA", 0));
    b = flipped(n, b, !ot_onnx_int(n, "transB", 0));
    if (b && b->data) /* a constant takes the factor for nothing */
        b = times(n, b, alpha);
    ot_onnx_value *c = addend(n, beta);
    if (!a || !b)
        return n->err->status;
    const optune_tensor *bias = c ? ot_onnx_type(n->m, c) : NULL;
    const optune_tensor *columns = ot_onnx_type(n->m, b);
    const bool inside = c && c->data && bias->rank == 1 && optune_dim_known(&columns->dim[0]) &&
                        bias->dim[0].min == columns->dim[0].min && (alpha == 1 || b->data);
    ot_onnx_value *all =
        ot_onnx_call(n, "dense", inside ? 3 : 2, (ot_onnx_value *const[]){a, b, c}, NULL);
    if (!b->data)
        all = times(n, all, alpha);
    return give(n, c && !inside ? ot_onnx_2(n, "add", all, c) : all);
}

/* One more dim at the front or the end, for vectors. */
static ot_onnx_value *matrix(ot_onnx_node *n, ot_onnx_value *value, int axis)
{
    return ot_onnx_rank(n, value) == 1
               ? ot_onnx_call(n, "expand_dims", 1, &value, "axis=%d", axis)
               : value;
}

/* Matrices behind any batch dims as [B,R,C]. */
static ot_onnx_value *batches(ot_onnx_node *n, ot_onnx_value *value)
{
    const optune_tensor *type = ot_onnx_type(n->m, value);
    const int n_batch = type->rank - 2;
    int64_t all = 1;
    bool one = n_batch > 0; /* all of them in front of the last */
    for (int d = 0; d < n_batch; d++) {
        const bool known = optune_dim_known(&type->dim[d]);
        all = ot_onnx_times(all, known ? type->dim[d].min : -1);
        one = one && (d == n_batch - 1 || (known && type->dim[d].min == 1));
    }
    if (!one)
        return ot_onnx_reshape(n, value, 3,
                               (const int64_t[]){all, OT_ONNX_FROM_LAST, OT_ONNX_FROM_LAST});
    for (int d = 0; d + 1 < n_batch; d++)
        value = ot_onnx_call(n, "squeeze", 1, &value, "axis=[0]");
    return value;
}

/* [B,R,C] with its batch dims again. Of those that are open, `a` has one at least. */
static ot_onnx_value *parted(ot_onnx_node *n, ot_onnx_value *product, int rank,
                             const int64_t *batch, const ot_onnx_value *a)
{
    const int shift = ot_onnx_rank(n, a) - rank;
    int64_t all[OPTUNE_MAX_RANK];
    bool one = true;
    int open = 0;
    for (int d = 0; d < rank; d++) {
        one = one && (d >= rank - 3 || batch[d] == 1);
        open += d < rank - 2 && batch[d] < 0;
        all[d] = d < rank - 2 ? batch[d] : OT_ONNX_FROM_LAST;
    }
    for (int d = 0; d + 3 < rank && one && product; d++)
        product = ot_onnx_call(n, "expand_dims", 1, &product, "axis=0");
    if (one || !product)
        return product;
    if (open < 2)
        return ot_onnx_reshape(n, product, rank, all);
    int d = 0;
    while (all[d] >= 0)
        d++;
    ot_onnx_ask(n, &ot_onnx_type(n->m, a)->dim[d + shift], d + shift);
    return NULL;
}

/* Rows of all batches against one matrix. */
static ot_onnx_value *flat_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b)
{
    const int rank = ot_onnx_rank(n, a);
    b = flipped(n, b, true);
    if (rank == 2)
        return ot_onnx_2(n, "dense", a, b);
    int64_t dim[OPTUNE_MAX_RANK], right[OPTUNE_MAX_RANK];
    if (!b || !ot_onnx_dims_at(n, a, 1u << (rank - 1), dim) || !ot_onnx_dims(n, b, right))
        return NULL;
    int64_t rows = 1;
    int n_open = 0;
    for (int d = 0; d < rank - 1; d++) {
        rows = ot_onnx_times(rows, dim[d]);
        n_open += dim[d] < 0;
    }
    if (n_open > 1) { /* rows would be joined that nothing takes apart again */
        b = ot_onnx_call(n, "expand_dims", 1, &b, "axis=0");
        ot_onnx_value *all = ot_onnx_2(n, "batch_matmul", batches(n, a), b);
        return parted(n, all, rank, dim, a);
    }
    ot_onnx_value *all = ot_onnx_2(
        n, "dense", ot_onnx_reshape(n, a, 2, (const int64_t[]){rows, dim[rank - 1]}), b);
    dim[rank - 1] = right[0];
    return ot_onnx_reshape(n, all, rank, dim);
}

/* A side as [B,R,C], its batch dims broadcast to `batch`, of which one may be open (-1). */
static ot_onnx_value *batched(ot_onnx_node *n, ot_onnx_value *value, int n_batch,
                              const int64_t *batch)
{
    int64_t dim[OPTUNE_MAX_RANK], whole[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims_at(n, value, 0, dim))
        return NULL;
    const int rank = ot_onnx_rank(n, value);
    bool same = true;
    for (int d = 0; d < n_batch; d++) {
        const int at = d - n_batch + rank - 2;
        whole[d] = batch[d];
        same = same && (at < 0 ? 1 : dim[at]) == batch[d];
    }
    whole[n_batch] = dim[rank - 2];
    whole[n_batch + 1] = dim[rank - 1];
    for (int d = rank - 1; d >= 0 && !same; d--)
        if (dim[d] < 0) {
            ot_onnx_ask(n, &ot_onnx_type(n->m, value)->dim[d], d);
            return NULL;
        }
    if (!same)
        value = ot_onnx_call(n, "broadcast_to", 1, &value, "shape=[%s]",
                             ot_onnx_text(n->m, n_batch + 2, whole));
    return value ? batches(n, value) : NULL;
}

/* Whether the batches fit. One that is open fits the same one alone, as another may be 1 in a run
 * or not; or one without a name, which a run looks at. */
static bool batch_fits(ot_onnx_node *n, const ot_onnx_value *const side[2], int rank, int d,
                       int64_t *to)
{
    static const optune_dim one = {.min = 1, .max = 1};
    const optune_dim *dim[2];
    int at[2];
    for (int i = 0; i < 2; i++) {
        at[i] = d + ot_onnx_rank(n, side[i]) - rank;
        dim[i] = at[i] < 0 ? &one : &ot_onnx_type(n->m, side[i])->dim[at[i]];
    }
    const bool open[2] = {!optune_dim_known(dim[0]), !optune_dim_known(dim[1])};
    const int64_t l = dim[0]->min, r = dim[1]->min;
    *to = open[0] ? -1 : l == 1 ? r : l;
    if (open[0] || open[1]) {
        if (open[0] && open[1] &&
            (!*dim[0]->name || !*dim[1]->name || !strcmp(dim[0]->name, dim[1]->name)))
            return true;
        const int i = !open[0];
        ot_onnx_ask(n, dim[i], at[i]);
        return false;
    }
    if (l != r && l != 1 && r != 1)
        ot_onnx_refuse(n, "batches of %lld and %lld do not fit", (long long)l, (long long)r);
    return l == r || l == 1 || r == 1;
}

static ot_onnx_value *batch_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b)
{
    int64_t left[OPTUNE_MAX_RANK], right[OPTUNE_MAX_RANK], all[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims_at(n, a, 0, left) || !ot_onnx_dims_at(n, b, 0, right))
        return NULL;
    const int ra = ot_onnx_rank(n, a), rb = ot_onnx_rank(n, b), rank = ra > rb ? ra : rb;
    for (int d = 0; d < rank - 2; d++)
        if (!batch_fits(n, (const ot_onnx_value *const[]){a, b}, rank, d, &all[d]))
            return NULL;
    ot_onnx_value *const sides[] = {batched(n, a, rank - 2, all), batched(n, b, rank - 2, all)};
    ot_onnx_value *product = ot_onnx_call(n, "batch_matmul", 2, sides, "transpose_b=false");
    return parted(n, product, rank, all, a);
}

ot_onnx_value *ot_onnx_product(ot_onnx_node *n, ot_onnx_value *a, ot_onnx_value *b)
{
    if (!a || !b || ot_onnx_rank(n, a) < 0 || ot_onnx_rank(n, b) < 0)
        return NULL;
    const int ra = ot_onnx_rank(n, a), rb = ot_onnx_rank(n, b);
    if (ra < 1 || rb < 1) {
        ot_onnx_refuse(n, "numbers have no matrix product");
        return NULL;
    }
    a = matrix(n, a, 0);
    b = matrix(n, b, 1);
    if (!a || !b)
        return NULL;
    ot_onnx_value *all =
        ot_onnx_rank(n, b) == 2 ? flat_product(n, a, b) : batch_product(n, a, b);
    if (ra == 1 && rb == 1)
        all = ot_onnx_call(n, "squeeze", 1, &all, "axis=[0,1]");
    else if (ra == 1 || rb == 1)
        all = ot_onnx_call(n, "squeeze", 1, &all, "axis=[%d]", ra == 1 ? -2 : -1);
    return all;
}

static int matmul(ot_onnx_node *n)
{
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    if (a && b && b->nbits)
        return ot_onnx_give(n, 0, ot_onnx_nbits_product(n, a, b->nbits));
    return a && b ? ot_onnx_give(n, 0, ot_onnx_product(n, a, b)) : n->err->status;
}

/* Of 16-bit integers, summed in 32 bits, which wrap. */
static int wide_matmul(ot_onnx_node *n)
{
    static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};
    ot_onnx_value *a = ot_onnx_need(n, 0), *b = ot_onnx_need(n, 1);
    return a && b ? ot_onnx_give(
                        n, 0, ot_onnx_product(n, ot_onnx_as(n, a, i32), ot_onnx_as(n, b, i32)))
                  : n->err->status;
}

static const ot_onnx_op ops[] = {
    {"Gemm", gemm, NULL},     {"com.microsoft::FusedGemm", gemm, NULL},
    {"MatMul", matmul, NULL}, {"com.microsoft::MatMulInteger16", wide_matmul, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(product) = {ops};
