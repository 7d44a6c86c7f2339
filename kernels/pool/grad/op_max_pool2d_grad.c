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
    "max_pool2d_grad(bf16[1,3,19,24], bf16[1,3,37,48], pool_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    NULL,
};

/* ---- what goes back to grad --------------------------------------------------------------- */

enum { LIST = 24 * OPTUNE_MAX_RANK };

/* A list of attributes that says `at` of one axis and `other` of the rest. */
static const char *list_of(char text[LIST], const optune_tensor *type, int axis, int64_t at,
                           int64_t other)
{
    int n = 0;
    *text = '\0';
    for (int d = 0; d < type->rank; d++)
        n += snprintf(text + n, LIST - (size_t)n, "%s%" PRId64, d ? "," : "",
                      d == axis ? at : other);
    return text;
}

/* The largest finite number of a floating type. */
static double largest(optune_dtype dtype)
{
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        return 0x1.FEp127;
    return dtype.bits == 64   ? 0x1.FFFFFFFFFFFFFp1023
           : dtype.bits == 32 ? 0x1.FFFFFEp127
                              : 65504.0;
}

/* As long along the axis as its windows reach. */
static int padded(optune_grad *grad, int value, int axis, const pool_axis *a, double with)
{
    const optune_tensor *type = optune_grad_type(grad, value);
    const int64_t reach = (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
    char before[LIST], after[LIST];
    list_of(before, type, axis, a->before, 0);
    list_of(after, type, axis, reach - a->before - a->in, 0);
    return optune_grad_call(grad, "pad", 1, &value, "before=[%s], after=[%s], value=%.17g",
                            before, after, with);
}

/* What every window along the axis has at tap i. */
static int tap(optune_grad *grad, int value, int axis, const pool_axis *a, int64_t i)
{
    const optune_tensor *type = optune_grad_type(grad, value);
    const int64_t from = i * a->dilation;
    char begin[LIST], end[LIST], strides[LIST];
    list_of(begin, type, axis, from, 0);
    list_of(end, type, axis, from + (a->out - 1) * a->stride + 1, OPTUNE_MAX_DIM);
    list_of(strides, type, axis, a->stride, 1);
    return optune_grad_call(grad, "strided_slice", 1, &value,
                            "begin=[%s], end=[%s], strides=[%s]", begin, end, strides);
}

typedef struct choice { /* the largest of some elements, and what dy has in its place */
    int most, dy;
} choice;

/* The first one stays unless the second is larger, or the first NaN. */
static choice better(optune_grad *grad, choice a, choice b)
{
    const int most = optune_grad_binary(grad, "maximum", a.most, b.most);
    const int stays = optune_grad_binary(grad, "equal", most, a.most);
    const int number = optune_grad_binary(grad, "equal", a.most, a.most);
    const int dy = optune_grad_call(grad, "where", 3, (const int[]){stays, a.dy, b.dy}, NULL);
    return (choice){most,
                    optune_grad_call(grad, "where", 3, (const int[]){number, dy, a.dy}, NULL)};
}

static choice windows(optune_grad *grad, choice of, int axis, const pool_axis *a)
{
    const int data =
        padded(grad, of.most, axis, a, -largest(optune_grad_type(grad, of.most)->dtype));
    const int dy = padded(grad, of.dy, axis, a, 0);
    choice best = {tap(grad, data, axis, a, 0), tap(grad, dy, axis, a, 0)};
    for (int64_t i = 1; i < a->kernel; i++)
        best = better(grad, best,
                      (choice){tap(grad, data, axis, a, i), tap(grad, dy, axis, a, i)});
    return best;
}

/* d grad: each window receives what dy has where its maximum is, found along rows and then along
 * columns; of elements that equal it the first in row-major order, as above. What is below half
 * of the lowest number counts as that half, so that padding, the lowest, is never chosen before an
 * element. d data is 0. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    pool_shape s;
    if (!optune_grad_wants(grad, POOL_GRAD))
        return OPTUNE_OK;
    if (!pool_backward_shape(call, &s))
        return optune_fail(err, OPTUNE_ETYPE, "this gradient needs constant dims");
    const int data = optune_grad_input(grad, POOL_DATA);
    const int lowest =
        optune_grad_scalar(grad, data, -largest(optune_grad_type(grad, data)->dtype) / 2);
    const choice all = {optune_grad_binary(grad, "maximum", data, lowest),
                        optune_grad_adjoint(grad, 0)};
    const choice rows = windows(grad, all, 3, &s.x);
    optune_grad_add(grad, POOL_GRAD, windows(grad, rows, 2, &s.y).dy);
    return OPTUNE_OK;
}

OPTUNE_OP(max_pool2d_grad) = {
    .name = "max_pool2d_grad",
    .summary = "the gradient of max_pool2d with respect to its data",
    .inputs = inputs,
    .attrs = attrs,
    .family = "pool_grad",
    .support_level = 2,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(pool_backward_types, pool_grad_flops, pool_grad_terms, reference),
};
