/* SPDX-License-Identifier: Apache-2.0 */
/* reverse: data with one axis backwards. */
#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .description = "which dim",
     .shown = true},
    {.name = NULL},
};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_elemwise_types(call, err);
    const int rank = call->input[0].type.rank;
    if (status < 0 || rank < 0)
        return status;
    const int axis = injective_axis(call, optune_call_int(call, "axis"), rank, err);
    if (axis < 0)
        return axis;
    injective_attr(call, "axis")->i[0] = axis;
    return status;
}

static int pieces(const optune_call *call, optune_piece *piece)
{
    optune_piece *p = &piece[0];
    *p = injective_whole(call);
    const int axis = injective_axis(call, optune_call_int(call, "axis"), p->rank, NULL);
    injective_strides(&call->input[0].type, p->in_stride);
    p->in_offset = p->in_stride[axis] * (p->extent[axis] - 1);
    p->in_stride[axis] = -p->in_stride[axis];
    return 1;
}

void reverse_places(const optune_call *call, injective_places *to)
{
    *to = injective_axes(call);
    const int axis = injective_axis(call, optune_call_int(call, "axis"), to->axes, NULL);
    to->from[axis] = to->step[axis] = -1;
    to->to[axis] = INT64_MIN;
}

static const char *const samples[] = {
    "reverse(f32[7])",
    "reverse(f32[5,90], axis=1)",
    "reverse(f32[5,90], axis=0)",
    "reverse(f32[2,3,20,17], axis=-2)",
    "reverse(f64[3,130], axis=-1)",
    "reverse(i8[300])",
    NULL,
};

/* d data = dy, reversed */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, optune_grad_same(grad, "reverse", 1, &dy, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(reverse) = {
    .name = "reverse",
    .summary = "one axis backwards",
    .support_level = 3,
    .inputs = injective_inputs,
    INJECTIVE_OWN_OP,
};
