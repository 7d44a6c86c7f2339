/* SPDX-License-Identifier: Apache-2.0 */
/* add: lhs + rhs, broadcast. Integers wrap; NaN when either is. */
#include "kernels/elementwise/binary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, x0 + x1);

static const char *const samples[] = {
    "add(f32[7], f32[7])",
    "add(f32[3,5,17], f32[17])",
    "add(f32[4,1,33], f32[1,6,1])",
    "add(f32[2,3,4,5], f32[3,1,1])",
    "add(f64[129], f64[])",
    "add(f64[5,40], f64[5,40])",
    "add(i32[3,70], i32[3,1])",
    "add(u8[200], u8[200])",
    NULL,
};

static const char *const residual[] = {
    "add(f32[1,256,56,56], f32[1,256,56,56])",
    "add(f32[1,512,28,28], f32[1,512,28,28])",
    "add(f32[1,1024,14,14], f32[1,1024,14,14])",
    "add(f32[1,2048,7,7], f32[1,2048,7,7])",
    NULL,
};

static const char *const bias[] = {
    "add(f32[1,64,112,112], f32[64,1,1])",
    "add(f32[128,3072], f32[3072])",
    NULL,
};

static const char *const large[] = {
    "add(f32[67108864], f32[67108864])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "the residual sums of ResNet-50, batch 1", residual},
    {"bias", "one value for each channel", bias},
    {"large", "256 MB each: limited by memory", large},
    {NULL, NULL, NULL},
};

/* d lhs = d rhs = dy, each summed down to its shape */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, dy);
    optune_grad_add(grad, 1, dy);
    return OPTUNE_OK;
}

OPTUNE_OP(add) = {
    .name = "add",
    .summary = "sum of two tensors",
    .inputs = binary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .presets = presets,
    OPTUNE_BROADCAST_OP(expression),
};
