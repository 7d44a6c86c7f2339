/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avg_pool2d_grad: what the gradient of avg_pool2d's result gives to its data: each window shares
 * its gradient equally among the elements it holds, divided by what it counted. Relay's
 * nn.avg_pool2d_grad. `data` gives the type; its values are not read.
 */
#include "kernels/pool/grad/grad.h"

static const optune_op_input inputs[] = {POOL_GRAD_INPUTS, {0}};
static const optune_op_attr attrs[] = {POOL_ATTRS, POOL_COUNT_ATTR, {0}};

static double terms(const optune_call *call)
{
    return pool_grad_terms(call) + 1; /* and the quotient */
}

static double share(const pool_walk *w, int64_t plane, int64_t lane, int64_t oy, int64_t ox,
                    int64_t y, int64_t x)
{
    (void)y, (void)x;
    const int64_t count =
        pool_count(&w->s.y, oy, w->s.count_pad) * pool_count(&w->s.x, ox, w->s.count_pad);
    return pool_grad_of(w, plane, lane, oy, ox) / (double)count;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    pool_grad_reference(call, in, region, out, magnitude, share);
}

static const char *const inception[] = {
    "avg_pool2d_grad(f32[1,192,35,35], f32[1,192,35,35], pool_size=[3,3], padding=[1,1], "
    "count_include_pad=true)",
    "avg_pool2d_grad(f32[1,768,17,17], f32[1,768,17,17], pool_size=[3,3], padding=[1,1], "
    "count_include_pad=true)",
    NULL,
};

static const char *const densenet[] = {
    "avg_pool2d_grad(f32[1,128,28,28], f32[1,128,56,56], pool_size=[2,2], strides=[2,2])",
    NULL,
};

static const optune_preset presets[] = {
    {"inception_v3", "two branches of Inception v3, batch 1", inception},
    {"densenet121", "the first transition of DenseNet-121, batch 1", densenet},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "avg_pool2d_grad(f32[1,3,19,21], f32[1,3,37,41], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    "avg_pool2d_grad(f32[2,3,8,35], f32[2,3,16,70], pool_size=[2,2], strides=[2,2])",
    "avg_pool2d_grad(f32[1,2,19,33], f32[1,2,19,33], pool_size=[3,3], padding=[1,1], "
    "count_include_pad=true)",
    "avg_pool2d_grad(f32[1,2,12,13], f32[1,2,23,39], pool_size=[3,2], strides=[2,3], "
    "padding=[1,0,2,1])",
    "avg_pool2d_grad(f32[1,2,18,20], f32[1,2,20,45], pool_size=[2,3], dilation=[2,3], "
    "strides=[1,2])",
    "avg_pool2d_grad(f32[1,2,8,18], f32[1,2,14,35], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1], ceil_mode=true, count_include_pad=true)",
    "avg_pool2d_grad(f64[1,3,8,15], f64[1,3,15,29], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    "avg_pool2d_grad(f32[1,2,8,7,16], f32[1,2,15,13,16], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1], layout=NCHW16c)",
    "avg_pool2d_grad(f32[1,2,3,4,3], f32[1,2,7,8,3], pool_size=[2,2], strides=[2,2], "
    "layout=NCHW3c)",
    "avg_pool2d_grad(bf16[1,3,19,24], bf16[1,3,37,48], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    NULL,
};

/* d grad = the averages of dy: each window receives what its elements have, divided by what it
 * counted. Of data only the type matters. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, POOL_GRAD, optune_grad_same(grad, "avg_pool2d", 1, &dy, NULL));
    return OPTUNE_OK;
}

OPTUNE_OP(avg_pool2d_grad) = {
    .name = "avg_pool2d_grad",
    .summary = "the gradient of avg_pool2d with respect to its data",
    .inputs = inputs,
    .attrs = attrs,
    .family = "pool_grad",
    .support_level = 2,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(pool_backward_types, pool_grad_flops, terms, reference),
};
