/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/move/injective.h declares. */
#include "kernels/move/injective.h"

void injective_strides(const optune_tensor *type, int64_t *stride)
{
    int64_t step = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= type->dim[d].min;
    }
}

optune_piece injective_whole(const optune_call *call)
{
    const optune_tensor *out = &call->output[0];
    optune_piece p = {.input = 0, .rank = out->rank};
    for (int d = 0; d < out->rank; d++)
        p.extent[d] = out->dim[d].min;
    injective_strides(out, p.out_stride);
    return p;
}

injective_places injective_axes(const optune_call *call)
{
    const int rank = call->input[0].type.rank;
    injective_places p = {.axes = rank, .n_in = rank, .n_out = rank, .joined = -1};
    for (int d = 0; d < rank; d++)
        p.in[d] = p.out[d] = (injective_dim){.axis = d, .unit = 1};
    return p;
}

int injective_flat(const optune_call *call, optune_piece *piece)
{
    piece[0] = (optune_piece){.input = 0,
                              .rank = 1,
                              .extent = {optune_tensor_elements(&call->output[0])},
                              .in_stride = {1},
                              .out_stride = {1}};
    return 1;
}

int injective_flat_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    optune_grad_add(
        grad, 0, optune_grad_reshape(grad, optune_grad_adjoint(grad, 0), &call->input[0].type));
    return OPTUNE_OK;
}

int injective_dtypes(optune_call *call, optune_err *err)
{
    if (optune_dtype_unify(&call->input[0].type.dtype, &call->output[0].dtype))
        return OPTUNE_OK;
    return optune_types_differ(err, "their dtypes differ", call->op->inputs[0].name,
                               &call->input[0].type, "output", &call->output[0]);
}

int injective_axis(const optune_call *call, int64_t axis, int rank, optune_err *err)
{
    const int64_t d = axis < 0 ? axis + rank : axis;
    if (d >= 0 && d < rank)
        return (int)d;
    return optune_fail(err, OPTUNE_ETYPE, "'%s' has no dim %lld in %d", call->op->name,
                       (long long)axis, rank);
}

int injective_known(const optune_call *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return 1;
    return optune_tensor_known(&call->output[0]) ? OPTUNE_OK : 1;
}
