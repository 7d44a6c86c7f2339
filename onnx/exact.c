/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of 8-bit integers, less their zeros, by the kernels that floats have: each sum
 * is a whole number that float32 or float64 has exactly, in whatever order it is added up, so what
 * comes of it are the integers. Sums that may pass 2^31 stay those of 32-bit integers, which wrap.
 */
#include <math.h>
#include <stdlib.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

enum { LARGEST = 255 }; /* of 8 bits, less any zero */

/* Whether the node's matrices are of 8 bits. */
static bool small(ot_onnx_node *n)
{
    for (int i = 0; i < (int)n->proto->n_input; i++) {
        value *x = ot_onnx_in(n, i);
        const optune_tensor *type = x ? ot_onnx_type(n->m, x) : NULL;
        if (type && type->rank > 1 && type->dtype.bits > 8 &&
            type->dtype.code != OPTUNE_DTYPE_FLOAT)
            return false;
    }
    return true;
}

/* The largest sum of the magnitudes that go into one output: of rows [outer,terms,inner] for each
 * outer and inner. Not a constant: what 8 bits can have. */
static double largest(ot_onnx_node *n, value *w, int64_t terms, int64_t inner)
{
    const void *data = w->data ? ot_onnx_look(n, w) : NULL;
    const int64_t all = data ? optune_tensor_elements(&w->type) : 0;
    double most = data ? 0 : (double)LARGEST * (double)terms;
    const int64_t row = inner == 1 ? terms : inner; /* that is read at once */
    double *part = ot_alloc((size_t)row * sizeof *part),
           *sum = ot_alloc((size_t)inner * sizeof *sum);
    for (int64_t at = 0; at < all; at += terms * inner) {
        for (int64_t i = 0; i < inner; i++)
            sum[i] = 0;
        for (int64_t from = 0; from < terms * inner; from += row) {
            ot_elements(w->type.dtype, data, at + from, row, part);
            for (int64_t i = 0; i < row; i++)
                sum[inner == 1 ? 0 : i] += fabs(part[i]);
        }
        for (int64_t i = 0; i < inner; i++)
            most = sum[i] > most ? sum[i] : most;
    }
    free(part);
    free(sum);
    return most;
}

/* Where sums of at most `most` times a side's largest are exact. `once`: that no kernel adds
 * anything else up on its way. */
static optune_dtype exact(ot_onnx_node *n, double most, bool once)
{
    const double sum = most * LARGEST;
    return !small(n) || sum > INT32_MAX ? i32 : once && sum <= 1 << 24 ? f32 : f64;
}

value *ot_onnx_exact_product(ot_onnx_node *n, value *a, value *b)
{
    int64_t dim[OPTUNE_MAX_RANK];
    const int rank = a && b ? ot_onnx_rank(n, b) : -1;
    if (rank < 0)
        return NULL;
    optune_dtype dtype = i32;
    if (rank >= 2 && optune_tensor_known(ot_onnx_type(n->m, b)) && ot_onnx_dims(n, b, dim) &&
        optune_tensor_elements(ot_onnx_type(n->m, b)))
        dtype = exact(n, largest(n, b, dim[rank - 2], dim[rank - 1]), true);
    if (n->err->status < 0)
        return NULL;
    value *all = ot_onnx_product(n, ot_onnx_as(n, a, dtype), ot_onnx_as(n, b, dtype));
    return ot_onnx_as(n, all, i32);
}

value *ot_onnx_exact_conv(ot_onnx_node *n, value *x, value *w, const char *attrs)
{
    int64_t dim[OPTUNE_MAX_RANK];
    if (!x || !w || !ot_onnx_dims(n, w, dim))
        return NULL;
    /* by Winograd's algorithm parts of sums are no whole numbers */
    const bool once = dim[2] == 1 && dim[3] == 1;
    optune_dtype dtype = i32;
    if (optune_tensor_elements(ot_onnx_type(n->m, w)))
        dtype = exact(n, largest(n, w, dim[1] * dim[2] * dim[3], 1), once);
    if (n->err->status < 0)
        return NULL;
    value *all = ot_onnx_call(
        n, "conv2d", 2, (value *const[]){ot_onnx_as(n, x, dtype), ot_onnx_as(n, w, dtype)},
        "%s", attrs);
    if (all && dtype.code == OPTUNE_DTYPE_FLOAT && !once)
        all = ot_onnx_1(n, "round", all);
    return ot_onnx_as(n, all, i32);
}
