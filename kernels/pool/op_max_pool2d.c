/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d: the largest element of each window. Relay's nn.max_pool2d.
 *
 * A window with a NaN gives a NaN. One that holds nothing but padding gives -infinity,
 * of integers the smallest. Of two zeros
 * either may be returned. Results are exact.
 */
#include "kernels/pool/forward.h"

static const optune_op_input inputs[] = {POOL_INPUTS, {0}};
static const optune_op_attr attrs[] = {POOL_ATTRS, {0}};

static void each(const pool_walk *w, int64_t plane, int64_t lane, int64_t y, int64_t x,
                 int64_t k)
{
    const pool_axis *const ay = &w->s.y, *const ax = &w->s.x;
    const pool_span sy = pool_taps(ay, y), sx = pool_taps(ax, x);
    double most = optune_number_in(w->dtype, -INFINITY);
    for (int64_t i = sy.first; i < sy.last; i++)
        for (int64_t j = sx.first; j < sx.last; j++) {
            const double v = pool_read(w, plane, lane, y, x, i, j);
            most = v > most || isnan(v) ? v : most;
        }
    w->out[k] = most;
    w->magnitude[k] = isinf(most) ? 0 : fabs(most);
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    pool_forward_reference(call, in, region, out, magnitude, each);
}

static const char *const resnet50[] = {
    "max_pool2d(f32[1,64,112,112], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    NULL,
};

static const char *const vgg16[] = {
    "max_pool2d(f32[1,64,224,224], pool_size=[2,2], strides=[2,2])",
    "max_pool2d(f32[1,128,112,112], pool_size=[2,2], strides=[2,2])",
    "max_pool2d(f32[1,256,56,56], pool_size=[2,2], strides=[2,2])",
    "max_pool2d(f32[1,512,28,28], pool_size=[2,2], strides=[2,2])",
    "max_pool2d(f32[1,512,14,14], pool_size=[2,2], strides=[2,2])",
    NULL,
};

static const char *const inception[] = {
    "max_pool2d(f32[1,64,147,147], pool_size=[3,3], strides=[2,2])",
    "max_pool2d(f32[1,192,71,71], pool_size=[3,3], strides=[2,2])",
    "max_pool2d(f32[1,288,35,35], pool_size=[3,3], strides=[2,2])",
    "max_pool2d(f32[1,768,17,17], pool_size=[3,3], strides=[2,2])",
    NULL,
};

static const char *const resnet50_blocked[] = {
    "max_pool2d(f32[1,4,112,112,16], pool_size=[3,3], strides=[2,2], padding=[1,1], "
    "layout=NCHW16c)",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "the one of ResNet-50, batch 1", resnet50},
    {"vgg16", "the five of VGG-16, batch 1", vgg16},
    {"inception_v3", "the four of Inception v3, batch 1", inception},
    {"resnet50-NCHW16c", "that of ResNet-50 in blocks of 16 channels", resnet50_blocked},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "max_pool2d(f32[1,3,37,41], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "max_pool2d(f32[2,5,16,70], pool_size=[2,2], strides=[2,2])",
    "max_pool2d(f32[1,2,19,33], pool_size=[3,3], padding=[1,1])",
    "max_pool2d(f32[1,3,7,7], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "max_pool2d(f32[1,2,23,39], pool_size=[3,2], strides=[2,3], padding=[1,0,2,1])",
    "max_pool2d(f32[1,2,20,45], pool_size=[2,3], dilation=[2,3], strides=[1,2])",
    "max_pool2d(f32[1,2,14,35], pool_size=[3,3], strides=[2,2], ceil_mode=true)",
    "max_pool2d(f32[1,2,9,20], pool_size=[5,5], padding=[2,2])",
    "max_pool2d(f32[1,1,5,6], pool_size=[5,6])",
    "max_pool2d(f64[1,3,15,29], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "max_pool2d(f32[1,2,15,13,16], pool_size=[3,3], strides=[2,2], padding=[1,1], "
    "layout=NCHW16c)",
    "max_pool2d(f32[2,1,9,11,8], pool_size=[2,3], padding=[0,1], layout=NCHW8c, "
    "ceil_mode=true)",
    "max_pool2d(f32[1,2,7,8,3], pool_size=[2,2], strides=[2,2], layout=NCHW3c)",
    "max_pool2d(f32[1,2,11,10,32], pool_size=[3,3], dilation=[2,2], padding=[1,2], "
    "layout=NCHW32c)",
    "max_pool2d(f64[1,1,8,9,8], pool_size=[3,3], padding=[1,1], layout=NCHW8c)",
    "max_pool2d(bf16[1,3,19,48], pool_size=[3,3], strides=[2,2], padding=[1,1])",
    "max_pool2d(u8[2,1,13,12,64], pool_size=[3,3], strides=[2,2], padding=[1,1], "
    "layout=NCHW64c)",
    "max_pool2d(i8[1,1,9,11,83], pool_size=[2,3], dilation=[2,1], padding=[1,2], "
    "layout=NCHW83c, ceil_mode=true)",
    "max_pool2d(u8[1,2,6,7,24], pool_size=[5,5], strides=[3,3], padding=[4,4], "
    "layout=NCHW24c)",
    NULL,
};

/* d data: each window's first largest element receives its dy */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    return pool_forward_gradient(grad, "max_pool2d_grad");
}

static const optune_op_blocks blocks = {1, .in = "layout"};

OPTUNE_OP(max_pool2d) = {
    .name = "max_pool2d",
    .blocks = &blocks,
    .summary = "the largest element of each window",
    .inputs = inputs,
    .attrs = attrs,
    .family = "pool",
    .support_level = 2,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(pool_forward_types, pool_forward_flops, NULL, reference),
};
