/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arange: start, start + step ... before stop (behind it, for a negative step), which are scalars
 * known when it runs. How many there are is in the values, so `limit` bounds it: a row that would
 * be longer is refused, as is a step of 0.
 *
 * Element i is fma(i, step, start), in float32 for 16-bit floats, and belongs to the row while it
 * is before stop; so the shape function and every body count the same.
 */
#include <stdlib.h>

#include "kernels/shaped/shaped.h"

static const optune_op_input inputs[] = {
    {.name = "start", .type = "tensor []", .description = "the first number"},
    {.name = "stop", .type = "tensor []", .description = "numbers end before it"},
    {.name = "step", .type = "tensor []", .description = "from one number to the next"},
    {0}};
static const optune_op_attr attrs[] = {{.name = "limit",
                                        .kind = OPTUNE_ATTR_INT,
                                        .min = 1,
                                        .max = 1 << 24,
                                        .description = "the most numbers there can be",
                                        .shown = true},
                                       {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *out = &call->output[0];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3; i++) {
            optune_tensor *in = &call->input[i].type;
            if (!optune_tensor_set_rank(in, 0) || !optune_dtype_unify(&in->dtype, &out->dtype))
                return optune_types_differ(err, "scalars of the output's dtype",
                                           call->op->inputs[i].name, in, "output", out);
        }
    if (out->dtype.code == OPTUNE_DTYPE_BOOL)
        return optune_fail(err, OPTUNE_ETYPE,
                           "arange: 'start' is bool: there is no row of these");
    if (!optune_tensor_set_rank(out, 1) ||
        !shaped_bound(&out->dim[0], optune_call_int(call, "limit")))
        return optune_types_differ(err, "a row of at most 'limit' numbers", "start",
                                   &call->input[0].type, "output", out);
    return shaped_known(call);
}

static uint64_t bits_of(const void *data, optune_dtype dtype)
{
    const double small = tensor_element(data, dtype, 0);
    return dtype.bits == 64                 ? *(const uint64_t *)data
           : dtype.code == OPTUNE_DTYPE_INT ? (uint64_t)(int64_t)small
                                            : (uint64_t)small;
}

/* How many integers, without any limit. */
static uint64_t whole(const uint64_t at[3], bool is_signed)
{
    const uint64_t start = at[0], stop = at[1], step = at[2];
    const bool down = is_signed && (int64_t)step < 0;
    const bool any = down        ? (int64_t)start > (int64_t)stop
                     : is_signed ? (int64_t)start < (int64_t)stop
                                 : start < stop;
    if (!any || !step)
        return 0;
    return down ? (start - stop - 1) / (0 - step) + 1 : (stop - start - 1) / step + 1;
}

static double number(optune_dtype dtype, const double at[3], int64_t i)
{
    return dtype.bits == 64 ? fma((double)i, at[2], at[0])
                            : (double)fmaf((float)i, (float)at[2], (float)at[0]);
}

/* At most one more than `limit`. */
static int64_t count(const optune_call *call, const void *const *in)
{
    const optune_dtype dtype = call->input[0].type.dtype;
    const int64_t limit = optune_call_int(call, "limit");
    int64_t n = 0;
    if (!host_is_real(dtype)) {
        uint64_t at[3];
        for (int i = 0; i < 3; i++)
            at[i] = bits_of(in[i], dtype);
        const uint64_t all = whole(at, dtype.code == OPTUNE_DTYPE_INT);
        return all > (uint64_t)limit ? limit + 1 : (int64_t)all;
    }
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = tensor_element(in[i], dtype, 0);
    while (n <= limit && (at[2] > 0   ? number(dtype, at, n) < at[1]
                          : at[2] < 0 ? number(dtype, at, n) > at[1]
                                      : false))
        n++;
    return n;
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    const int64_t limit = optune_call_int(call, "limit"), n = count(call, in);
    const double step = tensor_element(in[2], call->input[2].type.dtype, 0);
    if (step == 0)
        return optune_fail(err, OPTUNE_EUSAGE, "arange: the step is 0");
    if (n > limit)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "arange: there are more numbers than limit=%lld allows",
                           (long long)limit);
    call->output[0].dim[0] = optune_dim_of(n);
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_dtype dtype = call->input[0].type.dtype;
    const int64_t n = host_min(count(call, in), optune_call_int(call, "limit"));
    const double start = tensor_element(in[0], dtype, 0);
    const double step = tensor_element(in[2], dtype, 0);
    double *value = calloc((size_t)n + 1, sizeof *value);
    for (int64_t i = 0; i < n; i++)
        value[i] = start + (double)i * step;
    shaped_region(&call->output[0], region, value, n, out, magnitude);
    for (int64_t k = 0; k < region->hi[0] - region->lo[0]; k++)
        magnitude[k] = fabs(start) + fabs(out[k] - start);
    free(value);
}

/* Rows of about half of what there may be, as far as any dtype counts. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    const double most = (double)host_min(optune_call_int(call, "limit"), 120);
    *low = input == 0 ? 0 : input == 1 ? floor(most / 2) : 1;
    *high = input == 0 ? floor(most / 8) : input == 1 ? most : 2;
    return true;
}

OPTUNE_OP(arange) = {
    .name = "arange",
    .summary = "numbers from start to stop, which are known when it runs",
    .attrs = attrs,
    .n_outputs = 1,
    .support_level = 3,
    .range = range,
    .samples = (const char *const[]){"arange(f32[], f32[], f32[], limit=100)",
                                     "arange(i64[], i64[], i64[], limit=1021)",
                                     "arange(i8[], i8[], i8[], limit=37)",
                                     "arange(f16[], f16[], f16[], limit=64)",
                                     "arange(u8[], u8[], u8[], limit=1)", NULL},
    SHAPED_OP,
};
