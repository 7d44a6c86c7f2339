/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_mma.cuda: tensor cores, integers become 16-bit floats on their way to them; bfloat16
 * and float16 from compute capability 8.0 on. Knobs are those of dense's template `mma`; the tile
 * is chosen by the estimate, from one token to a prompt.
 */
#include <math.h>

#include "kernels/matmul/gpu/matmul_gpu_mma.h"
#include "kernels/nbits/gpu/nbits_gpu.h"

enum { SIZE = 2 }; /* bytes of an element of the data */

typedef matmul_gpu_mma tile;

static int64_t depth_of(const tile *t)
{
    return t->kb / SIZE;
}

static int64_t tile_groups(const nbits_shape *s, const tile *t)
{
    return s->groups > 1 && s->group < depth_of(t) ? depth_of(t) / s->group : 1;
}

/* Bytes of a stage, as the body lays it out. */
static int64_t stage_bytes(const nbits_shape *s, const tile *t)
{
    const int64_t words = depth_of(t) * s->bits / 32;
    return t->bm * t->kb + t->bn * 4 * (words + (words % 8 == 0 ? 4 : 0)) +
           t->bn * tile_groups(s, t) * 4 * (1 + s->zero);
}

/* Sums, those of a group, two steps of both sides, what the weight becomes, and addresses. */
static int64_t registers_of(const nbits_shape *s, const tile *t)
{
    const int64_t mt = t->wm / 16, nt = t->wn / 8, threads = matmul_gpu_mma_threads(t);
    return (s->groups > 1 ? 8 : 4) * mt * nt + 2 * (4 * mt + 2 * nt) + 2 * nt +
           2 * host_ceil(t->bn * tile_groups(s, t), threads) + 36;
}

static bool fits(const optune_task *task, const nbits_shape *s, const tile *t, char *why)
{
    const int64_t threads = matmul_gpu_mma_threads(t), depth = depth_of(t);
    const int64_t tiles = host_ceil(s->k, depth), each = host_ceil(tiles, t->splits);
    if (t->wm > t->bm || t->wn > t->bn)
        return optune_refuse(why, "a warp computes more than its block");
    if ((t->bm > 16 && t->bm / 2 >= s->m) || (t->bn > 16 && t->bn / 2 >= s->n))
        return optune_refuse(why, "half of the block lies outside the output");
    if (s->groups > 1 && depth % s->group && s->group % depth)
        return optune_refuse(why,
                             "groups of %" PRId64 " and tiles of %" PRId64
                             " elements of depth do not divide each other",
                             s->group, depth);
    if (threads < t->kb / 16)
        return optune_refuse(why, "%" PRId64 " threads copy less than a row of a tile",
                             threads);
    if (t->bm * (t->kb / 16) + t->bn * (depth * s->bits / 128) > 16 * threads)
        return optune_refuse(why, "a thread copies more than 16 chunks of a tile");
    if (t->group > 1 && t->group / 2 >= host_ceil(s->m, t->bm))
        return optune_refuse(why, "%" PRId64 " rows of blocks make no groups of %" PRId64,
                             host_ceil(s->m, t->bm), t->group);
    if (t->splits > 1 && (each < 2 || each * (t->splits - 1) >= tiles))
        return optune_refuse(why,
                             "%" PRId64 " tiles of depth do not divide into %" PRId64
                             " parts of two and more",
                             tiles, t->splits);
    if (t->splits > 1 && !matmul_scratch_fits(t->splits * s->m * s->n * 4, why))
        return false;
    return gpu_fits(task, (const int64_t[]){threads, 1, 1}, t->stages * stage_bytes(s, t),
                    registers_of(s, t), why);
}

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_is_cuda(task, 80, why) || !nbits_gpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    if (task->call->output[0].dtype.bits != 16)
        return optune_refuse(why, "needs float16 or bfloat16");
    if (s.zero_real)
        return optune_refuse(why, "needs zero points that are integers");
    if (s.groups > 1 && s.group % 32 && s.group != 16)
        return optune_refuse(
            why, "needs groups of 16 or a multiple of 32, these are of %" PRId64, s.group);
    return host_ceil(s.m, 16) * host_ceil(s.n, 16) <= INT32_MAX / 2 ||
           optune_refuse(why, "more than 2^30 tiles");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    matmul_gpu_mma_space(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = matmul_gpu_mma_of(config);
    return fits(task, &s, &t, why);
}

static double cost(const optune_task *task, const nbits_shape *s, const tile *t)
{
    enum { PRODUCT = 2, SHARED = 128 }; /* cycles, bytes a cycle */
    const int64_t threads = matmul_gpu_mma_threads(t), mt = t->wm / 16, nt = t->wn / 8;
    const int64_t blocks_m = host_ceil(s->m, t->bm), depth = depth_of(t);
    const double tiles = (double)host_ceil(host_ceil(s->k, depth), t->splits);
    const double warps = (double)threads / 32, steps = (double)depth / 16;
    const double groups = s->groups > 1 ? (double)depth / (double)s->group : 0; /* in a tile */
    const double words = (double)(t->bn * depth * s->bits / 8);
    const double data = (double)(t->bm * t->kb);
    const double products = steps * (double)(mt * nt);
    const double reads = warps * ((double)(t->wm * t->kb) + (double)(t->wn * 4) * steps * 4);
    const double tensor = warps * products * PRODUCT, shared = (reads + data + words) / SHARED;
    const double turn = products + steps * (double)(nt * 14 + mt * 2) +
                        groups * (double)(4 * mt * nt + nt * 2) +
                        3 * (data + words) / (double)(16 * threads) + 40;
    const double pipe = tensor > shared ? tensor : shared;
    const gpu_work w = {
        .blocks = blocks_m * host_ceil(s->n, t->bn) * t->splits,
        .threads = threads,
        .registers = registers_of(s, t),
        .shared = t->stages * stage_bytes(s, t),
        .instructions = tiles * turn + (double)(mt * nt * 10),
        .bytes = tiles * words / (double)blocks_m,
        .cached = tiles * (words + data) + (double)(t->bm * t->bn * SIZE),
        .waits = 1 + gpu_exposed(tiles, t->stages - 1, 2 * turn),
        .barriers = tiles,
        .pipe = tiles * pipe,
    };
    return gpu_cost(task, &w) + nbits_gpu_finish_cost(task, s, t->splits);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = matmul_gpu_mma_of(config);
    return cost(task, &s, &t);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    static const struct {
        int64_t bm, bn, wm, wn;
    } tiles[] = {
        {128, 128, 64, 32}, {128, 128, 32, 64}, {128, 64, 32, 32}, {64, 128, 32, 32},
        {64, 64, 32, 32},   {32, 128, 32, 32},  {32, 64, 16, 32},  {16, 128, 16, 32},
        {16, 64, 16, 32},   {16, 32, 16, 32},   {16, 16, 16, 16},
    };
    const nbits_shape s = nbits_shape_of(task->call);
    tile best = {16, 16, 16, 16, 64, 2, 1, 1};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        for (int64_t kb = 64; kb <= 128; kb *= 2)
            for (int64_t stages = 4; stages >= 2; stages--)
                for (int64_t splits = 1; splits <= 16; splits *= 2) {
                    const tile t = {tiles[i].bm, tiles[i].bn, tiles[i].wm, tiles[i].wn,
                                    kb,          stages,      1,           splits};
                    if (!fits(task, &s, &t, NULL))
                        continue;
                    const double here = cost(task, &s, &t);
                    if (here < least) {
                        least = here;
                        best = t;
                    }
                }
    best.group = host_ceil(s.m, best.bm) >= 8 ? 8 : 1;
    optune_config_choose_int(config, space, "block_m", best.bm);
    optune_config_choose_int(config, space, "block_n", best.bn);
    optune_config_choose_int(config, space, "warp_m", best.wm);
    optune_config_choose_int(config, space, "warp_n", best.wn);
    optune_config_choose_int(config, space, "block_k_bytes", best.kb);
    optune_config_choose_int(config, space, "stages", best.stages);
    optune_config_choose_int(config, space, "group_m", best.group);
    optune_config_choose_int(config, space, "splits", best.splits);
}

static int module_of(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     const tile *t)
{
    const bool wide = s->m * s->k > INT32_MAX / 2 || s->m * s->n > INT32_MAX / 2;
    const int m = nbits_gpu_module(task, plan, s);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", t->bm},
        {"BN", t->bn},
        {"WM", t->wm},
        {"WN", t->wn},
        {"KB", t->kb},
        {"STAGES", t->stages},
        {"TOGETHER", t->group},
        {"SPLITS", t->splits},
        {"DEPTH", depth_of(t)},
        {"BRAIN", task->call->output[0].dtype.code == OPTUNE_DTYPE_BFLOAT},
        {"COPY", nbits_gpu_copy(s->k * SIZE)},
        {"ROW_COPY", nbits_gpu_copy(s->row_bytes)},
        {"A_ACROSS", 0},
        {"B_ACROSS", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
    matmul_gpu_mma_types(task->call, plan, m);
    return m;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const tile t = matmul_gpu_mma_of(config);
    const int m = module_of(task, plan, &s, &t);
    nbits_gpu_split(
        task, plan, &s, t.splits,
        (optune_stage){.module = m,
                       .grid = {host_ceil(s.m, t.bm) * host_ceil(s.n, t.bn), 1, t.splits},
                       .block = {matmul_gpu_mma_threads(&t), 1, 1},
                       .shared = t.stages * stage_bytes(&s, &t)});
}

OPTUNE_IMPL(nbits_gpu, mma) = {
    .op = "dense_nbits",
    .name = "dense_nbits_mma.cuda",
    .summary = "tensor cores, integers become 16-bit floats on their way to them",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
    .estimate = estimate,
};
