/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argwhere: where elements are not 0, a row of coordinates for each, in row-major order. NaN is not
 * 0, a zero of either sign is. Of a scalar, a row without coordinates.
 */
#include <stdlib.h>

#include "kernels/shaped/shaped.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [...]", .description = "what is looked through"}, {0}};

static int types(optune_call *call, optune_err *err)
{
    const optune_tensor *data = &call->input[0].type;
    optune_tensor *out = &call->output[0];
    int64_t most = 1;
    bool fits = shaped_output(out, 2, shaped_index);
    for (int d = 0; d < data->rank; d++)
        if (__builtin_mul_overflow(most, data->dim[d].max, &most))
            most = OPTUNE_DIM_MAX;
    optune_dim rank = optune_dim_of(data->rank);
    if (fits && data->rank >= 0)
        fits = optune_dim_unify(&out->dim[1], &rank) && shaped_bound(&out->dim[0], most);
    if (!fits)
        return optune_types_differ(err, "a row of coordinates (i64) for each element", "data",
                                   data, "output", out);
    return shaped_known(call);
}

/* How many there are; their coordinates, unless `to` is NULL. */
static int64_t find(const optune_call *call, const void *in, double *to)
{
    const optune_tensor *data = &call->input[0].type;
    const int64_t n = optune_tensor_elements(data);
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (tensor_element(in, data->dtype, i) == 0)
            continue;
        int64_t rest = i;
        for (int d = data->rank - 1; d >= 0 && to; d--) {
            to[found * data->rank + d] = (double)(rest % data->dim[d].min);
            rest /= data->dim[d].min;
        }
        found++;
    }
    return found;
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    (void)err;
    call->output[0].dim[0] = optune_dim_of(find(call, in[0], NULL));
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const int64_t rank = call->input[0].type.rank;
    const int64_t n = optune_tensor_elements(&call->input[0].type) * rank;
    double *value = calloc((size_t)n + 1, sizeof *value);
    const int64_t found = find(call, in[0], value);
    shaped_region(&call->output[0], region, value, found * rank, out, magnitude);
    free(value);
}

/* Half of what is drawn is 0. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    (void)call;
    (void)input;
    *low = 0;
    *high = 1;
    return true;
}

OPTUNE_OP(argwhere) = {
    .name = "argwhere",
    .summary = "coordinates of what is not 0",
    .n_outputs = 1,
    .support_level = 10,
    .range = range,
    .samples = (const char *const[]){"argwhere(f32[67])", "argwhere(bool[5,13])",
                                     "argwhere(i8[3,5,7])", "argwhere(f16[2,9])",
                                     "argwhere(i64[31])", NULL},
    SHAPED_OP,
};
