/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d: a 1x1 convolution of stride 1, a bias and an activation, and a
 * depthwise convolution of what they give, as the blocks of MobileNets and EfficientNets begin. It
 * means what the separate operators mean; but the value between the two, several times as large as
 * what comes in and goes out, has no name and is never rounded to the data's type.
 *
 * The padding lies around the value in between: it is 0 there, whatever the bias is. `between`:
 * relu and relu6 as relu and clip have them, NaN stays NaN; hard_swish is x * clip(x / 6 + 0.5, 0,
 * 1), silu is x / (1 + exp(-x)).
 */
#include <stdlib.h>

#include "kernels/convolution/chain/chain.h"

static const optune_op_input inputs[] = {
    {.name = "data",
     .type = "tensor [N,C,H,W] or [N,C/c,H,W,c]",
     .description = "Activations, in data_layout."},
    {.name = "pointwise",
     .type = "tensor [M,C,1,1]",
     .description = "Kernels of the first convolution.",
     .is_const = true},
    {.name = "depthwise",
     .type = "tensor [M,1,KH,KW]",
     .description = "Kernels of the second one.",
     .is_const = true},
    {.name = "bias",
     .type = "tensor [M,1,1]",
     .description = "Added to what the first one gives, in front of `between`.",
     .is_const = true,
     .optional = true},
    {0},
};

static const optune_op_attr attrs[] = {
    CONV2D_STRIDES("Steps between output rows and columns."),
    CONV2D_PADDING("Zeros around the value in between"),
    CONV2D_DILATION(false),
    {.name = "between",
     .kind = OPTUNE_ATTR_WORD,
     .value = "none",
     .description = "What is applied in front of the depthwise convolution.",
     .words = CHAIN_WORDS,
     .shown = true},
    {.name = "data_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "NCHW",
     .description = "NCHW, or NCHW<c>c with c channels innermost."},
    {.name = "out_layout",
     .kind = OPTUNE_ATTR_WORD,
     .value = "",
     .description = "Layout of the output; empty: data_layout."},
    {0},
};

/* ---- type relation ----------------------------------------------------------------------- */

enum { OUT = CHAIN_BIAS + 1 }; /* beside the indices of inputs */

static int misfit(const optune_call *call, int arg, const char *what, optune_err *err)
{
    static const char *const name[] = {"argument 1 (data)", "argument 2 (pointwise)",
                                       "argument 3 (depthwise)", "argument 4 (bias)", "output"};
    const int beside = arg == CHAIN_DATA ? CHAIN_POINTWISE : CHAIN_DATA;
    return tensor_misfit(err, "pointwise_depthwise_conv2d", name[arg],
                         arg == OUT ? &call->output[0] : &call->input[arg].type,
                         beside == CHAIN_DATA ? "data" : "pointwise", &call->input[beside].type,
                         what);
}

static bool is_one(optune_dim *dim)
{
    optune_dim one = optune_dim_of(1);
    return optune_dim_unify(dim, &one);
}

static int layouts(optune_call *call, int *in_block, int *out_block, optune_err *err)
{
    const char *layout = optune_call_word(call, "data_layout");
    *in_block = tensor_layout_block(layout);
    *out_block = conv2d_out_block(call);
    if (*in_block < 0 || *out_block < 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "pointwise_depthwise_conv2d: %s=%s is neither NCHW nor NCHW<c>c",
                           *in_block < 0 ? "data_layout" : "out_layout",
                           *in_block < 0 ? layout : optune_call_word(call, "out_layout"));
    /* The data's layout, spelt out, is what leaving it out means. */
    if (strcmp(optune_call_word(call, "out_layout"), layout) == 0)
        memset(host_attr(call, "out_layout")->word, 0, OPTUNE_WORD_SIZE);
    return OPTUNE_OK;
}

static int weights(optune_call *call, optune_err *err)
{
    optune_tensor *first = &call->input[CHAIN_POINTWISE].type;
    optune_tensor *second = &call->input[CHAIN_DEPTHWISE].type;
    if (!optune_tensor_set_rank(first, 4) || !is_one(&first->dim[2]) || !is_one(&first->dim[3]))
        return misfit(call, CHAIN_POINTWISE, "it is [M,C,1,1]", err);
    if (!optune_tensor_set_rank(second, 4) || !is_one(&second->dim[1]) ||
        !optune_dim_unify(&second->dim[0], &first->dim[0]))
        return misfit(call, CHAIN_DEPTHWISE, "it is [M,1,KH,KW]", err);
    if (call->n_inputs <= CHAIN_BIAS)
        return OPTUNE_OK;
    optune_tensor *bias = &call->input[CHAIN_BIAS].type;
    return optune_tensor_set_rank(bias, 3) && is_one(&bias->dim[1]) && is_one(&bias->dim[2]) &&
                   optune_dim_unify(&bias->dim[0], &first->dim[0])
               ? OPTUNE_OK
               : misfit(call, CHAIN_BIAS, "it is [M,1,1]", err);
}

static int planes(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[CHAIN_DATA].type, *out = &call->output[0];
    optune_tensor *weight = &call->input[CHAIN_DEPTHWISE].type;
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    for (int axis = 0; axis < 2; axis++) {
        optune_dim *in = &data->dim[2 + axis], *kernel = &weight->dim[2 + axis];
        optune_dim *o = &out->dim[2 + axis];
        const int64_t pads = pad[axis] + pad[axis + 2];
        if (optune_dim_known(in) && optune_dim_known(kernel) &&
            dilation[axis] * (kernel->min - 1) + 1 > in->min + pads)
            return misfit(call, CHAIN_DEPTHWISE, "it is larger than the padded planes", err);
        if (!window_slide(in, kernel, o, pads, stride[axis], dilation[axis]) ||
            (conv2d_same_extent(kernel, pads, stride[axis], dilation[axis]) &&
             !optune_dim_unify(in, o)))
            return misfit(call, OUT,
                          axis ? "no width satisfies strides, padding and dilation"
                               : "no height satisfies strides, padding and dilation",
                          err);
    }
    return OPTUNE_OK;
}

/* All of them have one floating type. */
static int dtypes(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[CHAIN_DATA].type;
    for (int twice = 0; twice < 2; twice++) {
        for (int i = CHAIN_POINTWISE; i < call->n_inputs; i++)
            if (!optune_dtype_unify(&call->input[i].type.dtype, &data->dtype))
                return misfit(call, i, "element types differ", err);
        if (!optune_dtype_unify(&call->output[0].dtype, &data->dtype))
            return misfit(call, OUT, "element types differ", err);
    }
    return tensor_is_real(data) ? OPTUNE_OK
                                : misfit(call, CHAIN_DATA, "it has a floating type", err);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[CHAIN_DATA].type, *out = &call->output[0];
    optune_tensor *first = &call->input[CHAIN_POINTWISE].type;
    int in_block, out_block;
    int status = layouts(call, &in_block, &out_block, err);
    if (status < 0)
        return status;
    if (!optune_tensor_set_rank(data, in_block ? 5 : 4))
        return misfit(call, CHAIN_DATA, "its rank is not that of data_layout", err);
    if (!optune_tensor_set_rank(out, out_block ? 5 : 4))
        return misfit(call, OUT, "its rank is not that of out_layout", err);
    status = dtypes(call, err);
    if (status >= 0)
        status = weights(call, err);
    if (status < 0)
        return status;
    optune_dim inner = optune_dim_of(in_block);
    if (in_block && !optune_dim_unify(&data->dim[4], &inner))
        return misfit(call, CHAIN_DATA, "its last dimension is not the layout's block", err);
    inner = optune_dim_of(out_block);
    if (out_block && !optune_dim_unify(&out->dim[4], &inner))
        return misfit(call, OUT, "its last dimension is not out_layout's block", err);
    if (!optune_dim_unify(&data->dim[0], &out->dim[0]))
        return misfit(call, OUT, "batch sizes differ", err);
    if (!window_proportional(&data->dim[1], in_block ? in_block : 1, &first->dim[1], 1))
        return misfit(call, CHAIN_POINTWISE, "its input channels are not the data's", err);
    if (!window_proportional(&first->dim[0], 1, &out->dim[1], out_block ? out_block : 1))
        return misfit(call, OUT, "its channels are not the weights'", err);
    optune_dim_unify(&call->input[CHAIN_DEPTHWISE].type.dim[0], &first->dim[0]);
    if (call->n_inputs > CHAIN_BIAS)
        optune_dim_unify(&call->input[CHAIN_BIAS].type.dim[0], &first->dim[0]);
    status = planes(call, err);
    if (status < 0)
        return status;
    const optune_tensor *const all[] = {data, &call->input[CHAIN_DEPTHWISE].type, out};
    const int empty = conv2d_empty_image(all);
    if (empty >= 0)
        return misfit(call,
                      empty == 2 ? OUT
                      : empty    ? CHAIN_DEPTHWISE
                                 : CHAIN_DATA,
                      "a dimension is empty", err);
    return optune_tensor_known(first) ? conv2d_solved(all) : 1;
}

/* ---- counts ------------------------------------------------------------------------------ */

static double terms(const optune_call *call)
{
    conv2d_shape s;
    return chain_shape_of(call, &s) ? (double)(s.ci + s.kh * s.kw) + 4 : 1;
}

static double flops(const optune_call *call)
{
    conv2d_shape s;
    if (!chain_shape_of(call, &s))
        return 0;
    return 2.0 * (double)(s.n * s.co) *
           ((double)s.ci * (double)(s.h * s.w) + (double)(s.kh * s.kw) * (double)(s.oh * s.ow));
}

/* ---- reference --------------------------------------------------------------------------- */

/* Rows [y0, y1) of all channels of an image. */
static void widen(const conv2d_shape *s, const void *data, optune_dtype dtype, int64_t n,
                  int64_t y0, int64_t y1, double *to)
{
    const int64_t block = s->data_block ? s->data_block : 1;
    for (int64_t c = 0; c < s->ci; c++) {
        const int64_t plane = (n * (s->ci / block) + c / block) * s->h;
        for (int64_t y = y0; y < y1; y++)
            for (int64_t x = 0; x < s->w; x++)
                *to++ =
                    tensor_element(data, dtype, ((plane + y) * s->w + x) * block + c % block);
    }
}

/* One channel behind the first convolution, and what its error is in proportion to: no activation
 * is steeper than 1.5. */
static void expand(const conv2d_shape *s, const void *const *in, optune_dtype dtype, int64_t co,
                   bool has_bias, chain_between between, const double *data, int64_t pixels,
                   double *value, double *size)
{
    const double bias = has_bias ? tensor_element(in[CHAIN_BIAS], dtype, co) : 0;
    for (int64_t p = 0; p < pixels; p++) {
        value[p] = bias;
        size[p] = fabs(bias);
    }
    for (int64_t c = 0; c < s->ci; c++) {
        const double w = tensor_element(in[CHAIN_POINTWISE], dtype, co * s->ci + c);
        const double *from = data + c * pixels;
        for (int64_t p = 0; p < pixels; p++) {
            value[p] += w * from[p];
            size[p] += fabs(w * from[p]);
        }
    }
    for (int64_t p = 0; p < pixels; p++) {
        value[p] = chain_between_value(between, value[p]);
        size[p] = 1.5 * size[p] + fabs(value[p]);
    }
}

typedef struct expanded { /* rows [y0, y1) of a channel */
    int64_t y0, y1;
    double *value, *size;
} expanded;

static double taps(const conv2d_shape *s, const void *weight, optune_dtype dtype, int64_t co,
                   const expanded *e, int64_t oy, int64_t ox, double *magnitude)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < s->kh; i++)
        for (int64_t j = 0; j < s->kw; j++) {
            const int64_t y = oy * s->sh - s->pt + i * s->dh,
                          x = ox * s->sw - s->pl + j * s->dw;
            if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                continue;
            const double w = tensor_element(weight, dtype, (co * s->kh + i) * s->kw + j);
            const int64_t at = (y - e->y0) * s->w + x;
            sum += w * e->value[at];
            size += fabs(w) * e->size[at];
        }
    *magnitude = size;
    return sum;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    conv2d_shape s;
    if (!chain_shape_of(call, &s))
        return;
    const optune_dtype dtype = call->input[CHAIN_DATA].type.dtype;
    const chain_between between = chain_between_of(call);
    const int64_t block = s.out_block ? s.out_block : 1;
    const int64_t lane_lo = s.out_block ? region->lo[4] : 0,
                  lane_hi = s.out_block ? region->hi[4] : 1;
    const int64_t lanes = lane_hi - lane_lo, cols = region->hi[3] - region->lo[3];
    const int64_t rows = region->hi[2] - region->lo[2];
    const int64_t below = region->lo[2] * s.sh - s.pt;
    const int64_t above = (region->hi[2] - 1) * s.sh - s.pt + (s.kh - 1) * s.dh + 1;
    expanded e = {.y0 = below < 0 ? 0 : below > s.h ? s.h : below};
    e.y1 = above < e.y0 ? e.y0 : above > s.h ? s.h : above;
    const int64_t pixels = (e.y1 - e.y0) * s.w;
    double *data = malloc((size_t)((s.ci + 2) * pixels + 1) * sizeof *data);
    if (!data)
        return;
    e.value = data + s.ci * pixels;
    e.size = e.value + pixels;
    for (int64_t n = region->lo[0]; n < region->hi[0]; n++) {
        widen(&s, in[CHAIN_DATA], dtype, n, e.y0, e.y1, data);
        for (int64_t b = region->lo[1]; b < region->hi[1]; b++)
            for (int64_t lane = lane_lo; lane < lane_hi; lane++) {
                const int64_t co = b * block + lane;
                const int64_t plane =
                    (n - region->lo[0]) * (region->hi[1] - region->lo[1]) + b - region->lo[1];
                expand(&s, in, dtype, co, call->n_inputs > CHAIN_BIAS, between, data, pixels,
                       e.value, e.size);
                for (int64_t p = 0; p < rows * cols; p++) {
                    const int64_t at = (plane * rows * cols + p) * lanes + lane - lane_lo;
                    out[at] =
                        taps(&s, in[CHAIN_DEPTHWISE], dtype, co, &e, region->lo[2] + p / cols,
                             region->lo[3] + p % cols, &magnitude[at]);
                }
            }
    }
    free(data);
}

/* ---- workloads --------------------------------------------------------------------------- */

#define BLOCK(C, M, H, S)                                                                      \
    "pointwise_depthwise_conv2d(f32[1," #C "," #H "," #H "], f32[" #M "," #C ",1,1], f32[" #M  \
    ",1,3,3], const f32[" #M ",1,1], strides=[" #S "," #S                                      \
    "], padding=[1,1,1,1], between=relu6)"

static const char *const mobilenet_v2[] = {
    BLOCK(16, 96, 112, 2), BLOCK(24, 144, 56, 1),
    BLOCK(24, 144, 56, 2), BLOCK(32, 192, 28, 1),
    BLOCK(32, 192, 28, 2), BLOCK(64, 384, 14, 1),
    BLOCK(96, 576, 14, 1), BLOCK(96, 576, 14, 2),
    BLOCK(160, 960, 7, 1), NULL,
};

static const optune_preset presets[] = {
    {"mobilenet-v2", "the inverted residuals of MobileNet-V2", mobilenet_v2},
    {0},
};

#define CHAIN "pointwise_depthwise_conv2d("

static const char *const samples[] = {
    CHAIN "f32[1,5,9,11], f32[13,5,1,1], f32[13,1,3,3], const f32[13,1,1], padding=[1,1,1,1], "
          "between=relu6)",
    CHAIN "f32[2,16,14,14], f32[24,16,1,1], f32[24,1,3,3], strides=[2,2], padding=[1,1,1,1])",
    CHAIN "f32[1,7,12,10], f32[40,7,1,1], f32[40,1,5,5], const f32[40,1,1], strides=[2,2], "
          "padding=[2,2,2,2], between=hard_swish)",
    CHAIN
    "f32[1,12,8,19], f32[17,12,1,1], f32[17,1,3,3], const f32[17,1,1], padding=[1,1,1,1], "
    "between=silu)",
    CHAIN "f32[1,3,7,7], f32[8,3,1,1], f32[8,1,3,2], const f32[8,1,1], strides=[1,2], "
          "padding=[2,0,1,3], between=relu)",
    CHAIN
    "f32[2,3,10,9,8], f32[32,24,1,1], f32[32,1,3,3], const f32[32,1,1], padding=[1,1,1,1], "
    "between=relu6, data_layout=NCHW8c)",
    CHAIN "f32[1,2,7,7,16], f32[48,32,1,1], f32[48,1,3,3], const f32[48,1,1], strides=[2,2], "
          "padding=[1,1,1,1], between=relu6, data_layout=NCHW16c)",
    CHAIN
    "f32[1,20,15,6], f32[32,20,1,1], f32[32,1,5,5], padding=[2,2,2,2], between=hard_swish, "
    "out_layout=NCHW8c)",
    CHAIN "f32[1,2,13,15,8], f32[21,16,1,1], f32[21,1,3,3], const f32[21,1,1], strides=[2,1], "
          "padding=[1,1,0,1], between=silu, data_layout=NCHW8c, out_layout=NCHW)",
    CHAIN "f32[1,6,13,12], f32[10,6,1,1], f32[10,1,3,3], padding=[2,2,2,2], dilation=[2,2], "
          "between=relu)",
    CHAIN "f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1,1])",
    CHAIN "f64[1,5,9,8], f64[11,5,1,1], f64[11,1,3,3], const f64[11,1,1], padding=[1,1,1,1], "
          "between=silu)",
    CHAIN "f16[1,6,9,8], f16[10,6,1,1], f16[10,1,3,3], const f16[10,1,1], padding=[1,1,1,1], "
          "between=relu6)",
    CHAIN "bf16[2,4,8,8], bf16[6,4,1,1], bf16[6,1,3,3], const bf16[6,1,1], strides=[2,2], "
          "padding=[1,1,1,1], between=hard_swish)",
    CHAIN
    "f32[1,9,6,7], var f32[12,9,1,1], var f32[12,1,3,3], padding=[1,1,1,1], between=relu)",
    NULL,
};

static const optune_op_blocks blocks = {1, .in = "data_layout", .out = "out_layout"};

OPTUNE_OP(pointwise_depthwise_conv2d) = {
    .name = "pointwise_depthwise_conv2d",
    .blocks = &blocks,
    .summary = "a 1x1 convolution, an activation and a depthwise convolution as one",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 10,
    .gradient = chain_gradient,
    .float32_sums = true,
    .presets = presets,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};
