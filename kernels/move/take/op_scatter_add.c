/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add: data, with updates added along an axis where the same line of indices says, Relay's
 * scatter_add: output[indices[i][j]][j] += updates[i][j] for axis 0. An index may be there several
 * times: updates are added one by one, each sum rounded to the dtype, integers wrap. CPUs do so in
 * their order, GPUs in any. What an index below 0 or outside means: as take has it.
 */
#include "kernels/host/region_lines.h"
#include "kernels/move/take/along.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [..., N, ...]", "what is added to", false, false},
    {"indices", "tensor [..., M, ...] of i32 or i64", "where along the axis", false, false},
    {"updates", "tensor [..., M, ...]", "what is added", false, false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {ALONG_AXIS, {0}};

static int types(optune_call *call, optune_err *err)
{
    return scatter_types(call, "there are no sums of bool", err);
}

/* All updates of a line may meet in one element. */
static double terms(const optune_call *call)
{
    return (double)call->input[2].type.dim[take_axis(call)].min + 1;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *updates = &call->input[2].type;
    const int axis = take_axis(call);
    const host_axis to = host_around(data, axis), each = host_around(updates, axis);
    if (optune_tensor_elements(data) == 0)
        return;
    region_lines l = region_lines_of(region, data, axis, 1);
    do {
        const int64_t lo = region->lo[axis], hi = region->hi[axis];
        for (int64_t i = lo; i < hi; i++) {
            const int64_t k = l.to + (i - lo) * l.step;
            out[k] = tensor_element(in[0], data->dtype, l.first + i * to.inner);
            magnitude[k] = fabs(out[k]);
        }
        const int64_t line =
            l.first / (to.n * to.inner) * each.n * each.inner + l.first % to.inner;
        for (int64_t i = 0; i < each.n; i++) {
            const int64_t at = line + i * each.inner;
            const int64_t row =
                take_slice(tensor_element(in[1], call->input[1].type.dtype, at), to.n);
            if (row < lo || row >= hi)
                continue;
            const double update = tensor_element(in[2], updates->dtype, at);
            out[l.to + (row - lo) * l.step] += update;
            magnitude[l.to + (row - lo) * l.step] += fabs(update);
        }
    } while (region_lines_next(&l));
}

/* d data = dy; d updates = dy where each was added */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int dy = optune_grad_adjoint(grad, 0);
    optune_grad_add(grad, 0, dy);
    if (optune_grad_wants(grad, 2))
        optune_grad_add(grad, 2,
                        optune_grad_same(grad, "gather", 2,
                                         (const int[]){dy, optune_grad_input(grad, 1)}, NULL));
    return OPTUNE_OK;
}

static const char *const embeddings[] = {
    "scatter_add(f32[1,30522,768], i64[1,128,768], f32[1,128,768], axis=1)",
    "scatter_add(f32[1,32000,4096], i64[1,16,4096], f32[1,16,4096], axis=1)",
    NULL,
};

static const char *const ranked[] = {
    "scatter_add(f32[128,1000], i32[128,5], f32[128,5], axis=-1)",
    "scatter_add(f32[4096,64], i64[4096,2], f32[4096,2], axis=-1)",
    NULL,
};

static const optune_preset presets[] = {
    {"ranked", "gradients of the best of 1000 classes and of 64 experts", ranked},
    {"embeddings", "gradients of the tables of BERT and Llama", embeddings},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "scatter_add(f32[7], i32[3], f32[3])",
    "scatter_add(f32[19,37], i64[50,37], f32[50,37])",
    "scatter_add(f32[3,9,5], i32[3,40,5], f32[3,40,5], axis=1)",
    "scatter_add(f64[2,3,33], i64[2,3,70], f64[2,3,70], axis=-1)",
    "scatter_add(i64[9,4], i32[9,2], i64[9,2], axis=-1)",
    "scatter_add(i8[6,65], i64[6,7], i8[6,7], axis=1)",
    "scatter_add(i32[1,3], i32[5,3], i32[5,3], axis=0)",
    "scatter_add(f16[4,30], i32[4,31], f16[4,31], axis=1)",
    "scatter_add(bf16[33,27], i64[61,27], bf16[61,27], axis=0)",
    "scatter_add(f32[29,52], i64[31,52], f32[31,52], axis=0)",
    "scatter_add(bf16[3,7,40], i32[3,11,40], bf16[3,11,40], axis=1)",
    NULL,
};

OPTUNE_OP(scatter_add) = {
    .name = "scatter_add",
    .summary = "adds updates to elements along an axis at given indices",
    .flops = scatter_flops,
    .terms = terms,
    TAKE_OP,
};
