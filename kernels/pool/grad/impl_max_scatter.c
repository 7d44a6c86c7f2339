/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d_grad.cpu: finds the element of each window again and adds the window's gradient
 * there. `search` says how: "row" compares a row of windows tap by tap, in vectors; "window" one
 * window after the other.
 */
#include "kernels/pool/grad/grad.h"

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_words(space, "search", 2, (const char *const[]){"row", "window"});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_backward_shape(task->call, &s);
    const int m = pool_module(plan, &s, 16 / pool_elem(&s));
    optune_plan_define(plan, m, "BY_ROW",
                       strcmp(optune_config_word(config, "search"), "row") == 0);
    /* The best values and their taps of one row of windows. */
    const optune_stage stage = pool_grad_stage(task, &s, plan, m, 2 * (s.x.out * s.block + 16));
    pool_finish(task, plan, &stage);
}

OPTUNE_IMPL(pool_grad, max_scatter) = {
    .op = "max_pool2d_grad",
    .name = "max_pool2d_grad.cpu",
    .summary = "finds each window's element again and adds to it",
    .applies = pool_grad_applies,
    .space = space,
    .plan = plan,
    .symbolic = "grad.0 data.0",
};
