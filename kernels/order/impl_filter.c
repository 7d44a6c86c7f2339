/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_filter.cpu: reads a line once and keeps what is better than the last of the best k so
 * far. For k well below n; its buffer holds a multiple of k.
 */
#include "kernels/order/order_rows.h"

static int64_t step_of(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    return optune_config_int(config, "vectors") * host_vector_bytes(task) / (s.data.bits / 8);
}

static void space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "buffer", 4, (int64_t[]){2, 4, 8, 16});
    optune_space_ints(space, "vectors", 4, (int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "base", 3, (int64_t[]){16, 32, 64});
    order_block_knob(task, space);
}

static int64_t capacity(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t want = s.k * optune_config_int(config, "buffer"),
                  least = s.k + step_of(task, config);
    return want > least ? want : least;
}

/* What the body lays out for every thread. */
static int64_t bytes(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t block = optune_config_int(config, "block");
    const int64_t keys = s.at.inner > 1 ? host_ceil(s.at.n * s.data.bits / 8, 64) * 64 : 0;
    const int64_t room = host_ceil(capacity(task, config) * order_item_bytes(&s) + 64, 64) * 64;
    return host_threads(task) * (block * keys + 2 * room);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    if (optune_config_int(config, "buffer") > 2 && capacity(task, config) > 2 * s.at.n)
        return optune_refuse(why, "the buffer is twice as long as a line");
    /* Something must serve what is that long: the smallest buffer is never refused. */
    return (optune_config_int(config, "buffer") == 2 &&
            optune_config_int(config, "vectors") == 1 &&
            optune_config_int(config, "block") == 1) ||
           order_scratch_fits(bytes(task, config), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    optune_config_choose_int(config, space, "buffer", s.k * 8 <= s.at.n ? 4 : 2);
    optune_config_choose_int(config, space, "vectors", s.at.n >= 4096 ? 4 : 1);
    optune_config_choose_int(config, space, "base", order_base(task));
    order_block_fallback(task, space, config);
    if (capacity(task, config) > 2 * s.at.n)
        optune_config_choose_int(config, space, "buffer", 2);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "CAPACITY", capacity(task, config));
    optune_plan_define(plan, m, "VECTORS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "BLOCK", optune_config_int(config, "block"));
    optune_plan_define(plan, m, "BASE", optune_config_int(config, "base"));
    optune_plan_define(plan, m, "RUN", 8);
    order_stage(task, plan, m, bytes(task, config));
}

OPTUNE_IMPL(order, filter) = {
    .op = "topk",
    .name = "topk_filter.cpu",
    .summary = "reads a line once and keeps what is better than the k-th so far",
    .applies = order_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
