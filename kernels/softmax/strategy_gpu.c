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

/* Threads that walk rows in memory would move less than 16 bytes at once. */
static bool is_ragged(const optune_task *task, char *why)
{
    enum { SHORTEST = 16, LONGEST = 1024 };
    softmax_shape s;
    if (!softmax_gpu_applies(task, &s, why))
        return false;
    if (s.n < SHORTEST || s.n > LONGEST)
        return optune_refuse(why, "rows of %" PRId64 ", not of %d to %d", s.n, (int)SHORTEST,
                             (int)LONGEST);
    return s.n * softmax_stored(task) % 16 != 0 || optune_refuse(why, "rows are whole vectors");
}

static bool is_even(const optune_task *task, char *why)
{
    return !is_ragged(task, NULL) ||
           optune_refuse(why, "its rows are no whole vectors, which has a row of its own");
}

OPTUNE_STRATEGY(softmax, gpu) = {
    .op = "softmax",
    .key = "gpu",
    .rows =
        (const optune_strategy_row[]){
            {.impl = "softmax_shared.gpu", .plevel = 12, .condition = is_long},
            {.impl = "softmax_staged.gpu", .plevel = 11, .condition = is_ragged},
            {.impl = "softmax_team.gpu"},
            {.impl = "softmax_staged.gpu", .plevel = 4, .condition = is_even},
            {.impl = "softmax_shared.gpu", .plevel = 5, .condition = is_short},
            {.impl = "softmax_across.gpu"},
            {0}},
};
