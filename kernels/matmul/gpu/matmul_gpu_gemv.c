/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu_gemv.h declares. */
#include "kernels/matmul/gpu/matmul_gpu_gemv.h"

enum { MATMUL_GPU_GEMV_MOST = 1024 }; /* more is code that a compiler takes too long for */

typedef struct matmul_gpu_team {
    int64_t lanes, teams, each_m, each_n, deep, splits;
} matmul_gpu_team;

static matmul_gpu_team matmul_gpu_team_of(const optune_config *config)
{
    return (matmul_gpu_team){
        .lanes = optune_config_int(config, "lanes"),
        .teams = optune_config_int(config, "teams"),
        .each_m = optune_config_int(config, "each_m"),
        .each_n = optune_config_int(config, "each_n"),
        .deep = optune_config_int(config, "deep"),
        .splits = optune_config_int(config, "splits"),
    };
}

void matmul_gpu_gemv_space(optune_space *space)
{
    static const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    optune_space_ints(space, "lanes", 6, powers + 3);
    optune_space_ints(space, "teams", 6, powers);
    optune_space_ints(space, "each_m", 5, powers);
    optune_space_ints(space, "each_n", 4, powers);
    optune_space_ints(space, "deep", 4, powers);
    optune_space_ints(space, "splits", 5, powers);
}

static int64_t matmul_gpu_team_shared(const optune_task *task, const matmul_gpu *p,
                                      const matmul_gpu_team *c)
{
    const int64_t values = c->each_m * c->each_n * c->lanes * c->teams;
    const bool cuda = task->device->cc_major > 0;
    return matmul_gpu_elem(p) * (!cuda ? values : c->lanes > 32 ? values / 32 : 1);
}

bool matmul_gpu_gemv_valid(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, char *why)
{
    const matmul_gpu_team t = matmul_gpu_team_of(config), *const c = &t;
    const int64_t words = matmul_gpu_elem(p) / 4, v = matmul_gpu_vector(p, p->k, 4);
    const int64_t block[3] = {c->lanes * c->teams, 1, 1};
    if (block[0] < host_min(32, (int64_t)task->device->warp))
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", block[0]);
    if (c->lanes > 8 && c->lanes / 2 * v >= p->k)
        return optune_refuse(why, "half of a team lies outside the depth");
    if ((c->each_m > 1 && c->each_m / 2 >= p->m) || (c->each_n > 1 && c->each_n / 2 >= p->n) ||
        (c->lanes > 8 && c->teams > 1 && c->teams / 2 * c->each_n >= p->n))
        return optune_refuse(why, "half of the block lies outside the output");
    if (c->deep * c->each_m * c->each_n * v > MATMUL_GPU_GEMV_MOST)
        return optune_refuse(why, "%" PRId64 " products in one step of a thread, at most %d",
                             c->deep * c->each_m * c->each_n * v, MATMUL_GPU_GEMV_MOST);
    if (c->deep > 1 && c->lanes * v * c->deep > p->k)
        return optune_refuse(why, "more depth at once than there is");
    return matmul_gpu_splits_fit(p, c->splits, c->lanes * v * c->deep, why) &&
           gpu_fits(task, block, matmul_gpu_team_shared(task, p, c),
                    words * (c->each_m * c->each_n + v * (c->each_n + 1)) +
                        2 * (c->each_m + c->each_n) + 12,
                    why);
}

void matmul_gpu_gemv_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config)
{
    const int64_t units = task->device->cores > 0 ? task->device->cores : 16;
    const int64_t v = matmul_gpu_vector(p, p->k, 4);
    matmul_gpu_team c = {.lanes = 8, .teams = 1, .each_m = 1, .each_n = 1, .deep = 1};
    while (c.each_m < p->m && c.each_m < 8)
        c.each_m *= 2;
    if (p->m > 1 && p->n * p->b >= units * 32)
        c.each_n = 2;
    while (c.lanes < 256 && c.lanes * v < p->k &&
           (c.lanes < 32 || p->n * p->b * c.lanes < units * 512))
        c.lanes *= 2;
    while (c.lanes * c.teams < 128 && (c.lanes * c.teams < 32 || c.teams * c.each_n < p->n))
        c.teams *= 2;
    while (c.deep < 4 && c.lanes * v * c.deep * 2 <= p->k)
        c.deep *= 2;
    optune_config_choose_int(config, space, "lanes", c.lanes);
    optune_config_choose_int(config, space, "teams", c.teams);
    optune_config_choose_int(config, space, "each_m", c.each_m);
    optune_config_choose_int(config, space, "each_n", c.each_n);
    optune_config_choose_int(config, space, "deep", c.deep);
    optune_config_choose_int(config, space, "splits", 1);
    optune_config_nearest(config, space);
}

double matmul_gpu_gemv_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config)
{
    const matmul_gpu_team c = matmul_gpu_team_of(config);
    const int64_t elem = matmul_gpu_elem(p), v = matmul_gpu_vector(p, p->k, 4);
    const int64_t blocks_m = host_ceil(p->m, c.each_m);
    const double sums = (double)(c.each_m * c.each_n), depth = (double)(v * c.deep);
    const double steps =
        (double)host_ceil(p->k, c.lanes * v * c.deep * c.splits); /* of a thread */
    const double step =
        (double)elem / 4 * sums * depth + (double)(c.deep * (2 * c.each_n + 2 * c.each_m)) + 6;
    const double line = (double)(p->k / c.splits * elem);
    const gpu_work w = {
        .blocks = host_ceil(p->n, c.teams * c.each_n) * p->b * blocks_m * c.splits,
        .threads = c.lanes * c.teams,
        .registers = elem / 4 * (c.each_m * c.each_n + v * (c.each_n + 1) * c.deep) + 24,
        .shared = matmul_gpu_team_shared(task, p, &c),
        .instructions = steps * step + sums * (double)(2 * gpu_log2(c.lanes) + 3) + 24,
        .bytes = (double)(c.teams * c.each_n) * line / (double)blocks_m,
        .cached = (double)(c.teams * c.each_n + c.each_m) * line,
        .waits = steps + 1,
        .barriers = c.lanes > 32 ? 2 : 0,
    };
    return gpu_cost(task, &w) + matmul_gpu_sharing(task, p, c.splits);
}

void matmul_gpu_gemv_plan(const optune_task *task, const matmul_gpu *p,
                          const optune_config *config, optune_plan *plan)
{
    const matmul_gpu_team c = matmul_gpu_team_of(config);
    const int m = optune_plan_module(plan);
    const int64_t vn = c.splits == 1 ? 1 : matmul_gpu_vector(p, p->n, 4);
    matmul_gpu_define(task, plan, m, p, c.splits);
    optune_plan_define(plan, m, "LANES", c.lanes);
    optune_plan_define(plan, m, "TEAMS", c.teams);
    optune_plan_define(plan, m, "EACH_M", c.each_m);
    optune_plan_define(plan, m, "EACH_N", c.each_n);
    optune_plan_define(plan, m, "DEEP", c.deep);
    optune_plan_define(plan, m, "VX", matmul_gpu_vector(p, p->k, 4));
    optune_plan_define(plan, m, "VN", vn);
    const optune_stage stage = {
        .module = m,
        .grid = {host_ceil(p->n, c.teams * c.each_n), p->b,
                 c.splits * host_ceil(p->m, c.each_m)},
        .block = {c.lanes * c.teams, 1, 1},
        .shared = matmul_gpu_team_shared(task, p, &c),
    };
    matmul_gpu_stages(task, plan, p, stage, c.splits, vn);
}
