/* SPDX-License-Identifier: Apache-2.0 */
/* relu: the larger of data and 0. NaN stays NaN. */
#include "kernels/elementwise/unary.h"
#include "kernels/host/scalar.h"

OPTUNE_SCALAR(expression, 0, s_max(x0, 0));

static const char *const resnet50[] = {
    "relu(f32[1,64,112,112])",
    "relu(f32[1,256,56,56])",
    "relu(f32[1,512,28,28])",
    "relu(f32[1,2048,7,7])",
    NULL,
};

static const char *const large[] = {
    "relu(f32[134217728])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "the sizes of activations of ResNet-50, batch 1", resnet50},
    {"large", "512 MB: limited by memory", large},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "relu(f32[7])",    "relu(f32[3,5,17])", "relu(f32[])",   "relu(f32[2,1037])",
    "relu(f64[9,31])", "relu(i32[3,70])",   "relu(i8[130])", NULL,
};

/* d data = dy where data is positive */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int x = optune_grad_input(grad, 0);
    const int dy = optune_grad_adjoint(grad, 0);
    const int zero = optune_grad_scalar(grad, dy, 0);
    const int positive = optune_grad_binary(grad, "greater", x, zero);
    optune_grad_add(
        grad, 0, optune_grad_call(grad, "where", 3, (const int[]){positive, dy, zero}, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(relu) = {
    .name = "relu",
    .summary = "the larger of data and 0",
    .inputs = unary_inputs,
    .support_level = 1,
    .gradient = gradient,
    .samples = samples,
    .presets = presets,
    OPTUNE_ELEMWISE_OP(expression),
};
