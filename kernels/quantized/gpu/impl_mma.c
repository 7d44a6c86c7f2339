/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_mma.cuda: the product of pixels and weights by tensor cores of CUDA from compute
 * capability 8.0 on. Knobs and limits are those of dense's template `mma`, with pixels as rows.
 */
#include "kernels/matmul/gpu/matmul_gpu_mma.h"
#include "kernels/quantized/gpu/conv_gpu.h"

static qconv_gpu shape_of(const optune_call *call)
{
    qconv_gpu q;
    qconv_gpu_of(call, &q);
    return q;
}

static matmul_gpu product_of(const optune_call *call)
{
    const qconv_gpu q = shape_of(call);
    return (matmul_gpu){.b = q.s.groups, .m = q.pixels, .n = q.s.co_g, .k = q.depth};
}

static bool applies(const optune_task *task, char *why)
{
    qconv_gpu q;
    return gpu_is_cuda(task, 80, why) && qconv_gpu_applies(task, &q, why);
}

MATMUL_GPU_ASK(product, matmul_gpu_mma_space, matmul_gpu_mma_fallback, matmul_gpu_mma_estimate,
               product_of)

static qconv_gpu_parts parts_of(const qconv_gpu *q, const matmul_gpu_mma *c)
{
    return (qconv_gpu_parts){.co_pad = host_ceil(q->s.co_g, c->bn) * c->bn,
                             .line = host_ceil(q->depth, c->kb) * c->kb,
                             .splits = c->splits};
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const qconv_gpu q = shape_of(task->call);
    const matmul_gpu p = product_of(task->call);
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    const qconv_gpu_parts parts = parts_of(&q, &c);
    return qconv_gpu_parts_fit(&q, &parts, why) && matmul_gpu_mma_valid(task, &p, config, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const qconv_gpu q = shape_of(task->call);
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    const int64_t tiles = host_ceil(q.depth, c.kb);
    const qconv_gpu_parts parts = parts_of(&q, &c);
    const int m = qconv_gpu_module(task, plan, &q, &parts);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", c.bm},       {"BN", c.bn},    {"WM", c.wm},
        {"WN", c.wn},       {"KB", c.kb},    {"STAGES", c.stages},
        {"GROUP", c.group}, {"DEPTH", c.kb}, {"TILES", tiles},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "MMA", qconv_signed(task->call) ? "mma_s8" : "mma_u8s8");
    qconv_gpu_stages(task, plan, &q, &parts,
                     (optune_stage){.module = m,
                                    .grid = {host_ceil(q.pixels, c.bm) * (parts.co_pad / c.bn),
                                             1, q.s.groups * c.splits},
                                    .block = {matmul_gpu_mma_threads(&c)},
                                    .shared = matmul_gpu_mma_shared(&c)});
}

OPTUNE_IMPL(quantized_gpu, mma) = {
    .op = "quantized_conv2d",
    .name = "quantized_conv2d_mma.cuda",
    .summary = "the product over pixels by tensor cores, channels as they lie",
    .applies = applies,
    .space = product_space,
    .fallback = product_fallback,
    .valid = valid,
    .plan = plan,
    .estimate = product_estimate,
};
