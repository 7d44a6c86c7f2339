/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits: output[m,n] = sum over k of data[m,k] * w[n,k], the product of dense with a weight
 * that is kept as small integers:
 *
 *     w[n,k] = (q[n,k] - zero[n,g]) * scale[n,g]        g = k / group
 *
 * What is quantised is the weight alone: data, products and sums are floats. `bits` is 8, an
 * integer a byte, or 4, two a byte: the one of even k in the low half; where K is odd the high
 * half of a row's last byte means nothing. A weight of u8 holds 0 .. 2^bits - 1, one of i8 two's
 * complement. Without zero points they are 0 of an i8 and 2^(bits - 1) of an u8 weight, as in
 * ONNX's com.microsoft::MatMulNBits. Zero points are bytes, one each also where the weight has 4
 * bits, of the weight's type, or floats; they may lie outside of the weight's range.
 *
 * `group` 0, or more than K, is one scale for a row; the last group has what is left of K. A scale
 * of 0 makes a group's weights 0, against which NaN and infinities of data are NaN. Products with
 * a group's integers are summed before its scale counts: their sum must have room in float32, and
 * what becomes of a scale that is not finite is not said.
 */
#include <stdlib.h>

#include "kernels/host/product.h"
#include "kernels/nbits/nbits.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [M,K]", "left operand, one row per sample", false, false},
    {"weight", "tensor [N,K * bits / 8]", "integers, one row per output feature", false, true},
    {"scale", "tensor [N,K / group]", "what an integer of a group counts for", false, true},
    {"zero", "tensor [N,K / group]", "the integer that means 0; absent: the middle", true,
     true},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {
    {.name = "bits",
     .kind = OPTUNE_ATTR_INT,
     .value = "4",
     .description = "of an integer of the weight: 4 or 8",
     .min = 4,
     .max = 8,
     .shown = true},
    {.name = "group",
     .kind = OPTUNE_ATTR_INT,
     .value = "0",
     .description = "elements of a row that share a scale; 0: all",
     .min = 0,
     .max = 1 << 30,
     .shown = true},
    {.name = NULL},
};

static bool real_or_unknown(const optune_tensor *t)
{
    return t->dtype.code == OPTUNE_DTYPE_UNKNOWN ||
           (host_is_real(t->dtype) && t->dtype.lanes == 1);
}

static bool byte_integers(const optune_tensor *t)
{
    return t->dtype.code == OPTUNE_DTYPE_UNKNOWN ||
           ((t->dtype.code == OPTUNE_DTYPE_INT || t->dtype.code == OPTUNE_DTYPE_UINT) &&
            t->dtype.bits == 8 && t->dtype.lanes == 1);
}

static int dtypes(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[NBITS_DATA].type, *out = &call->output[0];
    const optune_tensor *weight = &call->input[NBITS_WEIGHT].type;
    const optune_tensor *scale = &call->input[NBITS_SCALE].type;
    const optune_tensor *zero =
        call->n_inputs > NBITS_ZERO ? &call->input[NBITS_ZERO].type : NULL;
    const int64_t bits = optune_call_int(call, "bits");
    char text[HOST_TYPE_TEXT];
    if (bits != 4 && bits != 8)
        return optune_fail(err, OPTUNE_ETYPE, "bits is %" PRId64 ", not 4 or 8", bits);
    if (!optune_dtype_unify(&data->dtype, &out->dtype))
        return host_conflict(err, "their types differ", "output", out, "data", data);
    if (!real_or_unknown(data))
        return optune_fail(err, OPTUNE_ETYPE, "data %s: needs a floating type",
                           host_type_text(data, text));
    if (!byte_integers(weight))
        return optune_fail(err, OPTUNE_ETYPE,
                           "weight %s: needs i8 or u8, two integers a byte where bits is 4",
                           host_type_text(weight, text));
    if (!real_or_unknown(scale))
        return optune_fail(err, OPTUNE_ETYPE, "scale %s: needs a floating type",
                           host_type_text(scale, text));
    if (zero && zero->dtype.code != OPTUNE_DTYPE_UNKNOWN &&
        weight->dtype.code != OPTUNE_DTYPE_UNKNOWN &&
        !optune_dtype_equal(zero->dtype, weight->dtype) &&
        !(host_is_real(zero->dtype) && real_or_unknown(zero)))
        return host_conflict(err, "zero points are bytes of the weight's type, or floats",
                             "zero", zero, "weight", weight);
    return OPTUNE_OK;
}

/* a in units of `each` is b, rounded up: what either dim says of the other. */
static bool counts(optune_dim *a, int64_t each, optune_dim *b)
{
    const int64_t most = a->max == OPTUNE_DIM_MAX ? OPTUNE_DIM_MAX : host_ceil(a->max, each);
    if (!host_dim_narrow(b, host_ceil(a->min, each), most))
        return false;
    return host_dim_narrow(a,
                           b->min < 1 ? 0 : host_dim_plus(host_dim_times(b->min - 1, each), 1),
                           host_dim_times(b->max, each));
}

static int groups_agree(optune_call *call, int input, const char *name, optune_err *err)
{
    optune_tensor *data = &call->input[NBITS_DATA].type, *t = &call->input[input].type;
    const int64_t group = optune_call_int(call, "group");
    optune_dim one = optune_dim_of(1);
    if (!optune_dim_unify(&t->dim[0], &call->input[NBITS_WEIGHT].type.dim[0]))
        return host_conflict(err, "the first dimension is the weight's (n)", name, t, "weight",
                             &call->input[NBITS_WEIGHT].type);
    if (group == 0 ? !optune_dim_unify(&t->dim[1], &one)
                   : !counts(&data->dim[1], group, &t->dim[1]))
        return host_conflict(err,
                             group ? "its last dimension is k / group, rounded up"
                                   : "without a group its last dimension is 1",
                             name, t, "data", data);
    return OPTUNE_OK;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[NBITS_DATA].type, *out = &call->output[0];
    optune_tensor *weight = &call->input[NBITS_WEIGHT].type;
    const bool zero = call->n_inputs > NBITS_ZERO;
    int status;
    if ((status = matmul_rank(err, "data", data, 2)) != OPTUNE_OK ||
        (status = matmul_rank(err, "weight", weight, 2)) != OPTUNE_OK ||
        (status = matmul_rank(err, "scale", &call->input[NBITS_SCALE].type, 2)) != OPTUNE_OK ||
        (zero &&
         (status = matmul_rank(err, "zero", &call->input[NBITS_ZERO].type, 2)) != OPTUNE_OK) ||
        (status = matmul_rank(err, "output", out, 2)) != OPTUNE_OK ||
        (status = dtypes(call, err)) != OPTUNE_OK)
        return status;
    const int64_t bits = optune_call_int(call, "bits");
    /* Twice: a range narrowed by a later agreement reaches the earlier ones. */
    for (int pass = 0; pass < 2; pass++) {
        if (bits == 8 ? !optune_dim_unify(&weight->dim[1], &data->dim[1])
                      : !counts(&data->dim[1], 2, &weight->dim[1]))
            return host_conflict(err,
                                 bits == 8
                                     ? "the last dimension (k) is the same in both"
                                     : "a row of 4-bit integers has k / 2 bytes, rounded up",
                                 "weight", weight, "data", data);
        if (!optune_dim_unify(&out->dim[0], &data->dim[0]))
            return host_conflict(err, "the first dimension (m) is the same in both", "output",
                                 out, "data", data);
        if (!optune_dim_unify(&out->dim[1], &weight->dim[0]))
            return host_conflict(err, "the output's last dimension is the weight's first (n)",
                                 "output", out, "weight", weight);
        if ((status = groups_agree(call, NBITS_SCALE, "scale", err)) != OPTUNE_OK ||
            (zero && (status = groups_agree(call, NBITS_ZERO, "zero", err)) != OPTUNE_OK))
            return status;
    }
    bool known = optune_tensor_known(out);
    for (int i = 0; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    return known ? OPTUNE_OK : 1;
}

static double flops(const optune_call *call)
{
    if (!optune_tensor_known(&call->output[0]) ||
        !optune_tensor_known(&call->input[NBITS_DATA].type))
        return 0;
    const nbits_shape s = nbits_shape_of(call);
    return 2.0 * (double)s.m * (double)s.n * (double)s.k;
}

/* The integer less its zero point, and times the scale, are rounded, too. */
static double terms(const optune_call *call)
{
    const optune_dim *k = &call->input[NBITS_DATA].type.dim[1];
    return optune_dim_known(k) ? (double)k->min + 2 : 1;
}

/* The weight as it is stored. */
typedef struct stored {
    nbits_shape shape;
    const void *weight, *scale, *zero;
    optune_dtype scale_type, zero_type;
} stored;

/* Integers `from` to `from` + n of a row; of 4 bits, the first of two is in the low half of a
 * byte, and `from` is even. */
static void read_integers(const stored *w, int64_t row, int64_t from, int n, int *to)
{
    const uint8_t *bytes = (const uint8_t *)w->weight + row * w->shape.row_bytes;
    const int sign = w->shape.is_signed ? 1 << (w->shape.bits - 1) : 0;
    if (w->shape.bits == 8) {
        for (int i = 0; i < n; i++)
            to[i] = (bytes[from + i] ^ sign) - sign;
        return;
    }
    bytes += from / 2;
    for (int i = 0; i < n / 2; i++) {
        to[2 * i] = ((bytes[i] & 15) ^ sign) - sign;
        to[2 * i + 1] = (bytes[i] >> 4 ^ sign) - sign;
    }
    if (n % 2)
        to[n - 1] = ((bytes[n / 2] & 15) ^ sign) - sign;
}

/* Rows of what the weight means: an integer less its zero point, which is exact unless that is a
 * float, times its scale. */
static void read_weight(const void *of, int64_t row, int rows, int64_t from, int n, double *to)
{
    const stored *w = of;
    const nbits_shape *s = &w->shape;
    const double middle = s->is_signed ? 0 : s->bits == 4 ? 8 : 128;
    int q[HOST_PRODUCT_STEPS];
    for (int r = 0; r < rows; r++, row++, to += HOST_PRODUCT_ROW) {
        read_integers(w, row, from, n, q);
        for (int i = 0; i < n;) {
            const int64_t group = (from + i) / s->group, at = row * s->groups + group;
            const int64_t left = (group + 1) * s->group - from;
            const int end = left < n ? (int)left : n;
            const double scale = tensor_element(w->scale, w->scale_type, at);
            const double zero = s->zero ? tensor_element(w->zero, w->zero_type, at) : middle;
            for (; i < end; i++)
                to[i] = (q[i] - zero) * scale;
        }
    }
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const int64_t rows = region->hi[0] - region->lo[0], cols = region->hi[1] - region->lo[1];
    stored w = {.shape = nbits_shape_of(call),
                .weight = in[NBITS_WEIGHT],
                .scale = in[NBITS_SCALE],
                .scale_type = call->input[NBITS_SCALE].type.dtype};
    if (w.shape.zero) {
        w.zero = in[NBITS_ZERO];
        w.zero_type = call->input[NBITS_ZERO].type.dtype;
    }
    const host_matrix x = {in[NBITS_DATA], call->input[NBITS_DATA].type.dtype, 0, w.shape.k, 1};
    const host_rows a = host_rows_of(&x), b = {.read = read_weight, .of = &w};
    for (int64_t i = 0; i < rows * cols; i++)
        out[i] = magnitude[i] = 0;
    host_product(&a, region->lo[0], region->hi[0], &b, region->lo[1], region->hi[1], w.shape.k,
                 out, magnitude, cols);
}

static const char *const decode[] = {
    "dense_nbits(bf16[1,4096], u8[4096,2048], bf16[4096,128], bits=4, group=32)",
    "dense_nbits(bf16[1,4096], u8[14336,2048], bf16[14336,128], bits=4, group=32)",
    "dense_nbits(bf16[1,14336], u8[4096,7168], bf16[4096,448], bits=4, group=32)",
    "dense_nbits(bf16[8,4096], u8[4096,2048], bf16[4096,128], bits=4, group=32)",
    "dense_nbits(bf16[8,4096], u8[11008,2048], bf16[11008,32], bits=4, group=128)",
    "dense_nbits(bf16[1,4096], i8[4096,4096], bf16[4096,1], bits=8)",
    "dense_nbits(f32[1,4096], u8[11008,2048], f32[11008,128], u8[11008,128], bits=4, group=32)",
    NULL,
};

static const char *const prefill[] = {
    "dense_nbits(bf16[512,4096], u8[4096,2048], bf16[4096,128], bits=4, group=32)",
    "dense_nbits(bf16[512,4096], u8[11008,2048], bf16[11008,128], bits=4, group=32)",
    "dense_nbits(bf16[512,4096], u8[14336,2048], bf16[14336,128], bits=4, group=32)",
    "dense_nbits(bf16[512,4096], i8[4096,4096], bf16[4096,1], bits=8)",
    NULL,
};

static const optune_preset presets[] = {
    {"llama-decode", "projections of 7B and 8B Llama models, one token and eight", decode},
    {"llama-prefill", "projections of 7B and 8B Llama models, 512 tokens", prefill},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "dense_nbits(f32[1,64], u8[29,32], f32[29,2], bits=4, group=32)",
    "dense_nbits(f32[1,37], u8[5,19], f32[5,3], u8[5,3], bits=4, group=16)",
    "dense_nbits(f32[5,33], i8[17,17], f32[17,1], bits=4)",
    "dense_nbits(f32[3,1], u8[1,1], f32[1,1], bits=4, group=16)",
    "dense_nbits(f32[9,96], i8[40,96], f32[40,3], i8[40,3], bits=8, group=32)",
    "dense_nbits(f32[1,130], u8[70,130], f32[70,1], bits=8, group=256)",
    "dense_nbits(f32[40,160], u8[72,80], f32[72,5], f32[72,5], bits=4, group=32)",
    "dense_nbits(f32[2,70], var u8[24,35], var f32[24,3], bits=4, group=24)",
    "dense_nbits(f32[19,40], i8[3,40], f16[3,8], bf16[3,8], bits=8, group=5)",
    "dense_nbits(bf16[1,128], u8[64,64], bf16[64,4], u8[64,4], bits=4, group=32)",
    "dense_nbits(bf16[33,64], i8[48,64], f32[48,1], bits=8)",
    "dense_nbits(f16[8,75], u8[23,38], f16[23,5], bits=4, group=16)",
    "dense_nbits(f64[2,21], i8[3,11], f64[3,2], f64[3,2], bits=4, group=16)",
    "dense_nbits(f16[67,128], i8[136,64], f16[136,1], i8[136,1], bits=4, group=128)",
    "dense_nbits(bf16[20,200], u8[56,100], f32[56,7], u8[56,7], bits=4, group=32)",
    "dense_nbits(f16[131,144], i8[72,144], f16[72,9], bits=8, group=16)",
    "dense_nbits(bf16[7,320], i8[100,160], bf16[100,5], i8[100,5], bits=4, group=64)",
    "dense_nbits(f16[3,136], u8[40,136], f16[40,9], u8[40,9], bits=8, group=16)",
    "dense_nbits(f16[12,256], i8[50,128], f16[50,4], i8[50,4], bits=4, group=64)",
    "dense_nbits(bf16[17,192], u8[33,192], bf16[33,1], bits=8)",
    "dense_nbits(f16[2,96], u8[35,48], f16[35,3], u8[35,3], bits=4, group=32)",
    "dense_nbits(bf16[1,1024], u8[100,512], bf16[100,32], bits=4, group=32)",
    "dense_nbits(f16[2,512], i8[70,512], f16[70,16], bits=8, group=32)",
    "dense_nbits(bf16[3,768], u8[90,384], bf16[90,12], u8[90,12], bits=4, group=64)",
    "dense_nbits(bf16[1,1024], u8[40,512], f32[40,1], bits=4)",
    "dense_nbits(f16[3,512], i8[37,512], f32[37,2], bits=8, group=256)",
    NULL,
};

OPTUNE_OP(dense_nbits) = {
    .name = "dense_nbits",
    .summary = "matrix product with a transposed weight of 4- or 8-bit integers in groups",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 1,
    .presets = presets,
    .gradient = nbits_gradient,
    .float32_sums = true,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};
