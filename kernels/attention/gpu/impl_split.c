/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_split.gpu: few queries over many keys, as one token has over a cache. Blocks share the
 * keys of a head; what they leave is merged in a fixed order.
 */
#include <math.h>

#include "kernels/attention/gpu/attention_gpu.h"
#include "kernels/host/pattern_gpu.h"

enum { MOST_ROWS = 16, MERGE_THREADS = 128 };

typedef struct split {
    int64_t threads, lanes, keys, splits;
} split;

static split split_of(const optune_config *config)
{
    return (split){.threads = optune_config_int(config, "threads"),
                   .lanes = optune_config_int(config, "lanes"),
                   .keys = optune_config_int(config, "keys"),
                   .splits = optune_config_int(config, "splits")};
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "threads", 3, (const int64_t[]){64, 128, 256});
    optune_space_ints(space, "lanes", 4, (const int64_t[]){4, 8, 16, 32});
    optune_space_ints(space, "keys", 4, (const int64_t[]){16, 32, 64, 128});
    optune_space_ints(space, "splits", 8, (const int64_t[]){1, 2, 4, 8, 16, 32, 64, 128});
}

/* Elements of a line of n of this call's type that are 16 bytes, or as many as divide it. */
static int64_t vector_of(const optune_task *task, int64_t n)
{
    return attention_gpu_vector(n, 128 / task->call->input[ATTENTION_Q].type.dtype.bits);
}

static int64_t columns(const optune_task *task, const attention_shape *s)
{
    return gpu_power2(s->dv / vector_of(task, s->dv));
}

static int64_t pool(const optune_task *task, const attention_shape *s, const split *c)
{
    const int64_t room = c->threads * host_max(s->rows, vector_of(task, s->dv));
    return 4 * (c->keys * s->rows + 2 * c->threads / c->lanes * s->rows + room);
}

/* What a part leaves of a row: its sums and two numbers more, in whole vectors of 16 bytes. */
static int64_t part_row(const attention_shape *s)
{
    return host_ceil(s->dv, 4) * 4 + 4;
}

/* Elements of a query in one thread. */
static int64_t held(const optune_task *task, const attention_shape *s, const split *c)
{
    const int64_t v = vector_of(task, s->d);
    return host_ceil(s->d / v, c->lanes) * v;
}

static bool fits(const optune_task *task, const attention_shape *s, const split *c, char *why)
{
    const int64_t turns = c->keys * c->lanes / c->threads, each = held(task, s, c);
    if (c->threads > c->keys * c->lanes)
        return optune_refuse(why, "teams without a key");
    if (columns(task, s) > c->threads)
        return optune_refuse(why, "%" PRId64 " threads are less than a line of values",
                             c->threads);
    if (c->lanes > 4 && c->lanes / 2 * vector_of(task, s->d) >= s->d)
        return optune_refuse(why, "half of a team has nothing of a key");
    if (c->splits > 1 &&
        (c->splits - 1) * host_ceil(host_ceil(s->skv, c->splits), c->keys) * c->keys >= s->skv)
        return optune_refuse(why, "%" PRId64 " keys do not divide into %" PRId64 " parts",
                             s->skv, c->splits);
    if (turns * each > 128)
        return optune_refuse(why, "a thread fetches more than 128 elements");
    const int64_t registers =
        s->rows * (each + vector_of(task, s->dv) + 3 + turns) +
        turns * each * task->call->input[ATTENTION_Q].type.dtype.bits / 32 + 24;
    return gpu_fits(task, (const int64_t[]){c->threads, 1, 1}, pool(task, s, c), registers,
                    why);
}

static double cost(const optune_task *task, const attention_shape *shape, const split *choice)
{
    const attention_shape s = *shape;
    const split c = *choice;
    const int64_t size = task->call->input[ATTENTION_Q].type.dtype.bits / 8;
    const int64_t keys = host_ceil(s.skv, c.splits), outputs = s.heads * s.rows * s.dv;
    const double rows = (double)s.rows, tiles = (double)host_ceil(keys, c.keys);
    const double key = (double)(c.keys * held(task, &s, &c) * c.lanes);
    const double value = (double)(c.keys * s.dv);
    const double step = (rows + 1) * (key + value) / (double)c.threads +
                        rows * (double)(c.keys * c.lanes / c.threads * 2 * gpu_log2(c.lanes)) +
                        rows * (double)(c.keys * 12) / (double)c.threads + 40;
    const gpu_work w = {
        .blocks = c.splits * s.heads,
        .threads = c.threads,
        .registers = 32 + s.rows * (held(task, &s, &c) + vector_of(task, s.dv)),
        .shared = pool(task, &s, &c),
        .instructions = tiles * step + rows * 40,
        .bytes = (double)((keys * (s.d + s.dv) + s.rows * (s.d + s.dv)) * size),
        .waits = 1 + 2 * tiles,
        .barriers = 4 * tiles,
    };
    const gpu_work merge = {
        .blocks = host_ceil(outputs, MERGE_THREADS),
        .threads = MERGE_THREADS,
        .instructions = 20 + 12 * (double)c.splits,
        .bytes = (double)(MERGE_THREADS * 4 * (c.splits + 1)),
        .waits = 1 + (double)c.splits / 4,
    };
    return gpu_cost(task, &w) + (c.splits > 1 ? gpu_cost(task, &merge) : 0);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const split c = split_of(config);
    return cost(task, &s, &c);
}

/* One block a head: threads and keys that fit, and so many lanes that a query fits registers. */
static bool choose(const optune_task *task, const attention_shape *s, split *c, char *why)
{
    static const int64_t threads[] = {128, 64, 256};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        *c = (split){.threads = threads[i], .lanes = 8, .splits = 1};
        while (c->lanes < 32 && held(task, s, c) * s->rows > 64)
            c->lanes *= 2;
        while (c->lanes > 4 && c->lanes / 2 * vector_of(task, s->d) >= s->d)
            c->lanes /= 2;
        for (; c->lanes <= 32; c->lanes *= 2)
            for (c->keys = 64; c->keys >= 16; c->keys /= 2)
                if (fits(task, s, c, why))
                    return true;
    }
    return false;
}

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    split c;
    return attention_gpu_applies(task, &s, why) &&
           (s.rows <= MOST_ROWS ||
            optune_refuse(why, "is for at most %d queries a key head", (int)MOST_ROWS)) &&
           ((s.d <= 256 && s.dv <= 256) || optune_refuse(why, "heads are wider than 256")) &&
           choose(task, &s, &c, why);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const split c = split_of(config);
    return fits(task, &s, &c, why);
}

/* What is estimated to be the fastest, where there are estimates. */
static void fastest(const optune_task *task, const attention_shape *s, split *best)
{
    double lowest = INFINITY;
    for (int64_t threads = 64; threads <= 256; threads *= 2)
        for (int64_t lanes = 4; lanes <= 32; lanes *= 2)
            for (int64_t keys = 16; keys <= 128; keys *= 2)
                for (int64_t splits = 1; splits <= 128; splits *= 2) {
                    const split c = {
                        .threads = threads, .lanes = lanes, .keys = keys, .splits = splits};
                    const double cycles =
                        fits(task, s, &c, NULL) ? cost(task, s, &c) : INFINITY;
                    if (cycles < lowest) {
                        lowest = cycles;
                        *best = c;
                    }
                }
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    split c;
    if (!choose(task, &s, &c, NULL))
        return;     /* applies refuses it */
    split more = c; /* two blocks for each core, none with less than two tiles of keys */
    for (more.splits = 2; more.splits <= 128 && s.heads * c.splits < 2 * gpu_cores(task) &&
                          s.skv / more.splits >= 2 * c.keys;
         more.splits *= 2)
        if (fits(task, &s, &more, NULL))
            c.splits = more.splits;
    fastest(task, &s, &c);
    optune_config_choose_int(config, space, "threads", c.threads);
    optune_config_choose_int(config, space, "lanes", c.lanes);
    optune_config_choose_int(config, space, "keys", c.keys);
    optune_config_choose_int(config, space, "splits", c.splits);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_shape_of(task->call, &s);
    const split c = split_of(config);
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    optune_plan_define(plan, m, "THREADS", c.threads);
    optune_plan_define(plan, m, "LANES", c.lanes);
    optune_plan_define(plan, m, "KB", c.keys);
    optune_plan_define(plan, m, "SPLITS", c.splits);
    optune_plan_define(plan, m, "COLUMNS", columns(task, &s));
    optune_plan_define(plan, m, "KV", vector_of(task, s.d));
    optune_plan_define(plan, m, "VV", vector_of(task, s.dv));
    optune_plan_define(plan, m, "POOL", pool(task, &s, &c));
    const int64_t outputs = s.heads * s.rows * s.dv;
    const bool parts = c.splits > 1;
    const optune_arg left =
        parts ? optune_scratch_arg(optune_plan_scratch(
                    plan, "parts", s.heads * c.splits * s.rows * part_row(&s) * 4, false))
              : optune_output_arg(0);
    optune_stage stage = attention_gpu_stage(&s, m, "attention", left);
    stage.grid[0] = c.splits;
    stage.grid[1] = s.heads;
    stage.grid[2] = stage.block[1] = stage.block[2] = 1;
    stage.block[0] = c.threads;
    stage.shared = pool(task, &s, &c);
    optune_plan_stage(plan, &stage);
    if (parts)
        optune_plan_stage(plan,
                          &(optune_stage){.phase = OPTUNE_TIMED,
                                          .module = m,
                                          .function = "merge",
                                          .n_args = 2,
                                          .arg = {left, optune_output_arg(0)},
                                          .grid = {host_ceil(outputs, MERGE_THREADS), 1, 1},
                                          .block = {MERGE_THREADS, 1, 1}});
}

OPTUNE_IMPL(attention_gpu, split) = {
    .op = "attention",
    .name = "attention_split.gpu",
    .summary = "few queries, the keys of a head split among blocks",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
