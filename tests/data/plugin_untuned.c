/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that would be chosen untuned for dense on cpu and should not be believed:
 *
 *   untuned_refused.cpu   its `valid` refuses its fallback; plevel 60
 *   untuned_foreign.cpu   its fallback is in no space of its own; plevel 50
 *   untuned_wrong.cpu     a good config, and a wrong result: an infinity where N is 7, else
 *                         the last element is off; plevel 40, for weights of at least 5 rows
 *   untuned_spaceless.cpu its knob is declared twice; plevel 5
 *
 * Build: cc -shared -fPIC -I include -o plugin_untuned.so tests/data/plugin_untuned.c
 */
#include "planted_dense.h"

static const char body[] =
    "void dense(void *const *arg) {\n"
    "    const float *data = arg[0], *weight = arg[1];\n"
    "    float *out = arg[2];\n" PLANTED_LOOPS
    "    if (WRONG) out[M * N - 1] = N == 7 ? 1.0f / 0.0f : out[M * N - 1] + 0.5f;\n"
    "}\n";

static bool large(const optune_task *task, char *why)
{
    return planted_applies(task, why) && (task->call->output[0].dim[1].min >= 5 ||
                                          optune_refuse(why, "needs 5 rows of weights"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "step", 3, (const int64_t[]){1, 2, 4});
}

static void twice(const optune_task *task, optune_space *to)
{
    space(task, to);
    space(task, to);
}

static bool only_2(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    return optune_config_int(config, "step") == 2 || optune_refuse(why, "planted: only 2");
}

static void foreign(const optune_task *task, const optune_space *space, optune_config *config)
{
    (void)task;
    (void)space;
    config->entity[0].v[0] = 3;
}

static void plan_with(const optune_task *task, optune_plan *plan, int wrong)
{
    const int module = planted_shape(task, plan);
    const optune_stage stage = planted_stage(module);
    optune_plan_define(plan, module, "WRONG", wrong);
    optune_plan_stage(plan, &stage);
}

PLANTED_PLAN(refused, plan_with, 0)
PLANTED_PLAN(foreign, plan_with, 0)
PLANTED_PLAN(wrong, plan_with, 1)
PLANTED_PLAN(spaceless, plan_with, 0)
PLANTED_ROW(refused, "untuned_refused.cpu", "refuses its fallback", body,
            .applies = planted_applies, .space = space, .valid = only_2);
PLANTED_ROW(foreign, "untuned_foreign.cpu", "a fallback of no space", body,
            .applies = planted_applies, .space = space, .fallback = foreign);
PLANTED_ROW(wrong, "untuned_wrong.cpu", "computes something else", body, .applies = large);
PLANTED_ROW(spaceless, "untuned_spaceless.cpu", "one knob twice", body,
            .applies = planted_applies, .space = twice);
static const optune_impl *const impls[] = {&impl_refused, &impl_foreign, &impl_wrong,
                                           &impl_spaceless, NULL};

static const optune_strategy_row rows[] = {
    {.impl = "untuned_refused.cpu", .plevel = 60},
    {.impl = "untuned_foreign.cpu", .plevel = 50},
    {.impl = "untuned_wrong.cpu", .plevel = 40},
    {.impl = "dense_gemm.cpu"},
    {.impl = "untuned_spaceless.cpu", .plevel = 5},
    {.impl = NULL},
};
static const optune_strategy strategy = {.op = "dense", .key = "cpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "untuned candidates",
    .strategies = strategies,
    .impls = impls,
};
