/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d: a convolution of 8-bit integers whose sums are rounded to 8 bits again, with
 * channels last:
 *
 *     sum = bias[co] + sum over the window of (data - zero) * weight          in 32 bits
 *     output = round(float(sum) * scale[co]) + out_zero, cut to limits
 *
 * The zero is an integer of the data's type, as kernels fill what is padded with its byte.
 *
 * One rounding of the sum to the scale's type, one of the product, one to a whole number, halves to
 * the even one, so that every implementation gives the same bytes. What is padded is the zero: it
 * adds nothing. The weight is what it is less its own zero; of 16 bits it is the sum of two of 8,
 * -256 .. 254. The scale is that of the data times that of the weight's channel over that of the
 * output: ONNX's QLinearConv. Sums that leave 32 bits and scales that are not finite mean nothing.
 */
#include "kernels/host/region_lines.h"
#include "kernels/quantized/conv.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [N,H,W,C] of i8 or u8", .description = "Activations."},
    {.name = "weight",
     .type = "tensor [CO,C/groups,KH,KW] of i8 or i16",
     .description = "Kernels, less their zero.",
     .is_const = true},
    {.name = "bias",
     .type = "tensor [CO] of i32",
     .description = "Added to the sums.",
     .is_const = true},
    {.name = "scale",
     .type = "tensor [CO] of f32 or f64",
     .description = "What the sums of a channel are multiplied by.",
     .is_const = true},
    {0},
};

static const optune_op_attr attrs[] = {
    CONV2D_STRIDES("Steps between output rows and columns."),
    CONV2D_PADDING("Zeros around the input"),
    CONV2D_DILATION(true),
    CONV2D_GROUPS("Independent groups of channels; C of them make it depthwise."),
    QUANTIZED_ZERO("zero", "The data's integer that means 0."),
    QUANTIZED_ZERO("out_zero", "The output's."),
    QUANTIZED_LIMITS,
    QUANTIZED_DTYPE,
    {0},
};

static bool is(optune_dtype *t, int code, int bits)
{
    optune_dtype want = {.code = code, .bits = bits, .lanes = 1};
    return optune_dtype_unify(t, &want);
}

static int misfit(const optune_call *call, int input, const char *why, optune_err *err)
{
    return optune_types_differ(err, why, inputs[input].name, &call->input[input].type,
                               input ? "data" : "output",
                               input ? &call->input[0].type : &call->output[0]);
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[QCONV_DATA].type, *out = &call->output[0];
    optune_tensor *weight = &call->input[QCONV_WEIGHT].type;
    optune_tensor *bias = &call->input[QCONV_BIAS].type;
    optune_tensor *scale = &call->input[QCONV_SCALE].type;
    const int64_t groups = optune_call_int(call, "groups");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t zero = optune_call_int(call, "zero");
    int status = quantized_out(call, data, err);
    if (status < 0)
        return status;
    const bool sign = data->dtype.code == OPTUNE_DTYPE_INT; /* known by the output's, too */
    if (data->dtype.code != OPTUNE_DTYPE_UNKNOWN &&
        (zero < (sign ? -128 : 0) || zero > (sign ? 127 : 255)))
        return optune_fail(err, OPTUNE_ETYPE,
                           "quantized_conv2d: zero is %d, no %s as the data: give one of %s",
                           (int)zero, sign ? "i8" : "u8", sign ? "-128 .. 127" : "0 .. 255");
    if (!optune_tensor_set_rank(data, 4) || !optune_tensor_set_rank(out, 4))
        return misfit(call, QCONV_DATA, "[N,H,W,C] has 4 dimensions, and so has the output",
                      err);
    if (!optune_tensor_set_rank(weight, 4) ||
        (weight->dtype.code != OPTUNE_DTYPE_UNKNOWN &&
         !is(&weight->dtype, OPTUNE_DTYPE_INT, 8) && !is(&weight->dtype, OPTUNE_DTYPE_INT, 16)))
        return misfit(call, QCONV_WEIGHT, "[CO,C/groups,KH,KW] of i8 or i16 is wanted", err);
    if (!optune_tensor_set_rank(bias, 1) || !is(&bias->dtype, OPTUNE_DTYPE_INT, 32) ||
        !optune_dim_unify(&bias->dim[0], &weight->dim[0]))
        return misfit(call, QCONV_BIAS, "[CO] of i32 is wanted", err);
    if (!optune_tensor_set_rank(scale, 1) ||
        (scale->dtype.code != OPTUNE_DTYPE_UNKNOWN && !tensor_is_float(scale)) ||
        !optune_dim_unify(&scale->dim[0], &weight->dim[0]))
        return misfit(call, QCONV_SCALE, "[CO] of f32 or f64 is wanted", err);
    if (!optune_dim_unify(&data->dim[0], &out->dim[0]))
        return misfit(call, QCONV_DATA, "batch sizes differ", err);
    if (!window_proportional(&data->dim[3], 1, &weight->dim[1], groups))
        return misfit(call, QCONV_WEIGHT, "its channels times the groups are not the data's",
                      err);
    if (!optune_dim_unify(&weight->dim[0], &out->dim[3]) ||
        (optune_dim_known(&weight->dim[0]) && weight->dim[0].min % groups))
        return misfit(call, QCONV_WEIGHT,
                      "its output channels are not the output's, or do not divide into groups",
                      err);
    for (int axis = 0; axis < 2; axis++) {
        optune_dim *in = &data->dim[1 + axis], *kernel = &weight->dim[2 + axis];
        optune_dim *o = &out->dim[1 + axis];
        const int64_t pads = pad[axis] + pad[axis + 2];
        if (!window_slide(in, kernel, o, pads, stride[axis], dilation[axis]) ||
            (conv2d_same_extent(kernel, pads, stride[axis], dilation[axis]) &&
             !optune_dim_unify(in, o)))
            return misfit(call, QCONV_WEIGHT,
                          axis ? "no width satisfies strides, padding and dilation"
                               : "no height satisfies strides, padding and dilation",
                          err);
    }
    const optune_tensor *const all[] = {data, weight, out};
    if (conv2d_empty_image(all) >= 0)
        return misfit(call, QCONV_DATA, "a dimension is empty", err);
    return optune_tensor_known(bias) && optune_tensor_known(scale) ? conv2d_solved(all) : 1;
}

static double flops(const optune_call *call)
{
    conv2d_shape s;
    if (!qconv_shape_of(call, &s))
        return 0;
    return 2.0 * (double)(s.n * s.oh * s.ow) * (double)(s.co * qconv_terms(&s));
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    conv2d_shape s;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    if (!qconv_shape_of(call, &s) || !region_begin(region, at))
        return;
    const quantized_end end = quantized_end_of(call, "out_zero");
    const int zero = (int)optune_call_int(call, "zero");
    const uint8_t *data = in[QCONV_DATA];
    const void *weight = in[QCONV_WEIGHT];
    const int flip = qconv_signed(call) ? 128 : 0;
    do {
        const int64_t oy = at[1], ox = at[2], co = at[3], first = co / s.co_g * s.ci_g;
        int64_t sum = ((const int32_t *)in[QCONV_BIAS])[co];
        for (int64_t i = 0; i < s.kh; i++)
            for (int64_t j = 0; j < s.kw; j++) {
                const int64_t y = oy * s.sh - s.pt + i * s.dh, x = ox * s.sw - s.pl + j * s.dw;
                if (y < 0 || y >= s.h || x < 0 || x >= s.w)
                    continue;
                const uint8_t *from = data + ((at[0] * s.h + y) * s.w + x) * s.ci + first;
                const int64_t tap = co * qconv_terms(&s) + i * s.kw + j;
                for (int64_t k = 0; k < s.ci_g; k++) {
                    const int64_t place = tap + k * s.kh * s.kw;
                    const int w = qconv_wide(call) ? ((const int16_t *)weight)[place]
                                                   : ((const int8_t *)weight)[place];
                    sum += ((from[k] ^ flip) - flip - zero) * w;
                }
            }
        const double v =
            call->input[QCONV_SCALE].type.dtype.bits == 64
                ? (double)sum * ((const double *)in[QCONV_SCALE])[co]
                : (double)((float)(int32_t)sum * ((const float *)in[QCONV_SCALE])[co]);
        out[n] = quantized_rounded(v, &end);
        magnitude[n] = fabs(out[n]);
        n++;
    } while (region_next(region, at));
}

/* Scales that spread sums over the output's range; a weight of 16 bits is of 8 less a zero. */
static bool range(const optune_call *call, int input, double *low, double *high)
{
    conv2d_shape s;
    const bool known = qconv_shape_of(call, &s);
    if (input == QCONV_WEIGHT) {
        *low = call->input[QCONV_WEIGHT].type.dtype.bits == 16 ? -256 : -128;
        *high = call->input[QCONV_WEIGHT].type.dtype.bits == 16 ? 254 : 127;
        return true;
    }
    *low = input == QCONV_BIAS ? -5000 : 0.002 / sqrt(known ? (double)qconv_terms(&s) : 1);
    *high = input == QCONV_BIAS ? 5000 : 0.02 / sqrt(known ? (double)qconv_terms(&s) : 1);
    return input != QCONV_DATA;
}

static const char *const mobilenet[] = {
    "quantized_conv2d(u8[1,224,224,3], i8[32,3,3,3], i32[32], f32[32], strides=[2,2], "
    "padding=[1,1], zero=114)",
    "quantized_conv2d(u8[1,112,112,32], i8[32,1,3,3], i32[32], f32[32], padding=[1,1], "
    "groups=32)",
    "quantized_conv2d(u8[1,112,112,32], i8[16,32,1,1], i32[16], f32[16], out_zero=128)",
    "quantized_conv2d(u8[1,112,112,16], i8[96,16,1,1], i32[96], f32[96], zero=128)",
    "quantized_conv2d(u8[1,112,112,96], i8[96,1,3,3], i32[96], f32[96], strides=[2,2], "
    "padding=[1,1], groups=96)",
    "quantized_conv2d(u8[1,56,56,96], i8[24,96,1,1], i32[24], f32[24], out_zero=128)",
    "quantized_conv2d(u8[1,28,28,192], i8[192,1,3,3], i32[192], f32[192], padding=[1,1], "
    "groups=192)",
    "quantized_conv2d(u8[1,14,14,384], i8[64,384,1,1], i32[64], f32[64], out_zero=128)",
    "quantized_conv2d(u8[1,7,7,320], i8[1280,320,1,1], i32[1280], f32[1280], zero=128)",
    NULL,
};

static const char *const resnet[] = {
    "quantized_conv2d(u8[1,224,224,3], i8[64,3,7,7], i32[64], f32[64], strides=[2,2], "
    "padding=[3,3], zero=114)",
    "quantized_conv2d(u8[1,56,56,64], i8[64,64,3,3], i32[64], f32[64], padding=[1,1])",
    "quantized_conv2d(u8[1,56,56,64], i8[256,64,1,1], i32[256], f32[256], out_zero=128)",
    "quantized_conv2d(u8[1,28,28,128], i8[128,128,3,3], i32[128], f32[128], padding=[1,1])",
    "quantized_conv2d(u8[1,14,14,256], i8[256,256,3,3], i32[256], f32[256], padding=[1,1])",
    "quantized_conv2d(u8[1,14,14,1024], i8[256,1024,1,1], i32[256], f32[256])",
    "quantized_conv2d(u8[1,7,7,512], i8[512,512,3,3], i32[512], f32[512], padding=[1,1])",
    NULL,
};

static const optune_preset presets[] = {
    {"mobilenet_v2", "layers of MobileNet-V2 in 8 bits, batch 1", mobilenet},
    {"resnet50", "layers of ResNet-50 in 8 bits, batch 1", resnet},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "quantized_conv2d(u8[1,7,9,20], i8[33,20,1,1], i32[33], f32[33], zero=128, out_zero=3)",
    "quantized_conv2d(i8[3,5,7,64], i8[40,64,1,1], i32[40], f32[40], zero=-128, "
    "out_zero=127, out_dtype=i8)",
    "quantized_conv2d(u8[1,9,1,12], i8[16,12,3,1], i32[16], f32[16], padding=[2,0,1,0], "
    "zero=255)",
    "quantized_conv2d(u8[2,11,8,3], i8[10,3,3,3], i32[10], f32[10], strides=[2,2], "
    "padding=[0,1,1,0], zero=7, limits=[20,200], out_zero=20)",
    "quantized_conv2d(i8[1,13,12,7], i8[5,7,3,2], i32[5], f32[5], dilation=[2,3], "
    "padding=[1,2,0,1], zero=-3, out_dtype=u8, out_zero=100)",
    "quantized_conv2d(u8[1,10,9,24], i8[36,6,3,3], i32[36], f32[36], padding=[1,1], groups=4, "
    "zero=131, out_dtype=i8)",
    "quantized_conv2d(u8[1,14,13,32], i8[32,1,3,3], i32[32], f32[32], padding=[1,1], "
    "groups=32, zero=128)",
    "quantized_conv2d(i8[2,9,15,19], i8[19,1,3,3], i32[19], f32[19], strides=[2,2], "
    "padding=[0,0,1,1], groups=19, zero=5, out_zero=-128)",
    "quantized_conv2d(u8[1,12,7,72], i8[72,1,5,5], i32[72], f32[72], padding=[2,2], "
    "groups=72, zero=0)",
    "quantized_conv2d(u8[1,9,8,40], i16[40,1,3,3], i32[40], f32[40], padding=[1,1], "
    "groups=40, zero=200)",
    "quantized_conv2d(i8[1,8,9,6], i8[12,1,3,4], i32[12], f32[12], groups=6, dilation=[1,2], "
    "zero=-7)",
    "quantized_conv2d(u8[1,7,7,130], i16[70,130,1,1], i32[70], f32[70], zero=130)",
    "quantized_conv2d(i8[1,1,5,256], i16[48,256,1,1], i32[48], f32[48], zero=-20)",
    "quantized_conv2d(u8[1,20,20,64], i8[96,64,3,3], i32[96], f32[96], padding=[1,1], zero=9)",
    "quantized_conv2d(u8[1,6,6,160], var i8[64,160,1,1], var i32[64], f32[64], zero=50)",
    "quantized_conv2d(u8[1,6,5,8], i8[9,8,7,1], i32[9], f32[9], padding=[3,0], zero=77)",
    "quantized_conv2d(i8[1,4,5,6], i8[8,3,2,2], i32[8], f64[8], groups=2)",
    "quantized_conv2d(i8[1,3,60,48], i8[48,1,1,3], i32[48], f32[48], padding=[0,1], groups=48)",
    "quantized_conv2d(u8[1,9,7,32], i16[24,32,3,3], i32[24], f32[24], padding=[1,1], zero=33)",
    "quantized_conv2d(u8[1,8,9,16], i8[8,16,7,5], i32[8], f32[8], padding=[3,2], zero=211)",
    "quantized_conv2d(i8[2,9,10,64], i8[48,32,3,3], i32[48], f32[48], groups=2, strides=[2,1], "
    "dilation=[1,2], padding=[1,2,0,1], zero=-9, out_dtype=u8, out_zero=7)",
    "quantized_conv2d(u8[2,5,7,20], i8[40,20,3,3], i32[40], f32[40], padding=[1,1], zero=119)",
    "quantized_conv2d(u8[1,8,17,16], i8[20,8,2,3], i32[20], f32[20], groups=2, "
    "dilation=[1,2], zero=4)",
    "quantized_conv2d(i8[2,9,10,64], i16[6,32,3,3], i32[6], f32[6], groups=2, strides=[1,2], "
    "padding=[1,2,0,1], zero=-9, out_zero=-127, limits=[-100,77])",
    "quantized_conv2d(u8[2,9,30,8], i8[20,8,3,3], i32[20], f32[20], strides=[2,1], zero=4)",
    "quantized_conv2d(u8[2,9,31,64], i8[50,64,1,1], i32[50], f32[50], strides=[2,2], zero=4)",
    NULL,
};

OPTUNE_OP(quantized_conv2d) = {
    .name = "quantized_conv2d",
    .summary = "2-D convolution of 8-bit integers, channels last, rounded to 8 bits",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 2,
    .types = types,
    .flops = flops,
    .reference = reference,
    .range = range,
    .presets = presets,
    .samples = samples,
};
