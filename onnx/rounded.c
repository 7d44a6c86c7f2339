/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of 8-bit integers that are rounded to 8 bits again, and sums and products of two
 * of them, as calls of quantized_conv2d, quantized_add and quantized_multiply; images have channels
 * last (settle.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;
typedef ot_onnx_rounded rounded;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

enum { MOST_TERMS = 1 << 15 }; /* of 255 * 256, below 2^31 */

static bool is_byte(optune_dtype t)
{
    return (t.code == OPTUNE_DTYPE_INT || t.code == OPTUNE_DTYPE_UINT) && t.bits == 8 &&
           t.lanes == 1;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* The elements of a constant, one or `count` of them, for each of `count`. */
static bool spread(ot_onnx_node *n, value *by, int64_t count, double *to)
{
    if (!by->data || !optune_tensor_known(&by->type))
        return false;
    const int64_t has = optune_tensor_elements(&by->type);
    const void *data = has == 1 || has == count ? ot_onnx_look(n, by) : NULL;
    if (!data)
        return false;
    for (int64_t i = 0; i < count; i++)
        ot_elements(by->type.dtype, data, has == 1 ? 0 : i, 1, &to[i]);
    return true;
}

static bool one(ot_onnx_node *n, value *by, double *to)
{
    *to = 0;
    return !by || spread(n, by, 1, to);
}

/* What the sums of each row are multiplied by; false: there is no such number. */
static bool factors(ot_onnx_node *n, const rounded *r, int64_t rows, value **scale)
{
    const optune_tensor type = {.dtype = f32, .rank = 1, .dim = {optune_dim_of(rows)}};
    double x = 0, y = 0, *w = ot_alloc((size_t)rows * sizeof *w);
    bool fine = optune_dtype_equal(r->x_scale->type.dtype, f32) &&
                optune_dtype_equal(r->w_scale->type.dtype, f32) &&
                optune_dtype_equal(r->y_scale->type.dtype, f32) && one(n, r->x_scale, &x) &&
                one(n, r->y_scale, &y) && spread(n, r->w_scale, rows, w) &&
                ot_onnx_room(n->m, &type, scale, n->err) >= 0;
    for (int64_t i = 0; fine && i < rows; i++) {
        const float product = (float)x * (float)w[i];
        ((float *)(*scale)->data)[i] = product / (float)y;
        fine = isfinite(product / (float)y);
    }
    free(w);
    return fine;
}

/* Element t of row i at i * row_step + t * term_step, less the row's zero, in as few bits as hold
 * all of them. */
static bool weights(ot_onnx_node *n, const rounded *r, const optune_tensor *as, int64_t rows,
                    int64_t terms, int64_t row_step, int64_t term_step, value **made)
{
    const void *data = ot_onnx_look(n, r->w);
    double *zero = ot_alloc((size_t)rows * sizeof *zero);
    double *x = ot_alloc((size_t)(rows * terms) * sizeof *x), least = 0, most = 0;
    optune_tensor type = *as;
    bool fine = data && (!r->w_zero || spread(n, r->w_zero, rows, zero));
    if (fine)
        ot_elements(r->w->type.dtype, data, 0, rows * terms, x);
    for (int64_t i = 0; fine && i < rows; i++)
        for (int64_t t = 0; t < terms; t++) {
            double *at = &x[i * row_step + t * term_step];
            *at -= r->w_zero ? zero[i] : 0;
            least = fmin(least, *at);
            most = fmax(most, *at);
        }
    const bool narrow = least >= -128 && most <= 127;
    type.dtype = (optune_dtype){.code = OPTUNE_DTYPE_INT, .bits = narrow ? 8 : 16, .lanes = 1};
    fine = fine && least >= -256 && most <= 254 && ot_onnx_room(n->m, &type, made, n->err) >= 0;
    for (int64_t i = 0; fine && i < rows; i++)
        for (int64_t t = 0; t < terms; t++) {
            const double v = x[i * row_step + t * term_step];
            if (narrow)
                ((int8_t *)(*made)->data)[i * terms + t] = (int8_t)v;
            else
                ((int16_t *)(*made)->data)[i * terms + t] = (int16_t)v;
        }
    free(zero);
    free(x);
    return fine;
}

/* The bias, or zeros. */
static value *bias_of(ot_onnx_node *n, const rounded *r, int64_t rows)
{
    const optune_tensor type = {.dtype = i32, .rank = 1, .dim = {optune_dim_of(rows)}};
    value *none = NULL;
    if (!r->bias)
        return ot_onnx_room(n->m, &type, &none, n->err) < 0 ? NULL : none;
    return r->bias->data && optune_dtype_equal(r->bias->type.dtype, i32) &&
                   r->bias->type.rank == 1 && r->bias->type.dim[0].min == rows
               ? r->bias
               : NULL;
}

/* The call, of x with channels last. */
static value *call(ot_onnx_node *n, const rounded *r, value *const in[4], const char *window)
{
    double zero, out_zero;
    char name[16];
    if (!one(n, r->x_zero, &zero) || !one(n, r->y_zero, &out_zero))
        return NULL;
    ot_print_dtype(r->dtype, name, sizeof name);
    return ot_onnx_call(
        n, "quantized_conv2d", 4, in, "%s%szero=%d, out_zero=%d, limits=[%d,%d], out_dtype=%s",
        window, *window ? ", " : "", (int)zero, (int)out_zero,
        r->range ? (int)r->range[0] : -128, r->range ? (int)r->range[1] : 255, name);
}

static bool fits(const ot_onnx_node *n, const value *x, const rounded *r, int rank)
{
    const optune_tensor *type = ot_onnx_type(n->m, x);
    return !x->data && is_byte(type->dtype) && is_byte(r->dtype) && type->rank >= 2 &&
           (!rank || type->rank == rank) && optune_tensor_known(type) &&
           optune_tensor_elements(type) && r->w->data && is_byte(r->w->type.dtype) &&
           r->x_scale->data && r->w_scale->data && r->y_scale->data &&
           (!r->x_zero ||
            (r->x_zero->data && optune_dtype_equal(r->x_zero->type.dtype, type->dtype))) &&
           (!r->y_zero || r->y_zero->data) && (!r->w_zero || r->w_zero->data) &&
           (!r->bias || r->bias->data);
}

value *ot_onnx_rounded_conv(ot_onnx_node *n, value *x, const rounded *r)
{
    ot_onnx_window slide;
    value *in[4] = {NULL};
    if (!fits(n, x, r, 4) || r->w->type.rank != 4 || ot_onnx_int(n, "channels_last", 0))
        return NULL;
    const optune_dim *dim = r->w->type.dim;
    const int64_t rows = dim[0].min, terms = dim[1].min * dim[2].min * dim[3].min;
    const int64_t kernel[] = {dim[2].min, dim[3].min};
    if (rows < 1 || terms < 1 || terms > MOST_TERMS || ot_onnx_slide(n, kernel, &slide) < 0 ||
        !factors(n, r, rows, &in[3]) ||
        !weights(n, r, &r->w->type, rows, terms, terms, 1, &in[1]) ||
        !(in[2] = bias_of(n, r, rows)))
        return NULL;
    in[0] = ot_onnx_last_of(n, x);
    return ot_onnx_from_last(n, call(n, r, in, ot_onnx_window_text(n, &slide)));
}

value *ot_onnx_rounded_product(ot_onnx_node *n, value *x, bool turned, const rounded *r)
{
    int64_t dim[OPTUNE_MAX_RANK];
    value *in[4] = {NULL};
    if (!fits(n, x, r, 0) || r->w->type.rank != 2 || !ot_onnx_dims(n, x, dim))
        return NULL;
    const int rank = ot_onnx_rank(n, x);
    const int64_t terms = r->w->type.dim[turned ? 1 : 0].min;
    const int64_t rows = r->w->type.dim[turned ? 0 : 1].min;
    const optune_tensor type = {
        .rank = 4,
        .dim = {optune_dim_of(rows), optune_dim_of(terms), optune_dim_of(1), optune_dim_of(1)}};
    if (rows < 1 || terms < 1 || terms > MOST_TERMS || dim[rank - 1] != terms ||
        !factors(n, r, rows, &in[3]) ||
        !weights(n, r, &type, rows, terms, turned ? terms : 1, turned ? 1 : rows, &in[1]) ||
        !(in[2] = bias_of(n, r, rows)) || ot_onnx_settle(n->m, x, n->err) < 0)
        return NULL;
    in[0] = ot_onnx_reshape(n, x, 4, (const int64_t[]){1, 1, -1, terms});
    value *all = in[0] ? call(n, r, in, "") : NULL;
    dim[rank - 1] = rows;
    return ot_onnx_reshape(n, all, rank, dim);
}

/* ---- two of them -------------------------------------------------------------------------- */

static bool one_side(ot_onnx_node *n, const ot_onnx_side *s, double *scale, double *zero)
{
    return s->scale->data && (!s->zero || s->zero->data) &&
           optune_dtype_equal(s->scale->type.dtype, f32) && one(n, s->scale, scale) &&
           one(n, s->zero, zero) && *scale > 0 && isnormal((float)*scale);
}

/* The shape of both, broadcast to each other. *lone: the innermost dim that has several places
 * has them on side 1 alone. */
static bool joint(const optune_tensor *const type[2], optune_tensor *all, bool *lone)
{
    const int rank = type[0]->rank > type[1]->rank ? type[0]->rank : type[1]->rank;
    bool told = false;
    all->rank = rank;
    *lone = false;
    for (int d = 1; d <= rank; d++) {
        int64_t has[2];
        for (int i = 0; i < 2; i++)
            has[i] = d <= type[i]->rank ? type[i]->dim[type[i]->rank - d].min : 1;
        if (has[0] != has[1] && has[0] != 1 && has[1] != 1)
            return false;
        *lone = told ? *lone : has[0] < has[1];
        told = told || has[0] != 1 || has[1] != 1;
        all->dim[rank - d] = optune_dim_of(has[0] > has[1] ? has[0] : has[1]);
    }
    return true;
}

/* With channels last or as it is, repeated to this shape. */
static value *laid_out(ot_onnx_node *n, value *x, bool last, const optune_tensor *all)
{
    static const int at[] = {0, 2, 3, 1};
    int64_t dim[OPTUNE_MAX_RANK];
    if (!last && ot_onnx_settle(n->m, x, n->err) < 0)
        return NULL;
    x = last ? ot_onnx_last_of(n, x) : x;
    const optune_tensor *type = x ? ot_onnx_type(n->m, x) : NULL;
    bool same = type && type->rank == all->rank;
    for (int d = 0; d < all->rank; d++) {
        dim[d] = all->dim[last ? at[d] : d].min;
        same = same && type->dim[d].min == dim[d];
    }
    return same || !x ? x
                      : ot_onnx_call(n, "broadcast_to", 1, &x, "shape=[%s]",
                                     ot_onnx_text(n->m, all->rank, dim));
}

value *ot_onnx_rounded_pair(ot_onnx_node *n, const char *op, bool merged,
                            const ot_onnx_side side[3], optune_dtype dtype,
                            const double range[2])
{
    const optune_tensor *type[2];
    optune_tensor all;
    double scale[3], zero[3];
    bool lone;
    char name[16];
    value *in[2];
    for (int i = 0; i < 2; i++) {
        type[i] = side[i].x->data ? &side[i].x->type : ot_onnx_type(n->m, side[i].x);
        if (!is_byte(type[i]->dtype) || !optune_tensor_known(type[i]) ||
            !optune_tensor_elements(type[i]))
            return NULL;
    }
    if ((side[0].x->data && side[1].x->data) || !is_byte(dtype) || !joint(type, &all, &lone))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (!one_side(n, &side[i], &scale[i], &zero[i]))
            return NULL;
    /* What merged scales make of zeros, of at most 255, must be finite, too. */
    const float most =
        256 * ((float)scale[0] / (float)scale[2] + (float)scale[1] / (float)scale[2]);
    if (merged && !isfinite(fmaxf(most, (float)scale[0] * (float)scale[1] / (float)scale[2])))
        return NULL;
    const bool last = all.rank == 4 && type[0]->rank == 4 && type[1]->rank == 4 &&
                      (side[0].x->last || side[1].x->last);
    /* onnxruntime adds what is repeated along rows last. */
    const int first = merged && lone, second = !first;
    for (int i = 0; i < 2; i++)
        if (!(in[i != first] = laid_out(n, side[i].x, last, &all)))
            return NULL;
    ot_print_dtype(dtype, name, sizeof name);
    value *made =
        ot_onnx_call(n, op, 2, in,
                     "a_scale=%.9g, a_zero=%d, b_scale=%.9g, b_zero=%d, scale=%.9g, zero=%d, "
                     "merged=%s, limits=[%d,%d], out_dtype=%s",
                     scale[first], (int)zero[first], scale[second], (int)zero[second], scale[2],
                     (int)zero[2], merged ? "true" : "false", range ? (int)range[0] : -128,
                     range ? (int)range[1] : 255, name);
    return last ? ot_onnx_from_last(n, made) : made;
}
