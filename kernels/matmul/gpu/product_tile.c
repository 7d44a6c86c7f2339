/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/product_tile.h declares. */
#include "kernels/matmul/gpu/product_tile.h"

gpu_tile gpu_tile_of(const optune_config *config)
{
    return (gpu_tile){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .bk = optune_config_int(config, "block_k"),
        .tm = optune_config_int(config, "thread_m"),
        .tn = optune_config_int(config, "thread_n"),
        .stages = optune_config_int(config, "stages"),
    };
}

void gpu_tile_knobs(optune_space *space)
{
    static const int64_t blocks[] = {16, 32, 64, 128, 256}, threads[] = {1, 2, 4, 8, 16};
    optune_space_ints(space, "block_m", 5, blocks);
    optune_space_ints(space, "block_n", 5, blocks);
    optune_space_ints(space, "block_k", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "thread_m", 5, threads);
    optune_space_ints(space, "thread_n", 5, threads);
    optune_space_ints(space, "stages", 2, (const int64_t[]){1, 2});
    optune_space_ints(space, "unroll_k", 4, (const int64_t[]){1, 4, 8, 32});
}

void gpu_tile_choose(optune_config *config, const optune_space *space, const gpu_tile *t)
{
    optune_config_choose_int(config, space, "block_m", t->bm);
    optune_config_choose_int(config, space, "block_n", t->bn);
    optune_config_choose_int(config, space, "block_k", t->bk);
    optune_config_choose_int(config, space, "thread_m", t->tm);
    optune_config_choose_int(config, space, "thread_n", t->tn);
    optune_config_choose_int(config, space, "stages", t->stages);
    optune_config_choose_int(config, space, "unroll_k", 4);
}

bool gpu_tile_unrolls(const optune_task *task, const gpu_tile *t, int64_t unroll, char *why)
{
    const int64_t straight = (unroll < t->bk ? unroll : t->bk) * t->tm * t->tn;
    return straight <= gpu_tile_straight(task) ||
           optune_refuse(why, "%" PRId64 " multiply-adds of straight code, at most %" PRId64,
                         straight, gpu_tile_straight(task));
}

bool gpu_tile_valid(const optune_task *task, const gpu_tile *t, int64_t m, int64_t n,
                    int64_t elem, int64_t pad, char *why)
{
    if (t->tm > t->bm || t->tn > t->bn)
        return optune_refuse(why, "a thread computes more than its block");
    const int64_t block[3] = {t->bn / t->tn, t->bm / t->tm, 1}, threads = block[0] * block[1];
    const int64_t least = task->device->warp < 32 ? task->device->warp : 32;
    if (threads < least)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if ((t->bm > 16 && t->bm / 2 >= m) || (t->bn > 16 && t->bn / 2 >= n))
        return optune_refuse(why, "half of the block lies outside the output");
    if ((t->bm + t->bn) * t->bk > 64 * threads)
        return optune_refuse(why, "a thread stages more than 64 elements");
    const int64_t staged = ((t->bm + t->bn) * t->bk + threads - 1) / threads;
    return gpu_fits(task, block, gpu_tile_shared(t, elem, pad),
                    elem / 4 * (t->tm * t->tn + t->tm + t->tn + staged) + 16, why);
}

void gpu_tile_define(optune_plan *plan, int module, const gpu_tile *t,
                     const optune_config *config, int64_t elem)
{
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", t->bm},
        {"BN", t->bn},
        {"BK", t->bk},
        {"TM", t->tm},
        {"TN", t->tn},
        {"CM", gpu_tile_chunk(t->tm, elem)},
        {"CN", gpu_tile_chunk(t->tn, elem)},
        {"STAGES", t->stages},
        {"UNROLL_K", optune_config_int(config, "unroll_k")},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro, table[i].value);
}

double gpu_tile_cost(const optune_task *task, const gpu_product *p, const gpu_tile *t,
                     int64_t split)
{
    const double latency = 700, launch = 4000, fma_a_cycle = 128;
    const int64_t units = task->device->cores > 0 ? task->device->cores : 16;
    const int64_t threads = gpu_tile_threads(t);
    const int64_t blocks =
        (p->m + t->bm - 1) / t->bm * ((p->n + t->bn - 1) / t->bn) * p->batches * split;
    const int64_t steps = ((p->k + split - 1) / split + t->bk - 1) / t->bk;
    const int64_t registers =
        (p->elem / 4 * (t->tm * t->tn + 2 * (t->tm + t->tn)) + 40) * threads;
    const int64_t shared = gpu_tile_shared(t, p->elem, 0);
    int64_t resident = (blocks + units - 1) / units;
    const int64_t caps[] = {2048 / threads, (64 << 10) / registers,
                            4 * gpu_max_shared(task) / shared};
    for (int i = 0; i < 3; i++)
        resident = resident > caps[i] ? caps[i] : resident;
    resident = resident < 1 ? 1 : resident;
    const double sums = (double)(t->tm * t->tn);
    const double rate = fma_a_cycle * sums / (sums + 1.5 * (double)(t->tm + t->tn));
    const double staged =
        (double)(threads * 20 + (5 * t->bm + 2 * t->bn) * t->bk) / fma_a_cycle;
    const double work = (double)resident * ((double)(t->bm * t->bn * t->bk) / rate + staged);
    const double rounds = (double)((blocks + units * resident - 1) / (units * resident));
    const double exposed = latency / (double)resident; /* nothing is fetched ahead */
    const double step = t->stages < 2 ? work + exposed : work > latency ? work : latency;
    double cycles = rounds * ((double)steps * step + 3 * latency);
    if (split > 1)
        cycles +=
            launch + gpu_tile_traffic(task, p->m * p->n * p->batches * p->elem * (split + 1));
    return cycles;
}

gpu_tile gpu_tile_best(const optune_task *task, const gpu_product *p, int64_t *split)
{
    static const struct {
        int64_t bm, bn, tm, tn;
    } shape[] = {{128, 128, 8, 8}, {128, 64, 8, 8}, {64, 128, 8, 8}, {64, 64, 8, 4},
                 {64, 64, 4, 4},   {128, 32, 8, 4}, {32, 128, 4, 8}, {64, 32, 4, 4},
                 {32, 64, 4, 4},   {32, 32, 4, 2},  {64, 16, 4, 2},  {16, 64, 2, 4},
                 {32, 16, 2, 2},   {16, 32, 2, 2},  {16, 16, 2, 2}};
    gpu_tile best = {.bm = 16, .bn = 16, .bk = 8, .tm = 2, .tn = 2, .stages = 1};
    double least = 1e300;
    *split = 1;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int64_t bk = 8; bk <= 32; bk *= 2)
            for (int64_t parts = 1; parts <= p->most_splits; parts *= 2) {
                const gpu_tile t = {.bm = shape[i].bm,
                                    .bn = shape[i].bn,
                                    .bk = bk,
                                    .tm = shape[i].tm,
                                    .tn = shape[i].tn,
                                    .stages = 2};
                if (parts > 1 && p->k < 4 * bk * parts)
                    break;
                if (!gpu_tile_valid(task, &t, p->m, p->n, p->elem, 0, NULL))
                    break;
                const double cycles = gpu_tile_cost(task, p, &t, parts);
                if (cycles < least) {
                    least = cycles;
                    best = t;
                    *split = parts;
                }
            }
    return best;
}
