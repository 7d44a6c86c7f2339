/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_avg_pool2d: the mean of each channel of each image; the output keeps its two spatial
 * dims, of extent 1. Relay's nn.global_avg_pool2d. A NaN makes its channel NaN;
 * means of integers are cut off towards 0.
 */
#include <math.h>

#include "kernels/pool/global/global_avg_pool2d.h"

static const optune_op_input inputs[] = {
    {.name = "data",
     .type = "tensor [N,C,H,W] or [N,C/c,H,W,c]",
     .description = "Activations, in `layout`."},
    {0},
};

static const optune_op_attr attrs[] = {
    {.name = "layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "NCHW",
     .description = "NCHW, or NCHW<c>c with c channels innermost."},
    {0},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    const char *layout = optune_call_word(call, "layout");
    const int block = tensor_layout_block(layout);
    if (block < 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "global_avg_pool2d: layout=%s is neither NCHW nor NCHW<c>c", layout);
    if (data->dtype.code == OPTUNE_DTYPE_BOOL)
        return tensor_misfit(err, "global_avg_pool2d", "output", out, "argument 1 (data)", data,
                             "a mean of bool is none");
    const int rank = block ? 5 : 4;
    bool fits = optune_tensor_set_rank(data, rank) && optune_tensor_set_rank(out, rank) &&
                optune_dtype_unify(&data->dtype, &out->dtype);
    for (int d = 0; d < rank && fits; d++) {
        optune_dim one = optune_dim_of(1), inner = optune_dim_of(block);
        if (d == 4)
            fits = optune_dim_unify(&data->dim[d], &inner);
        if (fits)
            fits = d == 2 || d == 3 ? optune_dim_unify(&out->dim[d], &one)
                                    : optune_dim_unify(&out->dim[d], &data->dim[d]);
        fits = fits && (d == 0 || data->dim[d].max >= 1); /* a batch may have no image */
    }
    if (!fits)
        return tensor_misfit(err, "global_avg_pool2d", "output", out, "argument 1 (data)", data,
                             "the output has the data's type with a height and width of 1");
    return optune_tensor_known(data) && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

static double flops(const optune_call *call)
{
    const optune_tensor *data = &call->input[0].type;
    return optune_tensor_known(data) ? (double)optune_tensor_elements(data) : 0;
}

static double terms(const optune_call *call)
{
    global_shape s;
    return global_shape_of(call, &s) ? (double)s.pixels + 1 : 1; /* and the quotient */
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *r, double *out, double *magnitude)
{
    (void)out_index;
    global_shape s;
    if (!global_shape_of(call, &s))
        return;
    const int64_t channels = call->output[0].dim[1].min;
    const int64_t lane_lo = r->rank == 5 ? r->lo[4] : 0, lane_hi = r->rank == 5 ? r->hi[4] : 1;
    for (int64_t n = r->lo[0]; n < r->hi[0]; n++)
        for (int64_t c = r->lo[1]; c < r->hi[1]; c++)
            for (int64_t lane = lane_lo; lane < lane_hi; lane++) {
                double sum = 0, size = 0;
                for (int64_t i = 0; i < s.pixels; i++) {
                    const double v =
                        tensor_element(in[0], call->output[0].dtype,
                                       ((n * channels + c) * s.pixels + i) * s.block + lane);
                    sum += v;
                    size += fabs(v);
                }
                *out++ = sum / (double)s.pixels;
                *magnitude++ = size / (double)s.pixels;
            }
}

static const char *const networks[] = {
    "global_avg_pool2d(f32[1,2048,7,7])",  "global_avg_pool2d(f32[1,512,7,7])",
    "global_avg_pool2d(f32[1,2048,8,8])",  "global_avg_pool2d(f32[1,1280,7,7])",
    "global_avg_pool2d(f32[32,2048,7,7])", NULL,
};

static const char *const blocked[] = {
    "global_avg_pool2d(f32[1,128,7,7,16], layout=NCHW16c)",
    NULL,
};

static const optune_preset presets[] = {
    {"networks", "ResNet-50 and -18, Inception v3, MobileNet v2; ResNet-50 in batches",
     networks},
    {"resnet50-NCHW16c", "that of ResNet-50 in blocks of 16 channels", blocked},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "global_avg_pool2d(f32[1,19,7,7])",
    "global_avg_pool2d(f32[2,33,8,8])",
    "global_avg_pool2d(f32[1,5,1,3])",
    "global_avg_pool2d(f32[1,7,1,1])",
    "global_avg_pool2d(f32[3,2,37,41])",
    "global_avg_pool2d(f32[1,3,5,7,16], layout=NCHW16c)",
    "global_avg_pool2d(f32[2,2,3,3,5], layout=NCHW5c)",
    "global_avg_pool2d(f64[1,9,7,7])",
    NULL,
};

/* d data = dy / (height width), broadcast */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    const double n = (double)optune_tensor_elements(&call->input[0].type) /
                     (double)optune_tensor_elements(&call->output[0]);
    const int share = optune_grad_binary(grad, "divide", dy, optune_grad_scalar(grad, dy, n));
    optune_grad_add(
        grad, 0,
        optune_grad_binary(grad, "broadcast_to_like", share, optune_grad_input(grad, 0)));
    return OPTUNE_OK;
}

static const optune_op_blocks blocks = {1, .in = "layout"};

OPTUNE_OP(global_avg_pool2d) = {
    .name = "global_avg_pool2d",
    .blocks = &blocks,
    .summary = "the mean of each channel",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 2,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};
