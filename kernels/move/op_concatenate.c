/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate: tensors one after another along an axis; other dims are equal. */
#include <stdio.h>

#include "kernels/host/host.h"
#include "kernels/move/injective.h"

#define NEXT(k)                                                                                \
    {                                                                                          \
        "data" #k, "tensor", "the next", true, false                                           \
    }
#define NEXT_TEN(k)                                                                            \
    NEXT(k##0), NEXT(k##1), NEXT(k##2), NEXT(k##3), NEXT(k##4), NEXT(k##5), NEXT(k##6),        \
        NEXT(k##7), NEXT(k##8), NEXT(k##9)

static const optune_op_input inputs[OPTUNE_MAX_INPUTS + 1] = {
    {"data0", "tensor", "the first", false, false},
    NEXT(1),     NEXT(2),     NEXT(3),     NEXT(4),     NEXT(5),  NEXT(6),  NEXT(7),
    NEXT(8),     NEXT(9),     NEXT_TEN(1), NEXT_TEN(2), NEXT_TEN(3), NEXT_TEN(4),
    NEXT_TEN(5), NEXT(60),    NEXT(61),    NEXT(62),    NEXT(63),
};

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .description = "which",
     .shown = true},
    {.name = NULL},
};

/* The output's dim along the axis is the sum of the inputs': each narrows the others. */
static bool join_axis(optune_call *call, int axis)
{
    optune_dim *all = &call->output[0].dim[axis];
    const optune_dim *part[OPTUNE_MAX_INPUTS] = {NULL};
    int64_t low = 0, high = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const optune_tensor *in = &call->input[i].type;
        if (in->rank < 0)
            return true;
        low = host_dim_plus(low, in->dim[axis].min);
        high = host_dim_plus(high, in->dim[axis].max);
        part[i] = &in->dim[axis];
    }
    optune_dim_compute(all, call->n_inputs, part, NULL, 0, 1);
    if (high == OPTUNE_DIM_MAX ? all->max < low : !host_dim_narrow(all, low, high))
        return false;
    for (int i = 0; i < call->n_inputs; i++) {
        optune_dim *one = &call->input[i].type.dim[axis];
        int64_t others = 0; /* as long as they may be */
        for (int k = 0; k < call->n_inputs; k++)
            others = k == i ? others : host_dim_plus(others, call->input[k].type.dim[axis].max);
        const int64_t least = others == OPTUNE_DIM_MAX ? 0 : host_dim_plus(all->min, -others);
        const int64_t most = host_dim_plus(all->max, one->min - low);
        if (!host_dim_narrow(one, least, most))
            return false;
    }
    return true;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *out = &call->output[0];
    int rank = out->rank;
    for (int i = 0; i < call->n_inputs && rank < 0; i++)
        rank = call->input[i].type.rank;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < call->n_inputs; i++)
            if (!optune_dtype_unify(&call->input[i].type.dtype, &out->dtype))
                return optune_types_differ(err, "their dtypes differ", call->op->inputs[i].name,
                                           &call->input[i].type, "output", out);
    if (rank < 0)
        return 1;
    const int axis = injective_axis(call, optune_call_int(call, "axis"), rank, err);
    if (axis < 0)
        return axis;
    injective_attr(call, "axis")->i[0] = axis;
    bool fits = optune_tensor_set_rank(out, rank);
    for (int i = 0; i < 2 * call->n_inputs && fits; i++) {
        optune_tensor *in = &call->input[i % call->n_inputs].type;
        fits = optune_tensor_set_rank(in, rank);
        for (int d = 0; d < rank && fits; d++)
            fits = d == axis || optune_dim_unify(&in->dim[d], &out->dim[d]);
        if (!fits)
            return optune_types_differ(err, "only dims along 'axis' may differ",
                                       call->op->inputs[i % call->n_inputs].name, in, "output",
                                       out);
    }
    if (!fits || !join_axis(call, axis))
        return optune_fail(err, OPTUNE_ETYPE, "the output is not as long as its parts");
    return injective_known(call);
}

static int pieces(const optune_call *call, optune_piece *piece)
{
    const int axis =
        injective_axis(call, optune_call_int(call, "axis"), call->output[0].rank, NULL);
    int64_t at = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const optune_tensor *in = &call->input[i].type;
        piece[i] = injective_whole(call);
        piece[i].input = i;
        piece[i].extent[axis] = in->dim[axis].min;
        piece[i].out_offset = at * piece[i].out_stride[axis];
        injective_strides(in, piece[i].in_stride);
        at += in->dim[axis].min;
    }
    return call->n_inputs;
}

void concatenate_places(const optune_call *call, injective_places *to)
{
    *to = injective_axes(call);
    to->joined = injective_axis(call, optune_call_int(call, "axis"), to->axes, NULL);
}

static const char *const densenet[] = {
    "concatenate(f32[1,64,56,56], f32[1,32,56,56], axis=1)",
    "concatenate(f32[1,256,28,28], f32[1,32,28,28], axis=1)",
    "concatenate(f32[1,512,14,14], f32[1,32,14,14], axis=1)",
    NULL,
};

static const char *const inception[] = {
    "concatenate(f32[1,64,35,35], f32[1,64,35,35], f32[1,96,35,35], f32[1,32,35,35], axis=1)",
    "concatenate(f32[128,512], f32[128,256], axis=1)",
    NULL,
};

static const char *const large[] = {
    "concatenate(f32[67108864], f32[67108864])",
    NULL,
};

static const optune_preset presets[] = {
    {"densenet", "growing channels of DenseNet-121, batch 1", densenet},
    {"inception", "branches of Inception v3, and rows of features", inception},
    {"large", "512 MB: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "concatenate(f32[7], f32[5])",
    "concatenate(f32[3,5,17], f32[3,2,17], axis=1)",
    "concatenate(f32[3,5], f32[3,70], f32[3,1], axis=-1)",
    "concatenate(f64[2,9], f64[1,9], f64[4,9], f64[1,9])",
    "concatenate(i8[40,3], i8[40,90], axis=1)",
    "concatenate(f32[9,4])",
    NULL,
};

/* each input receives its slice of dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0), rank = call->output[0].rank;
    const int axis = (int)((optune_call_int(call, "axis") + rank) % rank);
    int64_t from = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const int64_t to = from + call->input[i].type.dim[axis].min;
        char begin[24 * OPTUNE_MAX_RANK], end[24 * OPTUNE_MAX_RANK];
        int b = 0, e = 0;
        for (int d = 0; d < rank; d++) {
            const char *comma = d ? "," : "";
            b += snprintf(begin + b, sizeof begin - (size_t)b, "%s%lld", comma,
                          d == axis ? (long long)from : 0);
            e += snprintf(end + e, sizeof end - (size_t)e, "%s%lld", comma,
                          d == axis ? (long long)to : (long long)call->output[0].dim[d].min);
        }
        if (optune_grad_wants(grad, i))
            optune_grad_add(grad, i,
                            optune_grad_call(grad, "strided_slice", 1, &dy,
                                             "begin=[%s], end=[%s]", begin, end));
        from = to;
    }
    return OPTUNE_OK;
}

static const optune_op_blocks blocks = {.axis = "axis"};

OPTUNE_OP(concatenate) = {
    .name = "concatenate",
    .blocks = &blocks,
    .summary = "tensors one after another along an axis",
    .support_level = 1,
    .inputs = inputs,
    .presets = presets,
    .joins = true,
    INJECTIVE_OWN_OP,
};
