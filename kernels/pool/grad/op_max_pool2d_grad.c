/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d_grad: what the gradient of max_pool2d's result gives to its data. Relay's
 * nn.max_pool2d_grad.
 *
 * The gradient of a window goes to its first element, in row-major order, that is its maximum:
 * the first NaN where there is one, the first element where nothing exceeds -infinity, nowhere
 * where a window holds only padding. Elements in several windows get the sum.
 */
#include "kernels/pool/grad/grad.h"

static const optune_op_input inputs[] = {POOL_GRAD_INPUTS, {0}};
static const optune_op_attr attrs[] = {POOL_ATTRS, {0}};

/* Whether (y, x) is what window (oy, ox) takes its maximum from. */
static bool chosen(const pool_walk *w, int64_t plane, int64_t lane, int64_t oy, int64_t ox,
                   int64_t y, int64_t x)
{
    const pool_axis *const ay = &w->s.y, *const ax = &w->s.x;
    const pool_span sy = pool_taps(ay, oy), sx = pool_taps(ax, ox);
    double most = 0;
    int64_t at_y = -1, at_x = -1;
    for (int64_t i = sy.first; i < sy.last; i++)
        for (int64_t j = sx.first; j < sx.last; j++) {
            const int64_t row = pool_position(ay, oy, i);
            const int64_t col = pool_position(ax, ox, j);
            const double v = tensor_element(w->in[POOL_DATA], w->dtype,
                                            pool_in_at(&w->s, plane, row, col, lane));
            if (at_y < 0 || (!isnan(most) && (v > most || isnan(v)))) {
                most = v;
                at_y = row;
                at_x = col;
            }
        }
    return at_y == y && at_x == x;
}

static double share(const pool_walk *w, int64_t plane, int64_t lane, int64_t oy, int64_t ox,
                    int64_t y, int64_t x)
{
    return chosen(w, plane, lane, oy, ox, y, x) ? pool_grad_of(w, plane, lane, oy, ox) : 0;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    pool_grad_reference(call, in, region, out, magnitude, share);
}

static const char *const resnet50[] = {
    "max_pool2d_grad(f32[1,64,56,56], f32[1,64,112,112], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    NULL,
};

static const char *const vgg16[] = {
    "max_pool2d_grad(f32[1,64,112,112], f32[1,64,224,224], pool_size=[2,2], strides=[2,2])",
    "max_pool2d_grad(f32[1,512,14,14], f32[1,512,28,28], pool_size=[2,2], strides=[2,2])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "the one of ResNet-50, batch 1", resnet50},
    {"vgg16", "the first and the fourth of VGG-16, batch 1", vgg16},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "max_pool2d_grad(f32[1,3,19,21], f32[1,3,37,41], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    "max_pool2d_grad(f32[2,3,8,35], f32[2,3,16,70], pool_size=[2,2], strides=[2,2])",
    "max_pool2d_grad(f32[1,2,19,33], f32[1,2,19,33], pool_size=[3,3], padding=[1,1])",
    "max_pool2d_grad(f32[1,2,12,13], f32[1,2,23,39], pool_size=[3,2], strides=[2,3], "
    "padding=[1,0,2,1])",
    "max_pool2d_grad(f32[1,2,18,20], f32[1,2,20,45], pool_size=[2,3], dilation=[2,3], "
    "strides=[1,2])",
    "max_pool2d_grad(f32[1,2,7,17], f32[1,2,14,35], pool_size=[3,3], strides=[2,2], "
    "ceil_mode=true)",
    "max_pool2d_grad(f64[1,3,8,15], f64[1,3,15,29], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    "max_pool2d_grad(f32[1,2,8,7,16], f32[1,2,15,13,16], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1], layout=NCHW16c)",
    "max_pool2d_grad(f32[1,2,3,4,3], f32[1,2,7,8,3], pool_size=[2,2], strides=[2,2], "
    "layout=NCHW3c)",
    NULL,
};

OPTUNE_OP(max_pool2d_grad) = {
    .name = "max_pool2d_grad",
    .summary = "the gradient of max_pool2d with respect to its data",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 2,
    .presets = presets,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(pool_backward_types, pool_grad_flops, pool_grad_terms, reference),
};
