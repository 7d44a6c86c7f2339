/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul: output[b,m,n] = sum over k of x[b,m,k] * y[b,n,k]. The meaning, argument order
 * and attributes of Relay's nn.batch_matmul: y comes transposed unless transpose_b=false, x may
 * come transposed, and a batch of 1 is shared by all batches of the other operand.
 */
#include "kernels/host/product.h"
#include "kernels/matmul/batch_matmul.h"

static const optune_op_input inputs[] = {
    {"x", "tensor [B,M,K]", "left operands; [B,K,M] with transpose_a", false, false},
    {"y", "tensor [B,N,K]", "right operands; [B,K,N] without transpose_b", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {
    {.name = "out_dtype",
     .kind = OPTUNE_ATTR_DTYPE,
     .value = "?",
     .description = "type of the output; unknown: that of x"},
    {.name = "transpose_a",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "false",
     .description = "x is given as [B,K,M]"},
    {.name = "transpose_b",
     .kind = OPTUNE_ATTR_BOOL,
     .value = "true",
     .description = "y is given as [B,N,K]"},
    {.name = NULL},
};

/* True when both may be the same dim, after making them so. A known 1 in x or y is
 * broadcast. */
static bool unify_batches(optune_dim *x, optune_dim *y, optune_dim *out)
{
    if (x->name[0] && strcmp(x->name, y->name) == 0) /* equal, also where that is 1 */
        return optune_dim_unify(x, y) && optune_dim_unify(out, x);
    const bool x_one = optune_dim_known(x) && x->min == 1;
    const bool y_one = optune_dim_known(y) && y->min == 1;
    if (x_one)
        return optune_dim_unify(out, y);
    if (y_one)
        return optune_dim_unify(out, x);
    if (optune_dim_known(out) && out->min == 1)
        return optune_dim_unify(out, x) && optune_dim_unify(out, y);
    /* Whichever is certainly not 1 is the output's; both are when neither may be 1. */
    if ((x->min > 1 || x->max < 1) && !optune_dim_unify(out, x))
        return false;
    if ((y->min > 1 || y->max < 1) && !optune_dim_unify(out, y))
        return false;
    return true;
}

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *x = &call->input[BATCH_MATMUL_X].type;
    optune_tensor *y = &call->input[BATCH_MATMUL_Y].type;
    optune_tensor *out = &call->output[0];
    int status;
    if ((status = matmul_rank(err, "x", x, 3)) != OPTUNE_OK ||
        (status = matmul_rank(err, "y", y, 3)) != OPTUNE_OK ||
        (status = matmul_rank(err, "output", out, 3)) != OPTUNE_OK ||
        (status = matmul_dtypes(call, "x", "y", err)) != OPTUNE_OK)
        return status;

    const bool ta = optune_call_int(call, "transpose_a") != 0;
    const bool tb = optune_call_int(call, "transpose_b") != 0;
    if (!optune_dim_unify(&y->dim[tb ? 2 : 1], &x->dim[ta ? 1 : 2]))
        return host_conflict(err, "they are summed over the same dimension (k)", "y", y, "x",
                             x);
    if (!optune_dim_unify(&out->dim[1], &x->dim[ta ? 2 : 1]))
        return host_conflict(err, "they have the same rows (m)", "output", out, "x", x);
    if (!optune_dim_unify(&out->dim[2], &y->dim[tb ? 1 : 2]))
        return host_conflict(err, "they have the same columns (n)", "output", out, "y", y);
    /* Twice: what the first pass learns of the output may decide an operand. */
    for (int pass = 0; pass < 2; pass++)
        if (!unify_batches(&x->dim[0], &y->dim[0], &out->dim[0]))
            return host_conflict(err, "batches are equal, or 1", "y", y, "x", x);
    return batch_matmul_known(call) ? OPTUNE_OK : 1;
}

static double flops(const optune_call *call)
{
    if (!batch_matmul_known(call))
        return 0;
    const batch_matmul_shape s = batch_matmul_shape_of(call);
    return 2.0 * (double)s.b * (double)s.m * (double)s.n * (double)s.k;
}

static double terms(const optune_call *call)
{
    return batch_matmul_known(call) ? (double)batch_matmul_shape_of(call).k : 1;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const batch_matmul_shape s = batch_matmul_shape_of(call);
    const int64_t rows = region->hi[1] - region->lo[1], cols = region->hi[2] - region->lo[2];
    for (int64_t b = region->lo[0]; b < region->hi[0]; b++) {
        const int64_t at = (b - region->lo[0]) * rows * cols;
        for (int64_t i = 0; i < rows * cols; i++)
            out[at + i] = magnitude[at + i] = 0;
        const host_matrix x = {
            .tensor = in[BATCH_MATMUL_X],
            .dtype = call->input[BATCH_MATMUL_X].type.dtype,
            .base = s.x_shared ? 0 : b * s.m * s.k,
            .row = s.transpose_a ? 1 : s.k,
            .col = s.transpose_a ? s.m : 1,
        };
        const host_matrix y = {
            .tensor = in[BATCH_MATMUL_Y],
            .dtype = call->input[BATCH_MATMUL_Y].type.dtype,
            .base = s.y_shared ? 0 : b * s.n * s.k,
            .row = s.transpose_b ? s.k : 1,
            .col = s.transpose_b ? 1 : s.n,
        };
        const host_rows left = host_rows_of(&x), right = host_rows_of(&y);
        host_product(&left, region->lo[1], region->hi[1], &right, region->lo[2], region->hi[2],
                     s.k, out + at, magnitude + at, cols);
    }
}

static const char *const bert_base[] = {
    "batch_matmul(f32[12,128,64], f32[12,128,64])",
    "batch_matmul(f32[12,128,128], f32[12,128,64], transpose_b=false)",
    NULL,
};

static const optune_preset presets[] = {
    {"bert-base", "attention of BERT base, 12 heads, sequence 128: scores, then values",
     bert_base},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "batch_matmul(f32[2,13,37], f32[2,29,37])",
    "batch_matmul(f32[3,16,32], f32[3,48,32])",
    "batch_matmul(f32[2,17,20], f32[2,20,35], transpose_b=false)",
    "batch_matmul(f32[2,24,19], f32[2,24,33], transpose_a=true, transpose_b=false)",
    "batch_matmul(f32[2,21,18], f32[2,27,21], transpose_a=true)",
    "batch_matmul(f32[1,9,40], f32[4,50,40])",
    "batch_matmul(f32[3,33,64], const f32[1,64,64])",
    "batch_matmul(f32[2,1,48], f32[2,31,48])",
    "batch_matmul(f64[2,11,23], f64[2,19,23])",
    "batch_matmul(f64[2,24,16], f64[2,16,40], transpose_b=false)",
    "batch_matmul(f32[2,34,24], f32[2,20,24], math=tf32)",
    "batch_matmul(f16[3,40,72], f16[3,72,56], transpose_b=false)",
    "batch_matmul(bf16[2,33,37], bf16[1,19,37], out_dtype=f32)",
    "batch_matmul(f16[2,48,24], f16[2,16,48], transpose_a=true)",
    "batch_matmul(i8[2,17,64], i8[2,40,64], out_dtype=i32)",
    "batch_matmul(bf16[3,70,72], bf16[1,90,72])",
    NULL,
};

static int product(optune_grad *grad, int x, int y, bool transpose_x, bool transpose_y)
{
    return optune_grad_call(grad, "batch_matmul", 2, (const int[]){x, y},
                            "transpose_a=%s, transpose_b=%s", transpose_x ? "true" : "false",
                            transpose_y ? "true" : "false");
}

/* each operand's adjoint is a product of dy with the other one */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    if (!optune_dtype_equal(call->output[0].dtype, call->input[0].type.dtype))
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "out_dtype is not that of x");
    const bool ta = optune_call_int(call, "transpose_a"),
               tb = optune_call_int(call, "transpose_b");
    const int x = optune_grad_input(grad, 0), y = optune_grad_input(grad, 1);
    const int dy = optune_grad_adjoint(grad, 0);
    /* With A = x or its transpose and B^T likewise, dA = dy B and dB = dy^T A. */
    if (optune_grad_wants(grad, 0))
        optune_grad_add(grad, 0,
                        ta ? product(grad, y, dy, tb, true) : product(grad, dy, y, false, !tb));
    if (optune_grad_wants(grad, 1))
        optune_grad_add(grad, 1,
                        tb ? product(grad, dy, x, true, ta) : product(grad, x, dy, !ta, false));
    return OPTUNE_OK;
}

OPTUNE_OP(batch_matmul) = {
    .name = "batch_matmul",
    .summary = "matrix products of two batches, the right one transposed by default",
    .inputs = inputs,
    .attrs = attrs,
    .support_level = 10,
    .presets = presets,
    .gradient = gradient,
    .float32_sums = true,
    .samples = samples,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};
