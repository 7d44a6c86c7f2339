/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take: slices of data along an axis, at the indices that a tensor holds; a table lookup where the
 * axis is the first one. Relay's take as it clips, but that an index below 0 counts from the end,
 * as in ONNX; what is still outside is the first or the last slice. Elements keep their bits, NaNs
 * too.
 */
#include "kernels/host/region_lines.h"
#include "kernels/host/tensor.h"
#include "kernels/move/take/take.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [..., N, ...]", "what is looked up in", false, false},
    {"indices", "tensor of i32 or i64", "which slices", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .description = "what the indices count along; negative: from the end",
     .shown = true},
    {.name = NULL},
};

/* The dims before the axis, those of the indices in its place, and the dims behind it. */
static bool shapes(optune_tensor *data, optune_tensor *indices, optune_tensor *out, int axis)
{
    bool same = true;
    for (int d = 0; d < axis && same; d++)
        same = optune_dim_unify(&data->dim[d], &out->dim[d]);
    for (int d = 0; d < indices->rank && same; d++)
        same = optune_dim_unify(&indices->dim[d], &out->dim[axis + d]);
    for (int d = axis + 1; d < data->rank && same; d++)
        same = optune_dim_unify(&data->dim[d], &out->dim[d - 1 + indices->rank]);
    return same;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *indices = &call->input[1].type;
    optune_tensor *out = &call->output[0];
    char text[HOST_TYPE_TEXT];
    if (!take_is_index(indices->dtype))
        return optune_fail(err, OPTUNE_ETYPE, "take: indices %s are not i32 or i64",
                           host_type_text(indices, text));
    if (!optune_dtype_unify(&data->dtype, &out->dtype))
        return tensor_misfit(err, "take", "output", out, "data", data, "their dtypes differ");
    if (data->rank < 0 || indices->rank < 0)
        return 1;
    const int status = host_axis_settle(call, data, err);
    if (status < 0)
        return status;
    const int rank = data->rank - 1 + indices->rank;
    if (rank > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ETYPE, "take: the output has %d dims, more than %d",
                           rank, OPTUNE_MAX_RANK);
    const int axis = take_axis(call);
    if (data->dim[axis].max == 0)
        return optune_fail(err, OPTUNE_ETYPE, "take: there is nothing in data %s to take",
                           host_type_text(data, text));
    if (!optune_tensor_set_rank(out, rank) || !shapes(data, indices, out, axis))
        return tensor_misfit(err, "take", "output", out, "data", data,
                             "it has the dims of the indices in place of the axis");
    return optune_tensor_known(data) && optune_tensor_known(indices) ? OPTUNE_OK : 1;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *indices = &call->input[1].type;
    const int axis = take_axis(call), more = indices->rank;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    for (bool some = region_begin(region, at); some; some = region_next(region, at)) {
        int64_t which = 0, offset = 0;
        for (int d = 0; d < more; d++)
            which = which * indices->dim[d].min + at[axis + d];
        which = take_slice(tensor_element(in[1], indices->dtype, which), data->dim[axis].min);
        for (int d = 0; d < data->rank; d++)
            offset = offset * data->dim[d].min + (d < axis    ? at[d]
                                                  : d == axis ? which
                                                              : at[d - 1 + more]);
        out[n] = tensor_element(in[0], data->dtype, offset);
        magnitude[n] = fabs(out[n]);
        n++;
    }
}

static const char *const embeddings[] = {
    "take(f32[30522,768], i64[1,128])",
    "take(f32[50257,768], i64[1,1024])",
    "take(f32[32000,4096], i64[1])",
    NULL,
};

static const char *const images[] = {
    "take(f32[1,256,13,13], i64[26], axis=2)",
    "take(f32[1,256,26,13], i64[26], axis=3)",
    NULL,
};

static const optune_preset presets[] = {
    {"embeddings", "rows of the vocabularies of BERT, GPT-2 and Llama, by token", embeddings},
    {"images", "rows and columns of an image of YOLO that grows by two", images},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "take(f32[7], i32[3])",
    "take(f32[19,37], i64[2,5])",
    "take(f32[5,11], i64[])",
    "take(f32[3,9,5], i32[4], axis=1)",
    "take(f64[2,3,33], i64[70], axis=2)",
    "take(i64[9,4], i32[3,2,2], axis=-1)",
    "take(bool[6,65], i64[7])",
    "take(i32[1,3], i32[5], axis=0)",
    "take(f32[300,129], i64[50])",
    "take(bf16[40,264], i32[9])",
    "take(f32[2,17,1028], i64[3,2], axis=1)",
    NULL,
};

/* d data = zeros, to which dy is added where it was taken from: several times where an index is
 * there several times */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *data = &call->input[0].type, *indices = &call->input[1].type;
    if (!optune_grad_wants(grad, 0))
        return OPTUNE_OK;
    if (!optune_tensor_known(data) || !optune_tensor_known(indices))
        return optune_fail(err, OPTUNE_ETYPE, "this gradient needs constant dims");
    const host_axis at = host_around(data, take_axis(call));
    const int64_t count = optune_tensor_elements(indices);
    optune_tensor shape = {
        .rank = 3,
        .dim = {optune_dim_of(at.outer), optune_dim_of(count), optune_dim_of(at.inner)}};
    const int dy = optune_grad_reshape(grad, optune_grad_adjoint(grad, 0), &shape);
    shape.dim[1] = optune_dim_of(at.n);
    const int zeros = optune_grad_unary(grad, "zeros_like", optune_grad_input(grad, 0));
    const int into = optune_grad_reshape(grad, zeros, &shape);
    shape.dim[0] = shape.dim[2] = optune_dim_of(1);
    shape.dim[1] = optune_dim_of(count);
    const int which = optune_grad_reshape(grad, optune_grad_input(grad, 1), &shape);
    const int each = optune_grad_call(grad, "broadcast_to", 1, &which,
                                      "shape=[%" PRId64 ",%" PRId64 ",%" PRId64 "]", at.outer,
                                      count, at.inner);
    const int sums =
        optune_grad_call(grad, "scatter_add", 3, (const int[]){into, each, dy}, "axis=1");
    optune_grad_add(grad, 0, optune_grad_reshape(grad, sums, data));
    return OPTUNE_OK;
}

OPTUNE_OP(take) = {
    .name = "take",
    .summary = "slices along an axis at given indices, as in a table of embeddings",
    .bytes = take_bytes,
    TAKE_OP,
};
