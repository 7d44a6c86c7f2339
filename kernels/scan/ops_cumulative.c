/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum and cumprod: running sums and products along an axis or over the flattened elements,
 * Relay's. What they say of rounding, NaN, -0.0 and integers is in kernels/scan/scan.h.
 */
#include "kernels/scan/scan.h"

static const char *const ragged[] = {
    "cumsum(i32[4096], exclusive=true)",
    "cumsum(i32[1048576], exclusive=true)",
    "cumsum(i32[4096], dtype=i64, exclusive=true)",
    NULL,
};

static const char *const masks[] = {
    "cumsum(i32[8,2048], axis=1)",
    "cumsum(i32[64,512], axis=1)",
    "cumsum(bool[64,512], axis=1, dtype=i32)",
    NULL,
};

static const char *const sampling[] = {
    "cumsum(f32[1,32000], axis=1)",
    "cumsum(f32[32,50257], axis=1)",
    NULL,
};

static const char *const integral[] = {
    "cumsum(f32[1080,1920], axis=0)",
    "cumsum(f32[1080,1920], axis=1)",
    "cumsum(f32[16,1000,256], axis=1)",
    NULL,
};

static const char *const sum_memory[] = {
    "cumsum(f32[134217728])",
    "cumsum(f32[16384,8192], axis=0)",
    NULL,
};

static const optune_preset sum_presets[] = {
    {"ragged", "offsets of ragged batches from their lengths", ragged},
    {"masks", "positions from attention masks, one row a sequence", masks},
    {"sampling", "top-p sampling over vocabularies of 32000 and 50257", sampling},
    {"integral", "an integral image's two passes, and time series of 256 features", integral},
    {"memory", "512 MB, far beyond the caches", sum_memory},
    {NULL, NULL, NULL},
};

static const char *const sum_samples[] = {
    "cumsum(f32[1])",
    "cumsum(f32[1037])",
    "cumsum(f32[3,301], axis=1, exclusive=true)",
    "cumsum(f32[5,7,19], axis=1)",
    "cumsum(f32[23,131], axis=0, exclusive=true)",
    "cumsum(f32[4,150])",
    "cumsum(f64[2,3,67], axis=-1)",
    "cumsum(f64[11,37], axis=0)",
    "cumsum(f32[129], dtype=f64)",
    "cumsum(i32[9,77], axis=1)",
    "cumsum(i32[333], dtype=i64, exclusive=true)",
    "cumsum(i64[6,40], axis=0)",
    "cumsum(bool[13,70], axis=1, dtype=i32)",
    "cumsum(i32[70000])",
    NULL,
};

/* d data = the running sums of dy from the other end */
static int sum_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    const bool flat = optune_call_none(call, "axis");
    const int axis = flat ? 0 : (int)optune_call_int(call, "axis");
    const int turned = optune_grad_call(grad, "reverse", 1, &dy, "axis=%d", axis);
    const int sums = optune_grad_call(grad, "cumsum", 1, &turned, "axis=%d, exclusive=%s", axis,
                                      optune_call_int(call, "exclusive") ? "true" : "false");
    const int back = optune_grad_call(grad, "reverse", 1, &sums, "axis=%d", axis);
    optune_grad_add(grad, 0, optune_grad_reshape(grad, back, &call->input[0].type));
    return OPTUNE_OK;
}

static const char *const rays[] = {
    "cumprod(f32[4096,64], axis=1, exclusive=true)",
    "cumprod(f32[4096,192], axis=1, exclusive=true)",
    NULL,
};

static const char *const schedules[] = {
    "cumprod(f32[1000])",
    "cumprod(f32[1024,256], axis=0)",
    NULL,
};

static const char *const product_memory[] = {
    "cumprod(f32[134217728])",
    NULL,
};

static const optune_preset product_presets[] = {
    {"rays", "transmittance along rays of a radiance field, 64 and 192 samples", rays},
    {"schedules", "a diffusion schedule of 1000 steps; discounts of 256 agents", schedules},
    {"memory", "512 MB, far beyond the caches", product_memory},
    {NULL, NULL, NULL},
};

static const char *const product_samples[] = {
    "cumprod(f32[1])",
    "cumprod(f32[531])",
    "cumprod(f32[3,101], axis=1, exclusive=true)",
    "cumprod(f32[5,7,19], axis=1)",
    "cumprod(f64[23,131], axis=0, exclusive=true)",
    "cumprod(f64[3,67], axis=-1)",
    "cumprod(f32[61], dtype=f64)",
    "cumprod(i32[9,77], axis=1)",
    "cumprod(i32[6,40], axis=0, dtype=i64)",
    NULL,
};

#define SCAN_OP(id, text, what, meaning)                                                       \
    .name = id, .summary = text ", or over all elements", .inputs = SCAN_INPUTS,               \
    .attrs = SCAN_ATTRS("the " what), .n_outputs = 1, .pattern = OPTUNE_OPAQUE,                \
    .support_level = 10, .types = scan_types, .flops = scan_flops, .terms = scan_terms,        \
    .reference = meaning

OPTUNE_OPS(cumulative) = {
    {
        SCAN_OP("cumsum", "running sums along an axis", "sum", scan_sums),
        .presets = sum_presets,
        .gradient = sum_gradient,
        .samples = sum_samples,
    },
    {
        SCAN_OP("cumprod", "running products along an axis", "product", scan_products),
        .presets = product_presets,
        .samples = product_samples,
    },
    {0},
};
