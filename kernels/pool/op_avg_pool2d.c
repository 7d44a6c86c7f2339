/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avg_pool2d: the mean of each window. Relay's nn.avg_pool2d.
 *
 * The sum of the elements inside the data is divided by their number, or, with
 * count_include_pad, by the number of positions inside data and padding: what ceil_mode adds
 * beyond the padding never counts. A window that counts nothing gives 0. A NaN makes its windows
 * NaN. Means of integers are cut off towards 0.
 */
#include "kernels/pool/forward.h"

static const optune_op_input inputs[] = {POOL_INPUTS, {0}};
static const optune_op_attr attrs[] = {POOL_ATTRS, POOL_COUNT_ATTR, {0}};

static int types(optune_call *call, optune_err *err)
{
    const int status = pool_forward_types(call, err);
    const optune_tensor *data = &call->input[0].type;
    if (status < 0 || data->dtype.code != OPTUNE_DTYPE_BOOL)
        return status;
    return tensor_misfit(err, "avg_pool2d", "output", &call->output[0], "argument 1 (data)",
                         data, "a mean of bool is none");
}

static double terms(const optune_call *call)
{
    const int64_t *size = optune_call_ints(call, "pool_size");
    return (double)(size[0] * size[1]) + 1; /* and the quotient */
}

static void each(const pool_walk *w, int64_t plane, int64_t lane, int64_t y, int64_t x,
                 int64_t k)
{
    const pool_axis *const ay = &w->s.y, *const ax = &w->s.x;
    const pool_span sy = pool_taps(ay, y), sx = pool_taps(ax, x);
    double sum = 0, size = 0;
    for (int64_t i = sy.first; i < sy.last; i++)
        for (int64_t j = sx.first; j < sx.last; j++) {
            const double v = pool_read(w, plane, lane, y, x, i, j);
            sum += v;
            size += fabs(v);
        }
    const int64_t count = pool_count(ay, y, w->s.count_pad) * pool_count(ax, x, w->s.count_pad);
    w->out[k] = count ? sum / (double)count : 0;
    w->magnitude[k] = count ? size / (double)count : 0;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    pool_forward_reference(call, in, region, out, magnitude, each);
}

static const char *const inception[] = {
    "avg_pool2d(f32[1,192,35,35], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    "avg_pool2d(f32[1,288,35,35], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    "avg_pool2d(f32[1,768,17,17], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    "avg_pool2d(f32[1,1280,8,8], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    "avg_pool2d(f32[1,2048,8,8], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    NULL,
};

static const char *const densenet[] = {
    "avg_pool2d(f32[1,128,56,56], pool_size=[2,2], strides=[2,2])",
    "avg_pool2d(f32[1,256,28,28], pool_size=[2,2], strides=[2,2])",
    "avg_pool2d(f32[1,512,14,14], pool_size=[2,2], strides=[2,2])",
    NULL,
};

static const optune_preset presets[] = {
    {"inception_v3", "the branches of Inception v3, batch 1", inception},
    {"densenet121", "the transitions of DenseNet-121, batch 1", densenet},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "avg_pool2d(f32[1,3,37,41], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "avg_pool2d(f32[2,5,16,70], pool_size=[2,2], strides=[2,2])",
    "avg_pool2d(f32[1,2,19,33], pool_size=[3,3], padding=[1,1], count_include_pad=true)",
    "avg_pool2d(f32[1,3,7,7], pool_size=[3,3], padding=[1,1])",
    "avg_pool2d(f32[1,2,23,39], pool_size=[3,2], strides=[2,3], padding=[1,0,2,1])",
    "avg_pool2d(f32[1,2,20,45], pool_size=[2,3], dilation=[2,3], strides=[1,2])",
    "avg_pool2d(f32[1,2,14,36], pool_size=[3,3], strides=[2,2], padding=[1,1], "
    "ceil_mode=true, count_include_pad=true)",
    "avg_pool2d(f32[1,1,5,6], pool_size=[5,6])",
    "avg_pool2d(f64[1,3,15,29], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "avg_pool2d(f32[1,2,15,13,16], pool_size=[3,3], strides=[2,2], padding=[1,1], "
    "layout=NCHW16c)",
    "avg_pool2d(f32[2,1,9,11,8], pool_size=[2,3], padding=[0,1], layout=NCHW8c, "
    "ceil_mode=true, count_include_pad=true)",
    "avg_pool2d(f32[1,2,7,8,3], pool_size=[2,2], strides=[2,2], layout=NCHW3c)",
    "avg_pool2d(f64[1,1,8,9,8], pool_size=[3,3], padding=[1,1], layout=NCHW8c)",
    "avg_pool2d(f16[1,3,17,24], pool_size=[3,3], padding=[1,1])",
    "avg_pool2d(f32[1,2,9,20], pool_size=[4,3], strides=[2,1], padding=[2,1,1,1], "
    "ceil_mode=true)",
    NULL,
};

/* d data: each element of a window receives its share of dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return pool_forward_gradient(grad, "avg_pool2d_grad");
}

static const optune_op_blocks blocks = {1, .in = "layout"};

OPTUNE_OP(avg_pool2d) = {
    .name = "avg_pool2d",
    .blocks = &blocks,
    .summary = "the mean of each window",
    .inputs = inputs,
    .attrs = attrs,
    .family = "pool",
    .support_level = 2,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, pool_forward_flops, terms, reference),
};
