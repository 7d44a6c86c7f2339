/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max: the largest value over axes. NaN when a value is NaN; of nothing: the identity, minus
 * infinity or the dtype's extreme.
 */
#include "kernels/reduce/arguments.h"

OPTUNE_SCALAR(identity, 0, s_lowest);
OPTUNE_SCALAR(combine, 0, s_max(x0, x1));

static const optune_reduce expressions = {&identity, &reduce_value, &combine, &reduce_value,
                                          false};

static const char *const resnet50[] = {
    "max(f32[1,2048,7,7], axis=[2,3])",
    "max(f32[32,2048,7,7], axis=[2,3])",
    "max(f32[32,64,56,56], axis=[0,2,3])",
    NULL,
};

static const char *const bert[] = {
    "max(f32[128,768], axis=[-1], keepdims=true)",
    "max(f32[12,128,128], axis=[-1], keepdims=true)",
    "max(f32[128,3072], axis=[0])",
    NULL,
};

static const char *const large[] = {
    "max(f32[16384,8192], axis=[1])",
    "max(f32[16384,8192], axis=[0])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "global pooling and channel statistics of ResNet-50", resnet50},
    {"bert-base", "rows of a BERT base layer, sequence 128, and a bias gradient", bert},
    {"large", "512 MB, over either dim: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "max(f32[7])",
    "max(f32[33,70], axis=[1])",
    "max(f32[33,70], axis=[0])",
    "max(f32[3,5,17], axis=[0,2], keepdims=true)",
    "max(f32[3,5,17], axis=[1], exclude=true)",
    "max(f32[2,3,4,37], axis=[1,3])",
    "max(f32[5,6,1,9], axis=[0,2])",
    "max(f64[2,1001], axis=[-1])",
    "max(f64[129,5], axis=[0], keepdims=true)",
    "max(i32[9,70], axis=[0])",
    "max(i32[9,70], axis=[1])",
    NULL,
};

/* dy goes to the values chosen, in equal parts */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    reduce_give_to_chosen(grad, call);
    return OPTUNE_OK;
}

OPTUNE_OP(max) = {
    .name = "max",
    .summary = "largest value over axes",
    .inputs = reduce_inputs,
    .attrs = reduce_attrs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    .presets = presets,
    OPTUNE_REDUCTION_OP(expressions),
};
