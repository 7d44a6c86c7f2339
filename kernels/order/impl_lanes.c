/* SPDX-License-Identifier: Apache-2.0 */
/* topk_lanes.cpu: for k of a few, many lines at once, the best of each in registers. */
#include "kernels/order/order_rows.h"

enum { MOST = 8 }; /* of k: two registers each */

static bool applies(const optune_task *task, char *why)
{
    if (!order_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    return s.k <= MOST || optune_refuse(why, "k = %" PRId64 " do not stay in registers", s.k);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 3, (int64_t[]){1, 2, 4});
    /* Whether a step is first asked if it improves any lane. */
    optune_space_bools(space, "test", 2, (bool[]){false, true});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t vectors = optune_config_int(config, "vectors");
    if (vectors > 1 && vectors * 2 * s.k > 32)
        return optune_refuse(why, "the best of all lanes do not stay in registers");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "VECTORS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "TEST", optune_config_bool(config, "test"));
    order_stage(task, plan, m, 0);
}

OPTUNE_IMPL(order, lanes) = {
    .op = "topk",
    .name = "topk_lanes.cpu",
    .summary = "many lines at once, the best few of each in registers",
    .applies = applies,
    .space = space,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
