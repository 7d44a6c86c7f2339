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
    "cumsum(f32[2,811,3], axis=1)",
    "cumsum(bf16[3,304], axis=1, exclusive=true)",
    "cumsum(f16[2,411,19], axis=1)",
    "cumsum(bf16[20000])",
    "cumsum(bf16[5,129], axis=1, dtype=f32)",
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
    const optune_tensor *in = &call->input[0].type;
    optune_grad_add(grad, 0, host_cast(grad, optune_grad_reshape(grad, back, in), in->dtype));
    return OPTUNE_OK;
}

/* What lies `by` further along the axis of [outer][n][inner]; 0 behind the end. */
static int shifted(optune_grad *grad, int value, int64_t by)
{
    return optune_grad_call(grad, "pad", 1, &value,
                            "before=[0,%" PRId64 ",0], after=[0,%" PRId64 ",0]", -by, by);
}

/*
 * d data[i] = the product of what is before i, times s[i], where s[i] = dy[i] + data[i+1] s[i+1]
 * sums what reaches every product behind it; exclusive products begin with dy[i+1] instead. With
 * no division, so that zeros are as good as any. Pairs (factor, sum) of 2, 4, 8 ... elements are
 * joined in as many rounds as n has digits.
 */
static int product_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    const optune_tensor *in = &call->input[0].type;
    if (!scan_known(call))
        return optune_fail(err, OPTUNE_ETYPE, "this gradient needs constant dims");
    if (optune_tensor_elements(in) == 0)
        return OPTUNE_OK;
    const host_axis at = scan_shape_of(call).at;
    const optune_tensor lines = {
        .rank = 3,
        .dim = {optune_dim_of(at.outer), optune_dim_of(at.n), optune_dim_of(at.inner)}};
    const bool exclusive = optune_call_int(call, "exclusive");
    int sum = optune_grad_reshape(grad, optune_grad_adjoint(grad, 0), &lines);
    int x = host_cast(grad, optune_grad_input(grad, 0), call->output[0].dtype);
    x = optune_grad_reshape(grad, x, &lines);
    const int before = optune_grad_call(grad, "cumprod", 1, &x, "axis=1, exclusive=true");
    int factor = shifted(grad, x, 1);
    sum = exclusive ? shifted(grad, sum, 1) : sum;
    for (int64_t by = 1; by < at.n; by *= 2) {
        const int reaches =
            optune_grad_binary(grad, "multiply", factor, shifted(grad, sum, by));
        sum = optune_grad_binary(grad, "add", sum, reaches);
        if (2 * by < at.n)
            factor = optune_grad_binary(grad, "multiply", factor, shifted(grad, factor, by));
    }
    const int dx = optune_grad_binary(grad, "multiply", before, sum);
    optune_grad_add(grad, 0, host_cast(grad, optune_grad_reshape(grad, dx, in), in->dtype));
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
    "cumprod(f64[2,2500], axis=1)",
    "cumprod(f32[3,101], axis=1, exclusive=true)",
    "cumprod(f32[5,7,19], axis=1)",
    "cumprod(f64[23,131], axis=0, exclusive=true)",
    "cumprod(f64[3,67], axis=-1)",
    "cumprod(f32[61], dtype=f64)",
    "cumprod(i32[9,77], axis=1)",
    "cumprod(i32[6,40], axis=0, dtype=i64)",
    "cumprod(bf16[3,104], axis=1, exclusive=true)",
    "cumprod(f16[5,17,9], axis=1)",
    NULL,
};

#define SCAN_OP(id, text, what, meaning)                                                       \
    .name = id, .summary = text ", or over all elements", .inputs = SCAN_INPUTS,               \
    .attrs = SCAN_ATTRS("the " what), .n_outputs = 1, .pattern = OPTUNE_OPAQUE,                \
    .family = "scan", .support_level = 10, .types = scan_types, .flops = scan_flops,           \
    .terms = scan_terms, .reference = meaning, .whole = meaning##_whole

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
        .gradient = product_gradient,
        .samples = product_samples,
    },
    {0},
};
