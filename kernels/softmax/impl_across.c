/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_across.gpu: the axis is not the innermost. Threads lie along what is, so that they read
 * neighbouring elements, and several of them share an axis.
 */
#include "kernels/softmax/softmax_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    return softmax_gpu_applies(task, &s, why) &&
           (s.inner > 1 || optune_refuse(why, "is for a strided axis"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "along", 6, (const int64_t[]){8, 16, 32, 64, 128, 256});
    optune_space_ints(space, "across", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
    optune_space_ints(space, "hold", 2, (const int64_t[]){0, 1});
}

enum {
    MOST_HELD = 64,  /* registers with elements of a thread */
    LEAST_OTHER = 32 /* and those it cannot do without */
};

/* Elements that a thread keeps in registers; 0: none. */
static int64_t held_of(const softmax_shape *s, const optune_config *config)
{
    return optune_config_int(config, "hold")
               ? host_ceil(s->n, optune_config_int(config, "across"))
               : 0;
}

static int64_t blocks_of(const softmax_shape *s, int64_t along)
{
    return s->outer * host_ceil(s->inner, along);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    if (along > 8 && along / 2 >= s.inner)
        return optune_refuse(why, "half of the threads lie outside a row");
    if (across > 1 && across > s.n)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " elements", across, s.n);
    const int64_t words = held_of(&s, config) * softmax_elem(&s) / 4;
    if (words > MOST_HELD)
        return optune_refuse(why, "a thread would keep %" PRId64 " registers of elements",
                             words);
    return gpu_grid_fits(blocks_of(&s, along), why) &&
           gpu_fits(task, (const int64_t[]){along, across, 1},
                    along * across * softmax_elem(&s), LEAST_OTHER + words, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along"), elem = softmax_elem(&s);
    const int64_t across = optune_config_int(config, "across");
    const double values = (double)host_ceil(s.n, across); /* of a thread */
    const int64_t held = held_of(&s, config);
    const double reads = held ? 1 : 3;
    const double lines =
        gpu_sectors((double)s.n, host_min(along, s.inner) * softmax_stored(task));
    const gpu_work w = {
        .blocks = blocks_of(&s, along),
        .threads = along * across,
        .registers = 40 + held * elem / 4,
        .shared = along * across * elem,
        .instructions = values * (held ? 26 : 40) + 30 + 8 * (double)gpu_log2(across),
        .bytes = 2 * lines,
        .cached = (1 + reads) * lines,
        .waits = held ? 2 : 3 * values / 4 + 3,
        .barriers = 4 * (double)gpu_log2(across),
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    int64_t along = 32, across = 1;
    while (along > 8 && along / 2 >= s.inner)
        along /= 2;
    while (2 * across * along <= gpu_threads(task, 256) && across < 32 && 4 * across <= s.n)
        across *= 2;
    optune_config_choose_int(config, space, "along", along);
    const int64_t most = MOST_HELD / 2 * 4 / softmax_elem(&s);
    while (2 * across * along <= gpu_threads(task, 1024) && across < 32 &&
           host_ceil(s.n, across) > most && s.n <= 32 * most)
        across *= 2;
    optune_config_choose_int(config, space, "across", across);
    optune_config_choose_int(config, space, "hold", host_ceil(s.n, across) <= most);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int m = softmax_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "ALONG", along);
    optune_plan_define(plan, m, "ACROSS", across);
    optune_plan_define(plan, m, "HELD", held_of(&s, config));
    softmax_gpu_stage(plan, (optune_stage){.module = m,
                                           .grid = {blocks_of(&s, along)},
                                           .block = {along, across},
                                           .shared = along * across * softmax_elem(&s)});
}

OPTUNE_IMPL(softmax, across) = {
    .op = "softmax",
    .name = "softmax_across.gpu",
    .summary = "threads along what is inside of the axis",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
