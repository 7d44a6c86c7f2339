/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/order/order.h declares. */
#include "kernels/order/order.h"

bool order_has(const optune_call *call, const char *attr)
{
    for (const optune_op_attr *a = call->op->attrs; a->name; a++)
        if (strcmp(a->name, attr) == 0)
            return true;
    return false;
}

/* Whether there are no other outputs than `kind`, values or indices. */
static bool order_only(const optune_call *call, const char *kind, bool without_ret_type)
{
    return order_has(call, "ret_type") ? strcmp(optune_call_word(call, "ret_type"), kind) == 0
                                       : without_ret_type;
}

int order_values(const optune_call *call)
{
    return order_only(call, "indices", order_has(call, "dtype")) ? -1 : 0;
}

int order_indices(const optune_call *call)
{
    if (order_only(call, "values", !order_has(call, "dtype")))
        return -1;
    return order_values(call) + 1;
}

bool order_known(const optune_call *call)
{
    bool known = optune_tensor_known(&call->input[0].type);
    for (int i = 0; i < call->n_outputs; i++)
        known = known && optune_tensor_known(&call->output[i]);
    return known;
}

int order_lead(const optune_call *call)
{
    const int rank = call->input[0].type.rank;
    const int64_t axis = optune_call_int(call, "axis");
    return rank < 1 ? 0 : (int)(axis < 0 ? axis + rank : axis);
}

bool order_lines_known(const optune_call *call)
{
    const int lead = order_lead(call);
    bool known = host_lead_known(&call->input[0].type, lead);
    for (int i = 0; i < call->n_outputs; i++)
        known = known && host_lead_known(&call->output[i], lead);
    return known;
}

order_shape order_shape_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    order_shape s = {
        .at = host_lead_around(data, optune_call_int(call, "axis")),
        .data = data->dtype,
        .ascend = optune_call_int(call, "is_ascend"),
        .values = order_values(call),
        .indices = order_indices(call),
    };
    s.k = order_k(call) ? order_k(call) : s.at.n;
    s.index = s.indices >= 0 ? call->output[s.indices].dtype : data->dtype;
    return s;
}

/* ---- types ------------------------------------------------------------------------------- */

static int order_dtypes(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type;
    const int values = order_values(call), indices = order_indices(call);
    if (values >= 0 && !optune_dtype_unify(&call->output[values].dtype, &data->dtype))
        return host_conflict(err, "values are of data's type", "values", &call->output[values],
                             "data", data);
    if (indices < 0)
        return OPTUNE_OK;
    optune_dtype want = optune_call_attr(call, "dtype")->dtype;
    const optune_tensor wanted = {.dtype = want, .rank = -1};
    char text[HOST_TYPE_TEXT];
    if (want.code != OPTUNE_DTYPE_INT || want.bits < 32 || want.lanes != 1)
        return optune_fail(err, OPTUNE_ETYPE, "dtype of indices is i32 or i64, not %s",
                           host_type_text(&wanted, text));
    if (!optune_dtype_unify(&call->output[indices].dtype, &want))
        return host_conflict(err, "their types differ", "indices", &call->output[indices],
                             "dtype", &wanted);
    return OPTUNE_OK;
}

/* One output's dims and data's: the same but along the axis, where an output has k of n. */
static int order_dims(optune_tensor *data, optune_tensor *out, int axis, int64_t k,
                      optune_err *err)
{
    for (int d = 0; d < data->rank; d++) {
        optune_dim *from = &data->dim[d];
        if (d != axis || k == 0) {
            if (!optune_dim_unify(from, &out->dim[d]))
                return host_conflict(err, "they have one shape but for k along the axis",
                                     "output", out, "data", data);
            continue;
        }
        optune_dim want = optune_dim_of(k), enough = {.min = k, .max = OPTUNE_DIM_MAX};
        if (!optune_dim_unify(&out->dim[d], &want))
            return host_conflict(err, "along the axis it has k elements", "output", out, "data",
                                 data);
        if (!optune_dim_unify(from, &enough))
            return host_conflict(err, "k is more than there is along the axis", "data", data,
                                 "output", out);
    }
    return OPTUNE_OK;
}

int order_types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type;
    int status = order_dtypes(call, err), rank = data->rank;
    for (int i = 0; i < call->n_outputs && rank < 0; i++)
        rank = call->output[i].rank;
    if (status < 0 || rank < 0)
        return status < 0 ? status : 1;
    bool same = optune_tensor_set_rank(data, rank);
    for (int i = 0; i < call->n_outputs; i++)
        same = same && optune_tensor_set_rank(&call->output[i], rank);
    if (!same)
        return host_conflict(err, "they have one rank", "output", &call->output[0], "data",
                             data);
    status = host_axis_settle(call, data, err);
    const int64_t axis = optune_call_int(call, "axis");
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < call->n_outputs && status >= 0; i++)
            status = order_dims(data, &call->output[i], (int)(axis < 0 ? axis + rank : axis),
                                order_k(call), err);
    return status < 0 ? status : order_known(call) ? OPTUNE_OK : 1;
}

double order_flops(const optune_call *call)
{
    if (!order_known(call))
        return 0;
    const order_shape s = order_shape_of(call);
    const double n = (double)s.at.n, k = (double)s.k,
                 lines = (double)s.at.outer * (double)s.at.inner;
    const double all = n * log2(n > 2 ? n : 2), best = n + k * log2(k > 2 ? k : 2);
    return lines * (best < all ? best : all);
}

/* ---- reference --------------------------------------------------------------------------- */

typedef struct order_item {
    uint64_t key; /* as unsigned numbers they have the order asked for */
    int64_t index;
} order_item;

static uint64_t order_key(const order_shape *s, const void *data, int64_t at)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (!host_is_real(s->data)) {
        const bool wide = s->data.bits == 64;
        const bool is_signed = s->data.code == OPTUNE_DTYPE_INT;
        const uint64_t x = s->data.bits <= 8 ? (is_signed ? (uint64_t)((const int8_t *)data)[at]
                                                          : ((const uint8_t *)data)[at])
                           : s->data.bits == 16
                               ? (is_signed ? (uint64_t)((const int16_t *)data)[at]
                                            : ((const uint16_t *)data)[at])
                           : wide      ? ((const uint64_t *)data)[at]
                           : is_signed ? (uint64_t)((const int32_t *)data)[at]
                                       : ((const uint32_t *)data)[at];
        const uint64_t up = is_signed ? x ^ sign : x;
        return s->ascend ? up : ~up;
    }
    const double x = tensor_element(data, s->data, at);
    if (isnan(x))
        return UINT64_MAX;
    const double up = s->ascend ? x : -x, same = s->indices >= 0 && x == 0 ? 0 : up;
    uint64_t bits;
    memcpy(&bits, &same, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

static bool order_less(order_item a, order_item b)
{
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

static int order_compare(const void *a, const void *b)
{
    const order_item x = *(const order_item *)a, y = *(const order_item *)b;
    return order_less(x, y) ? -1 : order_less(y, x);
}

/* Moves the `at` first in order to the front, in any order. */
static void order_nth(order_item *a, int64_t n, int64_t at)
{
    int64_t lo = 0, hi = n - 1;
    while (lo < hi) {
        const order_item pivot = a[lo + (hi - lo) / 2];
        int64_t i = lo, j = hi;
        while (i <= j) {
            while (order_less(a[i], pivot))
                i++;
            while (order_less(pivot, a[j]))
                j--;
            if (i > j)
                break;
            const order_item swap = a[i];
            a[i++] = a[j];
            a[j--] = swap;
        }
        if (at <= j)
            hi = j;
        else if (at >= i)
            lo = i;
        else
            return;
    }
}

/* Results [lo, hi) of the line that begins at `first`, `step` apart in the region. */
static void order_line(const order_shape *s, const void *data, int64_t first, int64_t lo,
                       int64_t hi, bool values, int64_t step, order_item *item, double *out,
                       double *magnitude)
{
    const int64_t n = s->at.n;
    for (int64_t i = 0; i < n; i++)
        item[i] = (order_item){order_key(s, data, first + i * s->at.inner), i};
    if (hi < n)
        order_nth(item, n, hi);
    if (lo > 0)
        order_nth(item, hi, lo);
    qsort(item + lo, (size_t)(hi - lo), sizeof *item, order_compare);
    for (int64_t i = lo; i < hi; i++) {
        const double x =
            values ? tensor_element(data, s->data, first + item[i].index * s->at.inner)
                   : (double)item[i].index;
        out[(i - lo) * step] = x;
        magnitude[(i - lo) * step] = fabs(x);
    }
}

void order_reference(const optune_call *call, const void *const *in, int out_index,
                     const optune_region *region, double *out, double *magnitude)
{
    const order_shape s = order_shape_of(call);
    const optune_tensor *data = &call->input[0].type;
    int axis = (int)optune_call_int(call, "axis");
    if (axis < 0)
        axis += data->rank;
    order_item *item = malloc((size_t)(s.at.n + 1) * sizeof *item);
    assert(item);
    region_lines l = region_lines_of(region, data, axis, 1);
    do
        order_line(&s, in[0], l.first, region->lo[axis], region->hi[axis],
                   out_index == s.values, l.step, item, out + l.to, magnitude + l.to);
    while (region_lines_next(&l));
    free(item);
}
