/* SPDX-License-Identifier: Apache-2.0 */
/* mean: the sum over axes divided by how many values there are. NaN when a value is NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/reduce/arguments.h"

OPTUNE_SCALAR(quotient, 2, x0 / x1);

static const optune_reduce expressions = {&reduce_zero, &reduce_value, &reduce_plus, &quotient,
                                          true};

static int types(optune_call *call, optune_err *err)
{
    const int status = optune_reduce_types(call, err);
    return status < 0 ? status : unary_floats(call, status, err);
}

static const char *const resnet50[] = {
    "mean(f32[1,2048,7,7], axis=[2,3])",
    "mean(f32[32,2048,7,7], axis=[2,3])",
    "mean(f32[32,64,56,56], axis=[0,2,3])",
    NULL,
};

static const char *const bert[] = {
    "mean(f32[128,768], axis=[-1], keepdims=true)",
    "mean(f32[12,128,128], axis=[-1], keepdims=true)",
    "mean(f32[128,3072], axis=[0])",
    NULL,
};

static const char *const large[] = {
    "mean(f32[16384,8192], axis=[1])",
    "mean(f32[16384,8192], axis=[0])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "global pooling and channel statistics of ResNet-50", resnet50},
    {"bert-base", "rows of a BERT base layer, sequence 128, and a bias gradient", bert},
    {"large", "512 MB, over either dim: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "mean(f32[7])",
    "mean(f32[33,70], axis=[1])",
    "mean(f32[33,70], axis=[0])",
    "mean(f32[3,5,17], axis=[0,2], keepdims=true)",
    "mean(f32[3,5,17], axis=[1], exclude=true)",
    "mean(f32[2,3,4,37], axis=[1,3])",
    "mean(f32[5,6,1,9], axis=[0,2])",
    "mean(f64[2,1001], axis=[-1])",
    "mean(f64[129,5], axis=[0], keepdims=true)",
    NULL,
};

/* d data = dy / n, broadcast over what was averaged */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    const double n = (double)optune_tensor_elements(&call->input[0].type) /
                     (double)optune_tensor_elements(&call->output[0]);
    const int share = optune_grad_binary(grad, "divide", dy, optune_grad_scalar(grad, dy, n));
    optune_grad_add(grad, 0, reduce_spread(grad, call, share));
    return OPTUNE_OK;
}

OPTUNE_OP(mean) = {
    .name = "mean",
    .summary = "mean over axes",
    .inputs = reduce_inputs,
    .attrs = reduce_attrs,
    .support_level = 4,
    .gradient = gradient,
    .samples = samples,
    .presets = presets,
    .pattern = OPTUNE_REDUCTION,
    .n_outputs = 1,
    .reduce = &expressions,
    .types = types,
    .flops = optune_pattern_flops,
    .terms = optune_pattern_terms,
    .reference = optune_pattern_reference,
};
