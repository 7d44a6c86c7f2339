/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits_tile.gpu: large products by tiles in shared memory, which integers enter as floats;
 * CUDA and OpenCL. */
#include "kernels/matmul/gpu/product_tile.h"
#include "kernels/nbits/gpu/nbits_gpu.h"

typedef struct tile {
    int64_t bm, bn, bk, tm, tn;
} tile;

static tile tile_of(const optune_config *config)
{
    return (tile){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .bk = optune_config_int(config, "block_k"),
        .tm = optune_config_int(config, "thread_m"),
        .tn = optune_config_int(config, "thread_n"),
    };
}

static int64_t threads_of(const tile *t)
{
    return t->bm / t->tm * (t->bn / t->tn);
}

static int64_t shared_of(const tile *t)
{
    return t->bk * (t->bm + t->bn + 8) * 4;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "block_m", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "block_n", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "block_k", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "thread_m", 2, (const int64_t[]){4, 8});
    optune_space_ints(space, "thread_n", 2, (const int64_t[]){4, 8});
    optune_space_ints(space, "unroll_k", 3, (const int64_t[]){1, 4, 8});
}

static bool fits(const optune_task *task, const nbits_shape *s, const tile *t, char *why)
{
    const int64_t block[3] = {threads_of(t), 1, 1}, xv = nbits_gpu_vector(task->call);
    const int64_t x = host_ceil(t->bm * t->bk / xv, block[0]);
    const int64_t w = host_ceil(t->bn * t->bk * s->bits / 32, block[0]);
    if (block[0] < host_min(32, (int64_t)task->device->warp))
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", block[0]);
    if (x * xv > 64 || w > 32)
        return optune_refuse(why, "a thread stages more than 64 elements or 32 words");
    const gpu_tile sums = {.tm = t->tm, .tn = t->tn};
    const int64_t size = task->call->output[0].dtype.bits / 8;
    return gpu_fits(task, block, shared_of(t),
                    gpu_tile_registers(task, &sums, t->bk, 4, x * xv * size / 4 + 3 * w), why);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = tile_of(config);
    if ((t.bm > 16 && t.bm / 2 >= s.m) || (t.bn > 32 && t.bn / 2 >= s.n)) /* 32: a warp's */
        return optune_refuse(why, "half of the block lies outside the output");
    if (t.bk > 8 && t.bk / 2 >= s.k)
        return optune_refuse(why, "half of a tile lies outside the depth");
    const gpu_tile product = {.bk = t.bk, .tm = t.tm, .tn = t.tn};
    return gpu_tile_unrolls(task, &product, optune_config_int(config, "unroll_k"), why) &&
           fits(task, &s, &t, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = tile_of(config);
    const int64_t threads = threads_of(&t), size = task->call->output[0].dtype.bits / 8;
    const double steps = (double)host_ceil(s.k, t.bk), depth = (double)t.bk;
    const double staged = 5 * (double)((t.bm + t.bn) * t.bk) / (double)threads;
    const double step = depth * ((double)(t.tm * t.tn) + (double)(t.tm + t.tn) / 2) *
                            (optune_config_int(config, "unroll_k") > 1 ? 1 : 1.2) +
                        staged + 20;
    const double side = (double)(t.bm * t.bk * size + t.bn * t.bk * s.bits / 8);
    const gpu_work w = {
        .blocks = host_ceil(s.m, t.bm) * host_ceil(s.n, t.bn),
        .threads = threads,
        .registers = t.tm * t.tn + t.tm + t.tn + 2 * (t.bm + t.bn) * t.bk / (4 * threads) + 36,
        .shared = shared_of(&t),
        .instructions = steps * step + 3 * (double)(t.tm * t.tn),
        .bytes = (double)(t.bm * t.bn * size),
        .cached = steps * side,
        .waits = 1 + gpu_exposed(steps, 1, 2 * step),
        .barriers = 2 * steps,
    };
    return gpu_cost(task, &w);
}

static bool applies(const optune_task *task, char *why)
{
    static const tile least = {.bm = 16, .bn = 32, .bk = 8, .tm = 4, .tn = 4};
    if (!nbits_gpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    return fits(task, &s, &least, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    tile t = {.bm = 64, .bn = 64, .bk = 16, .tm = 4, .tn = 4};
    if (s.m >= 512 && host_ceil(s.m, 128) * host_ceil(s.n, 128) >= 2 * gpu_cores(task)) {
        t.bm = t.bn = 128;
        t.tm = t.tn = 8;
    }
    while (t.bm > 16 && t.bm / 2 >= s.m)
        t.bm /= 2;
    while (t.bn > 32 && t.bn / 2 >= s.n)
        t.bn /= 2;
    while (t.bk > 8 && t.bk / 2 >= s.k)
        t.bk /= 2;
    optune_config_choose_int(config, space, "block_m", t.bm);
    optune_config_choose_int(config, space, "block_n", t.bn);
    optune_config_choose_int(config, space, "block_k", t.bk);
    optune_config_choose_int(config, space, "thread_m", t.tm);
    optune_config_choose_int(config, space, "thread_n", t.tn);
    optune_config_choose_int(config, space, "unroll_k", 4);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = tile_of(config);
    const int m = nbits_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "BM", t.bm);
    optune_plan_define(plan, m, "BN", t.bn);
    optune_plan_define(plan, m, "BK", t.bk);
    optune_plan_define(plan, m, "TM", t.tm);
    optune_plan_define(plan, m, "TN", t.tn);
    optune_plan_define(plan, m, "CM", 4);
    optune_plan_define(plan, m, "CN", 4);
    optune_plan_define(plan, m, "UNROLL_K", optune_config_int(config, "unroll_k"));
    nbits_gpu_stage(task, plan, &s,
                    (optune_stage){.module = m,
                                   .grid = {host_ceil(s.n, t.bn) * host_ceil(s.m, t.bm), 1, 1},
                                   .block = {threads_of(&t), 1, 1},
                                   .shared = shared_of(&t)});
}

OPTUNE_IMPL(nbits_gpu, tile) = {
    .op = "dense_nbits",
    .name = "dense_nbits_tile.gpu",
    .summary = "tiles in shared memory, integers become floats on their way there",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
    .symbolic = "data.0",
};
