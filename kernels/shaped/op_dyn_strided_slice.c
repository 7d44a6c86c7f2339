/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dyn_strided_slice: strided_slice with begin, end and strides as inputs, Relay's
 * dyn.strided_slice. Of each dim the elements begin, begin + stride ... before end (behind it, for
 * a negative stride). Negative positions count from the end, and what lies outside is cut off;
 * dims that the inputs leave out are whole. A stride of 0 is refused.
 */
#include <stdlib.h>

#include "kernels/shaped/shaped.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [...]", .description = "what is taken from"},
    {.name = "begin", .type = "tensor [k]", .description = "first of each dim: i32 or i64"},
    {.name = "end", .type = "tensor [k]", .description = "one behind the last"},
    {.name = "strides", .type = "tensor [k]", .description = "step of each dim"},
    {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    optune_tensor *begin = &call->input[1].type;
    if (!optune_dtype_unify(&data->dtype, &out->dtype))
        return optune_types_differ(err, "they have one dtype", "data", data, "output", out);
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < 4; i++) {
            optune_tensor *type = &call->input[i].type;
            const optune_dtype dtype = type->dtype;
            if (!optune_tensor_set_rank(type, 1) || !tensor_unify(type, begin) ||
                (dtype.code != OPTUNE_DTYPE_UNKNOWN &&
                 (dtype.code != OPTUNE_DTYPE_INT || dtype.bits < 32)))
                return optune_types_differ(err, "rows of one length, i32 or i64", "begin",
                                           begin, call->op->inputs[i].name, type);
        }
    if (data->rank < 0)
        return 1;
    if (!shaped_bound(&begin->dim[0], data->rank) || !optune_tensor_set_rank(out, data->rank))
        return optune_types_differ(err, "they have one rank, and 'begin' is no longer", "data",
                                   data, "output", out);
    if (!optune_dim_known(&begin->dim[0]))
        return 1;
    for (int d = 0; d < data->rank; d++)
        if (d < begin->dim[0].min ? !shaped_bound(&out->dim[d], data->dim[d].max)
                                  : !optune_dim_unify(&data->dim[d], &out->dim[d]))
            return optune_types_differ(err, "the output is a part", "data", data, "output",
                                       out);
    return shaped_known(call);
}

typedef struct slice {
    int64_t begin, step, n;
} slice;

static int64_t position(const optune_call *call, const void *const *in, int input, int d)
{
    return call->input[input].type.dtype.bits == 64 ? ((const int64_t *)in[input])[d]
                                                    : ((const int32_t *)in[input])[d];
}

static slice slice_of(const optune_call *call, const void *const *in, int d)
{
    const int64_t extent = call->input[0].type.dim[d].min;
    if (d >= call->input[1].type.dim[0].min)
        return (slice){.step = 1, .n = extent};
    int64_t from = position(call, in, 1, d), to = position(call, in, 2, d);
    const int64_t step = position(call, in, 3, d), low = step < 0 ? -1 : 0;
    const int64_t high = step < 0 ? extent - 1 : extent;
    from = host_min(host_max(from < 0 ? from + extent : from, low), high);
    to = host_min(host_max(to < 0 ? to + extent : to, low), high);
    const int64_t span = step < 0 ? from - to : to - from;
    const uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    return (slice){from, step,
                   span > 0 && stride ? (int64_t)(((uint64_t)span - 1) / stride) + 1 : 0};
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    for (int d = 0; d < call->input[1].type.dim[0].min; d++) {
        if (position(call, in, 3, d) == 0)
            return optune_fail(err, OPTUNE_EUSAGE, "dyn_strided_slice: stride %d is 0", d + 1);
        call->output[0].dim[d] = optune_dim_of(slice_of(call, in, d).n);
    }
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type;
    double *value = calloc((size_t)optune_tensor_elements(data) + 1, sizeof *value);
    slice of[OPTUNE_MAX_RANK];
    int64_t n = 1;
    for (int d = 0; d < data->rank; d++) {
        of[d] = slice_of(call, in, d);
        n *= of[d].n;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, from = 0, stride = 1;
        for (int d = data->rank - 1; d >= 0; d--) {
            from += (of[d].begin + rest % of[d].n * of[d].step) * stride;
            rest /= of[d].n;
            stride *= data->dim[d].min;
        }
        value[i] = tensor_element(in[0], data->dtype, from);
    }
    shaped_region(&call->output[0], region, value, n, out, magnitude);
    free(value);
}

/* Parts of most dims, forwards. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    const optune_tensor *data = &call->input[0].type;
    double least = INFINITY;
    for (int d = 0; d < data->rank; d++)
        least = fmin(least, (double)data->dim[d].min);
    *low = input == 1 ? -1 : input == 2 ? -1 : 1;
    *high = input == 1 ? floor(fmin(least, 1000) / 4) : input == 2 ? fmin(least, 1000) : 2;
    return input > 0;
}

OPTUNE_OP(dyn_strided_slice) = {
    .name = "dyn_strided_slice",
    .summary = "strided_slice whose positions are known when it runs",
    .n_outputs = 1,
    .support_level = 4,
    .range = range,
    .samples = (const char *const[]){"dyn_strided_slice(f32[70], i64[1], i64[1], i64[1])",
                                     "dyn_strided_slice(f32[9,70], i64[2], i64[2], i64[2])",
                                     "dyn_strided_slice(i8[3,5,17], i32[2], i32[2], i32[2])",
                                     "dyn_strided_slice(f16[12,5], i64[1], i64[1], i64[1])",
                                     NULL},
    SHAPED_OP,
};
