/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_transpose: output[n,co,y*sh-pt+i*dh,x*sw-pl+j*dw] += data[n,ci,y,x] * weight[ci,co,i,j]:
 * the transpose of a convolution, and so the gradient of conv2d with respect to its data (data
 * is then the gradient, weight conv2d's own, output_padding what its strides left over).
 * Relay's nn.conv2d_transpose with kernel_layout IOHW.
 *
 *     out = (in - 1) * stride - pads + dilation * (kernel - 1) + 1 + output_padding
 *
 * so in = (out - output_padding + pads - dilation * (kernel - 1) - 1) / stride + 1 without a rest:
 * the relation of a sliding window, read backwards.
 */
#include <math.h>

#include "kernels/convolution/gradient/conv2d_transpose.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [N,CI,H,W]", .description = "Activations."},
    {.name = "weight",
     .type = "tensor [CI,CO/groups,KH,KW]",
     .description = "Kernels, in kernel_layout.",
     .is_const = true},
    {0},
};

static const optune_op_attr attrs[] = {
    CONV2D_STRIDES("Steps of the output for each row and column of the data."),
    CONV2D_PADDING("Rows and columns cut off the output"),
    CONV2D_DILATION(false),
    CONV2D_PAIR("output_padding", "[0,0]", 0,
                "Rows and columns added to the output, at the bottom and the right.", false),
    CONV2D_GROUPS("Independent groups of channels."),
    {.name = "data_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "NCHW",
     .description = "Layout of data and output.",
     .words = "NCHW"},
    {.name = "kernel_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "IOHW",
     .description = "Layout of the weight; its I are the data's channels.",
     .words = "IOHW"},
    {0},
};

static int misfit(const optune_call *call, int arg, const char *what, optune_err *err)
{
    const optune_tensor *data = &call->input[TRANSPOSE_DATA].type;
    if (arg == TRANSPOSE_WEIGHT)
        return tensor_misfit(err, "conv2d_transpose", "argument 2 (weight)",
                             &call->input[TRANSPOSE_WEIGHT].type, "data", data, what);
    return tensor_misfit(err, "conv2d_transpose", "output", &call->output[0], "data", data,
                         what);
}

/* One spatial axis; false when nothing satisfies it. */
static bool stretch(optune_dim *in, optune_dim *kernel, optune_dim *out, int64_t grows,
                    int64_t stride, int64_t dilation)
{
    if (!window_slide(out, kernel, in, grows, stride, dilation))
        return false;
    if (!optune_dim_known(kernel))
        return true;
    const int64_t rest = dilation * (kernel->min - 1) + 1 - grows;
    optune_dim_compute(out, 1, (const optune_dim *const[]){in}, &stride, rest - stride, 1);
    if (optune_dim_known(in)) {
        optune_dim exact = optune_dim_of((in->min - 1) * stride + rest);
        return exact.min > 0 && optune_dim_unify(out, &exact);
    }
    if (optune_dim_known(out))
        return (out->min - rest) % stride == 0;
    return stride != 1 || rest != 1 || optune_dim_unify(in, out);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[TRANSPOSE_DATA].type;
    optune_tensor *weight = &call->input[TRANSPOSE_WEIGHT].type;
    optune_tensor *out = &call->output[0];
    const int64_t groups = optune_call_int(call, "groups");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t *more = optune_call_ints(call, "output_padding");
    if (!optune_tensor_set_rank(data, 4))
        return misfit(call, TRANSPOSE_WEIGHT, "NCHW has 4 dimensions", err);
    if (!optune_tensor_set_rank(weight, 4))
        return misfit(call, TRANSPOSE_WEIGHT, "IOHW has 4 dimensions", err);
    if (!optune_tensor_set_rank(out, 4))
        return misfit(call, -1, "NCHW has 4 dimensions", err);
    if (!optune_dtype_unify(&data->dtype, &weight->dtype))
        return misfit(call, TRANSPOSE_WEIGHT, "element types differ", err);
    if (!optune_dtype_unify(&out->dtype, &data->dtype))
        return misfit(call, -1, "element types differ", err);
    if (!optune_dim_unify(&data->dim[0], &out->dim[0]))
        return misfit(call, -1, "batch sizes differ", err);
    if (!optune_dim_unify(&weight->dim[0], &data->dim[1]))
        return misfit(call, TRANSPOSE_WEIGHT, "its first dimension is the data's channels",
                      err);
    if (optune_dim_known(&data->dim[1]) && data->dim[1].min % groups)
        return misfit(call, TRANSPOSE_WEIGHT, "the channels do not divide into the groups",
                      err);
    if (!window_proportional(&weight->dim[1], groups, &out->dim[1], 1))
        return misfit(call, -1, "its channels are not the groups' of the weight", err);
    for (int axis = 0; axis < 2; axis++) {
        if (more[axis] >= stride[axis] && more[axis] >= dilation[axis])
            return optune_fail(
                err, OPTUNE_ETYPE,
                "conv2d_transpose: output_padding must be smaller than stride or "
                "dilation");
        const int64_t grows = pad[axis] + pad[axis + 2] - more[axis];
        if (!stretch(&data->dim[2 + axis], &weight->dim[2 + axis], &out->dim[2 + axis], grows,
                     stride[axis], dilation[axis]))
            return misfit(call, -1,
                          axis ? "no width satisfies strides, padding and dilation"
                               : "no height satisfies strides, padding and dilation",
                          err);
    }
    const optune_tensor *const all[] = {data, weight, out};
    const int empty = conv2d_empty_image(all);
    if (empty >= 0)
        return misfit(call, empty == 1 ? TRANSPOSE_WEIGHT : -1, "a dimension is empty", err);
    return conv2d_solved(all);
}

static double flops(const optune_call *call)
{
    conv2d_shape s;
    return transpose_shape_of(call, &s)
               ? 2.0 * (double)(s.n * s.ci * s.h * s.w) * (double)(s.co_g * s.kh * s.kw)
               : 0;
}

/* What one output element gets, at most. */
static double terms(const optune_call *call)
{
    conv2d_shape s;
    if (!transpose_shape_of(call, &s))
        return 1;
    const int64_t rows = s.dh > 1 ? s.kh : (s.kh + s.sh - 1) / s.sh;
    const int64_t cols = s.dw > 1 ? s.kw : (s.kw + s.sw - 1) / s.sw;
    return (double)(s.ci_g * rows * cols);
}

static int64_t source(int64_t at, int64_t pad, int64_t tap, int64_t dilation, int64_t stride,
                      int64_t extent)
{
    const int64_t start = at + pad - tap * dilation;
    return start < 0 || start % stride || start / stride >= extent ? -1 : start / stride;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    conv2d_shape s;
    if (!transpose_shape_of(call, &s))
        return;
    const optune_dtype dtype = call->output[0].dtype;
    const int64_t *lo = region->lo, *hi = region->hi;
    int64_t at = 0;
    for (int64_t n = lo[0]; n < hi[0]; n++)
        for (int64_t co = lo[1]; co < hi[1]; co++)
            for (int64_t oy = lo[2]; oy < hi[2]; oy++)
                for (int64_t ox = lo[3]; ox < hi[3]; ox++, at++) {
                    const int64_t first = co / s.co_g * s.ci_g;
                    double sum = 0, size = 0;
                    for (int64_t tap = 0; tap < s.kh * s.kw; tap++) {
                        const int64_t y = source(oy, s.pt, tap / s.kw, s.dh, s.sh, s.h);
                        const int64_t x = source(ox, s.pl, tap % s.kw, s.dw, s.sw, s.w);
                        for (int64_t ci = first; y >= 0 && x >= 0 && ci < first + s.ci_g;
                             ci++) {
                            const double v =
                                tensor_element(in[TRANSPOSE_DATA], dtype,
                                               ((n * s.ci + ci) * s.h + y) * s.w + x) *
                                tensor_element(in[TRANSPOSE_WEIGHT], dtype,
                                               (ci * s.co_g + co % s.co_g) * s.kh * s.kw + tap);
                            sum += v;
                            size += fabs(v);
                        }
                    }
                    out[at] = sum;
                    magnitude[at] = size;
                }
}

static const char *const dcgan[] = {
    "conv2d_transpose(f32[1,100,1,1], f32[100,1024,4,4])",
    "conv2d_transpose(f32[1,1024,4,4], f32[1024,512,4,4], strides=[2,2], padding=[1,1])",
    "conv2d_transpose(f32[1,512,8,8], f32[512,256,4,4], strides=[2,2], padding=[1,1])",
    "conv2d_transpose(f32[1,256,16,16], f32[256,128,4,4], strides=[2,2], padding=[1,1])",
    "conv2d_transpose(f32[1,128,32,32], f32[128,3,4,4], strides=[2,2], padding=[1,1])",
    NULL,
};

static const char *const resnet50_grad[] = {
    "conv2d_transpose(f32[1,64,56,56], f32[64,64,3,3], padding=[1,1])",
    "conv2d_transpose(f32[1,128,28,28], f32[128,128,3,3], strides=[2,2], padding=[1,1], "
    "output_padding=[1,1])",
    "conv2d_transpose(f32[1,256,56,56], f32[256,64,1,1])",
    NULL,
};

static const optune_preset presets[] = {
    {"dcgan", "the generator of DCGAN, batch 1", dcgan},
    {"resnet50-grad", "three data gradients of ResNet-50, batch 1", resnet50_grad},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "conv2d_transpose(f32[1,5,7,9], f32[5,6,3,3], padding=[1,1])",
    "conv2d_transpose(f32[2,8,6,5], f32[8,7,4,4], strides=[2,2], padding=[1,1])",
    "conv2d_transpose(f32[1,17,5,6], f32[17,3,3,2], strides=[3,2], padding=[1,0,2,1], "
    "output_padding=[2,1])",
    "conv2d_transpose(f32[1,6,9,8], f32[6,2,3,3], strides=[2,1], dilation=[2,3], "
    "padding=[2,3], "
    "groups=3)",
    "conv2d_transpose(f32[1,6,10,11], f32[6,1,3,3], groups=6, padding=[1,1])",
    "conv2d_transpose(f32[1,33,1,1], f32[33,20,4,4])",
    "conv2d_transpose(f32[1,9,6,7], var f32[9,12,1,1])",
    "conv2d_transpose(f64[1,4,5,7], f64[4,5,3,3], strides=[2,2], padding=[1,1], "
    "output_padding=[1,1])",
    NULL,
};

/*
 * d data = the convolution of dy, d weight = data correlated with dy. An output_padding of whole
 * strides would make room for more windows than data has elements: the padding behind is less by
 * these rows and columns, and what it has too few of, which no element reaches, is cut off dy.
 */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int64_t *more = optune_call_ints(call, "output_padding");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const optune_dim *kernel = &call->input[1].type.dim[2];
    int64_t behind[2], cut[2];
    for (int d = 0; d < 2; d++) {
        const int64_t left = pad[2 + d] - (more[d] - more[d] % stride[d]);
        behind[d] = left < 0 ? 0 : left;
        cut[d] = left < 0 ? left : 0;
        if (cut[d] && call->output[0].dim[2 + d].max + cut[d] <= 0)
            return OPTUNE_OK; /* no element of data reaches an output */
    }
    int dy = optune_grad_adjoint(grad, 0);
    if (cut[0] || cut[1])
        dy = optune_grad_call(grad, "pad", 1, &dy,
                              "before=[0,0,0,0], after=[0,0,%" PRId64 ",%" PRId64 "]", cut[0],
                              cut[1]);
    char padding[128];
    snprintf(padding, sizeof padding,
             "padding=[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", pad[0], pad[1],
             behind[0], behind[1]);
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0,
                        optune_grad_same(grad, "conv2d", 2,
                                         (const int[]){dy, optune_grad_input(grad, 1)}, "%s",
                                         padding));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1,
                        optune_grad_same(grad, "conv2d_backward_weight", 2,
                                         (const int[]){optune_grad_input(grad, 0), dy},
                                         "kernel_size=[%d,%d], %s", (int)kernel[0].min,
                                         (int)kernel[1].min, padding));
    return OPTUNE_OK;
}

OPTUNE_OP(conv2d_transpose) = {
    .name = "conv2d_transpose",
    .summary = "transposed 2-D convolution; the gradient of conv2d with respect to its data",
    .presets = presets,
    .samples = samples,
    CONV2D_OP,
};
