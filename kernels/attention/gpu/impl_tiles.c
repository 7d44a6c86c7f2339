/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.gpu: a block takes some rows of a head through all keys that they see, so that no
 * score leaves it. In float32; 16-bit floats are widened on their way.
 */
#include <math.h>

#include "kernels/attention/gpu/attention_gpu.h"

typedef struct tiles {
    int64_t tq, tk, tm, tx, dc;
} tiles;

static tiles tiles_of(const optune_config *config)
{
    return (tiles){.tq = optune_config_int(config, "block_q"),
                   .tk = optune_config_int(config, "block_k"),
                   .tm = optune_config_int(config, "thread_q"),
                   .tx = optune_config_int(config, "lanes"),
                   .dc = optune_config_int(config, "depth")};
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "block_q", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "block_k", 3, (const int64_t[]){32, 64, 128});
    optune_space_ints(space, "thread_q", 3, (const int64_t[]){2, 4, 8});
    optune_space_ints(space, "lanes", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "depth", 3, (const int64_t[]){8, 16, 32});
}

/* Columns of the output in a thread, and in its vectors. */
static int64_t columns(const attention_shape *s, const tiles *t, int64_t *vector)
{
    const int64_t n = host_ceil(s->dv, t->tx);
    *vector = n > 2 ? 4 : n;
    return host_ceil(n, *vector) * *vector;
}

static int64_t rows_at(const tiles *t, int64_t k)
{
    return k * t->tq + k / 4 * 4;
}

/* Bytes of shared memory, as the body lays it out. */
static int64_t pool(const attention_shape *s, const tiles *t)
{
    int64_t vc;
    const int64_t kv = attention_gpu_vector(s->d, 4), skew = host_max(4, 32 * kv / t->dc);
    const int64_t keys = t->dc * t->tk + t->dc / kv * skew,
                  values = t->dc * columns(s, t, &vc) * t->tx;
    return 4 * (rows_at(t, host_ceil(s->d, t->dc) * t->dc) + rows_at(t, t->tk) + t->tq * t->tx +
                2 * host_max(keys, values));
}

/* Of a thread, from below. */
static int64_t registers_of(const attention_shape *s, const tiles *t)
{
    int64_t vc;
    const int64_t threads = t->tq / t->tm * t->tx, kn = t->tk / t->tx, vn = columns(s, t, &vc);
    const int64_t staged = host_ceil(t->dc * host_max(t->tk, vn * t->tx), threads);
    return t->tm * (kn + vn + 3) + host_max(kn, vn) + t->tm + host_min(staged, 32) + 24;
}

static bool fits(const optune_task *task, const attention_shape *s, const tiles *t, char *why)
{
    int64_t vc;
    const int64_t threads = t->tq / t->tm * t->tx, vn = columns(s, t, &vc);
    if (threads < 32)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if (t->tq > 16 && t->tq / 2 >= s->rows)
        return optune_refuse(why, "half of the block has no queries");
    if (t->tk > 32 && t->tk / 2 >= s->skv)
        return optune_refuse(why, "half of the tile has no keys");
    if (t->dc > 8 && t->dc / 2 >= s->d)
        return optune_refuse(why, "half of the piece has no depth");
    const int64_t staged = host_ceil(t->dc * host_max(t->tk, vn * t->tx), threads);
    if (staged > 64)
        return optune_refuse(why, "a thread stages more than 64 elements");
    const int64_t block[3] = {threads, 1, 1};
    return gpu_fits(task, block, pool(s, t), registers_of(s, t), why);
}

static const tiles least = {.tq = 16, .tk = 32, .tm = 2, .tx = 8, .dc = 8};

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    return attention_gpu_applies(task, &s, why) &&
           ((s.d <= 256 && s.dv <= 256) || optune_refuse(why, "heads are wider than 256")) &&
           fits(task, &s, &least, why);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    return fits(task, &s, &t, why);
}

static double cost(const optune_task *task, const attention_shape *shape, const tiles *choice)
{
    enum { SOFTMAX = 14 }; /* instructions of a score, with those of its row */
    const attention_shape s = *shape;
    const tiles t = *choice;
    int64_t vc;
    const int64_t threads = t.tq / t.tm * t.tx, kn = t.tk / t.tx, vn = columns(&s, &t, &vc);
    const int64_t size = task->call->input[ATTENTION_Q].type.dtype.bits / 8;
    const double steps = attention_gpu_tiles(&s, t.tq, t.tk);
    const double d = (double)(host_ceil(s.d, t.dc) * t.dc), tk = (double)t.tk;
    const double scores = d * ((double)(t.tm * kn) + (double)(t.tm + kn) / 2);
    const double sums = tk * ((double)(t.tm * vn) + (double)(t.tm + vn) / 2);
    const double staged = 1.5 * (tk * d + tk * (double)(vn * t.tx)) / (double)threads;
    const double pieces = d / (double)t.dc + (double)host_ceil(t.tk, t.dc);
    const double step = scores + sums + staged + 12 * pieces + (double)(SOFTMAX * t.tm * kn) +
                        (double)(t.tm * 4 * gpu_log2(t.tx));
    /* Shared memory, in turns of 128 bytes: a warp's read of 16 bytes a thread takes three, one of
     * its rows' numbers one for four of them; what is staged is written, keys turned over. */
    const double warps = (double)threads / 32, own = (double)host_ceil(t.tm, 4);
    const double reads = d * (0.75 * (double)kn + own) + tk * (0.75 * (double)vn + own);
    const double writes = tk / 32 * (4 * d + 2 * (double)(vn * t.tx) + 2 * (double)t.tq);
    const gpu_work w = {
        .blocks = host_ceil(s.rows, t.tq) * s.heads,
        .threads = threads,
        .registers = t.tm * (kn + vn + 3) + host_max(kn, vn) + t.tm + 64,
        .shared = pool(&s, &t),
        .instructions = steps * step,
        .bytes = (double)(t.tq * (s.d + s.dv) * size),
        .cached = steps * (double)(t.tk * (s.d + s.dv) * size),
        .waits = 2 + gpu_exposed(steps * pieces, 1, 2 * step / pieces),
        .barriers = steps * (pieces + 2),
        .pipe = steps * (warps * reads + writes),
    };
    return gpu_cost(task, &w);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    return cost(task, &s, &t);
}

/* The tiles that are estimated to be the fastest, where there are estimates. */
static void fastest(const optune_task *task, const attention_shape *s, tiles *best)
{
    double lowest = INFINITY;
    for (int64_t tq = 16; tq <= 128; tq *= 2)
        for (int64_t tk = 32; tk <= 128; tk *= 2)
            for (int64_t tm = 2; tm <= 8; tm *= 2)
                for (int64_t tx = 8; tx <= 32; tx *= 2)
                    for (int64_t dc = 8; dc <= 32; dc *= 2) {
                        const tiles t = {.tq = tq, .tk = tk, .tm = tm, .tx = tx, .dc = dc};
                        int64_t vc;
                        /* As many registers as there are at most are too many: it spills. Of few
                         * scores and columns a lane, loads are more than the estimate knows. */
                        const bool roomy =
                            (registers_of(s, &t) + 32) * (tq / tm * tx) <= 65536 &&
                            tm * (tk / tx) >= 16 && columns(s, &t, &vc) >= 4;
                        const double cycles =
                            roomy && fits(task, s, &t, NULL) ? cost(task, s, &t) : INFINITY;
                        if (cycles < lowest) {
                            lowest = cycles;
                            *best = t;
                        }
                    }
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const int64_t units = task->device->cores > 0 ? task->device->cores : 16;
    tiles t = {.tq = 64, .tk = 64, .tm = 8, .tx = 16, .dc = 16};
    while (t.tq > 16 && (t.tq / 2 >= s.rows || host_ceil(s.rows, t.tq) * s.heads < units)) {
        t.tq /= 2;
        t.tm = host_max(t.tm / 2, 2);
    }
    if (s.skv <= 32)
        t.tk = 32;
    while (t.dc > 8 && t.dc / 2 >= s.d)
        t.dc /= 2;
    if (!fits(task, &s, &t, NULL))
        t.tm = host_max(t.tm / 2, 2);
    if (!fits(task, &s, &t, NULL))
        t = least;
    if (t.tq < 64) /* little of it: what fills the device decides */
        fastest(task, &s, &t);
    optune_config_choose_int(config, space, "block_q", t.tq);
    optune_config_choose_int(config, space, "block_k", t.tk);
    optune_config_choose_int(config, space, "thread_q", t.tm);
    optune_config_choose_int(config, space, "lanes", t.tx);
    optune_config_choose_int(config, space, "depth", t.dc);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    const int m = optune_plan_module(plan);
    int64_t vc;
    const int64_t vn = columns(&s, &t, &vc);
    attention_define(plan, m, task, &s);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"TQ", t.tq},
        {"TK", t.tk},
        {"TM", t.tm},
        {"TX", t.tx},
        {"DC", t.dc},
        {"VN", vn},
        {"VC", vc},
        {"KV", attention_gpu_vector(s.d, 4)},
        {"VV", attention_gpu_vector(s.dv, 4)},
        {"POOL", pool(&s, &t)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_stage stage = attention_gpu_stage(&s, m, "attention", optune_output_arg(0));
    stage.grid[0] = host_ceil(s.rows, t.tq);
    stage.grid[1] = s.heads;
    stage.grid[2] = 1;
    stage.block[0] = t.tq / t.tm * t.tx;
    stage.block[1] = stage.block[2] = 1;
    stage.shared = pool(&s, &t);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(attention_gpu, tiles) = {
    .op = "attention",
    .name = "attention_tiles.gpu",
    .summary = "an online softmax over tiles of keys in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
