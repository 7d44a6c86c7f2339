/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_rows.cpu: the axis is contiguous. `passes` is how often a row is read: "one" keeps it
 * in registers, "two" finds maximum and sum together and computes every exponential twice, "three"
 * keeps the exponentials in the output. Several rows at once hide the latency of their sums.
 */
#include "kernels/softmax/softmax.h"

static bool applies(const optune_task *task, char *why)
{
    softmax_shape s;
    if (!softmax_rows_apply(task, &s, why))
        return false;
    if (s.inner != 1)
        return optune_refuse(why, "the axis is not contiguous");
    if (!s.n_varies && s.n < softmax_lanes(task, &s, s.n))
        return optune_refuse(why, "rows are shorter than a vector");
    return true;
}

static int64_t vectors(const optune_task *task, const softmax_shape *s)
{
    const int64_t lanes = softmax_lanes(task, s, s->n);
    return (s->n + lanes - 1) / lanes;
}

/* A row that leaves registers for the polynomial. */
static bool fits(const optune_task *task, const softmax_shape *s, int64_t rows)
{
    return !s->n_varies && rows * vectors(task, s) <= softmax_registers(task) - 8;
}

static void space(const optune_task *task, optune_space *space)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    const int one = fits(task, &s, 1);
    optune_space_words(space, "passes", 2 + one, (const char *const[]){"three", "two", "one"});
    optune_space_ints(space, "rows",
                      s.outer >= 4   ? 3
                      : s.outer >= 2 ? 2
                                     : 1,
                      (const int64_t[]){1, 2, 4});
    optune_space_ints(space, "vectors", 4, (const int64_t[]){1, 2, 4, 8});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    /* Reductions of short rows wait for each other; several rows at once do not. */
    const bool few = vectors(task, &s) <= 16;
    optune_config_choose_word(config, space, "passes", "three");
    optune_config_choose_int(config, space, "rows", few ? 4 : 1);
    optune_config_choose_int(config, space, "vectors", vectors(task, &s) < 2 ? 1 : few ? 2 : 4);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    const int64_t rows = optune_config_int(config, "rows");
    const int64_t step = optune_config_int(config, "vectors");
    if (strcmp(optune_config_word(config, "passes"), "one") == 0) {
        if (step > 1)
            return optune_refuse(why, "one pass takes whole rows: vectors is 1");
        return fits(task, &s, rows) ||
               optune_refuse(why, "%ld rows do not fit into registers", (long)rows);
    }
    if (rows * step > 16)
        return optune_refuse(why, "%ld vectors at once exceed 16", (long)(rows * step));
    if (step > vectors(task, &s))
        return optune_refuse(why, "a step of %ld vectors exceeds the row", (long)step);
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    const char *const passes = optune_config_word(config, "passes");
    const int m = softmax_module(task, plan, &s, softmax_lanes(task, &s, s.n));
    optune_plan_define(plan, m, "PASSES", passes[0] == 'o' ? 1 : passes[1] == 'w' ? 2 : 3);
    optune_plan_define(plan, m, "ROWS", optune_config_int(config, "rows"));
    optune_plan_define(plan, m, "STEP", optune_config_int(config, "vectors"));
    softmax_stage(task, plan, m);
}

OPTUNE_IMPL(softmax, rows) = {
    .op = "softmax",
    .name = "softmax_rows.cpu",
    .summary = "along contiguous rows in one, two or three passes",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
