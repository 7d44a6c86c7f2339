/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_wgmma.cuda: the product of pixels and weights by warpgroups fed by the copy
 * engine, on devices of compute capability 9.0. Knobs and limits are those of dense's template
 * `wgmma`, with pixels as rows; sums leave as bytes in one way.
 */
#include "kernels/convolution/implicit/implicit_wgmma.h"
#include "kernels/quantized/gpu/conv_gpu.h"

/* Of a sum on its way to a byte, by machine code. */
static const double BYTE_INSTRUCTIONS = 8;

enum { MOST_COLUMNS = 256 }; /* of a block */

static qconv_gpu shape_of(const optune_call *call)
{
    qconv_gpu q;
    qconv_gpu_of(call, &q);
    return q;
}

static int64_t taps_of(const qconv_gpu *q)
{
    return q->passes * q->s.kh * q->s.kw;
}

static int64_t panels_of(const qconv_gpu *q)
{
    return implicit_wgmma_panels(taps_of(q), q->s.ci, 1);
}

static matmul_gpu product_of(const optune_call *call)
{
    const qconv_gpu q = shape_of(call);
    return (matmul_gpu){.b = 1,
                        .m = q.pixels,
                        .n = q.s.co,
                        .k = panels_of(&q) * MATMUL_GPU_WGMMA_ROW,
                        .to_bytes = true,
                        .byte_instructions = BYTE_INSTRUCTIONS};
}

static qconv_gpu_parts parts_of(const optune_call *call, const qconv_gpu *q, int64_t co_pad)
{
    return (qconv_gpu_parts){
        .co_pad = co_pad, .line = q->depth, .splits = 1, .cuts = qconv_gpu_cuts_of(call, q)};
}

static bool applies(const optune_task *task, char *why)
{
    qconv_gpu q;
    if (!gpu_has_warpgroups(task, why) || !qconv_gpu_applies(task, &q, why))
        return false;
    if (q.s.groups != 1)
        return optune_refuse(why, "needs one group");
    const matmul_gpu p = product_of(task->call);
    const qconv_gpu_parts most = parts_of(task->call, &q, q.s.co + MOST_COLUMNS - 1);
    return qconv_gpu_parts_fit(&q, &most, why) && implicit_wgmma_reaches(&q.s, why) &&
           matmul_gpu_applies(&p, why) && matmul_gpu_wgmma_applies(task, &p, why);
}

MATMUL_GPU_ASK(product, matmul_gpu_wgmma_space_of_bytes, matmul_gpu_wgmma_best,
               matmul_gpu_wgmma_estimate, product_of)

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const qconv_gpu q = shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    return implicit_wgmma_steps_fit(panels_of(&q), config, why) &&
           matmul_gpu_wgmma_valid(task, &p, config, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const qconv_gpu q = shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const qconv_gpu_parts parts = parts_of(call, &q, host_ceil(q.s.co, w.bn) * w.bn);
    const optune_dtype byte = call->input[QCONV_DATA].type.dtype;
    const optune_arg packed = qconv_gpu_weights(
        task, plan, qconv_gpu_module(task, plan, &q, &parts), parts.co_pad * parts.line,
        parts.co_pad, qconv_gpu_edges(&parts.cuts));
    const optune_arg pixels = qconv_gpu_pixels(task, plan, &q, &parts);
    const optune_arg x = implicit_wgmma_pixels(plan, pixels, byte, &q.s, q.s.ci, w.bm);
    const optune_arg y = matmul_gpu_wgmma_panels(plan, packed, byte, q.s.ci, taps_of(&q),
                                                 parts.co_pad, w.bn / w.cluster);
    const int m = optune_plan_module(plan);
    optune_stage stage = matmul_gpu_wgmma_stage(task, plan, m, &p, config);
    implicit_wgmma_define(plan, m, &q.s, q.passes);
    optune_plan_define(plan, m, "H", q.s.h);
    optune_plan_define(plan, m, "W", q.s.w);
    qconv_gpu_define_sums(plan, m, &q, &parts);
    quantized_define(plan, m, call, quantized_end_of(call, "out_zero"));
    stage.n_args = 4;
    stage.arg[0] = x;
    stage.arg[1] = y;
    stage.arg[2] = packed;
    stage.arg[3] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(quantized_gpu, wgmma) = {
    .op = "quantized_conv2d",
    .name = "quantized_conv2d_wgmma.cuda",
    .summary = "the product over pixels by warpgroups fed by the copy engine, for compute "
               "capability 9.0",
    .applies = applies,
    .space = product_space,
    .fallback = product_fallback,
    .valid = valid,
    .plan = plan,
    .estimate = product_estimate,
};
