/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum: running sums along an axis or over the flattened elements, Relay's cumsum. What it
 * says of rounding, NaN, -0.0 and integers is in kernels/scan/scan.h, which it shares with
 * cumprod.
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

static const char *const memory[] = {
    "cumsum(f32[134217728])",
    "cumsum(f32[16384,8192], axis=0)",
    NULL,
};

static const optune_preset presets[] = {
    {"ragged", "offsets of ragged batches from their lengths", ragged},
    {"masks", "positions from attention masks, one row a sequence", masks},
    {"sampling", "top-p sampling over vocabularies of 32000 and 50257", sampling},
    {"integral", "an integral image's two passes, and time series of 256 features", integral},
    {"memory", "512 MB, far beyond the caches", memory},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
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
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
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

OPTUNE_OP(cumsum) = {
    .name = "cumsum",
    .summary = "running sums along an axis, or over all elements",
    .inputs = SCAN_INPUTS,
    .attrs = SCAN_ATTRS("the sum"),
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 10,
    .types = scan_types,
    .flops = scan_flops,
    .terms = scan_terms,
    .reference = scan_reference,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
};
