/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise and broadcast ops on targets without rows of their own: anything that compiles C. */
#include "optune/define.h"

static bool on_cpu(const optune_task *task, char *why)
{
    return task->device->warp == 0 || optune_refuse(why, "is C for CPUs");
}

OPTUNE_STRATEGY(elementwise, generic) = {
    .pattern = OPTUNE_BROADCAST,
    .key = "generic",
    .rows =
        (const optune_strategy_row[]){{.impl = "vector.cpu", .plevel = 5, .condition = on_cpu},
                                      {0}},
};
