/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu_tile.h declares. */
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

#include <math.h>

matmul_gpu_tile matmul_gpu_tile_of(const optune_config *config, bool skinny)
{
    return (matmul_gpu_tile){
        .skinny = skinny,
        .t = gpu_tile_of(config),
        .lanes = optune_config_int(config, "lanes_n"),
        .slices = skinny ? optune_config_int(config, "slices") : 1,
        .splits = optune_config_int(config, "splits"),
        .resident = skinny ? 1 : optune_config_int(config, "resident"),
    };
}

static int64_t matmul_gpu_threads(const matmul_gpu_tile *c)
{
    return gpu_tile_threads(&c->t) * c->slices;
}

/* Threads side by side along n in a group of 32, as the tile has room for them. */
static int64_t matmul_gpu_lanes(const matmul_gpu_tile *c, int64_t lanes)
{
    const int64_t tx = c->t.bn / c->t.tn, ty = c->t.bm / c->t.tm;
    if (lanes * ty < 32)
        lanes = 32 / ty;
    return host_min(lanes, tx);
}

static int64_t matmul_gpu_vx(const matmul_gpu *p, const matmul_gpu_tile *c)
{
    const int64_t line = p->x_along ? p->m : p->k;
    return matmul_gpu_vector(p, line, p->x_along ? c->t.bm : c->t.bk / c->slices);
}

static int64_t matmul_gpu_vy(const matmul_gpu *p, const matmul_gpu_tile *c)
{
    return matmul_gpu_vector(p, p->y_along ? p->n : p->k,
                             p->y_along ? c->t.bn : c->t.bk / c->slices);
}

/* Elements of one operand's tile, as the body lays it out. */
static int64_t matmul_gpu_side(const matmul_gpu *p, int64_t rows, int64_t bk, bool along,
                               int64_t v)
{
    const int64_t elem = matmul_gpu_elem(p), least = 16 / elem, skew = 128 / elem * v / bk;
    return bk * rows + (along ? 0 : bk / v * (skew > least ? skew : least));
}

static int64_t matmul_gpu_shared(const matmul_gpu *p, const matmul_gpu_tile *c)
{
    const int64_t vx = matmul_gpu_vx(p, c), vy = matmul_gpu_vy(p, c);
    const int64_t staged = c->t.stages * (matmul_gpu_side(p, c->t.bm, c->t.bk, p->x_along, vx) +
                                          matmul_gpu_side(p, c->t.bn, c->t.bk, p->y_along, vy));
    const int64_t meet = c->slices / 2 * c->t.bm * c->t.bn;
    return (staged > meet ? staged : meet) * matmul_gpu_elem(p);
}

/* Registers of a thread that hold its part of the next tile. */
static int64_t matmul_gpu_staged(const matmul_gpu *p, const matmul_gpu_tile *c)
{
    return matmul_gpu_elem(p) / 4 *
           host_ceil((c->t.bm + c->t.bn) * c->t.bk, matmul_gpu_threads(c));
}

/* The same in whole vectors, with what tells threads that have none of them. */
static int64_t matmul_gpu_held(const matmul_gpu *p, const matmul_gpu_tile *c)
{
    const int64_t threads = matmul_gpu_threads(c), rows[2] = {c->t.bm, c->t.bn};
    const int64_t v[2] = {matmul_gpu_vx(p, c), matmul_gpu_vy(p, c)};
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t vectors = rows[i] * c->t.bk / v[i];
        n += matmul_gpu_elem(p) / 4 * v[i] * host_ceil(vectors, threads) +
             (vectors % threads != 0);
    }
    return n;
}

bool matmul_gpu_tile_fits(const optune_task *task, const matmul_gpu *p,
                          const matmul_gpu_tile *c, char *why)
{
    const gpu_tile *t = &c->t;
    const int64_t elem = matmul_gpu_elem(p), threads = matmul_gpu_threads(c);
    const int64_t least = host_min(32, (int64_t)task->device->warp);
    const int64_t least_m = c->skinny ? 8 : 16; /* of a block */
    if (t->tm > t->bm || t->tn > t->bn)
        return optune_refuse(why, "a thread computes more than its block");
    if (c->slices > t->bk)
        return optune_refuse(why, "more slices than depth in a tile");
    if (threads < least)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if ((t->bm > least_m && t->bm / 2 >= p->m) || (t->bn > 16 && t->bn / 2 >= p->n))
        return optune_refuse(why, "half of the block lies outside the output");
    if (t->bk > 8 && t->bk / 2 >= p->k)
        return optune_refuse(why, "half of the tile lies outside the depth");
    if ((t->bm + t->bn) * t->bk > 64 * threads)
        return optune_refuse(why, "a thread stages more than 64 elements");
    if (threads * matmul_gpu_vx(p, c) < (p->x_along ? t->bm : t->bk) ||
        threads * matmul_gpu_vy(p, c) < (p->y_along ? t->bn : t->bk))
        return optune_refuse(why, "%" PRId64 " threads fetch less than a line of a tile",
                             threads);
    for (int64_t less = 4; less < c->lanes; less *= 2)
        if (matmul_gpu_lanes(c, less) == matmul_gpu_lanes(c, c->lanes))
            return optune_refuse(why, "%" PRId64 " threads along n is as good as %" PRId64,
                                 c->lanes, less);
    const int64_t block[3] = {threads, 1, 1};
    const int64_t depth = t->bk / c->slices;
    const int64_t registers = gpu_tile_registers(task, t, depth, elem, matmul_gpu_held(p, c));
    if (!matmul_gpu_splits_fit(p, c->splits, t->bk, why) ||
        !gpu_fits(task, block, matmul_gpu_shared(p, c), registers, why))
        return false;
    const int64_t at_once = registers + (gpu_tile_ahead(task, t, depth, elem) ? 0 : 8);
    if (c->resident > 1 && task->device->registers > 0 &&
        at_once * threads * c->resident > task->device->registers)
        return optune_refuse(why,
                             "%" PRId64 " registers in a thread are too many for %" PRId64
                             " blocks at once",
                             at_once, c->resident);
    return true;
}

static void matmul_gpu_choose(optune_config *config, const optune_space *space,
                              const matmul_gpu_tile *c)
{
    gpu_tile_choose(config, space, &c->t);
    optune_config_choose_int(config, space, "unroll_k", c->t.unroll ? c->t.unroll : 32);
    optune_config_choose_int(config, space, "lanes_n", c->lanes);
    optune_config_choose_int(config, space, "splits", c->splits);
    if (c->skinny)
        optune_config_choose_int(config, space, "slices", c->slices);
    else
        optune_config_choose_int(config, space, "resident", c->resident);
    optune_config_nearest(config, space);
}

void matmul_gpu_tiles(const optune_task *task, const matmul_gpu *p, const optune_config *config,
                      const matmul_gpu_tile *c, optune_plan *plan)
{
    const int m = optune_plan_module(plan);
    const int64_t elem = matmul_gpu_elem(p), lanes = matmul_gpu_lanes(c, c->lanes);
    const int64_t vn = matmul_gpu_vector(p, p->n, gpu_tile_chunk(c->t.tn, elem));
    matmul_gpu_define(task, plan, m, p, c->splits);
    gpu_tile_define(plan, m, &c->t, config, elem);
    optune_plan_define(plan, m, "LX", lanes);
    optune_plan_define(plan, m, "LY", host_min(host_ceil(32, lanes), c->t.bm / c->t.tm));
    optune_plan_define(plan, m, "SLICES", c->slices);
    optune_plan_define(plan, m, "RESIDENT", c->resident);
    optune_plan_define(plan, m, "VX", matmul_gpu_vx(p, c));
    optune_plan_define(plan, m, "VY", matmul_gpu_vy(p, c));
    optune_plan_define(plan, m, "VN", vn);
    const optune_stage stage = {
        .module = m,
        .grid = {host_ceil(p->n, c->t.bn) * host_ceil(p->m, c->t.bm), p->b, c->splits},
        .block = {matmul_gpu_threads(c), 1, 1},
        .shared = matmul_gpu_shared(p, c),
    };
    matmul_gpu_stages(task, plan, p, stage, c->splits, vn);
}

void matmul_gpu_tile_space(optune_space *space)
{
    gpu_tile_knobs(space);
    optune_space_ints(space, "lanes_n", 3, (const int64_t[]){4, 8, 16});
    optune_space_ints(space, "splits", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "resident", 2, (const int64_t[]){1, 2});
}

void matmul_gpu_tile_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config)
{
    const gpu_product product = {.m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .batches = p->b,
                                 .most_splits = 16,
                                 .elem = matmul_gpu_elem(p),
                                 .staging = GPU_STAGE_TURNED};
    matmul_gpu_tile c = {.lanes = 4, .slices = 1, .resident = 2};
    c.t = gpu_tile_best(task, &product, &c.splits);
    if (c.t.bm * c.t.bn == 128 * 128 && !p->f64) {
        /* A plain product has the registers, and reads shared memory less; a loop of one tile is
         * the shortest. */
        c.t.tm = 8;
        c.t.tn = 16;
        c.t.bk = 8;
        c.t.stages = 1;
        c.t.unroll = 0;
        c.lanes = 8;
    }
    while (c.t.bk > 8 && (c.t.bk / 2 >= p->k || matmul_gpu_staged(p, &c) > 24 ||
                          !matmul_gpu_tile_fits(task, p, &c, NULL)))
        c.t.bk /= 2;
    if (!matmul_gpu_tile_fits(task, p, &c, NULL))
        c.resident = 1;
    if (!matmul_gpu_tile_fits(task, p, &c, NULL)) {
        c.t = (gpu_tile){.bm = 16, .bn = 16, .bk = 8, .tm = 2, .tn = 2, .stages = 2};
        c.splits = 1;
    }
    matmul_gpu_choose(config, space, &c);
}

double matmul_gpu_tile_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config)
{
    gpu_tile t = gpu_tile_of(config);
    t.unroll = optune_config_int(config, "unroll_k");
    const gpu_product product = {.m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .batches = p->b,
                                 .elem = matmul_gpu_elem(p),
                                 .staging = GPU_STAGE_TURNED};
    return task->device->warp > 1
               ? gpu_tile_cost(task, &product, &t, optune_config_int(config, "splits"))
               : NAN;
}

void matmul_gpu_skinny_space(optune_space *space)
{
    static const int64_t blocks[] = {8, 16, 32, 64, 128}, threads[] = {1, 2, 4, 8};
    optune_space_ints(space, "block_m", 3, blocks);
    optune_space_ints(space, "block_n", 4, blocks + 1);
    optune_space_ints(space, "block_k", 4, (const int64_t[]){8, 16, 32, 64});
    optune_space_ints(space, "thread_m", 4, threads);
    optune_space_ints(space, "thread_n", 4, threads);
    optune_space_ints(space, "stages", 2, (const int64_t[]){1, 2});
    optune_space_ints(space, "unroll_k", 2, (const int64_t[]){4, 32});
    optune_space_ints(space, "lanes_n", 3, (const int64_t[]){4, 8, 16});
    optune_space_ints(space, "slices", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "splits", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

void matmul_gpu_skinny_fallback(const optune_task *task, const matmul_gpu *p,
                                const optune_space *space, optune_config *config)
{
    const int64_t units = task->device->cores > 0 ? task->device->cores : 16;
    matmul_gpu_tile c = {.skinny = true,
                         .t = {8, 64, 32, 4, 4, 2},
                         .lanes = 4,
                         .slices = 1,
                         .splits = 1,
                         .resident = 1};
    while (c.t.bm < p->m && c.t.bm < 32)
        c.t.bm *= 2;
    if (c.t.bm > 8 && p->n > 32 && !p->f64) { /* reads shared memory half as often */
        c.t.tm = c.t.tn = 8;
        c.t.bk = 64;
    }
    while (c.t.bn > 16 && c.t.bn / 2 >= p->n)
        c.t.bn /= 2;
    while (c.t.bk > 8 && c.t.bk / 2 >= p->k)
        c.t.bk /= 2;
    while (matmul_gpu_threads(&c) < 128 && c.slices * 4 < c.t.bk)
        c.slices *= 2;
    while (matmul_gpu_threads(&c) < 64 && c.t.tm > 1) /* little of anything */
        c.t.tm /= 2;
    while (c.t.bk > 8 && !matmul_gpu_tile_fits(task, p, &c, NULL)) {
        c.t.bk /= 2; /* doubles: less at once */
        c.slices = host_min(c.slices, c.t.bk / 4);
    }
    const int64_t blocks = host_ceil(p->n, c.t.bn) * host_ceil(p->m, c.t.bm) * p->b;
    while (c.splits < 32 && blocks * c.splits < 2 * units && p->k >= 8 * c.t.bk * c.splits)
        c.splits *= 2;
    matmul_gpu_choose(config, space, &c);
}

double matmul_gpu_skinny_estimate(const optune_task *task, const matmul_gpu *p,
                                  const optune_config *config)
{
    const matmul_gpu_tile c = matmul_gpu_tile_of(config, true);
    const gpu_tile *t = &c.t;
    const int64_t elem = matmul_gpu_elem(p), staged = matmul_gpu_staged(p, &c);
    const double steps = (double)host_ceil(host_ceil(p->k, t->bk), c.splits);
    const double depth = (double)t->bk / (double)c.slices; /* of a thread in a step */
    const double fragments = (double)(t->tm + t->tn) * depth / 2;
    const double sums = (double)(t->tm * t->tn),
                 step =
                     (double)elem / 4 * (sums * depth + fragments + 1.5 * (double)staged) + 16;
    const double side = (double)((t->bm + t->bn) * t->bk * elem);
    const gpu_work w = {
        .blocks = host_ceil(p->m, t->bm) * host_ceil(p->n, t->bn) * p->b * c.splits,
        .threads = matmul_gpu_threads(&c),
        .registers = elem / 4 * (t->tm * t->tn + t->tm + t->tn) + staged + 24,
        .shared = matmul_gpu_shared(p, &c),
        .instructions = steps * step + sums * (double)(2 * gpu_log2(c.slices) + 2) + 40,
        .bytes = steps * (double)(t->bn * t->bk * elem) / (double)host_ceil(p->m, t->bm),
        .cached = steps * side + (double)(t->bm * t->bn * elem),
        .waits = gpu_exposed(steps, t->stages - 1, 2 * step),
        .barriers = steps * (t->stages > 1 ? 1 : 2) + 2 * gpu_log2(c.slices),
    };
    return gpu_cost(task, &w) + matmul_gpu_sharing(task, p, c.splits);
}
