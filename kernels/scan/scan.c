/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/scan/scan.h declares. */
#include "kernels/scan/scan.h"

int scan_lead(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    if (optune_call_none(call, "axis") || data->rank < 1)
        return 0;
    const int64_t axis = optune_call_int(call, "axis");
    return (int)(axis < 0 ? axis + data->rank : axis);
}

bool scan_rows_known(const optune_call *call)
{
    const int lead = scan_lead(call);
    return host_lead_known(&call->input[0].type, lead) &&
           host_lead_known(&call->output[0], lead);
}

scan_shape scan_shape_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    scan_shape s = {
        .at = {1, 1, 1},
        .in = data->dtype,
        .out = call->output[0].dtype,
        .exclusive = optune_call_int(call, "exclusive"),
        .product = scan_is_product(call),
    };
    if (optune_call_none(call, "axis"))
        s.at.n = optune_tensor_elements(data);
    else
        s.at = host_lead_around(data, optune_call_int(call, "axis"));
    return s;
}

/* ---- types ------------------------------------------------------------------------------- */

/* The output's one dim is the product of all of data's. One unknown among them is found. */
static bool scan_flatten(optune_tensor *data, optune_dim *flat)
{
    if (data->rank == 1)
        return optune_dim_unify(&data->dim[0], flat);
    optune_dim product = optune_dim_of(1), *unknown = NULL;
    int64_t others = 1;
    int n_unknown = 0;
    for (int d = 0; d < data->rank; d++) {
        optune_dim *dim = &data->dim[d];
        if (__builtin_mul_overflow(product.min, dim->min, &product.min))
            product.min = OPTUNE_DIM_MAX;
        if (__builtin_mul_overflow(product.max, dim->max, &product.max))
            product.max = OPTUNE_DIM_MAX;
        if (optune_dim_known(dim)) {
            if (__builtin_mul_overflow(others, dim->min, &others))
                return false;
        } else {
            unknown = dim;
            n_unknown++;
        }
    }
    if (!optune_dim_unify(flat, &product))
        return false;
    if (n_unknown != 1 || others == 0 || !optune_dim_known(flat))
        return true;
    optune_dim found = optune_dim_of(flat->min / others);
    return flat->min % others == 0 && optune_dim_unify(unknown, &found);
}

static int scan_dtypes(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    optune_dtype want = optune_call_attr(call, "dtype")->dtype;
    if (want.code == OPTUNE_DTYPE_UNKNOWN) {
        if (!optune_dtype_unify(&out->dtype, &data->dtype))
            return host_conflict(err, "dtype is left out, so their types are the same",
                                 "output", out, "data", data);
    } else if (!optune_dtype_unify(&out->dtype, &want)) {
        const optune_tensor wanted = {.dtype = want, .rank = -1};
        return host_conflict(err, "their types differ", "output", out, "dtype", &wanted);
    }
    if (host_is_real(data->dtype) && out->dtype.code != OPTUNE_DTYPE_UNKNOWN &&
        !host_is_real(out->dtype))
        return host_conflict(err, "floats are not accumulated in integers", "data", data,
                             "output", out);
    return OPTUNE_OK;
}

int scan_types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    const bool flat = optune_call_none(call, "axis");
    int status = scan_dtypes(call, err);
    if (status < 0)
        return status;
    if (flat && !optune_tensor_set_rank(out, 1))
        return host_conflict(err, "axis=none gives one dimension", "output", out, "data", data);
    const int rank = data->rank >= 0 ? data->rank : flat ? -1 : out->rank;
    if (rank < 0)
        return 1;
    if (flat) {
        if (!scan_flatten(data, &out->dim[0]))
            return host_conflict(err, "axis=none gives as many elements as data has", "output",
                                 out, "data", data);
    } else {
        bool same = optune_tensor_set_rank(data, rank) && optune_tensor_set_rank(out, rank);
        for (int d = 0; d < rank && same; d++)
            same = optune_dim_unify(&data->dim[d], &out->dim[d]);
        if (!same)
            return host_conflict(err, "they have one shape", "output", out, "data", data);
        status = host_axis_settle(call, data, err);
        if (status < 0)
            return status;
    }
    return scan_known(call) ? OPTUNE_OK : 1;
}

double scan_terms(const optune_call *call)
{
    if (!scan_known(call))
        return 1;
    const int64_t n = scan_shape_of(call).at.n;
    return n > 1 ? (double)n : 1;
}

/* ---- reference --------------------------------------------------------------------------- */

enum { SCAN_PIECE = 256 }; /* elements that are converted at once */

/* `n` consecutive elements as integers modulo 2^64, or as doubles after a rounding to the
 * output's type where that is narrower. */
static void scan_fetch(const scan_shape *s, const void *in, int64_t first, int64_t n,
                       uint64_t *whole, double *real)
{
#define SCAN_FETCH(type)                                                                       \
    do {                                                                                       \
        const type *p = (const type *)in + first;                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            whole[i] = (uint64_t)(int64_t)p[i];                                                \
            real[i] = (double)p[i];                                                            \
        }                                                                                      \
    } while (0)
    const bool sign = s->in.code == OPTUNE_DTYPE_INT;
    if (host_is_real(s->in)) {
        for (int64_t i = 0; i < n; i++)
            real[i] = tensor_element(in, s->in, first + i);
    } else if (s->in.bits <= 8) {
        if (sign)
            SCAN_FETCH(int8_t);
        else
            SCAN_FETCH(uint8_t);
    } else if (s->in.bits == 16) {
        if (sign)
            SCAN_FETCH(int16_t);
        else
            SCAN_FETCH(uint16_t);
    } else if (s->in.bits == 32) {
        if (sign)
            SCAN_FETCH(int32_t);
        else
            SCAN_FETCH(uint32_t);
    } else {
        if (sign)
            SCAN_FETCH(int64_t);
        else
            SCAN_FETCH(uint64_t);
    }
#undef SCAN_FETCH
    if (host_is_float(s->out) && s->out.bits == 32 && s->in.bits >= 32 && s->in.lanes == 1)
        for (int64_t i = 0; i < n; i++)
            real[i] = (double)(float)real[i];
}

typedef struct scan_sum { /* of one line so far */
    uint64_t whole;
    double real, size;
} scan_sum;

static void scan_put(const scan_shape *s, const scan_sum *sum, double *out, double *magnitude)
{
    const uint64_t w = sum->whole;
    if (s->words) {
        memcpy(out, &w, sizeof w);
        return;
    }
    if (host_is_real(s->out)) {
        *out = sum->real;
        *magnitude = s->product ? fabs(sum->real) : sum->size;
        return;
    }
    const int unused = 64 - s->out.bits;
    if (s->out.code == OPTUNE_DTYPE_BOOL || s->out.bits == 1)
        *out = w != 0;
    else if (s->out.code == OPTUNE_DTYPE_INT)
        *out = (double)((int64_t)(w << unused) >> unused);
    else
        *out = (double)(w << unused >> unused);
    *magnitude = fabs(*out);
}

static void scan_add(const scan_shape *s, scan_sum *sum, uint64_t whole, double real)
{
    if (s->product) {
        sum->whole *= whole;
        sum->real *= real;
    } else {
        sum->whole += whole;
        sum->real += real;
        sum->size += fabs(real);
    }
}

/* One line along a contiguous axis: [lo, hi) is written densely. */
static void scan_line(const scan_shape *s, const void *in, int64_t first, int64_t lo,
                      int64_t hi, double *out, double *magnitude)
{
    uint64_t whole[SCAN_PIECE] = {0};
    double real[SCAN_PIECE];
    scan_sum sum = {.whole = s->product, .real = s->product};
    for (int64_t i0 = 0; i0 < hi; i0 += SCAN_PIECE) {
        const int64_t n = host_min(SCAN_PIECE, hi - i0);
        scan_fetch(s, in, first + i0, n, whole, real);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = i0 + i - lo;
            if (s->exclusive && at >= 0)
                scan_put(s, &sum, out + at, magnitude + at);
            scan_add(s, &sum, whole[i], real[i]);
            if (!s->exclusive && at >= 0)
                scan_put(s, &sum, out + at, magnitude + at);
        }
    }
}

/* `width` neighbouring lines along an axis of stride `inner`; rows of the region are `row`
 * elements apart. */
static void scan_lines(const scan_shape *s, const void *in, int64_t first, int64_t lo,
                       int64_t hi, int64_t width, int64_t row, double *out, double *magnitude)
{
    uint64_t whole[SCAN_PIECE] = {0};
    double real[SCAN_PIECE];
    scan_sum sum[SCAN_PIECE];
    for (int64_t c = 0; c < width; c++)
        sum[c] = (scan_sum){.whole = s->product, .real = s->product};
    for (int64_t i = 0; i < hi; i++) {
        double *const o = out + (i - lo) * row, *const m = magnitude + (i - lo) * row;
        scan_fetch(s, in, first + i * s->at.inner, width, whole, real);
        for (int64_t c = 0; c < width; c++) {
            if (s->exclusive && i >= lo)
                scan_put(s, &sum[c], o + c, m + c);
            scan_add(s, &sum[c], whole[c], real[c]);
            if (!s->exclusive && i >= lo)
                scan_put(s, &sum[c], o + c, m + c);
        }
    }
}

/* No magnitude: words are written. */
static void scan_reference(const optune_call *call, const void *const *in, bool product,
                           const optune_region *region, double *out, double *magnitude)
{
    scan_shape s = scan_shape_of(call);
    s.words = !magnitude;
    magnitude = magnitude ? magnitude : out;
    s.product = product;
    const optune_tensor *type = &call->output[0];
    const int rank = type->rank;
    if (rank == 0 || optune_call_none(call, "axis")) {
        scan_line(&s, in[0], 0, rank ? region->lo[0] : 0, rank ? region->hi[0] : 1, out,
                  magnitude);
        return;
    }
    int axis = (int)optune_call_int(call, "axis");
    if (axis < 0)
        axis += rank;
    const int64_t lo = region->lo[axis], hi = region->hi[axis];
    region_lines l = region_lines_of(region, type, axis, SCAN_PIECE);
    do
        if (axis == rank - 1)
            scan_line(&s, in[0], l.first, lo, hi, out + l.to, magnitude + l.to);
        else
            scan_lines(&s, in[0], l.first, lo, hi, l.width, l.step, out + l.to,
                       magnitude + l.to);
    while (region_lines_next(&l));
}

void scan_sums(const optune_call *call, const void *const *in, int out_index,
               const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    scan_reference(call, in, false, region, out, magnitude);
}

void scan_products(const optune_call *call, const void *const *in, int out_index,
                   const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    scan_reference(call, in, true, region, out, magnitude);
}

void scan_sums_whole(const optune_call *call, const void *const *in, int out_index,
                     const optune_region *region, uint64_t *out)
{
    (void)out_index;
    scan_reference(call, in, false, region, (double *)out, NULL);
}

void scan_products_whole(const optune_call *call, const void *const *in, int out_index,
                         const optune_region *region, uint64_t *out)
{
    (void)out_index;
    scan_reference(call, in, true, region, (double *)out, NULL);
}
