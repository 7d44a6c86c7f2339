/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_shared.gpu: the axis is contiguous, and too long for the registers of a block: a block
 * holds one row in shared memory, so that memory is read once.
 */
#include "kernels/softmax/softmax_gpu.h"

enum { REGISTERS = 56 };

static int64_t room(const optune_task *task, const softmax_shape *s, int64_t threads)
{
    return (host_ceil(s->n * softmax_stored(task), 16) + 1) * 16 + threads * softmax_elem(s);
}

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    if (!softmax_gpu_applies(task, &s, why))
        return false;
    if (s.inner != 1)
        return optune_refuse(why, "is for a contiguous axis");
    return room(task, &s, 64) <= gpu_max_shared(task) ||
           optune_refuse(why, "shared memory does not hold a row");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t vector = 16 / softmax_stored(task);
    if (threads > 64 && threads / 2 * vector >= s.n)
        return optune_refuse(why, "half of a block has nothing to do");
    return gpu_grid_fits(s.outer, why) && gpu_fits(task, (const int64_t[]){threads, 1, 1},
                                                   room(task, &s, threads), REGISTERS, why);
}

/* Exponentials are kept where memory holds elements as threads do. */
static bool keeps(const optune_task *task, const softmax_shape *s)
{
    return softmax_stored(task) == softmax_elem(s);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    enum { VALUE = 14, AGAIN = 10 }; /* instructions of one value, of its exponential */
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t vector = 16 / softmax_stored(task);
    const double each = (double)host_ceil(s.n, threads * vector);
    const double row = (double)(s.n * softmax_stored(task));
    const gpu_work w = {
        .blocks = s.outer,
        .threads = threads,
        .registers = REGISTERS,
        .shared = room(task, &s, threads),
        .instructions =
            each * ((double)vector * (keeps(task, &s) ? VALUE : VALUE + AGAIN) + 16) +
            6 * (double)threads / 32 + 60,
        .bytes = 2 * row,
        .cached = 2 * row,
        .waits = 2,
        .barriers = 5,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t vector = 16 / softmax_stored(task);
    /* Where two rows fit a core, one is computed while the other one moves. */
    int64_t threads =
        gpu_threads(task, 2 * room(task, &s, 512) <= gpu_max_shared(task) ? 512 : 1024);
    while (threads > 64 &&
           (threads / 2 * vector >= s.n || room(task, &s, threads) > gpu_max_shared(task)))
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const softmax_shape s = softmax_gpu_shape(task);
    const int64_t threads = optune_config_int(config, "threads");
    const int m = softmax_gpu_module(task, plan, &s);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "STAGED_V", 16 / softmax_stored(task));
    optune_plan_define(plan, m, "KEEP", keeps(task, &s));
    optune_plan_define(plan, m, "RESIDENT",
                       host_max(1, host_min(gpu_max_shared(task) / room(task, &s, threads),
                                            gpu_max_threads(task) / threads)));
    softmax_gpu_stage(plan, (optune_stage){.module = m,
                                           .grid = {s.outer},
                                           .block = {threads},
                                           .shared = room(task, &s, threads)});
}

OPTUNE_IMPL(softmax, shared) = {
    .op = "softmax",
    .name = "softmax_shared.gpu",
    .summary = "a block for a row, which shared memory holds",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
