/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize and Upsample: axis by axis, each element a weighed sum of few elements of that axis. Which
 * ones and by what weight is constant, so an axis becomes a few lookups, products and sums; nearest
 * neighbours are one lookup.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/resize.h"

typedef ot_onnx_value value;

/* Tables are made for each: a few bytes of a file may not ask for gigabytes. */
enum { MOST_OUT = 1 << 22 };

typedef ot_onnx_how how;

typedef struct line {
    int64_t in, out;
    double scale;
    double from, to; /* of 1: the part that is resized, as tf_crop_and_resize counts it */
    bool open;       /* to or from a size that only a run knows: `dim`, or by the scale */
    optune_dim dim;
} line;

static how how_of(const ot_onnx_node *n)
{
    const bool upsample = !strcmp(n->op->name, "Upsample"), old = n->m->opset < 11 || upsample;
    return (how){
        .mode = ot_onnx_word(n, "mode", "nearest"),
        .where = ot_onnx_word(n, "coordinate_transformation_mode",
                              old ? "asymmetric" : "half_pixel"),
        .nearest = ot_onnx_word(n, "nearest_mode", old ? "floor" : "round_prefer_floor"),
        .cubic = ot_onnx_real(n, "cubic_coeff_a", -0.75),
        .outwards = old && !upsample,
        .exclude = ot_onnx_int(n, "exclude_outside", 0) != 0,
        .smooth = ot_onnx_int(n, "antialias", 0) != 0,
    };
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

static bool crops(const how *h)
{
    return *h->where == 't';
}

static int check_how(ot_onnx_node *n, const how *h)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const wheres[] = {
        "half_pixel",         "half_pixel_symmetric", "asymmetric", "align_corners",
        "pytorch_half_pixel", "tf_crop_and_resize",   NULL};
    static const char *const nearests[] = {"floor", "ceil", "round_prefer_floor",
                                           "round_prefer_ceil", NULL};
    if (!is_one_of(h->mode, modes))
        return ot_onnx_refuse(n, "mode '%.40s' is not supported", h->mode);
    if (!is_one_of(h->where, wheres))
        return ot_onnx_refuse(n, "coordinate transformation '%.40s' is not supported",
                              h->where);
    if (!is_one_of(h->nearest, nearests))
        return ot_onnx_refuse(n, "nearest mode '%.40s' is not supported", h->nearest);
    if (h->smooth && crops(h))
        return ot_onnx_refuse(n, "antialias of a part is not supported");
    return h->smooth && *h->mode == 'n'
               ? ot_onnx_refuse(n, "antialias is for modes 'linear' and 'cubic'")
               : OPTUNE_OK;
}

/* Of nearest neighbours in float32, as PyTorch and onnxruntime compute it: on which side of a step
 * a position falls is in its last bit. */
static double in_float(const how *h, double x)
{
    return *h->mode == 'n' ? (double)(float)x : x;
}

/* Where element i of the output lies in the input. */
static double position(const how *h, const line *l, int64_t i)
{
    const double scale = in_float(h, l->scale), at = (double)i, last = (double)(l->in - 1);
    const double half = in_float(h, in_float(h, (at + 0.5) / scale) - 0.5);
    if (!strcmp(h->where, "asymmetric"))
        return in_float(h, at / scale);
    if (!strcmp(h->where, "align_corners"))
        return l->out < 2 ? 0 : in_float(h, at * last / (l->scale * (double)l->in - 1));
    if (!strcmp(h->where, "pytorch_half_pixel"))
        return l->out < 2 ? 0 : half;
    if (!strcmp(h->where, "half_pixel_symmetric")) {
        const double all = in_float(h, scale * (double)l->in);
        const double beside = 1 - in_float(h, (double)l->out / all);
        return in_float(h, half + in_float(h, (double)l->in / 2 * beside));
    }
    if (crops(h))
        return in_float(h, l->out < 2 ? 0.5 * (l->from + l->to) * last
                                      : l->from * last + at * (l->to - l->from) * last /
                                                             (double)(l->out - 1));
    return half;
}

static double nearest(const how *h, const line *l, double x)
{
    const double low = floor(x);
    if (h->outwards && l->scale < 1)
        return ceil(x);
    if (!strcmp(h->nearest, "floor") || !strcmp(h->nearest, "ceil"))
        return *h->nearest == 'f' ? low : ceil(x);
    if (fabs(x - low - 0.5) <= ot_onnx_middle)
        return low + !strcmp(h->nearest, "round_prefer_ceil");
    return floor(x + 0.5);
}

/* Cubic convolution's weight of an element this far away. */
static double cubic(double a, double far)
{
    const double d = fabs(far);
    if (d >= 2)
        return 0;
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                  : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* The elements that output element i is made of, and their weights; how many there are. */
static int taps(const how *h, const line *l, int64_t i, int64_t *at, double *weight)
{
    const double x = position(h, l, i), low = floor(x);
    const int n = *h->mode == 'n' ? 1 : *h->mode == 'l' ? 2 : 4;
    double sum = 0;
    for (int t = 0; t < n; t++) {
        double where = n == 1 ? nearest(h, l, x) : low + t - (n == 4);
        weight[t] = n == 1 ? 1 : n == 2 ? 1 - fabs(x - where) : cubic(h->cubic, x - where);
        if (h->exclude && (where < 0 || where > (double)(l->in - 1)))
            weight[t] = 0;
        where = where < 0 ? 0 : where > (double)(l->in - 1) ? (double)(l->in - 1) : where;
        at[t] = (int64_t)where;
        sum += weight[t];
    }
    for (int t = 0; t < n && h->exclude && sum != 0; t++)
        weight[t] /= sum;
    return n;
}

/* Output element i by a filter that is as much wider as the axis shrinks: weights of all elements
 * of the input, those beyond its ends at the ends. */
static void wide_taps(const how *h, const line *l, int64_t i, double *weight)
{
    const double x = position(h, l, i), reach = (*h->mode == 'l' ? 1 : 2) / l->scale;
    double sum = 0;
    memset(weight, 0, (size_t)l->in * sizeof *weight);
    for (double at = floor(x - reach); at <= ceil(x + reach); at++) {
        const double far = (x - at) * l->scale;
        const double by = *h->mode == 'l' ? fmax(0, 1 - fabs(far)) : cubic(h->cubic, far);
        if (h->exclude && (at < 0 || at > (double)(l->in - 1)))
            continue;
        const double where = at < 0 ? 0 : fmin(at, (double)(l->in - 1));
        weight[(int64_t)where] += by;
        sum += by;
    }
    for (int64_t k = 0; k < l->in && sum != 0; k++)
        weight[k] /= sum;
}

/* The axis stands last meanwhile: a product with a matrix of the weights. */
static value *shrink_axis(ot_onnx_node *n, const how *h, value *x, int axis, const line *l)
{
    const optune_tensor *type = ot_onnx_type(n->m, x);
    const int rank = type->rank;
    const optune_tensor shape = {
        .dtype = type->dtype, .rank = 2, .dim = {optune_dim_of(l->in), optune_dim_of(l->out)}};
    int order[OPTUNE_MAX_RANK];
    value *all = NULL;
    if (rank < 2 || ot_onnx_room(n->m, &shape, &all, n->err) < 0) {
        if (rank < 2)
            ot_onnx_refuse(n, "antialias of one dim is not supported");
        return NULL;
    }
    double *weight = ot_alloc((size_t)l->in * sizeof *weight);
    for (int64_t i = 0; i < l->out; i++) {
        wide_taps(h, l, i, weight);
        for (int64_t k = 0; k < l->in; k++)
            ot_elements_set(shape.dtype, all->data, k * l->out + i, 1, &weight[k]);
    }
    free(weight);
    for (int d = 0; d < rank; d++)
        order[d] = d == axis ? rank - 1 : d == rank - 1 ? axis : d;
    x = ot_onnx_transpose(n, x, rank, order);
    x = x ? ot_onnx_product(n, x, all) : NULL;
    return x ? ot_onnx_transpose(n, x, rank, order) : NULL;
}

/* A constant [n,1,1..], as many dims as `rank` says. */
static value *column(ot_onnx_node *n, optune_dtype dtype, int64_t elements, int rank)
{
    value *made = NULL;
    optune_tensor type = {.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        type.dim[d] = optune_dim_of(d ? 1 : elements);
    return ot_onnx_room(n->m, &type, &made, n->err) < 0 ? NULL : made;
}

/* The sum of these elements along an axis by their weights. */
static value *weighed(ot_onnx_node *n, const how *h, value *x, int axis, int n_taps,
                      value *const *index, value *const *weight)
{
    value *first = NULL, *sum = NULL;
    for (int t = 0; t < n_taps; t++) {
        value *part =
            ot_onnx_call(n, "take", 2, (value *const[]){x, index[t]}, "axis=%d", axis);
        first = t ? first : part;
        if (h->cut_off && t) /* the first, and by its weight what the second is more */
            part = ot_onnx_2(n, "subtract", part, first);
        if (n_taps > 1 && !(h->cut_off && !t))
            part = ot_onnx_2(n, "multiply", part, weight[t]);
        sum = t ? ot_onnx_2(n, "add", sum, part) : part;
    }
    return sum;
}

static value *resize_axis(ot_onnx_node *n, const how *h, value *x, int axis, const line *l)
{
    const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
    value *index[OT_ONNX_RESIZE_TAPS], *weight[OT_ONNX_RESIZE_TAPS];
    const optune_tensor *type = ot_onnx_type(n->m, x);
    const optune_dtype dtype = type->dtype;
    int64_t at[OT_ONNX_RESIZE_TAPS];
    double by[OT_ONNX_RESIZE_TAPS];
    const int n_taps = taps(h, l, 0, at, by), rank = type->rank;
    for (int t = 0; t < n_taps; t++) {
        index[t] = column(n, i64, l->out, 1);
        weight[t] = column(n, dtype, l->out, rank - axis);
        if (!index[t] || !weight[t])
            return NULL;
    }
    for (int64_t i = 0; i < l->out; i++) {
        taps(h, l, i, at, by);
        for (int t = 0; t < n_taps; t++) {
            ((int64_t *)index[t]->data)[i] = at[t];
            ot_elements_set(dtype, weight[t]->data, i, 1, &by[t]);
        }
    }
    return weighed(n, h, x, axis, n_taps, index, weight);
}

/* The same along an axis of which only a run knows the size, or what it becomes. */
static value *resize_open(ot_onnx_node *n, const how *h, value *x, int axis, const line *l)
{
    value *index[OT_ONNX_RESIZE_TAPS], *weight[OT_ONNX_RESIZE_TAPS];
    const optune_tensor *type = ot_onnx_type(n->m, x);
    const optune_dtype dtype = type->dtype;
    const optune_dim in = type->dim[axis];
    const int rank = type->rank;
    optune_dim out = l->dim;
    if (crops(h) || (h->smooth && l->scale < 1) ||
        (l->scale > 0 && !ot_onnx_scaled_open(&in, l->scale, &out))) {
        ot_onnx_ask(n, optune_dim_known(&in) ? &out : &in, axis);
        return NULL;
    }
    const int n_taps = ot_onnx_taps_open(n, h, &in, &out, l->scale, index, weight);
    for (int t = 0; t < n_taps && n_taps > 1; t++) {
        int64_t to[OPTUNE_MAX_RANK] = {-1};
        for (int d = 1; d < rank - axis; d++)
            to[d] = 1;
        weight[t] = weight[t] ? ot_onnx_as(n, weight[t], dtype) : NULL;
        weight[t] = weight[t] ? ot_onnx_reshape(n, weight[t], rank - axis, to) : NULL;
        if (!weight[t])
            return NULL;
    }
    return n_taps < 1 ? NULL : weighed(n, h, x, axis, n_taps, index, weight);
}

/* The numbers of a constant input, or of an attribute of old opsets; 0: there are none. */
static int numbers(ot_onnx_node *n, int i, const char *name, double to[OPTUNE_MAX_RANK])
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    const value *in = ot_onnx_in(n, i);
    if (!in && attr) {
        const int count = (int)(attr->n_floats < OPTUNE_MAX_RANK ? attr->n_floats : 0);
        for (int k = 0; k < count; k++)
            to[k] = (double)attr->floats[k];
        return count;
    }
    if (!in)
        return 0;
    const int64_t count = in->data ? optune_tensor_elements(&in->type) : -1;
    if (count < 0 || count > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "'%s' is no constant, or has too many values", name);
    for (int64_t k = 0; k < count; k++)
        ot_elements(in->type.dtype, in->data, k, 1, &to[k]);
    return (int)count;
}

/* One scale for all axes, the smallest or the largest of theirs. */
static int keep_aspect(ot_onnx_node *n, int count, line *const *axis, double *size)
{
    const char *policy = ot_onnx_word(n, "keep_aspect_ratio_policy", "stretch");
    const bool smaller = !strcmp(policy, "not_larger");
    if (!strcmp(policy, "stretch") || count < 1)
        return OPTUNE_OK;
    if (!smaller && strcmp(policy, "not_smaller"))
        return ot_onnx_refuse(n, "policy '%.40s' is not supported", policy);
    double scale = size[0] / (double)axis[0]->in;
    for (int k = 1; k < count; k++) {
        const double one = size[k] / (double)axis[k]->in;
        scale = (one < scale) == smaller ? one : scale;
    }
    for (int k = 0; k < count; k++) {
        axis[k]->scale = scale;
        size[k] = floor(scale * (double)axis[k]->in + 0.5);
    }
    return OPTUNE_OK;
}

/* What part of each axis is resized: the first ends of all, then the last ones. */
static int take_parts(ot_onnx_node *n, int count, line *const *axis)
{
    double part[2 * OPTUNE_MAX_RANK];
    const value *roi = ot_onnx_need(n, 1);
    if (!roi || !roi->data || optune_tensor_elements(&roi->type) != 2 * count)
        return ot_onnx_refuse(n, "'roi' is not %d constant numbers", 2 * count);
    ot_elements(roi->type.dtype, roi->data, 0, 2 * count, part);
    for (int k = 0; k < count; k++) {
        if (!isfinite(part[k]) || !isfinite(part[count + k]))
            return ot_onnx_refuse(n, "'roi' has %g and %g", part[k], part[count + k]);
        axis[k]->from = part[k];
        axis[k]->to = part[count + k];
    }
    return OPTUNE_OK;
}

/* In float32, too, as far as that counts. */
static double scaled(double part, double scale)
{
    const double all = part * (double)(float)scale;
    return all < 0x1p24 ? (double)(float)all : all;
}

/* False: it is none, and the node has failed. */
static bool is_size(ot_onnx_node *n, double size)
{
    const bool is = size >= 1 && size <= (double)OPTUNE_MAX_DIM;
    if (!is)
        ot_onnx_refuse(n, "'sizes' has %.17g", size);
    return is;
}

/* The list of sizes as dims, and as numbers where these are; how many, likewise. */
static int sizes_at(ot_onnx_node *n, double size[OPTUNE_MAX_RANK], optune_dim to[OT_ONNX_LIST])
{
    const value *given = ot_onnx_in(n, 3);
    if (given && given->sizes) {
        const int count = ot_onnx_sizes_of(given, to);
        if (count < 0 || count > OPTUNE_MAX_RANK)
            return ot_onnx_refuse(n, "'sizes' is no list of at most %d integers",
                                  OPTUNE_MAX_RANK);
        for (int k = 0; k < count; k++) {
            size[k] = (double)to[k].min;
            if (optune_dim_known(&to[k]) && !is_size(n, size[k]))
                return n->err->status;
        }
        return count;
    }
    const int count = numbers(n, 3, "sizes", size);
    for (int k = 0; k < count; k++) {
        if (!is_size(n, size[k]))
            return n->err->status;
        to[k] = optune_dim_of((int64_t)size[k]);
    }
    return count;
}

/* Every axis's extents and scale. */
static int lines_of(ot_onnx_node *n, const how *h, const value *x, int rank, line *l)
{
    const bool two = !strcmp(n->op->name, "Upsample") || n->m->opset < 11;
    double scale[OPTUNE_MAX_RANK], size[OPTUNE_MAX_RANK];
    optune_dim to[OT_ONNX_LIST];
    ot_onnx_list axes;
    line *axis[OPTUNE_MAX_RANK];
    const int n_scales = numbers(n, two ? 1 : 2, "scales", scale);
    const int n_sizes = n_scales || two ? 0 : sizes_at(n, size, to);
    bool open = false;
    const int some = n_sizes < 0 ? n_sizes : ot_onnx_ints(n, "axes", &axes);
    if (n_scales < 0 || some < 0)
        return n->err->status;
    const int count = n_scales ? n_scales : n_sizes;
    if (count != (some ? axes.n : rank))
        return ot_onnx_refuse(n, "%d scales or sizes for %d axes", count, some ? axes.n : rank);
    for (int k = 0; k < count; k++) {
        const int d = some ? ot_onnx_axis(n, axes.i[k], rank) : k;
        if (d < 0)
            return n->err->status;
        const optune_dim *dim = &ot_onnx_type(n->m, x)->dim[d];
        axis[k] = &l[d];
        if (n_scales) {
            l[d].scale = scale[k];
            l[d].open = l[d].in < 0 && scale[k] != 1;
        } else if (l[d].in < 0 || !optune_dim_known(&to[k])) {
            l[d].open = !*dim->name || strcmp(dim->name, to[k].name) != 0;
            l[d].scale = l[d].open ? 0 : 1;
            l[d].dim = to[k];
        } else {
            l[d].scale = size[k] / (double)l[d].in;
        }
        open = open || l[d].open;
    }
    if (open && n_sizes &&
        strcmp(ot_onnx_word(n, "keep_aspect_ratio_policy", "stretch"), "stretch"))
        return ot_onnx_refuse(n, "'keep_aspect_ratio_policy' needs all sizes: --bind DIM=N");
    int kept = n_sizes ? keep_aspect(n, count, axis, size) : OPTUNE_OK;
    if (kept >= 0 && crops(h))
        kept = take_parts(n, count, axis);
    for (int k = 0; k < count && kept >= 0; k++) {
        if ((axis[k]->in < 0 || axis[k]->open) && (axis[k]->scale > 0 || n_sizes))
            continue;
        const double part = (double)axis[k]->in * (axis[k]->to - axis[k]->from);
        const double out = n_scales ? floor(scaled(part, scale[k])) : size[k];
        if (!(axis[k]->scale > 0) || !(out >= 1) || out > OPTUNE_MAX_DIM)
            return ot_onnx_refuse(n, "a scale of %g from %g", axis[k]->scale, part);
        axis[k]->out = (int64_t)out;
    }
    return kept;
}

static bool is_resized(const line *l)
{
    return l->open || l->out != l->in || l->scale != 1 || l->from != 0 || l->to != 1;
}

/* What is between whole numbers is computed as floats, which hold these numbers, and cut off:
 * float32 for those of 16 bits, as its rounding makes up for that of positions, in double. */
static int widen(ot_onnx_node *n, how *h, value **x)
{
    optune_dtype dtype = ot_onnx_type(n->m, *x)->dtype;
    if (*h->mode == 'n' || ot_onnx_floating(n, *x))
        return OPTUNE_OK;
    if (*h->mode != 'l' || h->smooth || dtype.code == OPTUNE_DTYPE_BOOL)
        return ot_onnx_refuse(n, "mode '%s'%s is for floating types", h->mode,
                              h->smooth ? " with antialias" : "");
    if (dtype.bits > 32)
        return ot_onnx_refuse(n, "mode '%s' of integers of %d bits, more than a float holds",
                              h->mode, dtype.bits);
    h->cut_off = true;
    dtype.code = OPTUNE_DTYPE_FLOAT;
    dtype.bits = dtype.bits <= 16 ? 32 : 64;
    *x = ot_onnx_as(n, *x, dtype);
    return *x ? OPTUNE_OK : n->err->status;
}

/* What lies beyond the ends of what a part is cut from along an axis is one number. */
static value *fill_beyond(ot_onnx_node *n, const how *h, value *x, int axis, const line *l)
{
    const optune_dtype boolean = {.code = OPTUNE_DTYPE_BOOL, .bits = 1, .lanes = 1};
    value *inside = column(n, boolean, l->out, ot_onnx_rank(n, x) - axis);
    bool some = false;
    for (int64_t i = 0; inside && i < l->out; i++) {
        const double at = position(h, l, i), is = at >= 0 && at <= (double)(l->in - 1);
        ot_elements_set(boolean, inside->data, i, 1, &is);
        some = some || !is;
    }
    value *beyond = ot_onnx_number(n, x, ot_onnx_real(n, "extrapolation_value", 0));
    return some || !inside
               ? ot_onnx_call(n, "where", 3, (value *const[]){inside, x, beyond}, NULL)
               : x;
}

static int resize(ot_onnx_node *n)
{
    value *x = ot_onnx_need(n, 0);
    int64_t dim[OPTUNE_MAX_RANK];
    line l[OPTUNE_MAX_RANK];
    how h = how_of(n);
    if (!x || !ot_onnx_dims_at(n, x, 0, dim) || check_how(n, &h) < 0)
        return n->err->status;
    const optune_tensor *type = ot_onnx_type(n->m, x);
    const optune_dtype dtype = type->dtype;
    const int rank = type->rank;
    for (int d = 0; d < rank; d++)
        l[d] = (line){.in = dim[d], .out = dim[d], .scale = 1, .to = 1};
    if (lines_of(n, &h, x, rank, l) < 0)
        return n->err->status;
    bool resized = false;
    for (int d = 0; d < rank; d++)
        resized = resized || is_resized(&l[d]);
    if (resized && widen(n, &h, &x) < 0)
        return n->err->status;
    for (int d = 0; d < rank && x; d++) {
        const int64_t out = l[d].open ? l[d].dim.min : l[d].out;
        if (is_resized(&l[d]) && out > MOST_OUT)
            return ot_onnx_refuse(n, "axis %d would become %lld, more than %d", d,
                                  (long long)out, (int)MOST_OUT);
        if (l[d].open)
            x = ot_onnx_repeats(&h, l[d].scale, rank) ? ot_onnx_repeat_open(n, x, d, l[d].scale)
                                                      : resize_open(n, &h, x, d, &l[d]);
        if (l[d].open || !is_resized(&l[d]))
            continue;
        if (l[d].in < 1)
            return ot_onnx_refuse(n, "there is nothing along axis %d", d);
        x = h.smooth && l[d].scale < 1 ? shrink_axis(n, &h, x, d, &l[d])
                                       : resize_axis(n, &h, x, d, &l[d]);
    }
    for (int d = 0; d < rank && x && crops(&h); d++)
        x = is_resized(&l[d]) ? fill_beyond(n, &h, x, d, &l[d]) : x;
    return ot_onnx_give(n, 0, ot_onnx_as(n, x, dtype));
}

static const ot_onnx_op ops[] = {
    {"Resize", resize, NULL},
    {"Upsample", resize, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(resize) = {ops};
