/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits_gemv.gpu: products of few rows with a weight of small integers, CUDA and OpenCL. */
#include "kernels/nbits/gpu/nbits_gpu.h"

enum { MAX_ROWS = 32 };

typedef struct team {
    int64_t lanes, teams, each_m, each_n, words;
} team;

static team team_of(const optune_config *config)
{
    return (team){
        .lanes = optune_config_int(config, "lanes"),
        .teams = optune_config_int(config, "teams"),
        .each_m = optune_config_int(config, "each_m"),
        .each_n = optune_config_int(config, "each_n"),
        .words = optune_config_int(config, "words"),
    };
}

static bool applies(const optune_task *task, char *why)
{
    if (!nbits_gpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    return s.m <= MAX_ROWS || optune_refuse(why, "more than %d rows", MAX_ROWS);
}

static void space(const optune_task *task, optune_space *space)
{
    static const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    (void)task;
    optune_space_ints(space, "lanes", 6, powers + 3);
    optune_space_ints(space, "teams", 6, powers);
    optune_space_ints(space, "each_m", 4, powers);
    optune_space_ints(space, "each_n", 4, powers);
    optune_space_ints(space, "words", 3, powers);
    optune_space_ints(space, "deep", 3, powers);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const team t = team_of(config);
    const int64_t words = nbits_gpu_words(&s), block[3] = {t.lanes * t.teams, 1, 1};
    const int64_t sums = t.each_m * t.each_n, values = sums * block[0];
    const bool cuda = task->device->cc_major > 0;
    if (block[0] < host_min(32, (int64_t)task->device->warp))
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", block[0]);
    if (words % t.words)
        return optune_refuse(why, "a row is not of whole vectors of %" PRId64 " words",
                             t.words);
    if (t.lanes > 8 && t.lanes / 2 * t.words >= words)
        return optune_refuse(why, "half of a team lies outside the depth");
    if ((t.each_m > 1 && t.each_m / 2 >= s.m) || (t.each_n > 1 && t.each_n / 2 >= s.n) ||
        (t.lanes > 8 && t.teams > 1 && t.teams / 2 * t.each_n >= s.n))
        return optune_refuse(why, "half of the block lies outside the output");
    return gpu_fits(task, block,
                    4 * (!cuda          ? values
                         : t.lanes > 32 ? values / 32
                                        : 1),
                    2 * sums + t.each_m * 32 / s.bits + t.each_n * (t.words + 2) + 16, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const team t = team_of(config);
    const int64_t words = nbits_gpu_words(&s), deep = optune_config_int(config, "deep");
    const int64_t size = task->call->output[0].dtype.bits / 8,
                  blocks_m = host_ceil(s.m, t.each_m);
    const double per = 32.0 / (double)s.bits, sums = (double)(t.each_m * t.each_n);
    const double steps = (double)host_ceil(words, t.lanes * t.words); /* of a thread */
    const double step = (double)t.words * (per * (sums + 2 * (double)t.each_n) +
                                           per * 1.2 * (double)t.each_m + 6 * sums) +
                        2 * (double)t.each_n + 8;
    const double weight = (double)(t.teams * t.each_n * s.row_bytes);
    const gpu_work w = {
        .blocks = host_ceil(s.n, t.teams * t.each_n) * blocks_m,
        .threads = t.lanes * t.teams,
        .registers = 2 * t.each_m * t.each_n + t.each_m * 32 / s.bits +
                     t.each_n * (t.words * deep + 2) + 24,
        .instructions = steps * step + sums * (double)(2 * gpu_log2(t.lanes) + 3) + 24,
        .bytes = gpu_sectors(weight / (double)(t.lanes * t.words * 4), t.lanes * t.words * 4) /
                 (double)blocks_m,
        .cached = weight + (double)(t.each_m * s.k * size),
        .waits = steps / (double)deep + 1,
        .barriers = t.lanes > 32 ? 2 : 0,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t words = nbits_gpu_words(&s);
    team t = {.lanes = 32, .teams = 4, .each_m = 1, .each_n = 1, .words = 4};
    while (t.each_m < s.m && t.each_m < 4)
        t.each_m *= 2;
    if (s.m > 1)
        t.each_n = 2;
    while (t.words > 1 && (words % t.words || t.words * 32 > words))
        t.words /= 2;
    while (t.lanes > 8 && t.lanes / 2 * t.words >= words)
        t.lanes /= 2;
    optune_config_choose_int(config, space, "lanes", t.lanes);
    optune_config_choose_int(config, space, "teams", t.teams);
    optune_config_choose_int(config, space, "each_m", t.each_m);
    optune_config_choose_int(config, space, "each_n", t.each_n);
    optune_config_choose_int(config, space, "words", t.words);
    optune_config_choose_int(config, space, "deep", 2);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const team t = team_of(config);
    const int64_t threads = t.lanes * t.teams, values = t.each_m * t.each_n * threads;
    const int64_t room = task->device->cc_major == 0 ? values : t.lanes > 32 ? values / 32 : 1;
    const int m = nbits_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "LANES", t.lanes);
    optune_plan_define(plan, m, "TEAMS", t.teams);
    optune_plan_define(plan, m, "EACH_M", t.each_m);
    optune_plan_define(plan, m, "EACH_N", t.each_n);
    optune_plan_define(plan, m, "VW", t.words);
    optune_plan_define(plan, m, "DEEP", optune_config_int(config, "deep"));
    nbits_gpu_stage(task, plan, &s,
                    (optune_stage){.module = m,
                                   .grid = {host_ceil(s.n, t.teams * t.each_n),
                                            host_ceil(s.m, t.each_m), 1},
                                   .block = {threads, 1, 1},
                                   .shared = room * 4});
}

OPTUNE_IMPL(nbits_gpu, gemv) = {
    .op = "dense_nbits",
    .name = "dense_nbits_gemv.gpu",
    .summary = "teams of threads along the depth, integers unpacked in registers",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
    .symbolic = "data.0",
};
