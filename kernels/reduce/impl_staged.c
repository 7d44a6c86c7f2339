/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_staged.gpu: reductions of short rows that lie one behind the other. A block moves a run of
 * rows in whole vectors to shared memory and reduces them there.
 */
#include "kernels/reduce/reduce_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    if (!gpu_applies(task, why) || !reduce_innermost(task, true, why))
        return false;
    const reduce_loops r = reduce_loops_of(task->call);
    if (r.n_reduced != 1 || r.n_kept > 1)
        return optune_refuse(why, "rows do not lie one behind the other");
    const staged_rows rows = reduce_staged(task);
    return staged_rows_apply(&rows, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    staged_rows_space(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const staged_rows rows = reduce_staged(task);
    return staged_rows_valid(task, &rows, config, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const staged_rows rows = reduce_staged(task);
    return staged_rows_cost(task, &rows, config);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const staged_rows rows = reduce_staged(task);
    staged_rows_fallback(task, &rows, space, config);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const staged_rows rows = reduce_staged(task);
    const int m = optune_plan_module(plan);
    reduce_gpu_define(plan, m, task->call, &r, 1);
    reduce_gpu_stages(task, plan, m, &r, 1, staged_rows_stage(plan, m, &rows, config));
}

OPTUNE_IMPL(reduce, staged) = {
    .name = "staged.gpu",
    .pattern = OPTUNE_REDUCTION,
    .summary = "runs of short rows in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
