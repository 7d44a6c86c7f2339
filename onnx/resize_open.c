/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize along axes whose sizes only a run knows: positions and weights as onnx/family_resize.c
 * computes them while the file is read, by calls of the graph on how many elements there are.
 */
#include <math.h>
#include <string.h>

#include "onnx/resize.h"

typedef ot_onnx_value value;

static const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};

enum { MOST_OVER = 64, MOST_TIMES = 64 };

/* What is computed of, [1] each: both sizes and what a step is, of both unless it is told. */
typedef struct line {
    value *in, *last, *out, *scale;
    bool told;
} line;

static value *with(ot_onnx_node *n, const char *op, value *a, double b)
{
    value *number = a ? ot_onnx_number(n, a, b) : NULL;
    return ot_onnx_2(n, op, a, number);
}

/* Where each element of the output lies in the input. */
static value *positions(ot_onnx_node *n, const ot_onnx_how *h, const line *l, value *at)
{
    value *all = ot_onnx_2(n, "multiply", l->in, l->scale);
    value *half =
        with(n, "subtract", ot_onnx_2(n, "divide", with(n, "add", at, 0.5), l->scale), 0.5);
    if (!strcmp(h->where, "asymmetric"))
        return ot_onnx_2(n, "divide", at, l->scale);
    if (!strcmp(h->where, "align_corners")) /* of one element the only place is 0 */
        return ot_onnx_2(n, "divide", ot_onnx_2(n, "multiply", at, l->last),
                         with(n, "maximum", with(n, "subtract", l->told ? all : l->out, 1), 1));
    if (!strcmp(h->where, "pytorch_half_pixel"))
        return ot_onnx_2(n, "multiply", half,
                         with(n, "minimum", with(n, "subtract", l->out, 1), 1));
    if (!strcmp(h->where, "half_pixel_symmetric")) {
        value *beside =
            with(n, "add", ot_onnx_1(n, "negative", ot_onnx_2(n, "divide", l->out, all)), 1);
        return ot_onnx_2(n, "add", half,
                         ot_onnx_2(n, "multiply", with(n, "multiply", l->in, 0.5), beside));
    }
    return half;
}

static value *nearest(ot_onnx_node *n, const ot_onnx_how *h, double scale, value *x)
{
    if (h->outwards && scale > 0 && scale < 1)
        return ot_onnx_1(n, "ceil", x);
    if (!strcmp(h->nearest, "floor") || !strcmp(h->nearest, "ceil"))
        return ot_onnx_1(n, h->nearest, x);
    return !strcmp(h->nearest, "round_prefer_ceil")
               ? ot_onnx_1(n, "floor", with(n, "add", x, 0.5 + ot_onnx_middle))
               : ot_onnx_1(n, "ceil", with(n, "subtract", x, 0.5 + ot_onnx_middle));
}

/* Cubic convolution's weight of elements this far away, all of them within 1 or all beyond. */
static value *cubic(ot_onnx_node *n, double a, value *d, bool near)
{
    const double by[2][4] = {{-4 * a, 8 * a, -5 * a, a}, {1, 0, -(a + 3), a + 2}};
    value *sum = with(n, "multiply", d, by[near][3]);
    for (int k = 2; k >= 0 && sum; k--) {
        sum = by[near][k] != 0 ? with(n, "add", sum, by[near][k]) : sum;
        sum = k ? ot_onnx_2(n, "multiply", sum, d) : sum;
    }
    return sum;
}

static value *weigh(ot_onnx_node *n, const ot_onnx_how *h, value *x, value *where, int t)
{
    value *far = ot_onnx_1(n, "abs", ot_onnx_2(n, "subtract", x, where));
    return *h->mode == 'l' ? with(n, "add", ot_onnx_1(n, "negative", far), 1)
                           : cubic(n, h->cubic, far, t == 1 || t == 2);
}

/* Those of what lies outside are 0, and the others' sum is 1 again. */
static void leave_out(ot_onnx_node *n, int taps, value *const *inside, value **weight)
{
    value *sum = NULL;
    for (int t = 0; t < taps; t++) {
        value *is = ot_onnx_as(n, inside[t], f64);
        weight[t] = ot_onnx_2(n, "multiply", weight[t], is);
        sum = t ? ot_onnx_2(n, "add", sum, weight[t]) : weight[t];
    }
    for (int t = 0; t < taps; t++)
        weight[t] = ot_onnx_2(n, "divide", weight[t], sum);
}

int ot_onnx_taps_open(ot_onnx_node *n, const ot_onnx_how *h, const optune_dim *in,
                      const optune_dim *out, double scale, value *index[OT_ONNX_RESIZE_TAPS],
                      value *weight[OT_ONNX_RESIZE_TAPS])
{
    static const optune_dim zero = {.min = 0, .max = 0};
    const int taps = *h->mode == 'n' ? 1 : *h->mode == 'l' ? 2 : 4;
    const optune_dtype dtype = taps == 1 ? f32 : f64; /* as positions are computed elsewhere */
    value *inside[OT_ONNX_RESIZE_TAPS];
    line l = {.in = ot_onnx_as(n, ot_onnx_length_open(n, in, i64), dtype),
              .out = ot_onnx_as(n, ot_onnx_length_open(n, out, i64), dtype),
              .told = scale > 0};
    l.last = with(n, "subtract", l.in, 1);
    l.scale =
        l.told && l.in ? ot_onnx_number(n, l.in, scale) : ot_onnx_2(n, "divide", l.out, l.in);
    value *at = ot_onnx_as(n, ot_onnx_count_open(n, &zero, out, i64), dtype);
    value *x = ot_onnx_as(n, positions(n, h, &l, at), f64);
    value *low = taps > 1 ? ot_onnx_1(n, "floor", x) : NULL;
    value *last = ot_onnx_as(n, l.last, f64);
    for (int t = 0; t < taps; t++) {
        const int beside = t - (taps == 4);
        value *where = taps == 1 ? nearest(n, h, scale, x)
                       : beside  ? with(n, "add", low, beside)
                                 : low;
        value *there = ot_onnx_2(n, "minimum", with(n, "maximum", where, 0), last);
        weight[t] = taps > 1 ? weigh(n, h, x, where, t) : NULL;
        inside[t] = h->exclude ? ot_onnx_2(n, "equal", there, where) : NULL;
        index[t] = ot_onnx_as(n, there, i64);
        if (!index[t] || (taps > 1 && !weight[t]))
            return n->err->status;
    }
    if (h->exclude && taps > 1)
        leave_out(n, taps, inside, weight);
    return taps;
}

bool ot_onnx_scaled_open(const optune_dim *in, double scale, optune_dim *out)
{
    for (int over = 1; over <= MOST_OVER; over++) {
        const double times = scale * over;
        if (times > (double)OPTUNE_MAX_DIM || times != floor(times))
            continue;
        *out = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
        optune_dim_compute(out, 1, (const optune_dim *const[]){in},
                           (const int64_t[]){(int64_t)times}, 0, over);
        return *out->name != 0;
    }
    return false;
}

bool ot_onnx_repeats(const ot_onnx_how *h, double scale, int rank)
{
    const bool centred =
        !strcmp(h->where, "half_pixel") || !strcmp(h->where, "pytorch_half_pixel");
    const bool rounds = !strncmp(h->nearest, "round", 5);
    const bool floors = !strcmp(h->where, "asymmetric") && !strcmp(h->nearest, "floor");
    return *h->mode == 'n' && (floors || (centred && rounds)) && scale >= 1 &&
           scale <= MOST_TIMES && scale == floor(scale) && rank < OPTUNE_MAX_RANK;
}

/* The axis stands last meanwhile, as one dim of those that are joined may be open. */
value *ot_onnx_repeat_open(ot_onnx_node *n, value *x, int axis, double scale)
{
    const int64_t times = (int64_t)scale;
    const int rank = ot_onnx_rank(n, x);
    int order[OPTUNE_MAX_RANK];
    int64_t to[OPTUNE_MAX_RANK] = {0};
    value *part[MOST_TIMES];
    for (int d = 0; d < rank; d++)
        order[d] = d < axis ? d : d + 1 < rank ? d + 1 : axis;
    x = ot_onnx_transpose(n, x, rank, order);
    x = ot_onnx_call(n, "expand_dims", 1, &x, "axis=%d", rank);
    for (int64_t i = 0; i < times; i++)
        part[i] = x;
    x = x ? ot_onnx_join(n, rank, (int)times, part) : NULL;
    to[rank - 1] = -1;
    x = ot_onnx_reshape_keeping(n, x, rank, to);
    for (int d = 0; d < rank; d++)
        order[d] = d < axis ? d : d == axis ? rank - 1 : d - 1;
    return ot_onnx_transpose(n, x, rank, order);
}
