/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that would be chosen untuned for dense on cpu and should not be believed:
 *
 *   untuned_refused.cpu   its `valid` refuses its fallback; plevel 60
 *   untuned_foreign.cpu   its fallback is in no space of its own; plevel 50
 *   untuned_wrong.cpu     a good config, and a wrong result: an infinity where N is 7, else
 *                         the last element is off; plevel 40, for weights of at least 5 rows
 *
 * Build: cc -shared -fPIC -I include -o plugin_untuned.so tests/data/plugin_untuned.c
 */
#include "optune/define.h"

static const char body[] =
    "void dense(void *const *arg) {\n"
    "    const float *data = arg[0], *weight = arg[1];\n"
    "    float *out = arg[2];\n"
    "    for (long i = 0; i < M; i++)\n"
    "        for (long j = 0; j < N; j++) {\n"
    "            float sum = 0;\n"
    "            for (long k = 0; k < K; k++) sum += data[i * K + k] * weight[j * K + k];\n"
    "            out[i * N + j] = sum;\n"
    "        }\n"
    "    if (WRONG) out[M * N - 1] = N == 7 ? 1.0f / 0.0f : out[M * N - 1] + 0.5f;\n"
    "}\n";

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    return (call->n_inputs == 2 && optune_tensor_known(&call->output[0])) ||
           optune_refuse(why, "needs constant shapes and no bias");
}

static bool large(const optune_task *task, char *why)
{
    return applies(task, why) && (task->call->output[0].dim[1].min >= 5 ||
                                  optune_refuse(why, "needs 5 rows of weights"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "step", 3, (const int64_t[]){1, 2, 4});
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
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "M", call->input[0].type.dim[0].min);
    optune_plan_define(plan, module, "N", call->input[1].type.dim[0].min);
    optune_plan_define(plan, module, "K", call->input[0].type.dim[1].min);
    optune_plan_define(plan, module, "WRONG", wrong);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = "dense",
                  .n_args = 3,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
              });
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    plan_with(task, plan, 0);
}

static void plan_wrong(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    plan_with(task, plan, 1);
}

static const optune_impl refused = {.op = "dense",
                                    .name = "untuned_refused.cpu",
                                    .summary = "planted: refuses its fallback",
                                    .applies = applies,
                                    .space = space,
                                    .valid = only_2,
                                    .plan = plan,
                                    .source = body};
static const optune_impl outside = {.op = "dense",
                                    .name = "untuned_foreign.cpu",
                                    .summary = "planted: a fallback of no space",
                                    .applies = applies,
                                    .space = space,
                                    .fallback = foreign,
                                    .plan = plan,
                                    .source = body};
static const optune_impl wrong = {.op = "dense",
                                  .name = "untuned_wrong.cpu",
                                  .summary = "planted: computes something else",
                                  .applies = large,
                                  .plan = plan_wrong,
                                  .source = body};
static const optune_impl *const impls[] = {&refused, &outside, &wrong, NULL};

static const optune_strategy_row rows[] = {
    {.impl = "untuned_refused.cpu", .plevel = 60},
    {.impl = "untuned_foreign.cpu", .plevel = 50},
    {.impl = "untuned_wrong.cpu", .plevel = 40},
    {.impl = "dense_gemm.cpu"},
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
