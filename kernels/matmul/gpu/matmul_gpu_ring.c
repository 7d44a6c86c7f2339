/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu_ring.h declares. */
#include "kernels/matmul/gpu/matmul_gpu_ring.h"

#include <math.h>

enum { SKEW = 4 };

typedef struct ring {
    bool few; /* rows: the template skinny_ring */
    gpu_tile t;
    int64_t lanes, slices, splits, resident;
} ring;

static ring ring_of(const optune_config *config, bool few)
{
    return (ring){.few = few,
                  .t = gpu_tile_of(config),
                  .lanes = optune_config_int(config, "lanes_n"),
                  .slices = few ? optune_config_int(config, "slices") : 1,
                  .splits = optune_config_int(config, "splits"),
                  .resident = few ? 1 : optune_config_int(config, "resident")};
}

static int64_t threads_of(const ring *c)
{
    return gpu_tile_threads(&c->t) * c->slices;
}

bool matmul_gpu_ring_applies(const optune_task *task, const matmul_gpu *p, char *why)
{
    return gpu_is_cuda(task, 80, why) &&
           (!p->f64 || optune_refuse(why, "copies elements of 4 bytes"));
}

bool matmul_gpu_ring_first(const optune_task *task, char *why)
{
    return !gpu_is_cuda(task, 90, NULL) ||
           optune_refuse(why, "has a row of its own from compute capability 9.0 on");
}

bool matmul_gpu_ring_second(const optune_task *task, char *why)
{
    return !matmul_gpu_ring_first(task, NULL) ||
           optune_refuse(why, "has a row of its own below compute capability 9.0");
}

void matmul_gpu_ring_space(optune_space *space)
{
    static const int64_t blocks[] = {32, 64, 128, 256}, threads[] = {2, 4, 8, 16};
    optune_space_ints(space, "block_m", 4, blocks);
    optune_space_ints(space, "block_n", 4, blocks);
    optune_space_ints(space, "block_k", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "thread_m", 4, threads);
    optune_space_ints(space, "thread_n", 4, threads);
    optune_space_ints(space, "stages", 3, (const int64_t[]){3, 4, 5});
    optune_space_ints(space, "lanes_n", 3, (const int64_t[]){4, 8, 16});
    optune_space_ints(space, "splits", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "resident", 2, (const int64_t[]){1, 2});
}

static int64_t shared(const matmul_gpu *p, const ring *c)
{
    const int64_t meet = c->slices / 2 * c->t.bm * c->t.bn;
    return 4 * host_max(meet, c->t.stages * c->t.bk *
                                  (c->t.bm + c->t.bn + (p->x_along ? 0 : SKEW) +
                                   (p->y_along ? 0 : SKEW)));
}

/* Threads side by side along n in a warp, as the tile has room for them. */
static int64_t lanes_of(const ring *c)
{
    const int64_t tx = c->t.bn / c->t.tn, ty = c->t.bm / c->t.tm;
    const int64_t lanes = c->lanes * ty < 32 ? 32 / ty : c->lanes;
    return host_min(lanes, tx);
}

static bool fits(const optune_task *task, const matmul_gpu *p, const ring *c, char *why)
{
    const gpu_tile *t = &c->t;
    if (t->tm > t->bm || t->tn > t->bn)
        return optune_refuse(why, "a thread computes more than its block");
    const int64_t threads = threads_of(c), depth = t->bk / c->slices, least_m = c->few ? 8 : 32;
    if (depth < 8)
        return optune_refuse(why, "%" PRId64 " slices of a tile have less than 8 of its depth",
                             c->slices);
    if (threads < 32)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if ((t->bm > least_m && t->bm / 2 >= p->m) || (t->bn > 32 && t->bn / 2 >= p->n))
        return optune_refuse(why, "half of the block lies outside the output");
    if (t->bk > 8 && t->bk / 2 >= p->k)
        return optune_refuse(why, "half of the tile lies outside the depth");
    const int64_t most = c->few ? 128 : 64; /* where most come in fours */
    if ((t->bm + t->bn) * t->bk > most * threads)
        return optune_refuse(why, "a thread copies more than %" PRId64 " elements", most);
    if (t->tm * t->tn * depth > 4096)
        return optune_refuse(why, "more than 4096 multiply-adds of straight code");
    for (ring less = {.t = c->t, .slices = c->slices, .lanes = 4}; less.lanes < c->lanes;
         less.lanes *= 2)
        if (lanes_of(&less) == lanes_of(c))
            return optune_refuse(why, "%" PRId64 " threads along n is as good as %" PRId64,
                                 c->lanes, less.lanes);
    /* By what spills: on 9.0 what is loaded two steps ahead takes more of them. */
    const int64_t ahead = t->tm * t->tn == 64 && gpu_is_cuda(task, 90, NULL) ? 8 : 0;
    const int64_t registers = t->tm * t->tn + 2 * (t->tm + t->tn) + 32 + ahead;
    if (!matmul_gpu_splits_fit(p, c->splits, t->bk, why) ||
        !gpu_fits(task, (const int64_t[]){threads, 1, 1}, shared(p, c), registers, why))
        return false;
    return c->resident == 1 || task->device->registers <= 0 ||
           registers * threads * c->resident <= task->device->registers ||
           optune_refuse(why,
                         "%" PRId64 " registers in a thread are too many for %" PRId64
                         " blocks at once",
                         registers, c->resident);
}

bool matmul_gpu_ring_valid(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, char *why)
{
    const ring c = ring_of(config, false);
    return fits(task, p, &c, why);
}

/* How its operands are copied, as the plan below says. */
static gpu_product product_of(const matmul_gpu *p)
{
    const int64_t quads = p->k % 4 == 0 ? -4 : 0;
    return (gpu_product){.m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .batches = p->b,
                         .most_splits = 16,
                         .elem = 4,
                         .staging = GPU_STAGE_COPIES,
                         .copies = {p->x_along ? matmul_gpu_vector(p, p->m, 4) : quads,
                                    p->y_along ? matmul_gpu_vector(p, p->n, 4) : quads}};
}

/* The knobs that both rows have. */
static void choose_tile(const optune_space *space, optune_config *config, const ring *c)
{
    optune_config_choose_int(config, space, "block_m", c->t.bm);
    optune_config_choose_int(config, space, "block_n", c->t.bn);
    optune_config_choose_int(config, space, "block_k", c->t.bk);
    optune_config_choose_int(config, space, "thread_m", c->t.tm);
    optune_config_choose_int(config, space, "thread_n", c->t.tn);
    optune_config_choose_int(config, space, "stages", c->t.stages);
    optune_config_choose_int(config, space, "lanes_n", c->lanes);
    optune_config_choose_int(config, space, "splits", c->splits);
}

void matmul_gpu_ring_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config)
{
    const gpu_product product = product_of(p);
    ring c = {.lanes = 4, .slices = 1, .resident = 2};
    c.t = gpu_tile_best(task, &product, &c.splits);
    c.t.bm = host_max(c.t.bm, 32);
    c.t.bn = host_max(c.t.bn, 32);
    if (c.t.bm * c.t.bn == 128 * 128)
        c.t.bm = 64; /* more blocks at once: fewer warps wait for each other */
    if (!fits(task, p, &c, NULL))
        c.resident = 1;
    if (!fits(task, p, &c, NULL)) {
        c.t = (gpu_tile){.bm = 32, .bn = 32, .bk = 8, .tm = 4, .tn = 2, .stages = 3};
        c.splits = 1;
    }
    choose_tile(space, config, &c);
    optune_config_choose_int(config, space, "resident", c.resident);
    optune_config_nearest(config, space);
}

double matmul_gpu_ring_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config)
{
    const ring c = ring_of(config, false);
    const gpu_product product = product_of(p);
    return gpu_tile_cost(task, &product, &c.t, c.splits);
}

static void plan_of(const optune_task *task, const matmul_gpu *p, const ring *r,
                    optune_plan *plan)
{
    const ring c = *r;
    const int64_t lanes = lanes_of(&c);
    const int64_t vn = matmul_gpu_vector(p, p->n, gpu_tile_chunk(c.t.tn, 4));
    /* What a thread has fewer of comes as it lies; beside few rows, what there is more of. */
    const bool rows_fewer = c.few ? p->y_along : c.t.tm < c.t.tn, whole = p->k % 4 == 0;
    const int m = optune_plan_module(plan);
    matmul_gpu_define(task, plan, m, p, c.splits);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", c.t.bm},
        {"BN", c.t.bn},
        {"BK", c.t.bk},
        {"TM", c.t.tm},
        {"TN", c.t.tn},
        {"CM", gpu_tile_chunk(c.t.tm, 4)},
        {"CN", gpu_tile_chunk(c.t.tn, 4)},
        {"STAGES", c.t.stages},
        {"SLICES", c.slices},
        {"UNROLL_K", c.t.bk},
        {"QUAD_ROWS", whole && rows_fewer && !p->x_along},
        {"QUAD_COLS", whole && !rows_fewer && !p->y_along},
        {"LX", lanes},
        {"LY", host_min(host_ceil(32, lanes), c.t.bm / c.t.tm)},
        {"RESIDENT", c.resident},
        {"VX", matmul_gpu_vector(p, p->m, c.t.bm)},
        {"VY", matmul_gpu_vector(p, p->n, c.t.bn)},
        {"VN", vn},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    const optune_stage stage = {
        .module = m,
        .grid = {host_ceil(p->n, c.t.bn) * host_ceil(p->m, c.t.bm), p->b, c.splits},
        .block = {threads_of(&c), 1, 1},
        .shared = shared(p, &c),
    };
    matmul_gpu_stages(task, plan, p, stage, c.splits, vn);
}

void matmul_gpu_ring_plan(const optune_task *task, const matmul_gpu *p,
                          const optune_config *config, optune_plan *plan)
{
    const ring c = ring_of(config, false);
    plan_of(task, p, &c, plan);
}

/* ---- few rows ---------------------------------------------------------------------------- */

void matmul_gpu_skinny_ring_space(optune_space *space)
{
    static const int64_t blocks[] = {8, 16, 32, 64, 128}, threads[] = {2, 4, 8, 16};
    optune_space_ints(space, "block_m", 4, blocks);
    optune_space_ints(space, "block_n", 3, blocks + 2);
    optune_space_ints(space, "block_k", 5, (const int64_t[]){8, 16, 32, 64, 128});
    optune_space_ints(space, "thread_m", 4, threads);
    optune_space_ints(space, "thread_n", 3, threads);
    optune_space_ints(space, "stages", 4, (const int64_t[]){2, 3, 4, 6});
    optune_space_ints(space, "lanes_n", 3, (const int64_t[]){4, 8, 16});
    optune_space_ints(space, "slices", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "splits", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

bool matmul_gpu_skinny_ring_valid(const optune_task *task, const matmul_gpu *p,
                                  const optune_config *config, char *why)
{
    const ring c = ring_of(config, true);
    return fits(task, p, &c, why);
}

void matmul_gpu_skinny_ring_plan(const optune_task *task, const matmul_gpu *p,
                                 const optune_config *config, optune_plan *plan)
{
    const ring c = ring_of(config, true);
    plan_of(task, p, &c, plan);
}

/* Elements of one operand that a thread copies at once, beside few rows. */
static int64_t few_copy(const matmul_gpu *p, bool along, int64_t line, int64_t rows, bool quads)
{
    return along ? matmul_gpu_vector(p, line, rows) : quads && p->k % 4 == 0 ? 4 : 1;
}

static double few_cost(const optune_task *task, const matmul_gpu *p, const ring *c)
{
    enum { COPY = 2, OF_TILE = 36 }; /* instructions */
    const double alone = 0.65; /* of two cycles an instruction, in straight multiply-adds */
    const gpu_tile *t = &c->t;
    const int64_t threads = threads_of(c), sums = t->tm * t->tn;
    const int64_t x = few_copy(p, p->x_along, p->m, t->bm, p->y_along);
    const int64_t y = few_copy(p, p->y_along, p->n, t->bn, true);
    const double tiles = (double)host_ceil(host_ceil(p->k, t->bk), c->splits);
    const double depth = (double)(t->bk / c->slices); /* of a thread in a tile */
    const double reads = depth * (double)(t->tm + t->tn) / 4;
    const double copies = (double)host_ceil(t->bm * t->bk, x * threads) +
                          (double)host_ceil(t->bn * t->bk, y * threads);
    const double tile = (double)sums * depth + reads + COPY * copies + OF_TILE;
    const double ends = (double)(sums * (2 * gpu_log2(c->slices) + 2)) + 80;
    const gpu_work w = {
        .blocks = host_ceil(p->m, t->bm) * host_ceil(p->n, t->bn) * p->b * c->splits,
        .threads = threads,
        .registers = host_min(255, sums + 2 * t->tm + 8 * t->tn + 24),
        .shared = shared(p, c),
        .instructions = alone * (tiles * tile + ends),
        .bytes = tiles * (double)(t->bn * t->bk * 4) / (double)host_ceil(p->m, t->bm),
        .cached = tiles * (double)((t->bm + t->bn) * t->bk * 4) + (double)(t->bm * t->bn * 4),
        .waits = 2 + gpu_exposed(tiles, t->stages - 1, 2 * alone * tile),
        .barriers = tiles + 2 * gpu_log2(c->slices),
        .pipe = (tiles * tile + ends) * (double)host_ceil(threads, 32) / 4,
    };
    return gpu_cost(task, &w) + matmul_gpu_sharing(task, p, c->splits);
}

double matmul_gpu_skinny_ring_estimate(const optune_task *task, const matmul_gpu *p,
                                       const optune_config *config)
{
    const ring c = ring_of(config, true);
    return few_cost(task, p, &c);
}

void matmul_gpu_skinny_ring_fallback(const optune_task *task, const matmul_gpu *p,
                                     const optune_space *space, optune_config *config)
{
    static const struct {
        int64_t bn, bk, slices;
    } shapes[] = {{64, 128, 16}, {128, 64, 8}, {64, 64, 8}, {32, 128, 16},
                  {32, 64, 8},   {128, 32, 4}, {64, 32, 4}, {32, 32, 4},
                  {64, 16, 2},   {32, 16, 2},  {64, 8, 1},  {32, 8, 1}};
    static const int64_t rows[] = {16, 8, 4, 2}, stages[] = {4, 3};
    enum { SHAPES = sizeof shapes / sizeof shapes[0], SPLITS = 6, ROWS = 4, STAGES = 2 };
    ring best = {.few = true,
                 .t = {.bm = 8, .bn = 32, .bk = 8, .tm = 2, .tn = 2, .stages = 2},
                 .lanes = 4,
                 .slices = 1,
                 .splits = 1,
                 .resident = 1};
    double least = INFINITY;
    int64_t bm = 8;
    while (bm < p->m && bm < 64)
        bm *= 2;
    for (int at = 0; at < SHAPES * SPLITS * ROWS * STAGES; at++) {
        ring c = best;
        c.t = (gpu_tile){.bm = bm,
                         .bn = shapes[at % SHAPES].bn,
                         .bk = shapes[at % SHAPES].bk,
                         .tm = rows[at / SHAPES / SPLITS / STAGES],
                         .tn = 8,
                         .stages = stages[at / SHAPES / SPLITS % STAGES]};
        c.slices = shapes[at % SHAPES].slices;
        c.splits = 1 << at / SHAPES % SPLITS;
        const double here =
            threads_of(&c) >= 64 && fits(task, p, &c, NULL) ? few_cost(task, p, &c) : INFINITY;
        /* Threads of fewer sums issue more beside these, which an estimate of memory hides. */
        if (here < (c.t.tm < best.t.tm ? 0.7 : 1) * least) {
            least = here;
            best = c;
        }
    }
    choose_tile(space, config, &best);
    optune_config_choose_int(config, space, "slices", best.slices);
    optune_config_nearest(config, space);
}
