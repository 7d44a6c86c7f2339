/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of 8-bit integers by the kernels that those have, where the right side is a
 * constant that is, less its zero, of 8 bits with a sign.
 *
 * The one idea: a left side without a sign is moved by 128, and so is its zero; and the zero leaves
 * the sum, as the right side's sums by columns are known: sum((x - z) w) = sum(x w) - z sum(w).
 * What windows meet beside an image is the zero, which is put there before.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype i8 = {.code = OPTUNE_DTYPE_INT, .bits = 8, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

enum { MOST_TERMS = 1 << 16 }; /* of 128 * 128, below 2^31 */

/* The left side: its numbers in i8, its zero in i32 (NULL: none), and that as one number. */
typedef struct left {
    value *x, *zero;
    bool known;
    double number;
} left;

/* False: it is none of these, or the node has failed. */
static bool left_of(ot_onnx_node *n, value *x, value *zero, left *l)
{
    const optune_tensor *type = x ? ot_onnx_type(n->m, x) : NULL;
    *l = (left){.known = true};
    if (!type || !optune_tensor_known(type) || type->dtype.bits != 8 ||
        type->dtype.lanes != 1 ||
        (type->dtype.code != OPTUNE_DTYPE_INT && type->dtype.code != OPTUNE_DTYPE_UINT))
        return false;
    if (zero && (!optune_tensor_known(ot_onnx_type(n->m, zero)) ||
                 optune_tensor_elements(ot_onnx_type(n->m, zero)) != 1))
        return false;
    if (zero && zero->data) {
        const void *data = ot_onnx_look(n, zero);
        if (data)
            ot_elements(ot_onnx_type(n->m, zero)->dtype, data, 0, 1, &l->number);
    } else if (zero) {
        l->known = false;
        l->zero = ot_onnx_reshape(n, ot_onnx_as(n, zero, i32), 0, NULL);
    }
    l->x = x;
    if (type->dtype.code == OPTUNE_DTYPE_UINT) {
        /* the same bits with the first one turned: 128 less */
        l->x = ot_onnx_as(n, ot_onnx_2(n, "bitwise_xor", x, ot_onnx_number(n, x, 128)), i8);
        if (l->zero)
            l->zero = ot_onnx_2(n, "subtract", l->zero, ot_onnx_number(n, l->zero, 128));
        l->number -= 128;
    }
    return n->err->status >= 0;
}

/* The right side as [rows,terms] in i8, and the sums of its rows in i32 [rows]; false: it is not
 * constant, or not of 8 bits. Element t of row r is at r * row_step + t * term_step. */
static bool right_of(ot_onnx_node *n, value *w, int64_t rows, int64_t terms, int64_t row_step,
                     int64_t term_step, int rank, const int64_t *dim, value **bytes,
                     value **sums)
{
    const void *data = w->data ? ot_onnx_look(n, w) : NULL;
    optune_tensor type = {.dtype = i8, .rank = rank}, line = {.dtype = i32, .rank = 1};
    if (!data || terms > MOST_TERMS || !rows || !terms)
        return false;
    const int64_t all = rows * terms;
    double *number = ot_alloc((size_t)all * sizeof *number);
    ot_elements(w->type.dtype, data, 0, all, number);
    bool fits = true;
    for (int64_t i = 0; i < all; i++)
        fits = fits && number[i] >= -128 && number[i] <= 127;
    for (int d = 0; d < rank; d++)
        type.dim[d] = optune_dim_of(dim[d]);
    line.dim[0] = optune_dim_of(rows);
    if (fits && ot_onnx_room(n->m, &type, bytes, n->err) >= 0 &&
        ot_onnx_room(n->m, &line, sums, n->err) >= 0) {
        signed char *to = (*bytes)->data;
        int32_t *sum = (*sums)->data;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t t = 0; t < terms; t++) {
                const int x = (int)number[r * row_step + t * term_step];
                to[r * terms + t] = (signed char)x;
                sum[r] += x;
            }
    }
    free(number);
    return fits && n->err->status >= 0;
}

/* `all` less the zero times the sums, plus the bias (NULL: 0), which both have the shape that is
 * broadcast to it. */
static value *less(ot_onnx_node *n, value *all, const left *l, value *sums, value *bias,
                   int rank, const int64_t *shape)
{
    value *by = bias;
    if (!l->known || l->number != 0) {
        value *zero =
            l->known ? ot_onnx_number(n, sums, -l->number) : ot_onnx_1(n, "negative", l->zero);
        by = ot_onnx_2(n, "multiply", sums, zero);
        by = by && bias ? ot_onnx_2(n, "add", by, bias) : by;
    }
    return by                   ? ot_onnx_2(n, "add", all, ot_onnx_reshape(n, by, rank, shape))
           : n->err->status < 0 ? NULL
                                : all;
}

ot_onnx_value *ot_onnx_narrow_product(ot_onnx_node *n, value *a, value *zero, value *b,
                                      value *bias)
{
    int64_t dim[OPTUNE_MAX_RANK], wide[OPTUNE_MAX_RANK];
    left l;
    value *bytes, *sums;
    const optune_tensor *of = a ? ot_onnx_type(n->m, a) : NULL;
    if (!of || of->rank < 2 || !b || ot_onnx_rank(n, b) != 2 || !b->data ||
        !ot_onnx_dims(n, b, dim) || !optune_tensor_known(of))
        return NULL;
    const int rank = of->rank;
    for (int d = 0; d < rank; d++)
        wide[d] = of->dim[d].min;
    if (!optune_tensor_elements(of) || wide[rank - 1] != dim[0] ||
        !right_of(n, b, dim[1], dim[0], 1, dim[1], 2, (const int64_t[]){dim[1], dim[0]}, &bytes,
                  &sums) ||
        !left_of(n, a, zero, &l))
        return NULL;
    wide[rank - 1] = dim[1];
    value *rows = ot_onnx_reshape(n, l.x, 2, (const int64_t[]){-1, dim[0]});
    value *const in[] = {rows, bytes};
    value *all = rows ? ot_onnx_call(n, "dense", 2, in, "out_dtype=i32") : NULL;
    all = less(n, all, &l, sums, bias, 1, (const int64_t[]){dim[1]});
    return ot_onnx_reshape(n, all, rank, wide);
}

ot_onnx_value *ot_onnx_narrow_conv(ot_onnx_node *n, const ot_onnx_window *slide, value *zero,
                                   value *w, value *bias)
{
    int64_t dim[OPTUNE_MAX_RANK];
    left l;
    value *bytes, *sums;
    ot_onnx_window at = *slide;
    const int64_t *pad = at.pad;
    if (!w || !w->data || ot_onnx_rank(n, w) != 4 || !ot_onnx_dims(n, w, dim) ||
        dim[1] < 8) /* of few channels of a group others make more */
        return NULL;
    const bool pads = pad[0] || pad[1] || pad[2] || pad[3];
    const int64_t terms = dim[1] * dim[2] * dim[3];
    if ((pads && zero && !zero->data) ||
        !optune_tensor_elements(ot_onnx_type(n->m, slide->data)) ||
        !right_of(n, w, dim[0], terms, terms, 1, 4, dim, &bytes, &sums) ||
        !left_of(n, slide->data, zero, &l)) /* the last, as it makes calls */
        return NULL;
    at.data = l.x;
    if (pads && l.number != 0) {
        at.data = ot_onnx_call(n, "pad", 1, &l.x,
                               "before=[0,0,%lld,%lld], after=[0,0,%lld,%lld], value=%.1f",
                               (long long)pad[0], (long long)pad[1], (long long)pad[2],
                               (long long)pad[3], l.number);
        for (int i = 0; i < 4; i++)
            at.pad[i] = 0;
    }
    value *const in[] = {at.data, bytes};
    value *all = at.data ? ot_onnx_call(n, "conv2d", 2, in, "%s, out_dtype=i32",
                                        ot_onnx_window_text(n, &at))
                         : NULL;
    return less(n, all, &l, sums, bias, 3, (const int64_t[]){dim[0], 1, 1});
}
