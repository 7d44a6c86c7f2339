/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_staged.gpu: the axis is contiguous and short. Runs of rows pass through shared memory in
 * whole vectors, whatever a row's own length allows.
 */
#include "kernels/softmax/softmax_gpu.h"

enum {
    HELD = 32,
    ROOM = 24 << 10
}; /* elements of a thread at most; bytes of a block, untuned */

static int64_t rows_of(const optune_config *config)
{
    return optune_config_int(config, "threads") / optune_config_int(config, "team") *
           optune_config_int(config, "each");
}

static int64_t run_bytes(const optune_task *task, const softmax_shape *s, int64_t rows)
{
    return (host_ceil(rows * s->n * softmax_stored(task), 16) + 1) * 16;
}

static int64_t room(const optune_task *task, const softmax_shape *s,
                    const optune_config *config)
{
    return run_bytes(task, s, rows_of(config)) +
           optune_config_int(config, "threads") * softmax_elem(s);
}

static bool applies(const optune_task *task, char *why)
{
    enum { LONGEST = 32 * HELD, LEAST = 64 }; /* elements; threads, 32 a row */
    softmax_shape s;
    if (!softmax_gpu_applies(task, &s, why))
        return false;
    if (s.inner != 1)
        return optune_refuse(why, "is for a contiguous axis");
    if (s.n > LONGEST)
        return optune_refuse(why, "rows of %" PRId64 ", at most %d", s.n, (int)LONGEST);
    const int64_t least = run_bytes(task, &s, LEAST / 32) + LEAST * softmax_elem(&s);
    return least <= gpu_max_shared(task) ||
           optune_refuse(why, "%" PRId64 " bytes of shared memory for two rows", least);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "team", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t held = host_ceil(s.n, team);
    if (held > HELD)
        return optune_refuse(why, "a thread would keep %" PRId64 " elements, at most %d", held,
                             (int)HELD);
    if (team > 1 && team / 2 >= s.n)
        return optune_refuse(why, "half of a team has nothing to do");
    if (rows_of(config) >= 2 * s.outer &&
        (threads > 64 || optune_config_int(config, "each") > 1))
        return optune_refuse(why, "half of a block has no row");
    return gpu_grid_fits(host_ceil(s.outer, rows_of(config)), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, room(task, &s, config),
                    24 + held * softmax_elem(&s) / 4, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    enum { VALUE = 14 }; /* instructions of one value, with its exponential */
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads"), rows = rows_of(config);
    const int64_t team = optune_config_int(config, "team");
    const int64_t held = host_ceil(s.n, team), run = rows * s.n * softmax_stored(task);
    const double each = (double)optune_config_int(config, "each");
    const gpu_work w = {
        .blocks = host_ceil(s.outer, rows),
        .threads = threads,
        .registers = 24 + held * softmax_elem(&s) / 4,
        .shared = room(task, &s, config),
        .instructions = each * ((double)held * VALUE + 8 * (double)gpu_log2(team) + 30) +
                        12 * (double)host_ceil(run, 16 * threads) + 60,
        .bytes = 2 * (double)run,
        .waits = 2,
        .barriers = 2,
    };
    return gpu_cost(task, &w);
}

/* Some ten elements a thread. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    int64_t threads = gpu_threads(task, 128), team = 32, each = 4;
    while (team > 1 && team / 2 * 14 >= s.n)
        team /= 2;
    while (each > 1 && (host_ceil(s.outer, threads / team * each) < 8 * gpu_cores(task) ||
                        run_bytes(task, &s, threads / team * each) > ROOM))
        each /= 2;
    while (threads > 64 && (threads / team >= 2 * s.outer ||
                            run_bytes(task, &s, threads / team) > gpu_max_shared(task) / 2))
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_choose_int(config, space, "each", each);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int m = softmax_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "TEAM", team);
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    optune_plan_define(plan, m, "HELD", host_ceil(s.n, team));
    optune_plan_define(plan, m, "STAGED_V", 16 / softmax_stored(task));
    softmax_gpu_stage(plan, (optune_stage){.module = m,
                                           .grid = {host_ceil(s.outer, rows_of(config))},
                                           .block = {threads},
                                           .shared = room(task, &s, config)});
}

OPTUNE_IMPL(softmax, staged) = {
    .op = "softmax",
    .name = "softmax_staged.gpu",
    .summary = "runs of short rows through shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
