/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avg_pool2d_grad.cpu: adds each window's share to the elements it holds. `spread` says how:
 * "rows" spreads a row of gradients along the width once and adds that line to every row of the
 * windows; "taps" adds it tap by tap.
 */
#include "kernels/pool/grad/grad.h"

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_words(space, "spread", 2, (const char *const[]){"rows", "taps"});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    pool_shape s;
    pool_backward_shape(task->call, &s);
    const int64_t lanes = 16 / pool_elem(&s);
    const int m = pool_module(plan, &s, lanes);
    optune_plan_define(plan, m, "BY_ROWS",
                       strcmp(optune_config_word(config, "spread"), "rows") == 0);
    const int shares = pool_shares(plan, m, &s, lanes);
    /* A row of gradients in shares, and what it gives to a row of the data. */
    optune_stage stage = pool_grad_stage(task, &s, plan, m, (s.x.in + s.x.out) * s.block + 32);
    stage.arg[stage.n_args++] = optune_scratch_arg(shares);
    pool_finish(task, plan, &stage);
}

OPTUNE_IMPL(pool_grad, avg_spread) = {
    .op = "avg_pool2d_grad",
    .name = "avg_pool2d_grad.cpu",
    .summary = "spreads each window's share along its columns, then its rows",
    .applies = pool_grad_applies,
    .space = space,
    .plan = plan,
    .symbolic = "grad.0 data.0",
};
