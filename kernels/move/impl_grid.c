/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_grid.gpu: any injective op, a thread for some vectors along the rows of its pieces. */
#include "kernels/move/moves_gpu.h"

static moves_launch launch_of(const optune_config *config)
{
    return (moves_launch){.threads = optune_config_int(config, "threads"),
                          .vector = optune_config_int(config, "vector"),
                          .each = optune_config_int(config, "each")};
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "vector", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    moves m;
    moves_of(task->call, &m);
    const moves_launch by = launch_of(config);
    if (by.vector > moves_longest_vector(task, &m))
        return optune_refuse(why, "vectors of %" PRId64 ", the pieces allow %" PRId64,
                             by.vector, moves_longest_vector(task, &m));
    return moves_gpu_fits(task, &m, &by, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    moves m;
    moves_of(task->call, &m);
    const moves_launch by = launch_of(config);
    return moves_gpu_estimate(task, &m, &by);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    moves m;
    moves_of(task->call, &m);
    const int64_t vector = moves_longest_vector(task, &m), threads = gpu_threads(task, 256);
    const int64_t waves =
        optune_tensor_elements(&task->call->output[0]) / (vector * threads * gpu_cores(task));
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_choose_int(config, space, "each", waves >= 64 ? 4 : 1);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    moves m;
    moves_of(task->call, &m);
    const moves_launch by = launch_of(config);
    moves_gpu_plan(task, plan, &m, &by);
}

OPTUNE_IMPL(move, grid) = {
    .name = "grid.gpu",
    .pattern = OPTUNE_INJECTIVE,
    .summary = "a thread for some vectors of rows",
    .applies = moves_gpu_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
