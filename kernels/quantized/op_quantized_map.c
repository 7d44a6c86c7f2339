/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_map: a function of 8-bit integers with 8-bit values, as a table: the first entry is
 * what the least integer gives. Results are exact.
 */
#include "kernels/host/region_lines.h"
#include "kernels/quantized/quantized.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor of i8 or u8", .description = "what is looked up"},
    {.name = "table",
     .type = "tensor [256] of i8 or u8",
     .description = "values, from that of the least integer on",
     .is_const = true},
    {0},
};
static const optune_op_attr attrs[] = {{0}};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *table = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    optune_dim entries = optune_dim_of(256);
    if (!optune_tensor_set_rank(table, 1) || !optune_dim_unify(&table->dim[0], &entries) ||
        !optune_dtype_unify(&table->dtype, &out->dtype))
        return optune_types_differ(err, "the table has 256 of what the output has", "table",
                                   table, "output", out);
    if ((data->dtype.code != OPTUNE_DTYPE_UNKNOWN && !quantized_byte(data->dtype)) ||
        (out->dtype.code != OPTUNE_DTYPE_UNKNOWN && !quantized_byte(out->dtype)))
        return optune_types_differ(err, "8-bit integers are wanted", "data", data, "output",
                                   out);
    const int rank = data->rank >= 0 ? data->rank : out->rank;
    bool same =
        rank < 0 || (optune_tensor_set_rank(data, rank) && optune_tensor_set_rank(out, rank));
    for (int d = 0; d < rank && same; d++)
        same = optune_dim_unify(&data->dim[d], &out->dim[d]);
    if (!same)
        return optune_types_differ(err, "the output has the data's shape", "output", out,
                                   "data", data);
    return optune_tensor_known(data) && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

static double flops(const optune_call *call)
{
    return optune_tensor_known(&call->output[0])
               ? (double)optune_tensor_elements(&call->output[0])
               : 0;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_dtype type = call->input[0].type.dtype;
    const int least = type.code == OPTUNE_DTYPE_INT ? -128 : 0;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    if (!region_begin(region, at))
        return;
    do {
        int64_t i = 0;
        for (int d = 0; d < region->rank; d++)
            i = i * call->output[0].dim[d].min + at[d];
        const int64_t entry = (int64_t)tensor_element(in[0], type, i) - least;
        out[n] = tensor_element(in[1], call->output[0].dtype, entry);
        magnitude[n] = fabs(out[n]);
        n++;
    } while (region_next(region, at));
}

static const char *const swish[] = {"quantized_map(u8[1,112,112,16], u8[256])", NULL};
static const optune_preset presets[] = {
    {"mobilenet_v3", "an activation of MobileNet-V3 in 8 bits", swish}, {NULL, NULL, NULL}};

static const char *const samples[] = {
    "quantized_map(u8[7], u8[256])",
    "quantized_map(i8[3,5,67], i8[256])",
    "quantized_map(i8[2,1000], u8[256])",
    "quantized_map(u8[130], i8[256])",
    "quantized_map(u8[3,64], var u8[256])",
    "quantized_map(i8[], i8[256])",
    NULL,
};

OPTUNE_OP(quantized_map) = {
    .name = "quantized_map",
    .summary = "a function of 8-bit integers with 8-bit values, looked up",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 2,
    .types = types,
    .flops = flops,
    .reference = reference,
    .presets = presets,
    .samples = samples,
};
