/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumprod: running products along an axis or over the flattened elements, Relay's cumprod. What
 * it says of rounding, NaN and integers is in kernels/scan/scan.h, which it shares with
 * cumsum.
 */
#include "kernels/scan/scan.h"

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

static const char *const memory[] = {
    "cumprod(f32[134217728])",
    NULL,
};

static const optune_preset presets[] = {
    {"rays", "transmittance along rays of a radiance field, 64 and 192 samples", rays},
    {"schedules", "a diffusion schedule of 1000 steps; discounts of 256 agents", schedules},
    {"memory", "512 MB, far beyond the caches", memory},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
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

OPTUNE_OP(cumprod) = {
    .name = "cumprod",
    .summary = "running products along an axis, or over all elements",
    .inputs = SCAN_INPUTS,
    .attrs = SCAN_ATTRS("the product"),
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 10,
    .types = scan_types,
    .flops = scan_flops,
    .terms = scan_terms,
    .reference = scan_reference,
    .presets = presets,
    .samples = samples,
};
