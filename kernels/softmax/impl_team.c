/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_team.gpu: the axis is contiguous. A team of threads takes one row; where a row fits their
 * registers it is read once, else twice, the second time from a cache.
 */
#include "kernels/softmax/softmax_gpu.h"

enum { HELD = 32 }; /* elements that one thread keeps, at most */

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    return softmax_gpu_applies(task, &s, why) &&
           (s.inner == 1 || optune_refuse(why, "is for a contiguous axis"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "team", 8, (const int64_t[]){1, 4, 16, 32, 64, 128, 256, 1024});
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "hold", 2, (const int64_t[]){0, 1});
}

/* Vectors of a row that one thread of its team takes. */
static int64_t each_of(const softmax_shape *s, int64_t team, int64_t vector)
{
    return host_ceil(s->n / vector, team);
}

static int64_t longest(const optune_task *task, const softmax_shape *s)
{
    int64_t v = 16 / softmax_stored(task);
    while (s->n % v != 0)
        v /= 2;
    return v;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t vector = optune_config_int(config, "vector");
    const bool hold = optune_config_int(config, "hold");
    const int64_t held = hold ? each_of(&s, team, vector) * vector : 0;
    if (team > threads)
        return optune_refuse(why, "a team is larger than its block");
    if (vector > longest(task, &s))
        return optune_refuse(why, "vectors of %" PRId64 ", the rows allow %" PRId64, vector,
                             longest(task, &s));
    if (team > 1 && team / 2 * vector >= s.n)
        return optune_refuse(why, "half of a team has nothing to do");
    if (held > HELD)
        return optune_refuse(why, "a thread would keep %" PRId64 " elements, at most %d", held,
                             (int)HELD);
    return gpu_grid_fits(host_ceil(s.outer, threads / team), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, threads * softmax_elem(&s),
                    16 + held * softmax_elem(&s) / 4, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    enum { VALUE = 14 }; /* instructions of one value, with its exponential */
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t vector = optune_config_int(config, "vector"), elem = softmax_elem(&s);
    const bool hold = optune_config_int(config, "hold");
    const double each = (double)each_of(&s, team, vector), values = each * (double)vector;
    const double rows = (double)(threads / team);
    /* A team walks along its row side by side. */
    const double row = gpu_sectors((double)s.n / (double)(team * vector),
                                   team * vector * softmax_stored(task));
    const gpu_work w = {
        .blocks = host_ceil(s.outer, threads / team),
        .threads = threads,
        .registers = hold ? 24 + each_of(&s, team, vector) * vector * elem / 4 : 56,
        .shared = threads * elem,
        .instructions = values * (hold ? VALUE : 2 * VALUE) + each * (hold ? 4 : 8) +
                        8 * (double)gpu_log2(team) + 30,
        .bytes = 2 * rows * row,
        .cached = (hold ? 2 : 3) * rows * row,
        .waits = hold ? 2 : 2 * host_max(each * (double)vector / 8, 1) + 2,
        .barriers = team > 32 ? 4 : 0,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t vector = longest(task, &s);
    int64_t team = s.n <= 8 ? 1 : 32;
    while (team > 1 && team / 2 * vector >= s.n)
        team /= team == 64 || team == 32 ? 2 : 4;
    while (team < 256 && each_of(&s, team, vector) * vector > 16 && team > 1)
        team *= 2;
    team = gpu_threads(task, 256) < team ? gpu_threads(task, 256) : team;
    if (each_of(&s, team, vector) * vector > HELD && gpu_max_threads(task) >= 1024)
        team = 1024;
    const int64_t threads = team > 256 ? team : gpu_threads(task, 256);
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_choose_int(config, space, "vector", vector);
    const int64_t held = each_of(&s, optune_config_int(config, "team"), vector) * vector;
    optune_config_choose_int(config, space, "hold", held <= (threads > 512 ? HELD / 2 : HELD));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t vector = optune_config_int(config, "vector");
    const int m = softmax_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "TEAM", team);
    optune_plan_define(plan, m, "V", vector);
    optune_plan_define(plan, m, "HELD",
                       optune_config_int(config, "hold") ? each_of(&s, team, vector) : 0);
    softmax_gpu_stage(plan, (optune_stage){.module = m,
                                           .grid = {host_ceil(s.outer, threads / team)},
                                           .block = {threads},
                                           .shared = threads * softmax_elem(&s)});
}

OPTUNE_IMPL(softmax, team) = {
    .op = "softmax",
    .name = "softmax_team.gpu",
    .summary = "a team of threads for a row, kept in registers where it fits",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
