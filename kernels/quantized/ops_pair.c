/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_add, quantized_multiply: the sum, the product of what two tensors of 8-bit integers
 * stand for, as 8-bit integers:
 *
 *     output = round(((a - a_zero) * a_scale + (b - b_zero) * b_scale) / scale) + zero
 *
 * cut to limits: ONNX's Add, or Mul, between DequantizeLinear and QuantizeLinear. With `merged`
 * scales meet first, and the zero comes before the rounding: onnxruntime's QLinearAdd, QLinearMul:
 *
 *     fma(a, A, fma(b, B, zero - fma(A, a_zero, B * b_zero)))       A = a_scale / scale, B likewise
 *     (a - a_zero) * (b - b_zero) * (a_scale * b_scale / scale) + zero
 *
 * Every step is rounded to float32, so that every implementation gives the same bytes. Scales are
 * float32's numbers.
 */
#include "kernels/host/region_lines.h"
#include "kernels/quantized/pair.h"

static const optune_op_input inputs[] = {
    {.name = "a", .type = "tensor of i8 or u8", .description = "one side"},
    {.name = "b", .type = "tensor of i8 or u8", .description = "the other, of the same shape"},
    {0},
};

#define SCALE(id, text)                                                                        \
    {                                                                                          \
        .name = id, .kind = OPTUNE_ATTR_FLOAT, .value = "1.0", .description = text,            \
        .shown = true                                                                          \
    }

static const optune_op_attr attrs[] = {
    SCALE("a_scale", "What a step of `a` stands for."),
    QUANTIZED_ZERO("a_zero", "The integer of `a` that means 0."),
    SCALE("b_scale", "What a step of `b` stands for."),
    QUANTIZED_ZERO("b_zero", "The integer of `b` that means 0."),
    SCALE("scale", "What a step of the output stands for."),
    QUANTIZED_ZERO("zero", "The output's integer that means 0."),
    {.name = "merged",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "Scales meet first, the zero is rounded with the rest."},
    QUANTIZED_LIMITS,
    QUANTIZED_DTYPE,
    {0},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *a = &call->input[0].type, *b = &call->input[1].type, *out = &call->output[0];
    static const char *const scales[] = {"a_scale", "b_scale", "scale"};
    const int status = quantized_out(call, a, err);
    if (status < 0)
        return status;
    for (int i = 0; i < 3; i++) {
        const float scale = (float)optune_call_attr(call, scales[i])->f;
        if (!(scale > 0) || !isnormal(scale))
            return optune_fail(err, OPTUNE_ETYPE, "%s: %s is %g, no normal float above 0",
                               call->op->name, scales[i], optune_call_attr(call, scales[i])->f);
    }
    const qpair p = qpair_of(call);
    if (!isfinite(p.scale[0]) || !isfinite(p.scale[1]) || !isfinite(p.shift))
        return optune_fail(err, OPTUNE_ETYPE, "%s: its scales have no finite quotient",
                           call->op->name);
    if (b->dtype.code != OPTUNE_DTYPE_UNKNOWN && !quantized_byte(b->dtype))
        return optune_types_differ(err, "8-bit integers are wanted", "b", b, "a", a);
    const int rank = a->rank >= 0 ? a->rank : b->rank >= 0 ? b->rank : out->rank;
    if (rank < 0)
        return 1;
    bool same = optune_tensor_set_rank(a, rank) && optune_tensor_set_rank(b, rank) &&
                optune_tensor_set_rank(out, rank);
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < rank && same; d++)
            same = optune_dim_unify(&a->dim[d], &b->dim[d]) &&
                   optune_dim_unify(&b->dim[d], &out->dim[d]);
    if (!same)
        return optune_types_differ(err, "its sides have one shape", "a", a, "b", b);
    return optune_tensor_known(a) && optune_tensor_known(b) && optune_tensor_known(out)
               ? OPTUNE_OK
               : 1;
}

static double flops(const optune_call *call)
{
    return optune_tensor_known(&call->output[0])
               ? 5.0 * (double)optune_tensor_elements(&call->output[0])
               : 0;
}

/* The float that is rounded. */
static float combined(const qpair *p, float a, float b)
{
    const float x = a - (float)p->zero[0], y = b - (float)p->zero[1];
    volatile float v; /* no FMA */
    if (p->merged && !p->times)
        return fmaf(a, p->scale[0], fmaf(b, p->scale[1], p->shift));
    if (p->merged) {
        v = x * y * p->scale[0];
        return v + p->shift;
    }
    v = x * p->scale[0];
    volatile float w = y * p->scale[1];
    v = p->times ? v * w : v + w;
    return v / p->scale[2];
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    const qpair p = qpair_of(call);
    if (!region_begin(region, at))
        return;
    do {
        int64_t i = 0;
        for (int d = 0; d < region->rank; d++)
            i = i * call->output[0].dim[d].min + at[d];
        const double a = tensor_element(in[0], call->input[0].type.dtype, i);
        const double b = tensor_element(in[1], call->input[1].type.dtype, i);
        out[n] = quantized_rounded((double)combined(&p, (float)a, (float)b), &p.end);
        magnitude[n] = fabs(out[n]);
        n++;
    } while (region_next(region, at));
}

static const char *const residual[] = {
    "quantized_add(u8[1,56,56,256], u8[1,56,56,256], a_scale=0.0625, a_zero=120, "
    "b_scale=0.05, scale=0.07)",
    "quantized_add(u8[1,14,14,1024], u8[1,14,14,1024], a_scale=0.0625, a_zero=120, "
    "b_scale=0.05, scale=0.07)",
    NULL,
};
static const optune_preset presets[] = {
    {"resnet50", "residual sums of ResNet-50 in 8 bits", residual}, {NULL, NULL, NULL}};

static const char *const gates[] = {
    "quantized_multiply(u8[1,28,28,240], u8[1,28,28,240], a_scale=0.03, a_zero=7, "
    "b_scale=0.00392, scale=0.02, zero=5)",
    NULL,
};
static const optune_preset gated[] = {
    {"efficientnet", "a gate of EfficientNet in 8 bits", gates}, {NULL, NULL, NULL}};

#define SAMPLES(op)                                                                            \
    (const char *const[])                                                                      \
    {                                                                                          \
        op "(u8[7], u8[7], a_scale=0.1, b_scale=0.3, scale=0.2, zero=3)",                      \
            op "(i8[3,5,17], i8[3,5,17], a_scale=0.5, a_zero=-7, b_scale=0.25, b_zero=100, "   \
               "scale=0.5, zero=-128)",                                                        \
            op "(u8[2,9,133], i8[2,9,133], a_scale=0.02, a_zero=255, b_scale=0.7, "            \
               "scale=0.31, zero=127, out_dtype=i8)",                                          \
            op "(i8[1,40,41], u8[1,40,41], a_scale=1.0, b_scale=1.0, b_zero=128, scale=2.0, "  \
               "zero=10, limits=[10,200], out_dtype=u8)",                                      \
            op "(u8[3,71], u8[3,71], a_scale=0.1, b_scale=0.3, scale=0.7, zero=131, "          \
               "merged=true)",                                                                 \
            op "(i8[5,33], u8[5,33], a_scale=0.25, a_zero=-100, b_scale=0.5, b_zero=200, "     \
               "scale=4.0, zero=17, merged=true, limits=[0,100], out_dtype=u8)",               \
            op "(u8[], u8[])", NULL,                                                           \
    }

#define PAIR(id, text, preset)                                                                 \
    {                                                                                          \
        .name = id, .summary = text, .inputs = inputs, .attrs = attrs, .n_outputs = 1,         \
        .pattern = OPTUNE_OPAQUE, .support_level = 2, .types = types, .flops = flops,          \
        .reference = reference, .presets = preset, .samples = SAMPLES(id)                      \
    }

OPTUNE_OPS(pair) = {
    PAIR("quantized_add", "sum of what 8-bit integers stand for, rounded to 8 bits", presets),
    PAIR("quantized_multiply", "product of what 8-bit integers stand for, rounded to 8 bits",
         gated),
    {0},
};
