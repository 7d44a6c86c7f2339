/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_backward_weight: the gradient of conv2d with respect to its weight,
 *     output[co,ci,i,j] = sum over n, y, x of
 *                         grad[n,co,y,x] * data[n,ci,y*sh-pt+i*dh,x*sw-pl+j*dw].
 * Relay's nn.conv2d_backward_weight, in NCHW and OIHW. kernel_size is needed: strides may leave
 * rows of the data that no window meets, so it does not follow from the types.
 */
#include <math.h>

#include "kernels/convolution/gradient/backward_weight.h"

static const optune_op_input inputs[] = {
    {.name = "grad", .type = "tensor [N,CO,OH,OW]", .description = "Gradient of the result."},
    {.name = "data", .type = "tensor [N,C,H,W]", .description = "What was convolved."},
    {0},
};

static const optune_op_attr attrs[] = {
    CONV2D_PAIR("kernel_size", NULL, 1, "Rows and columns of the weight.", true),
    CONV2D_STRIDES("The convolution's steps between output rows and columns."),
    CONV2D_PADDING("Zeros around the data"),
    CONV2D_DILATION(false),
    CONV2D_GROUPS("Independent groups of channels."),
    {0},
};

static int misfit(const optune_call *call, int arg, const char *what, optune_err *err)
{
    const optune_tensor *data = &call->input[BACKWARD_DATA].type;
    if (arg == BACKWARD_GRAD)
        return tensor_misfit(err, "conv2d_backward_weight", "argument 1 (grad)",
                             &call->input[BACKWARD_GRAD].type, "data", data, what);
    return tensor_misfit(err, "conv2d_backward_weight", "output", &call->output[0], "data",
                         data, what);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *grad = &call->input[BACKWARD_GRAD].type;
    optune_tensor *data = &call->input[BACKWARD_DATA].type, *out = &call->output[0];
    const int64_t groups = optune_call_int(call, "groups");
    const int64_t *kernel = optune_call_ints(call, "kernel_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    if (!optune_tensor_set_rank(grad, 4) || !optune_tensor_set_rank(data, 4))
        return misfit(call, BACKWARD_GRAD, "NCHW has 4 dimensions", err);
    if (!optune_tensor_set_rank(out, 4))
        return misfit(call, -1, "OIHW has 4 dimensions", err);
    if (!optune_dtype_unify(&grad->dtype, &data->dtype))
        return misfit(call, BACKWARD_GRAD, "element types differ", err);
    if (!optune_dtype_unify(&out->dtype, &data->dtype))
        return misfit(call, -1, "element types differ", err);
    if (!optune_dim_unify(&grad->dim[0], &data->dim[0]))
        return misfit(call, BACKWARD_GRAD, "batch sizes differ", err);
    if (!optune_dim_unify(&out->dim[0], &grad->dim[1]))
        return misfit(call, -1, "its first dimension is the gradient's channels", err);
    if (!window_proportional(&out->dim[1], groups, &data->dim[1], 1))
        return misfit(call, -1, "its second dimension is the data's channels of one group",
                      err);
    if (optune_dim_known(&grad->dim[1]) && grad->dim[1].min % groups)
        return misfit(call, BACKWARD_GRAD, "the channels do not divide into the groups", err);
    for (int axis = 0; axis < 2; axis++) {
        optune_dim size = optune_dim_of(kernel[axis]);
        const int64_t pads = pad[axis] + pad[axis + 2];
        if (!optune_dim_unify(&out->dim[2 + axis], &size))
            return misfit(call, -1, "its last dimensions are kernel_size", err);
        if (!window_slide(&data->dim[2 + axis], &size, &grad->dim[2 + axis], pads, stride[axis],
                          dilation[axis]) ||
            (conv2d_same_extent(&size, pads, stride[axis], dilation[axis]) &&
             !optune_dim_unify(&data->dim[2 + axis], &grad->dim[2 + axis])))
            return misfit(call, BACKWARD_GRAD,
                          axis ? "no width satisfies kernel_size, strides and padding"
                               : "no height satisfies kernel_size, strides and padding",
                          err);
    }
    const optune_tensor *const all[] = {grad, data, out};
    const int empty = conv2d_empty(all);
    if (empty >= 0)
        return misfit(call, empty == 0 ? BACKWARD_GRAD : -1, "a dimension is empty", err);
    return conv2d_solved(all);
}

static double flops(const optune_call *call)
{
    conv2d_shape s;
    return backward_shape_of(call, &s)
               ? 2.0 * (double)(s.n * s.co * s.oh * s.ow) * (double)(s.ci_g * s.kh * s.kw)
               : 0;
}

static double terms(const optune_call *call)
{
    conv2d_shape s;
    return backward_shape_of(call, &s) ? (double)(s.n * s.oh * s.ow) : 1;
}

typedef struct sum {
    double value, size;
} sum;

static sum element_of(const conv2d_shape *s, const void *const *in, optune_dtype dtype,
                      int64_t co, int64_t ci, int64_t i, int64_t j)
{
    sum r = {0};
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t oy = 0; oy < s->oh; oy++) {
            const int64_t y = oy * s->sh - s->pt + i * s->dh;
            if (y < 0 || y >= s->h)
                continue;
            for (int64_t ox = 0; ox < s->ow; ox++) {
                const int64_t x = ox * s->sw - s->pl + j * s->dw;
                if (x < 0 || x >= s->w)
                    continue;
                const double v = tensor_element(in[BACKWARD_GRAD], dtype,
                                                ((n * s->co + co) * s->oh + oy) * s->ow + ox) *
                                 tensor_element(in[BACKWARD_DATA], dtype,
                                                ((n * s->ci + ci) * s->h + y) * s->w + x);
                r.value += v;
                r.size += fabs(v);
            }
        }
    return r;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    conv2d_shape s;
    if (!backward_shape_of(call, &s))
        return;
    const int64_t *lo = region->lo, *hi = region->hi;
    int64_t at = 0;
    for (int64_t co = lo[0]; co < hi[0]; co++)
        for (int64_t c = lo[1]; c < hi[1]; c++)
            for (int64_t i = lo[2]; i < hi[2]; i++)
                for (int64_t j = lo[3]; j < hi[3]; j++, at++) {
                    const sum r = element_of(&s, in, call->output[0].dtype, co,
                                             co / s.co_g * s.ci_g + c, i, j);
                    out[at] = r.value;
                    magnitude[at] = r.size;
                }
}

static const char *const resnet50[] = {
    "conv2d_backward_weight(f32[1,64,56,56], f32[1,64,56,56], kernel_size=[3,3], "
    "padding=[1,1])",
    "conv2d_backward_weight(f32[1,256,56,56], f32[1,64,56,56], kernel_size=[1,1])",
    "conv2d_backward_weight(f32[1,128,28,28], f32[1,128,56,56], kernel_size=[3,3], "
    "strides=[2,2], padding=[1,1])",
    "conv2d_backward_weight(f32[1,512,7,7], f32[1,512,7,7], kernel_size=[3,3], padding=[1,1])",
    NULL,
};

static const optune_preset presets[] = {
    {"resnet50", "four weight gradients of ResNet-50, batch 1", resnet50},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "conv2d_backward_weight(f32[1,6,7,9], f32[1,5,7,9], kernel_size=[3,3], padding=[1,1])",
    "conv2d_backward_weight(f32[2,8,4,6], f32[2,7,8,11], kernel_size=[3,3], strides=[2,2], "
    "padding=[1,1])",
    "conv2d_backward_weight(f32[1,17,5,6], f32[1,19,5,6], kernel_size=[1,1])",
    "conv2d_backward_weight(f32[2,6,7,12], f32[2,9,16,14], kernel_size=[3,2], strides=[2,1], "
    "dilation=[2,3], padding=[1,0,1,1], groups=3)",
    "conv2d_backward_weight(f32[1,6,10,11], f32[1,6,10,11], kernel_size=[3,3], padding=[1,1], "
    "groups=6)",
    "conv2d_backward_weight(f32[3,4,1,1], f32[3,5,4,4], kernel_size=[4,4])",
    "conv2d_backward_weight(f64[1,5,9,8], f64[1,6,9,8], kernel_size=[3,3], padding=[1,1])",
    NULL,
};

/* Linear in both: d grad = the data convolved with dy, d data = grad convolved with it,
 * transposed. */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const optune_tensor *g = &call->input[0].type, *x = &call->input[1].type;
    const int64_t *size = optune_call_ints(call, "kernel_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int dy = optune_grad_adjoint(grad, 0);
    int rest[2]; /* rows and columns of the data behind the last window */
    for (int d = 0; d < 2; d++)
        rest[d] = (int)(x->dim[2 + d].min + pad[d] + pad[d + 2] - dilation[d] * (size[d] - 1) -
                        1 - (g->dim[2 + d].min - 1) * stride[d]);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0,
                        optune_grad_same(grad, "conv2d", 2,
                                         (const int[]){optune_grad_input(grad, 1), dy}, NULL));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1,
                        optune_grad_same(grad, "conv2d_transpose", 2,
                                         (const int[]){optune_grad_input(grad, 0), dy},
                                         "output_padding=[%d,%d]", rest[0], rest[1]));
    return OPTUNE_OK;
}

OPTUNE_OP(conv2d_backward_weight) = {
    .name = "conv2d_backward_weight",
    .summary = "the gradient of conv2d with respect to its weight",
    .presets = presets,
    .samples = samples,
    CONV2D_OP,
};
