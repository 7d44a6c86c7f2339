/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and products of a constant weight between DequantizeLinear and QuantizeLinear: the
 * integers themselves are summed.
 */
#include <math.h>

#include "onnx/qdq.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};

/* A sum of products in 32 bits, and what it stands for. */
typedef struct sum {
    value *all;
    const integers *x, *w;
    value *bias;  /* or NULL */
    value *whole; /* the same in 32 bits, which is in the sum; or NULL */
    int axis;     /* of the output, along which the weight's scales lie, and the bias */
} sum;

/* One scale, or one for each place along this axis of so many dims. */
static bool lies_along(const integers *w, int axis, int rank)
{
    const int64_t at = w->axis + (w->axis < 0 ? rank : 0);
    return ot_qdq_listed(w->scale) == 1 ||
           (at == axis && ot_qdq_listed(w->scale) == w->x->type.dim[axis].min);
}

/* The weight in 32 bits, less its zero. */
static value *less_zero(ot_onnx_node *n, const integers *w, int axis)
{
    value *wide = ot_onnx_as(n, w->x, i32);
    return w->zero ? ot_onnx_2(n, "subtract", wide,
                               ot_onnx_along(n, wide, ot_onnx_as(n, w->zero, i32), axis))
                   : wide;
}

/* The bias in 32 bits, where its scales are those of the sum, as quantisers choose them; else
 * NULL. */
static value *whole_bias(ot_onnx_node *n, const sum *s)
{
    const integers *b = s->bias ? s->bias->integers : NULL;
    double x, w = 0, scale;
    if (!b || !b->x->data || !ot_qdq_is_integer(b->x->type.dtype, 32) || b->x->type.rank != 1 ||
        b->x->type.dtype.code != OPTUNE_DTYPE_INT || !ot_qdq_number(n, s->x->scale, &x))
        return NULL;
    const int64_t count = optune_tensor_elements(&b->x->type);
    const int64_t n_b = ot_qdq_listed(b->scale), n_w = ot_qdq_listed(s->w->scale);
    const void *by = ot_onnx_look(n, b->scale), *of = ot_onnx_look(n, s->w->scale);
    if (!by || !of || (n_b != 1 && n_b != count) || (n_w != 1 && n_w != count))
        return NULL;
    for (int64_t i = 0; i < (n_b > n_w ? n_b : n_w); i++) {
        ot_elements(f32, by, n_b == 1 ? 0 : i, 1, &scale);
        ot_elements(f32, of, n_w == 1 ? 0 : i, 1, &w);
        if (!(fabs(scale - x * w) <= 1e-6 * fabs(scale)))
            return NULL;
    }
    for (int64_t i = 0; b->zero && i < ot_qdq_listed(b->zero); i++) {
        const void *zero = ot_onnx_look(n, b->zero);
        if (!zero)
            return NULL;
        ot_elements(i32, zero, i, 1, &w);
        if (w != 0)
            return NULL;
    }
    return b->x;
}

/* The sum as a float, with its bias. */
static value *real_sum(ot_onnx_node *n, const sum *s)
{
    value *by =
        ot_onnx_2(n, "multiply", s->x->scale, ot_onnx_along(n, s->all, s->w->scale, s->axis));
    value *all = ot_onnx_2(n, "multiply", ot_onnx_as(n, s->all, f32), by);
    return s->bias && !s->whole
               ? ot_onnx_2(n, "add", all, ot_onnx_along(n, all, s->bias, s->axis))
               : all;
}

/* What a kernel rounds itself; false: there is no QuantizeLinear behind that says how. */
static bool rounds(ot_onnx_node *n, const sum *s, ot_qdq_end *e, ot_onnx_rounded *r)
{
    if (!ot_qdq_end_of(n, e) || (s->bias && !s->whole))
        return false;
    *r = (ot_onnx_rounded){
        .x_scale = s->x->scale,
        .x_zero = s->x->zero,
        .w = s->w->x,
        .w_scale = s->w->scale,
        .w_zero = s->w->zero,
        .bias = s->whole,
        .y_scale = e->scale,
        .y_zero = e->zero,
        .dtype = e->dtype,
        .range = e->range,
    };
    return true;
}

/* Rounded as the QuantizeLinear behind says, if there is one; `w` is what slid, or NULL. */
static bool give_sum(ot_onnx_node *n, const sum *s, const ot_onnx_window *w)
{
    ot_qdq_end e;
    value *all = NULL;
    const bool ends = ot_qdq_end_of(n, &e) && (s->whole || !s->bias);
    if (ends) {
        value *const by[] = {ot_onnx_along(n, s->all, s->x->scale, s->axis),
                             ot_onnx_along(n, s->all, s->w->scale, s->axis),
                             ot_onnx_along(n, s->all, e.scale, s->axis)};
        value *zero =
            e.zero ? ot_onnx_along(n, s->all, ot_onnx_as(n, e.zero, f32), s->axis) : NULL;
        if (n->err->status < 0)
            return false;
        all = ot_onnx_requantised(n, s->all, by, zero, e.dtype, e.range);
    } else
        all = real_sum(n, s);
    if (all && w)
        all = ot_onnx_unslide(n, w, all);
    return ends ? ot_qdq_give_end(n, &e, all) : all && ot_onnx_give(n, 0, all) >= 0;
}

/* Kernels of bytes pack what a window meets, in tiles of so many channels; of fewer products with
 * each byte of a tile than these, floats, which are read where they lie, are done sooner. */
enum { TILE = 64, PRODUCTS = 64 };

static bool is_worth_packing(const ot_onnx_node *n, const int64_t *weight)
{
    const int64_t groups = ot_onnx_int(n, "group", 1), in = weight[1];
    const int64_t packed = (in + TILE - 1) / TILE * TILE;
    return groups >= 1 && weight[0] / groups * in >= PRODUCTS * packed;
}

bool ot_qdq_conv(ot_onnx_node *n)
{
    sum s = {.x = ot_qdq_taken(n, 0, false),
             .w = ot_qdq_taken(n, 1, true),
             .bias = ot_onnx_in(n, 2),
             .axis = 1};
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_window slide;
    if (!s.x || !s.w || s.w->x->type.rank != 4 || !lies_along(s.w, 0, 4) ||
        (s.bias && s.bias->later) || !ot_onnx_dims(n, s.w->x, dim) ||
        ot_onnx_type(n->m, s.x->x)->rank != 4 ||
        !optune_tensor_known(ot_onnx_type(n->m, s.x->x)))
        return false;
    if (s.bias && (ot_onnx_type(n->m, s.bias)->rank != 1 ||
                   ot_onnx_type(n->m, s.bias)->dim[0].min != dim[0]))
        return false;
    ot_qdq_end e;
    ot_onnx_rounded r;
    s.whole = whole_bias(n, &s);
    if (rounds(n, &s, &e, &r)) {
        value *all = ot_onnx_rounded_conv(n, s.x->x, &r);
        if (all || n->err->status < 0)
            return all && ot_qdq_give_end(n, &e, all);
    }
    if (!is_worth_packing(n, dim) || ot_onnx_settle(n->m, s.x->x, n->err) < 0 ||
        ot_onnx_slide(n, dim + 2, &slide) < 0)
        return false;
    slide.data = s.x->x;
    s.all = ot_onnx_narrow_conv(n, &slide, s.x->zero, less_zero(n, s.w, 0), s.whole);
    return s.all && give_sum(n, &s, &slide);
}

bool ot_qdq_product(ot_onnx_node *n)
{
    const bool gemm = ot_qdq_is(n->proto, "Gemm");
    const bool turn = gemm && ot_onnx_int(n, "transB", 0);
    sum s = {.x = ot_qdq_taken(n, 0, false),
             .w = ot_qdq_taken(n, 1, true),
             .bias = gemm ? ot_onnx_in(n, 2) : NULL,
             .axis = -1};
    if (!s.x || !s.w || s.w->x->type.rank != 2 || !lies_along(s.w, turn ? 0 : 1, 2) ||
        (s.bias && s.bias->later) || *ot_onnx_word(n, "activation", "") ||
        (gemm && (ot_onnx_int(n, "transA", 0) || ot_onnx_real(n, "alpha", 1) != 1 ||
                  (s.bias && ot_onnx_real(n, "beta", 1) != 1) ||
                  ot_onnx_type(n->m, s.x->x)->rank != 2)))
        return false;
    if (s.bias &&
        (ot_onnx_type(n->m, s.bias)->rank != 1 ||
         ot_onnx_type(n->m, s.bias)->dim[0].min != s.w->x->type.dim[turn ? 0 : 1].min))
        return false;
    ot_qdq_end e;
    ot_onnx_rounded r;
    s.whole = whole_bias(n, &s);
    if (rounds(n, &s, &e, &r)) {
        value *all = ot_onnx_rounded_product(n, s.x->x, turn, &r);
        if (all || n->err->status < 0)
            return all && ot_qdq_give_end(n, &e, all);
    }
    if (ot_onnx_settle(n->m, s.x->x, n->err) < 0)
        return false;
    value *w = less_zero(n, s.w, turn ? 0 : 1);
    w = w && turn ? ot_onnx_transpose(n, w, 2, (const int[]){1, 0}) : w;
    s.all = w ? ot_onnx_narrow_product(n, s.x->x, s.x->zero, w, s.whole) : NULL;
    return s.all && give_sum(n, &s, NULL);
}
