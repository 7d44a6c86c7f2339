/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/product_tile.h declares. */
#include "kernels/matmul/gpu/product_tile.h"

#include <math.h>

#include "kernels/host/host.h"

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
    optune_config_choose_int(config, space, "unroll_k", t->unroll ? t->unroll : t->bk);
}

bool gpu_tile_unrolls(const optune_task *task, const gpu_tile *t, int64_t unroll, char *why)
{
    const int64_t straight = (unroll < t->bk ? unroll : t->bk) * t->tm * t->tn;
    return straight <= gpu_tile_straight(task) ||
           optune_refuse(why, "%" PRId64 " multiply-adds of straight code, at most %" PRId64,
                         straight, gpu_tile_straight(task));
}

bool gpu_tile_ahead(const optune_task *task, const gpu_tile *t, int64_t depth, int64_t elem)
{
    return task->device->cc_major > 0 && elem <= 4 && t->tm * t->tn >= 64 && depth % 4 == 0;
}

int64_t gpu_tile_registers(const optune_task *task, const gpu_tile *t, int64_t depth,
                           int64_t elem, int64_t staged)
{
    enum { OTHERS = 16, ON_CUDA = 18, ONE_STEP = 14 }; /* addresses and counters */
    const int64_t sums = t->tm * t->tn, fragments = t->tm + t->tn;
    if (gpu_tile_ahead(task, t, depth, elem))
        return sums + 2 * fragments + staged + (sums < 128 ? OTHERS : ONE_STEP);
    return elem / 4 * (sums + fragments) + staged +
           (task->device->cc_major > 0 ? ON_CUDA : OTHERS);
}

bool gpu_tile_valid(const optune_task *task, const gpu_tile *t, int64_t m, int64_t n,
                    int64_t elem, int64_t pad, int64_t kept, char *why)
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
    const int64_t staged = host_ceil((t->bm + t->bn) * t->bk, threads);
    return gpu_fits(task, block, gpu_tile_shared(t, elem, pad),
                    gpu_tile_registers(task, t, t->bk, elem, elem / 4 * staged) + kept, why);
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

/* ---- untuned ----------------------------------------------------------------------------- */

/* Cycles of an H100, but for CORES: fitted to its measurements, and so none is exact. */
enum {
    CORES = 16, /* where a device does not tell */
    CORE_THREADS = 2048,
    CORE_BLOCKS = 32,
    CORE_REGISTERS = 64 << 10,
    BLOCK_RESERVED = 1024, /* bytes of shared memory that a block takes beside its own */
    SCHEDULERS = 4,
    LATENCY = 900, /* of memory, caches being cold */
    SHARED_LATENCY = 19,
    BARRIER = 19,
    LAUNCH = 6400, /* with what is cold in it */
    NEXT_LAUNCH = 5400,
    WAVE = 1500,   /* from one wave of blocks to the next: first tiles, last stores */
    MEMORY = 16,   /* bytes of a core a cycle */
    CODE_LINE = 8, /* instructions */
    CODE_CACHE = 30000 / 16,
};
static const double code_line = 12;     /* until the next line of cold code is there */
static const double code_missed = 1.15; /* a loop that the cache of instructions cannot hold */
static const double wavefronts = 3;     /* of reading 16 bytes a thread from shared memory */
static const double copied = 1.1;       /* of shared memory for a line of a warp's copy */
/* Instructions: of a vector that is staged, of looking where one lies, of a step. */
static const double staged = 8.7, turned = 12.7, looked = 14, of_step = 71, of_loop = 6;

static int64_t cores_of(const optune_task *task)
{
    return task->device->cores > 0 ? task->device->cores : CORES;
}

double gpu_tile_traffic(const optune_task *task, int64_t bytes)
{
    return (double)bytes / (double)(cores_of(task) * MEMORY);
}

double gpu_tile_launch(void)
{
    return NEXT_LAUNCH;
}

/* One step of depth of one block. */
typedef struct step {
    double pipe;           /* cycles in which nobody else on its core advances */
    double alone;          /* cycles that it takes where nobody else is there */
    int64_t vectors, code; /* staged by a thread; instructions of the loop */
} step;

/* One operand's copies: of a thread in a step, and lines that one of a warp goes through. */
typedef struct copying {
    int64_t count, lines;
} copying;

static copying copying_of(const gpu_product *p, const gpu_tile *t, int side)
{
    const int64_t rows = side == 0 ? t->bm : t->bn, given = p->copies[side];
    const bool fewer = side == 0 ? t->tm < t->tn : t->tn <= t->tm;
    const int64_t each = given > 0 ? given : given < 0 && fewer ? -given : 1;
    const int64_t wide = t->bk < 8 ? t->bk : 8; /* elements side by side of what is not along */
    return (copying){.count = host_ceil(rows * t->bk, each * gpu_tile_threads(t)),
                     .lines = given > 0 ? host_ceil(32 * each, host_min(32, rows))
                                        : host_ceil(32 * each, wide)};
}

static step step_of(const gpu_product *p, const gpu_tile *t)
{
    const int64_t threads = gpu_tile_threads(t), warps = host_ceil(threads, 32);
    const int64_t each = 16 / p->elem;
    const int64_t vector = p->vector ? host_min(p->vector, each) : each;
    const copying x = copying_of(p, t, 0), y = copying_of(p, t, 1);
    const int64_t vectors_x = host_ceil(t->bm * t->bk, vector * threads);
    const int64_t vectors = p->staging == GPU_STAGE_COPIES
                                ? x.count + y.count
                                : vectors_x + host_ceil(t->bn * t->bk, each * threads);
    const int64_t unroll = t->unroll ? host_min(t->unroll, t->bk) : t->bk;
    const int64_t cm = gpu_tile_chunk(t->tm, p->elem), cn = gpu_tile_chunk(t->tn, p->elem);
    const int64_t reads = t->tm / cm + t->tn / cn;
    const double wide = (double)(p->elem / 4); /* doubles take twice as long, at least */
    const double sums = wide * (double)(t->tm * t->tn * t->bk);
    const double fetched =
        p->staging == GPU_STAGE_COPIES ? 2 * (double)vectors
        : p->staging == GPU_STAGE_TURNED
            ? turned * (double)vectors
            : staged * (double)vectors + looked * (double)(p->looked * vectors_x);
    const double over = of_step + of_loop * (double)t->bk / (double)unroll;
    const double instructions = sums + (double)(reads * t->bk) + fetched + over;
    const double fronts =
        fmax(1, wavefronts * (double)(cm * p->elem) / 16) * (double)(t->tm / cm) +
        fmax(1, wavefronts * (double)(cn * p->elem) / 16) * (double)(t->tn / cn);
    const double copies = p->staging == GPU_STAGE_COPIES
                              ? copied * (double)(x.count * x.lines + y.count * y.lines)
                              : 0;
    /* Fragments are read early as far as the code is straight. */
    const double in_turn = (double)t->bk / (double)host_min(unroll, 8) + (unroll < 8 ? 0 : 1);
    step s = {.vectors = vectors, .code = unroll * (t->tm * t->tn + reads)};
    const double missed = s.code > CODE_CACHE ? code_missed : 1;
    s.pipe = (double)warps *
             fmax(instructions * missed / SCHEDULERS, fronts * (double)t->bk + copies);
    s.alone = sums + 2 * ((double)(reads * t->bk) + fetched + over) + in_turn * SHARED_LATENCY;
    const int64_t ahead = p->staging == GPU_STAGE_COPIES ? host_max(t->stages - 1, 1) : 1;
    s.alone = fmax(s.alone, LATENCY / (double)ahead) + (t->stages > 1 ? 1 : 2) * BARRIER;
    return s;
}

/* Blocks that a core holds at once. */
static int64_t resident_of(const optune_task *task, const gpu_product *p, const gpu_tile *t)
{
    const int64_t threads = gpu_tile_threads(t), warps = host_ceil(threads, 32);
    const int64_t through =
        p->staging == GPU_STAGE_COPIES ? 0 : host_ceil((t->bm + t->bn) * t->bk, threads);
    const int64_t registers =
        host_min(255, p->elem / 4 * (t->tm * t->tn + t->tm + t->tn + through) +
                          (t->tm * t->tn < 64 ? 18 : 70)); /* fragments and fetches early */
    const int64_t caps[] = {CORE_BLOCKS, CORE_THREADS / threads,
                            CORE_REGISTERS / (host_ceil(registers, 8) * 256 * warps),
                            gpu_max_shared(task) /
                                (gpu_tile_shared(t, p->elem, 0) + BLOCK_RESERVED)};
    int64_t least = caps[0];
    for (size_t i = 1; i < sizeof caps / sizeof caps[0]; i++)
        least = host_min(least, caps[i]);
    return host_max(least, 1);
}

static double wave(double steps, const step *s, int64_t blocks)
{
    const double shared = (double)blocks * s->pipe;
    /* What bounds a step, and a little of the rest. */
    return blocks > 0 ? steps * (fmax(shared, s->alone) + 0.15 * fmin(shared, s->alone)) : 0;
}

double gpu_tile_cost(const optune_task *task, const gpu_product *p, const gpu_tile *t,
                     int64_t split)
{
    const int64_t blocks = host_ceil(p->m, t->bm) * host_ceil(p->n, t->bn) * p->batches * split;
    const double steps = (double)host_ceil(host_ceil(p->k, t->bk), split);
    const int64_t queue = host_ceil(blocks, cores_of(task)); /* of the busiest core */
    const int64_t resident = host_max(host_min(resident_of(task, p, t), queue), 1);
    const step s = step_of(p, t);
    const int64_t operands = p->batches * (p->m + p->n) * p->k, out = p->batches * p->m * p->n;
    const int64_t bytes = p->bytes ? p->bytes : (operands + out) * p->elem;
    const int64_t fetched = blocks * (t->bm + t->bn) * t->bk * p->elem;
    const double computed = (double)(queue / resident) * wave(steps, &s, resident) +
                            wave(steps, &s, queue % resident);
    const double code =
        (double)(s.code + s.vectors * 8 + 100 + 3 * t->tm * t->tn) / CODE_LINE * code_line;
    const double whole = computed + (double)(WAVE * host_ceil(queue, resident));
    double cycles = LAUNCH + fmax(whole, fmax(gpu_tile_traffic(task, bytes),
                                              steps * gpu_tile_traffic(task, fetched)));
    if (split > 1)
        cycles += NEXT_LAUNCH + LATENCY * (double)split / 8 +
                  gpu_tile_traffic(task, out * p->elem * (split + 1));
    return cycles + code;
}

gpu_tile gpu_tile_best(const optune_task *task, const gpu_product *p, int64_t *split)
{
    static const struct {
        int64_t bm, bn, tm, tn;
    } shape[] = {{128, 128, 16, 8}, {64, 128, 16, 8}, {128, 64, 16, 8}, {128, 128, 8, 8},
                 {128, 64, 8, 8},   {64, 128, 8, 8},  {64, 64, 8, 8},   {128, 64, 4, 8},
                 {64, 128, 8, 4},   {64, 64, 8, 4},   {64, 64, 4, 4},   {128, 32, 8, 4},
                 {32, 128, 4, 8},   {32, 128, 8, 8},  {64, 32, 4, 4},   {32, 64, 4, 4},
                 {64, 32, 2, 4},    {16, 64, 4, 4},   {16, 64, 2, 4},   {32, 32, 4, 4},
                 {32, 32, 2, 4},    {16, 32, 2, 4},   {64, 16, 4, 2},   {32, 16, 2, 2},
                 {16, 32, 2, 2},    {16, 16, 2, 2}};
    const bool copies = p->staging == GPU_STAGE_COPIES;
    gpu_tile best = {.bm = 16, .bn = 16, .bk = 8, .tm = 2, .tn = 2, .stages = 1, .unroll = 4};
    double least = 1e300;
    *split = 1;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        /* Staging vectors has pixels and planes in registers, too. */
        if (shape[i].tm * shape[i].tn > 64 && (p->staging == GPU_STAGE_VECTORS || p->elem > 4))
            continue;
        const bool turns = shape[i].tm >= p->columns && shape[i].tn < p->columns;
        const int64_t steps = gpu_tile_straight(task) / (shape[i].tm * shape[i].tn);
        const int64_t unroll = steps >= 8 ? 8 : steps >= 4 ? 4 : 1;
        for (int64_t bk = 8; bk <= (copies ? 8 : 32); bk *= 2)
            for (int64_t parts = 1; parts <= p->most_splits; parts *= 2) {
                const gpu_tile t = {.bm = shape[i].bm,
                                    .bn = shape[i].bn,
                                    .bk = bk,
                                    .tm = turns ? shape[i].tn : shape[i].tm,
                                    .tn = turns ? shape[i].tm : shape[i].tn,
                                    .stages = copies ? 4 : 2,
                                    .unroll = copies ? 0 : unroll};
                if (parts > 1 && p->k < 4 * bk * parts)
                    break;
                /* What is on its way in registers leaves room for the sums. */
                if (p->staging == GPU_STAGE_TURNED &&
                    p->elem / 4 * (t.bm + t.bn) * bk > 24 * gpu_tile_threads(&t))
                    break;
                if (!gpu_tile_valid(task, &t, p->m, p->n, p->elem, 0, 0, NULL))
                    break;
                const double cycles = gpu_tile_cost(task, p, &t, parts);
                if (cycles < least) {
                    least = cycles;
                    best = t;
                    *split = parts;
                }
            }
    }
    /* Where there is much of it, the larger tile has as many warps and reads less. */
    gpu_tile large = best;
    large.bm = large.bn = 128;
    const int64_t blocks = host_ceil(p->m, 128) * host_ceil(p->n, 128) * p->batches;
    if (best.tm * best.tn == 64 && best.bm * best.bn == 64 * 128 && *split == 1 &&
        blocks >= 2 * cores_of(task) &&
        gpu_tile_valid(task, &large, p->m, p->n, p->elem, 0, 0, NULL))
        return large;
    gpu_tile one = best;
    one.stages = 1;
    if (!copies && gpu_tile_cost(task, p, &one, *split) < least)
        best = one;
    return best;
}
