/* SPDX-License-Identifier: Apache-2.0 */
/* transpose: dims in another order: output dim i is data's dim axes[i]; no axes: reversed. */
#include <stdio.h>
#include <string.h>

#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "axes",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[]",
     .description = "which dim of data each dim of the output is",
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .shown = true},
    {.name = NULL},
};

static int axis_of(const optune_call *call, int d)
{
    const optune_attr *axes = optune_call_attr(call, "axes");
    const int rank = call->input[0].type.rank;
    return (int)(!axes->n ? rank - 1 - d : axes->i[d] < 0 ? axes->i[d] + rank : axes->i[d]);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const optune_attr *axes = optune_call_attr(call, "axes");
    const int rank = in->rank >= 0 ? in->rank : axes->n ? axes->n : out->rank;
    int status = injective_dtypes(call, err);
    if (status < 0 || rank < 0)
        return status < 0 ? status : 1;
    if ((axes->n && axes->n != rank) || !optune_tensor_set_rank(in, rank) ||
        !optune_tensor_set_rank(out, rank))
        return optune_types_differ(err, "they have one rank, and axes are as many", "data", in,
                                   "output", out);
    uint32_t seen = 0;
    for (int d = 0; d < rank; d++) {
        const int from = axis_of(call, d);
        if (from < 0 || from >= rank || (seen >> from & 1))
            return optune_fail(err, OPTUNE_ETYPE, "'axes' is no permutation of %d dims", rank);
        seen |= 1u << from;
        if (!optune_dim_unify(&in->dim[from], &out->dim[d]))
            return optune_types_differ(err, "a dim changes by moving", "data", in, "output",
                                       out);
    }
    /* Counted from the front; reversed is what no axes mean. */
    optune_attr *said = injective_attr(call, "axes");
    bool reversed = true;
    for (int d = 0; d < said->n; d++) {
        said->i[d] = axis_of(call, d);
        reversed = reversed && said->i[d] == rank - 1 - d;
    }
    if (reversed) {
        said->n = 0;
        memset(said->i, 0, sizeof said->i);
    }
    return injective_known(call);
}

static int pieces(const optune_call *call, optune_piece *piece)
{
    int64_t stride[OPTUNE_MAX_RANK];
    piece[0] = injective_whole(call);
    injective_strides(&call->input[0].type, stride);
    for (int d = 0; d < piece[0].rank; d++)
        piece[0].in_stride[d] = stride[axis_of(call, d)];
    return 1;
}

void transpose_places(const optune_call *call, injective_places *to)
{
    *to = injective_axes(call);
    for (int d = 0; d < to->n_out; d++)
        to->out[d].axis = axis_of(call, d);
}

static const char *const layouts[] = {
    "transpose(f32[1,64,56,56], axes=[0,2,3,1])",
    "transpose(f32[1,56,56,64], axes=[0,3,1,2])",
    "transpose(f32[1024,1024])",
    NULL,
};

static const optune_preset presets[] = {
    {"layouts", "NCHW to NHWC and back, and a square", layouts},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "transpose(f32[7])",
    "transpose(f32[5,9])",
    "transpose(f32[33,70])",
    "transpose(f32[2,3,20,17], axes=[0,2,3,1])",
    "transpose(f32[2,20,17,3], axes=[0,3,1,2])",
    "transpose(f64[19,24])",
    "transpose(i8[5,70])",
    "transpose(i32[3,4,5,6], axes=[3,1,0,2])",
    "transpose(i8[2,136,260], axes=[0,2,1])",
    "transpose(bf16[66,70,3], axes=[1,0,2])",
    "transpose(bf16[130,70])",
    "transpose(i16[12,300])",
    NULL,
};

/* d data = dy, transposed back */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0), rank = call->input[0].type.rank;
    const optune_attr *axes = optune_call_attr(call, "axes");
    int inverse[OPTUNE_MAX_RANK], n = 0;
    char text[8 * OPTUNE_MAX_RANK] = "";
    for (int d = 0; d < axes->n; d++)
        inverse[(axes->i[d] + rank) % rank] = d;
    for (int d = 0; d < axes->n; d++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", d ? "," : "", inverse[d]);
    optune_grad_add(grad, 0, optune_grad_call(grad, "transpose", 1, &dy, "axes=[%s]", text));
    return OPTUNE_OK;
}

OPTUNE_OP(transpose) = {
    .name = "transpose",
    .summary = "dims in another order",
    .support_level = 3,
    .inputs = injective_inputs,
    .presets = presets,
    INJECTIVE_OWN_OP,
};
