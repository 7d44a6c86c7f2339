/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: of each line of data along an axis the elements that the same line of indices names,
 * Relay's gather: output[i][j] = data[indices[i][j]][j] for axis 0. An index below 0 or outside is
 * what take makes of it. Elements keep their bits, NaNs too.
 */
#include "kernels/host/region_lines.h"
#include "kernels/move/take/along.h"

static const optune_op_input inputs[] = {
    {"data", "tensor [..., N, ...]", "what is looked up in", false, false},
    {"indices", "tensor [..., M, ...] of i32 or i64", "which element of its line", false,
     false},
    {NULL, NULL, NULL, false, false},
};

static const optune_op_attr attrs[] = {ALONG_AXIS, {0}};

static int types(optune_call *call, optune_err *err)
{
    return along_types(call, &call->input[0].type, &call->output[0], "output", err);
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *data = &call->input[0].type, *indices = &call->input[1].type;
    const int axis = take_axis(call);
    const host_axis from = host_around(data, axis), each = host_around(indices, axis);
    if (optune_tensor_elements(indices) == 0)
        return;
    region_lines l = region_lines_of(region, indices, axis, 1);
    do {
        const int64_t line =
            l.first / (each.n * each.inner) * from.n * from.inner + l.first % each.inner;
        for (int64_t i = region->lo[axis]; i < region->hi[axis]; i++) {
            const int64_t to = l.to + (i - region->lo[axis]) * l.step;
            const double index =
                tensor_element(in[1], indices->dtype, l.first + i * each.inner);
            out[to] = tensor_element(in[0], data->dtype,
                                     line + take_slice(index, from.n) * from.inner);
            magnitude[to] = fabs(out[to]);
        }
    } while (region_lines_next(&l));
}

/* dy is added to the elements that were looked up */
static int gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)call;
    (void)err;
    const int zeros = optune_grad_unary(grad, "zeros_like", optune_grad_input(grad, 0));
    optune_grad_add(grad, 0,
                    optune_grad_same(grad, "scatter_add", 3,
                                     (const int[]){zeros, optune_grad_input(grad, 1),
                                                   optune_grad_adjoint(grad, 0)},
                                     NULL));
    return OPTUNE_OK;
}

static const char *const ranked[] = {
    "gather(f32[128,1000], i32[128,5], axis=-1)",
    "gather(f32[4096,64], i64[4096,2], axis=-1)",
    "gather(f32[80,8400], i32[80,300], axis=-1)",
    NULL,
};

static const optune_preset presets[] = {
    {"ranked", "scores of classes, experts and boxes by the indices of the best", ranked},
    {NULL, NULL, NULL},
};

static const char *const samples[] = {
    "gather(f32[7], i32[3])",
    "gather(f32[19,37], i64[5,37])",
    "gather(f32[3,9,5], i32[3,40,5], axis=1)",
    "gather(f32[24,72], i32[150,72], axis=0)",
    "gather(bf16[2,11,72], i64[2,90,72], axis=1)",
    "gather(f64[2,3,33], i64[2,3,70], axis=-1)",
    "gather(i64[9,4], i32[9,2], axis=-1)",
    "gather(bool[6,65], i64[6,7], axis=1)",
    "gather(i32[1,3], i32[5,3], axis=0)",
    "gather(f16[4,30], i32[4,31], axis=1)",
    "gather(f32[2,900], i32[2,9001], axis=-1)",
    "gather(bf16[70,264], i64[70,512], axis=1)",
    "gather(i8[5,300,8], i32[5,77,8], axis=1)",
    NULL,
};

OPTUNE_OP(gather) = {
    .name = "gather",
    .summary = "elements along an axis at the indices of the same line",
    .bytes = take_bytes,
    TAKE_OP,
};
