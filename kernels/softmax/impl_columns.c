/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_columns.cpu: vectors of neighbours along the dims behind the axis, each lane a sum of
 * its own; any axis. Where the axis is the last one a vector has one lane in use: right, and
 * slow.
 */
#include "kernels/softmax/softmax.h"

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    return softmax_applies(task, &s, why);
}

static void space(const optune_task *task, optune_space *space)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    const int64_t vectors = s.inner / softmax_lanes(task, &s, s.inner);
    optune_space_words(space, "passes", 2, (const char *const[]){"three", "two"});
    optune_space_ints(space, "vectors",
                      vectors >= 4   ? 4
                      : vectors >= 2 ? (int)vectors
                                     : 1,
                      (const int64_t[]){1, 2, 3, 4});
    optune_space_ints(space, "unroll", 3, (const int64_t[]){1, 2, 4});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    (void)task;
    optune_config_choose_int(config, space, "vectors", 4);
    optune_config_choose_int(config, space, "unroll", 2);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    const int m = softmax_module(task, plan, &s, softmax_lanes(task, &s, s.inner));
    optune_plan_define(plan, m, "PASSES",
                       optune_config_word(config, "passes")[1] == 'w' ? 2 : 3);
    optune_plan_define(plan, m, "VECS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "STEPS", optune_config_int(config, "unroll"));
    softmax_stage(task, plan, m);
}

OPTUNE_IMPL(softmax, columns) = {
    .op = "softmax",
    .name = "softmax_columns.cpu",
    .summary = "across the axis, a lane for each of its neighbours",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .plan = plan,
    .symbolic = "*",
};
