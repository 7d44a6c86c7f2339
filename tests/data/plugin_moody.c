/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two implementations of dense on cpu that a loop tells nothing true about:
 *
 *   moody.cpu    0.4 ms where it was called just before, 20 ms where something else came between
 *   steady.cpu   0.6 ms, whatever came before; short, so that few runs wait for a core in between
 *
 * Build: cc -shared -fPIC -I include -o plugin_moody.so tests/data/plugin_moody.c
 */
#include "optune/define.h"

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
    "    const double takes = !MOODY ? 6e-4 : start < last + 2e-4 ? 4e-4 : 20e-3;\n"
    "    for (long i = 0; i < M; i++)\n"
    "        for (long j = 0; j < N; j++) {\n"
    "            float sum = 0;\n"
    "            for (long k = 0; k < K; k++) sum += data[i * K + k] * weight[j * K + k];\n"
    "            out[i * N + j] = sum;\n"
    "        }\n"
    "    while ((last = now()) < start + takes) { }\n"
    "}\n";

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    return (call->n_inputs == 2 && optune_tensor_known(&call->output[0])) ||
           optune_refuse(why, "needs constant shapes and no bias");
}

static void plan_with(const optune_task *task, optune_plan *plan, int moody)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "M", call->input[0].type.dim[0].min);
    optune_plan_define(plan, module, "N", call->input[1].type.dim[0].min);
    optune_plan_define(plan, module, "K", call->input[0].type.dim[1].min);
    optune_plan_define(plan, module, "MOODY", moody);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = "dense",
                  .n_args = 3,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
              });
}

static void plan_moody(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    plan_with(task, plan, 1);
}

static void plan_steady(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    plan_with(task, plan, 0);
}

static const optune_impl moody = {.op = "dense",
                                  .name = "moody.cpu",
                                  .summary = "planted: fast in a loop, slow in a graph",
                                  .applies = applies,
                                  .plan = plan_moody,
                                  .source = body};
static const optune_impl steady = {.op = "dense",
                                   .name = "steady.cpu",
                                   .summary = "planted: the same everywhere",
                                   .applies = applies,
                                   .plan = plan_steady,
                                   .source = body};
static const optune_impl *const impls[] = {&moody, &steady, NULL};

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
