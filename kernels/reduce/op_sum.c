/* SPDX-License-Identifier: Apache-2.0 */
/* sum: the sum over axes. Integers wrap; NaN when a value is NaN; of nothing: 0. */
#include "kernels/reduce/arguments.h"

static const optune_reduce expressions = {&reduce_zero, &reduce_value, &reduce_plus,
                                          &reduce_value, true};

static const char *const resnet50[] = {
    "sum(f32[1,2048,7,7], axis=[2,3])",
    "sum(f32[32,2048,7,7], axis=[2,3])",
    "sum(f32[32,64,56,56], axis=[0,2,3])",
    NULL,
};

static const char *const bert[] = {
    "sum(f32[128,768], axis=[-1], keepdims=true)",
    "sum(f32[12,128,128], axis=[-1], keepdims=true)",
    "sum(f32[128,3072], axis=[0])",
    NULL,
};

static const char *const large[] = {
    "sum(f32[16384,8192], axis=[1])",
    "sum(f32[16384,8192], axis=[0])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "global pooling and channel statistics of ResNet-50", resnet50},
    {"bert-base", "rows of a BERT base layer, sequence 128, and a bias gradient", bert},
    {"large", "512 MB, over either dim: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "sum(f32[7])",
    "sum(f32[33,70], axis=[1])",
    "sum(f32[33,70], axis=[0])",
    "sum(f32[3,5,17], axis=[0,2], keepdims=true)",
    "sum(f32[3,5,17], axis=[1], exclude=true)",
    "sum(f32[2,3,4,37], axis=[1,3])",
    "sum(f32[5,6,1,9], axis=[0,2])",
    "sum(f64[2,1001], axis=[-1])",
    "sum(f64[129,5], axis=[0], keepdims=true)",
    "sum(i32[9,70], axis=[0])",
    "sum(i32[9,70], axis=[1])",
    NULL,
};

/* d data = dy, broadcast over what was summed */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    optune_grad_add(grad, 0, reduce_spread(grad, call, optune_grad_adjoint(grad, 0)));
    return OPTUNE_OK;
}

OPTUNE_OP(sum) = {
    .name = "sum",
    .summary = "sum over axes",
    .inputs = reduce_inputs,
    .attrs = reduce_attrs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    .presets = presets,
    OPTUNE_REDUCTION_OP(expressions),
};
