/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense: output[m,n] = sum over k of data[m,k] * weight[n,k], plus bias[n] when given. The
 * meaning, argument order and attribute of Relay's nn.dense for matrices. What is here never
 * depends on a target.
 *
 * Where products of bfloat16 are added up by an instruction of x86, denormals count as zero.
 */
#include "kernels/host/product.h"
#include "kernels/matmul/dense.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [M,K]", "left operand, one row per sample", false, false},
    {"weight", "tensor [N,K]", "right operand, one row per output feature", false, true},
    {"bias", "tensor [N]", "added to every row of the output", true, true},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {
    {.name = "out_dtype",
     .kind = OPTUNE_ATTR_DTYPE,
     .value = "?",
     .description = "type of the output; unknown: that of data"},
    {.name = NULL},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[DENSE_DATA].type;
    optune_tensor *weight = &call->input[DENSE_WEIGHT].type;
    optune_tensor *bias = call->n_inputs > DENSE_BIAS ? &call->input[DENSE_BIAS].type : NULL;
    optune_tensor *out = &call->output[0];
    int status;
    if ((status = matmul_rank(err, "data", data, 2)) != OPTUNE_OK ||
        (status = matmul_rank(err, "weight", weight, 2)) != OPTUNE_OK ||
        (bias && (status = matmul_rank(err, "bias", bias, 1)) != OPTUNE_OK) ||
        (status = matmul_rank(err, "output", out, 2)) != OPTUNE_OK ||
        (status = matmul_dtypes(call, "data", "weight", err)) != OPTUNE_OK)
        return status;

    if (bias && !optune_dtype_unify(&bias->dtype, &out->dtype))
        return host_conflict(err, "their types differ", "bias", bias, "output", out);

    /* Twice: a range narrowed by a later agreement reaches the earlier ones. */
    for (int pass = 0; pass < 2; pass++) {
        if (!optune_dim_unify(&weight->dim[1], &data->dim[1]))
            return host_conflict(err, "the last dimension (k) is the same in both", "weight",
                                 weight, "data", data);
        if (!optune_dim_unify(&out->dim[0], &data->dim[0]))
            return host_conflict(err, "the first dimension (m) is the same in both", "output",
                                 out, "data", data);
        if (!optune_dim_unify(&out->dim[1], &weight->dim[0]))
            return host_conflict(err, "the output's last dimension is the weight's first (n)",
                                 "output", out, "weight", weight);
        if (bias && !optune_dim_unify(&bias->dim[0], &weight->dim[0]))
            return host_conflict(err, "its dimension is the weight's first (n)", "bias", bias,
                                 "weight", weight);
    }
    return optune_tensor_known(data) && optune_tensor_known(weight) &&
                   optune_tensor_known(out) && (!bias || optune_tensor_known(bias))
               ? OPTUNE_OK
               : 1;
}

static double flops(const optune_call *call)
{
    if (!dense_known(call))
        return 0;
    const dense_shape s = dense_shape_of(call);
    return 2.0 * (double)s.m * (double)s.n * (double)s.k +
           (s.bias ? (double)s.m * (double)s.n : 0.0);
}

static double terms(const optune_call *call)
{
    if (!dense_known(call))
        return 1;
    const dense_shape s = dense_shape_of(call);
    return (double)s.k + s.bias;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const int64_t k = call->input[DENSE_DATA].type.dim[1].min;
    const int64_t rows = region->hi[0] - region->lo[0], cols = region->hi[1] - region->lo[1];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double b = 0;
            if (call->n_inputs > DENSE_BIAS)
                b = tensor_element(in[DENSE_BIAS], call->input[DENSE_BIAS].type.dtype,
                                   region->lo[1] + j);
            out[i * cols + j] = b;
            magnitude[i * cols + j] = fabs(b);
        }
    const host_matrix x = {in[DENSE_DATA], call->input[DENSE_DATA].type.dtype, 0, k, 1};
    const host_matrix w = {in[DENSE_WEIGHT], call->input[DENSE_WEIGHT].type.dtype, 0, k, 1};
    const host_rows a = host_rows_of(&x), b = host_rows_of(&w);
    host_product(&a, region->lo[0], region->hi[0], &b, region->lo[1], region->hi[1], k, out,
                 magnitude, cols);
}

static const char *const bert_base[] = {
    "dense(f32[128,768], f32[768,768])",
    "dense(f32[128,768], f32[3072,768])",
    "dense(f32[128,3072], f32[768,3072])",
    NULL,
};

static const char *const resnet50[] = {
    "dense(f32[1,2048], f32[1000,2048])",
    NULL,
};

static const char *const mlp[] = {
    "dense(f32[64,784], f32[512,784], f32[512])",
    "dense(f32[64,512], f32[512,512], f32[512])",
    "dense(f32[64,512], f32[10,512], f32[10])",
    NULL,
};

static const char *const tensor_cores[] = {
    "dense(bf16[4096,4096], bf16[4096,4096])",
    "dense(bf16[8192,8192], bf16[8192,8192])",
    "dense(f16[4096,4096], f16[4096,4096], out_dtype=f32)",
    "dense(f32[4096,4096], f32[4096,4096], math=tf32)",
    "dense(i8[4096,4096], i8[4096,4096], out_dtype=i32)",
    NULL,
};

static const optune_preset presets[] = {
    {"bert-base", "the three weight shapes of a BERT base layer, sequence 128", bert_base},
    {"resnet50", "the classifier of ResNet-50, batch 1", resnet50},
    {"mlp", "a three-layer perceptron on 28 x 28 images, batch 64", mlp},
    {"tensor-cores", "large products in the types that tensor cores take", tensor_cores},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "dense(f32[1,37], f32[29,37])",
    "dense(f32[1,128], f32[64,128], f32[64])",
    "dense(f32[13,64], f32[48,64])",
    "dense(f32[31,29], f32[37,29], f32[37])",
    "dense(f32[17,70], var f32[50,70])",
    "dense(f32[5,96], var f32[33,96], var f32[33])",
    "dense(f32[64,160], f32[96,160])",
    "dense(f64[7,53], f64[41,53], f64[41])",
    "dense(f64[24,40], var f64[72,40])",
    "dense(f32[3,1], f32[1,1], f32[1])",
    "dense(f32[70,72], f32[40,72], f32[40], math=tf32)",
    "dense(f32[18,29], f32[23,29], math=tf32)",
    "dense(f16[130,64], f16[136,64], f16[136])",
    "dense(f16[17,37], f16[29,37], f32[29], out_dtype=f32)",
    "dense(bf16[33,88], bf16[50,88])",
    "dense(bf16[66,264], bf16[24,264], out_dtype=f32)",
    "dense(i8[40,96], i8[36,96], i32[36], out_dtype=i32)",
    "dense(i8[19,35], i8[21,35], out_dtype=i32)",
    "dense(i8[33,128], i8[20,128], out_dtype=i32)",
    "dense(bf16[33,64], var bf16[18,64])",
    "dense(u8[9,30], u8[40,30], out_dtype=i32)",
    NULL,
};

/* d data = dy weight, d weight = dy^T data, d bias = dy summed over rows */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    if (!optune_dtype_equal(call->output[0].dtype, call->input[0].type.dtype))
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "out_dtype is not that of data");
    const int data = optune_grad_input(grad, DENSE_DATA);
    const int weight = optune_grad_input(grad, DENSE_WEIGHT);
    const int dy = optune_grad_adjoint(grad, 0);
    if (optune_grad_wants(grad, DENSE_DATA))
        optune_grad_add(grad, DENSE_DATA,
                        optune_grad_binary(grad, "dense", dy,
                                           optune_grad_unary(grad, "transpose", weight)));
    if (optune_grad_wants(grad, DENSE_WEIGHT))
        optune_grad_add(grad, DENSE_WEIGHT,
                        optune_grad_binary(grad, "dense",
                                           optune_grad_unary(grad, "transpose", dy),
                                           optune_grad_unary(grad, "transpose", data)));
    if (optune_grad_wants(grad, DENSE_BIAS))
        optune_grad_add(grad, DENSE_BIAS, dy);
    return OPTUNE_OK;
}

OPTUNE_OP(dense) = {
    .name = "dense",
    .summary = "matrix product with a transposed weight, and an optional bias",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 1,
    .presets = presets,
    .gradient = gradient,
    .float32_sums = true,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};
