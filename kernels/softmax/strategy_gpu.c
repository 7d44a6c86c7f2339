/* SPDX-License-Identifier: Apache-2.0 */
/* How softmax is computed on GPUs: what the axis is decides. */
#include "kernels/softmax/softmax_gpu.h"

/* Registers of a block do not hold a row: else it is read once from memory without this, too. */
static bool is_long(const optune_task *task, char *why)
{
    enum { EACH = 16 }; /* elements that a thread of a large block keeps */
    softmax_shape s;
    return softmax_gpu_applies(task, &s, why) &&
           (s.n > EACH * gpu_threads(task, 1024) ||
            optune_refuse(why, "registers hold rows of %" PRId64, s.n));
}

static bool is_short(const optune_task *task, char *why)
{
    return !is_long(task, NULL) ||
           optune_refuse(why, "its rows are long, which has a row of its own");
}

OPTUNE_STRATEGY(softmax, gpu) = {
    .op = "softmax",
    .key = "gpu",
    .rows =
        (const optune_strategy_row[]){
            {.impl = "softmax_shared.gpu", .plevel = 12, .condition = is_long},
            {.impl = "softmax_team.gpu"},
            {.impl = "softmax_shared.gpu", .plevel = 5, .condition = is_short},
            {.impl = "softmax_across.gpu"},
            {0}},
};
