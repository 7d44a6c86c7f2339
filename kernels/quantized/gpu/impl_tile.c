/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_tile.gpu: the product of pixels and weights in words of four bytes, CUDA and
 * OpenCL. Knobs and limits are those of the register tile; block_k counts words.
 */
#include <math.h>

#include "kernels/matmul/gpu/product_tile.h"
#include "kernels/quantized/gpu/conv_gpu.h"

enum { MOST_SPLITS = 32, WORD = 4 };

static qconv_gpu shape_of(const optune_task *task)
{
    qconv_gpu q;
    qconv_gpu_of(task->call, &q);
    return q;
}

static gpu_product product_of(const qconv_gpu *q)
{
    return (gpu_product){
        .m = q->pixels,
        .n = q->s.co_g,
        .k = host_ceil(q->depth, WORD),
        .batches = q->s.groups,
        .most_splits = MOST_SPLITS,
        .elem = WORD,
        .staging = GPU_STAGE_TURNED,
        .columns = 16, /* bytes */
        .looked = q->laid ? 0 : 1,
        .bytes = q->pixels * q->s.groups * q->s.co_g + q->s.n * q->s.h * q->s.w * q->s.ci +
                 q->s.groups * q->s.co_g * q->depth,
    };
}

static bool applies(const optune_task *task, char *why)
{
    qconv_gpu q;
    return qconv_gpu_applies(task, &q, why) &&
           (q.s.groups * MOST_SPLITS <= 65535 ||
            optune_refuse(why, "%" PRId64 " groups are more than a grid's depth", q.s.groups));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_tile_knobs(space);
    optune_space_ints(space, "split_k", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

static qconv_gpu_parts parts_of(const qconv_gpu *q, const optune_config *config)
{
    const gpu_tile t = gpu_tile_of(config);
    return (qconv_gpu_parts){.co_pad = host_ceil(q->s.co_g, t.bn) * t.bn,
                             .line = host_ceil(q->depth, t.bk * WORD) * t.bk * WORD,
                             .splits = optune_config_int(config, "split_k")};
}

/* Registers of the chunks of 16 bytes that a thread stages: where the pixel of each looks and which
 * of its taps are inside; and where the tap at hand is, once where a tile lies in one. */
static int64_t kept_of(const qconv_gpu *q, const gpu_tile *t)
{
    enum { PIXEL = 2, TAP = 4 };
    const int64_t chunks = host_ceil(t->bm * t->bk / WORD, gpu_tile_threads(t));
    return PIXEL * chunks + TAP * (q->s.ci_g % (t->bk * WORD) == 0 ? 1 : chunks);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const qconv_gpu q = shape_of(task);
    const gpu_tile t = gpu_tile_of(config);
    const qconv_gpu_parts parts = parts_of(&q, config);
    const int64_t steps = parts.line / (t.bk * WORD);
    if (parts.splits > 1 && (steps < 2 * parts.splits ||
                             (parts.splits - 1) * host_ceil(steps, parts.splits) >= steps))
        return optune_refuse(why, "%" PRId64 " steps do not make %" PRId64 " parts", steps,
                             parts.splits);
    return qconv_gpu_parts_fit(&q, &parts, why) &&
           gpu_tile_unrolls(task, &t, optune_config_int(config, "unroll_k"), why) &&
           gpu_tile_valid(task, &t, q.pixels, q.s.co_g, WORD, 0, kept_of(&q, &t), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const qconv_gpu q = shape_of(task);
    const gpu_product p = product_of(&q);
    int64_t split;
    const gpu_tile t = gpu_tile_best(task, &p, &split);
    gpu_tile_choose(config, space, &t);
    do {
        optune_config_choose_int(config, space, "split_k", split);
        split /= 2;
    } while (split >= 1 && !valid(task, config, NULL));
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const qconv_gpu q = shape_of(task);
    const gpu_product p = product_of(&q);
    gpu_tile t = gpu_tile_of(config);
    t.unroll = optune_config_int(config, "unroll_k");
    return task->device->warp > 1
               ? gpu_tile_cost(task, &p, &t, optune_config_int(config, "split_k"))
               : NAN;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const qconv_gpu q = shape_of(task);
    const gpu_tile t = gpu_tile_of(config);
    const qconv_gpu_parts parts = parts_of(&q, config);
    const int m = qconv_gpu_module(task, plan, &q, &parts);
    gpu_tile_define(plan, m, &t, config, WORD);
    optune_plan_define(plan, m, "WORDS", parts.line / WORD);
    qconv_gpu_stages(task, plan, &q, &parts,
                     (optune_stage){.module = m,
                                    .grid = {host_ceil(q.pixels, t.bm), parts.co_pad / t.bn,
                                             q.s.groups * parts.splits},
                                    .block = {gpu_tile_threads(&t)},
                                    .shared = gpu_tile_shared(&t, WORD, 0)});
}

OPTUNE_IMPL(quantized_gpu, tile) = {
    .op = "quantized_conv2d",
    .name = "quantized_conv2d_tile.gpu",
    .summary = "the product over pixels in words of four bytes, channels as they lie",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
