/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two implementations of dense on cpu that a loop tells nothing true about:
 *
 *   moody.cpu    0.4 ms where it was called just before, 20 ms where something else came between
 *   steady.cpu   0.6 ms, whatever came before; short, so that few runs wait for a core in between
 *
 * Build: cc -shared -fPIC -I include -o plugin_moody.so tests/data/plugin_moody.c
 */
#include "planted_dense.h"

static const char body[] =
    "#include <time.h>\n"
    "static double last = -1;\n"
    "static double now(void) {\n"
    "    struct timespec t;\n"
    "    clock_gettime(CLOCK_MONOTONIC, &t);\n"
    "    return t.tv_sec + t.tv_nsec * 1e-9;\n"
    "}\n"
    "void dense(void *const *arg) {\n"
    "    const float *data = arg[0], *weight = arg[1];\n"
    "    float *out = arg[2];\n"
    "    const double start = now();\n"
    "    const double takes = !MOODY ? 6e-4 : start < last + 2e-4 ? 4e-4 : "
    "20e-3;\n" PLANTED_LOOPS "    while ((last = now()) < start + takes) { }\n"
    "}\n";

static void plan_with(const optune_task *task, optune_plan *plan, int moody)
{
    const int module = planted_shape(task, plan);
    const optune_stage stage = planted_stage(module);
    optune_plan_define(plan, module, "MOODY", moody);
    optune_plan_stage(plan, &stage);
}

PLANTED_PLAN(moody, plan_with, 1)
PLANTED_PLAN(steady, plan_with, 0)
PLANTED_ROW(moody, "moody.cpu", "fast in a loop, slow in a graph", body,
            .applies = planted_applies);
PLANTED_ROW(steady, "steady.cpu", "the same everywhere", body, .applies = planted_applies);
static const optune_impl *const impls[] = {&impl_moody, &impl_steady, NULL};

static const optune_strategy_row rows[] = {
    {.impl = "moody.cpu", .plevel = 60},
    {.impl = "steady.cpu", .plevel = 50},
    {.impl = NULL},
};
static const optune_strategy strategy = {.op = "dense", .key = "cpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "moody candidates",
    .strategies = strategies,
    .impls = impls,
};
