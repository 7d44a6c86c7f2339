/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress: what lies along an axis where a condition holds, in order; without an axis, of all
 * elements in one row (a boolean mask). Along what the condition is too short for, nothing is
 * taken, as in NumPy and ONNX.
 */
#include <stdlib.h>

#include "kernels/shaped/compress.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [...]", .description = "what is taken from"},
    {.name = "condition",
     .type = "tensor [n]",
     .description = "bool: which are taken; at most as long as the axis"},
    {0}};
static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "none",
     .none = true,
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .description = "along which; none: all elements are one row"},
    {0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *condition = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    optune_dtype truth = {OPTUNE_DTYPE_BOOL, 1, 1};
    if (!optune_dtype_unify(&condition->dtype, &truth) || !optune_tensor_set_rank(condition, 1))
        return optune_types_differ(err, "the condition is a row of bool", "condition",
                                   condition, "data", data);
    if (!optune_dtype_unify(&data->dtype, &out->dtype))
        return optune_types_differ(err, "they have one dtype", "data", data, "output", out);
    if (data->rank < 0)
        return 1;
    optune_attr *axis = host_attr(call, "axis");
    const bool flat = axis->none;
    if (!flat && (axis->i[0] >= data->rank || axis->i[0] < -data->rank))
        return optune_fail(err, OPTUNE_ETYPE, "axis %lld of 'data', which has %d dims",
                           (long long)axis->i[0], data->rank);
    if (!flat && axis->i[0] < 0)
        axis->i[0] += data->rank;
    if (!optune_tensor_set_rank(out, flat ? 1 : data->rank))
        return optune_types_differ(
            err, flat ? "without an axis the output is a row" : "they have one rank", "data",
            data, "output", out);
    int64_t along = 1, least = 1;
    bool fits = true;
    for (int d = 0; d < data->rank; d++)
        if (!flat && d != axis->i[0]) {
            fits = fits && optune_dim_unify(&data->dim[d], &out->dim[d]);
        } else {
            if (__builtin_mul_overflow(along, data->dim[d].max, &along))
                along = OPTUNE_DIM_MAX;
            if (__builtin_mul_overflow(least, data->dim[d].min, &least))
                least = OPTUNE_DIM_MAX;
        }
    if (condition->dim[0].min > along)
        return optune_types_differ(err, "the condition is longer than what it is of",
                                   "condition", condition, "data", data);
    fits =
        fits && shaped_bound(&condition->dim[0], along) &&
        shaped_bound(&out->dim[flat ? 0 : axis->i[0]], host_min(along, condition->dim[0].max));
    if (!fits)
        return optune_types_differ(err, "other dims are kept, of the axis a part", "data", data,
                                   "output", out);
    return shaped_known(call);
}

static int64_t taken(const optune_call *call, const void *const *in)
{
    const uint8_t *condition = in[1];
    const int64_t n = compress_taken(call);
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        k += condition[i] != 0;
    return k;
}

static int shape(optune_call *call, const void *const *in, optune_err *err)
{
    (void)err;
    const optune_attr *axis = optune_call_attr(call, "axis");
    call->output[0].dim[axis->none ? 0 : axis->i[0]] = optune_dim_of(taken(call, in));
    return OPTUNE_OK;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type;
    const host_axis at = compress_around(call);
    const uint8_t *condition = in[1];
    const int64_t n = compress_taken(call);
    double *value = calloc((size_t)optune_tensor_elements(data) + 1, sizeof *value);
    int64_t to = 0;
    for (int64_t o = 0; o < at.outer; o++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < at.inner && condition[k]; i++)
                value[to++] = tensor_element(in[0], data->dtype, (o * at.n + k) * at.inner + i);
    shaped_region(&call->output[0], region, value, to, out, magnitude);
    free(value);
}

OPTUNE_OP(compress) = {
    .name = "compress",
    .summary = "what lies along an axis where a condition holds",
    .attrs = attrs,
    .n_outputs = 1,
    .support_level = 10,
    .samples = (const char *const[]){"compress(f32[67], bool[67])",
                                     "compress(f32[5,13], bool[65])",
                                     "compress(i8[5,13,3], bool[13], axis=1)",
                                     "compress(bf16[7,9], bool[5], axis=0)",
                                     "compress(f64[4,6], bool[6], axis=-1)", NULL},
    SHAPED_OP,
};
