/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax: output = exp(data - m) / sum over the axis of exp(data - m), m the largest along the
 * axis. Relay's nn.softmax.
 *
 * A NaN or +infinity anywhere along an axis, or nothing but -infinity, makes all of that
 * axis NaN. Otherwise -infinity gives exactly 0, so that masked scores stay masked.
 *
 * The error of exp(x) has two parts: that of the function, and that of rounding x = data - m,
 * which exp magnifies by |x|; so the magnitude of an element is its value times
 * 1 + |x| + the mean of |x| under the softmax itself (from the sum).
 */
#include <math.h>

#include "kernels/host/region_lines.h"
#include "kernels/softmax/softmax.h"

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor", .description = "Scores; any rank of at least 1."},
    {0},
};

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INT,
     .value = "-1",
     .description = "The axis that sums to 1; negative counts from the last.",
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .shown = true},
    {0},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    if (!tensor_unify(data, out))
        return tensor_misfit(err, "softmax", "output", out, "argument 1 (data)", data,
                             "both have the same type");
    if (data->rank >= 0 && softmax_axis(call) < 0) {
        char text[HOST_TYPE_TEXT];
        return optune_fail(err, OPTUNE_ETYPE, "softmax: argument 1 (data) %s has no axis %lld",
                           host_type_text(data, text),
                           (long long)optune_call_int(call, "axis"));
    }
    if (!tensor_is_real(data))
        return tensor_misfit(err, "softmax", "output", out, "argument 1 (data)", data,
                             "exponentials need a floating type");
    const int status = data->rank < 0 ? OPTUNE_OK : host_axis_settle(call, data, err);
    return status < 0 ? status : optune_tensor_known(data) ? OPTUNE_OK : 1;
}

/* For each element a subtraction, an exp counted as one, an addition, a comparison and a
 * product: nominal, so that rates compare between implementations. */
static double flops(const optune_call *call)
{
    softmax_shape s;
    return softmax_shape_of(call, &s) && optune_tensor_known(&call->output[0])
               ? 5.0 * (double)s.outer * (double)s.n * (double)s.inner
               : 0;
}

/* The sum's, and a few roundings of exp and of the quotient. */
static double terms(const optune_call *call)
{
    softmax_shape s;
    return softmax_shape_of(call, &s) ? (double)s.n + 4 : 1;
}

typedef struct line { /* one axis: its maximum, the sum of exp(x), and of exp(x) |x| */
    double most, sum, moment;
} line;

static line line_of(const void *data, optune_dtype dtype, const softmax_shape *s, int64_t at)
{
    line l = {.most = -INFINITY};
    for (int64_t i = 0; i < s->n; i++)
        l.most = fmax(l.most, tensor_element(data, dtype, at + i * s->inner));
    for (int64_t i = 0; i < s->n; i++) {
        const double x = tensor_element(data, dtype, at + i * s->inner) - l.most;
        const double e = exp(x);
        l.sum += e;
        l.moment += e > 0 ? e * fabs(x) : 0;
    }
    return l;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    softmax_shape s;
    if (!softmax_shape_of(call, &s))
        return;
    const optune_tensor *type = &call->output[0];
    const int axis = softmax_axis(call);
    region_lines at = region_lines_of(region, type, axis, 1);
    do {
        const line l = line_of(in[0], type->dtype, &s, at.first);
        for (int64_t i = region->lo[axis]; i < region->hi[axis]; i++) {
            const int64_t to = at.to + (i - region->lo[axis]) * at.step;
            const double x =
                tensor_element(in[0], type->dtype, at.first + i * s.inner) - l.most;
            out[to] = exp(x) / l.sum;
            magnitude[to] = out[to] > 0 ? out[to] * (1 + fabs(x) + l.moment / l.sum) : 0;
        }
    } while (region_lines_next(&at));
}

static const char *const attention[] = {
    "softmax(f32[12,128,128])",
    "softmax(f32[12,512,512])",
    NULL,
};

static const char *const classifiers[] = {
    "softmax(f32[1,1000])",
    "softmax(f32[64,1000])",
    "softmax(f32[1,50257])",
    "softmax(f32[16,50257])",
    NULL,
};

static const char *const detection[] = {
    "softmax(f32[1,21,8732], axis=1)",
    "softmax(f32[1,19,64,128], axis=1)",
    NULL,
};

static const optune_preset presets[] = {
    {"attention", "scores of 12 heads: a BERT base layer, sequences of 128 and 512", attention},
    {"classifiers", "1000 classes of ImageNet and GPT-2's vocabulary", classifiers},
    {"detection", "over the second axis: SSD's classes, a segmentation's", detection},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "softmax(f32[3,7])",
    "softmax(f32[2,5,64])",
    "softmax(f32[5,129])",
    "softmax(f32[9,47])",
    "softmax(f32[1,1003])",
    "softmax(f32[7])",
    "softmax(f32[4,1])",
    "softmax(f32[2,3])",
    "softmax(f32[3,19,37], axis=1)",
    "softmax(f32[33,5,2], axis=0)",
    "softmax(f32[2,6,4,5], axis=-3)",
    "softmax(f64[6,45])",
    "softmax(f64[2,9,21], axis=1)",
    "softmax(f16[37,127])",
    "softmax(bf16[19,197])",
    NULL,
};

/* d data = (dy - sum(dy y)) y */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)err;
    const int y = optune_grad_output(grad, 0), dy = optune_grad_adjoint(grad, 0);
    const int product = optune_grad_binary(grad, "multiply", dy, y);
    const int mean = optune_grad_call(grad, "sum", 1, &product, "axis=[%d], keepdims=true",
                                      (int)optune_call_int(call, "axis"));
    optune_grad_add(grad, 0,
                    optune_grad_binary(grad, "multiply",
                                       optune_grad_binary(grad, "subtract", dy, mean), y));
    return OPTUNE_OK;
}

OPTUNE_OP(softmax) = {
    .name = "softmax",
    .summary = "exponentials along an axis, divided by their sum",
    .inputs = inputs,
    .attrs = attrs,
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .support_level = 1,
    .types = types,
    .flops = flops,
    .terms = terms,
    .reference = reference,
    .presets = presets,
    .gradient = gradient,
    .samples = samples,
};
