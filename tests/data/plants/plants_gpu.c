/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of planted candidates for dense on GPUs, which are good until their third run: they
 * count their runs in scratch memory, as kernels keep nothing else.
 *
 *   plant_lazy.gpu      does nothing from then on: the answer is there
 *   plant_remember.gpu  writes the answer of its first run
 *   plant_spoil.gpu     writes to its inputs
 *   plant_crash.gpu     writes to an address that is nobody's
 *
 * Its strategy for "gpu" has the good dense_tile.gpu behind them.
 *
 * Build: cc -shared -fPIC -I include -o plants_gpu.so tests/data/plants/plants_gpu.c
 */
#include "optune/define.h"

static const char body[] =
    "#ifdef __OPENCL_VERSION__\n"
    "#define GLOBAL __global\n"
    "#define KERNEL __kernel\n"
    "#define ROW ((int)get_group_id(0))\n"
    "#define WHERE ulong\n"
    "#else\n"
    "#define GLOBAL\n"
    "#define KERNEL extern \"C\" __global__\n"
    "#define ROW ((int)blockIdx.x)\n"
    "#define WHERE unsigned long long\n"
    "#endif\n"
    "KERNEL void dense(GLOBAL float *data, GLOBAL float *weight, GLOBAL float *out,\n"
    "                  GLOBAL int *runs, GLOBAL float *kept) {\n"
    "    const int i = ROW, run = ++runs[i];\n"
    "#ifdef PLANT_lazy\n"
    "    if (run > 2) return;\n"
    "#endif\n"
    "#ifdef PLANT_crash\n"
    "    if (run == 3) *(volatile GLOBAL int *)(WHERE)4096 = 1;\n"
    "#endif\n"
    "    for (int j = 0; j < N; j++) {\n"
    "        float sum = 0;\n"
    "        for (int k = 0; k < K; k++) sum += data[i * K + k] * weight[j * K + k];\n"
    "#ifdef PLANT_remember\n"
    "        if (run == 1) kept[i * N + j] = sum;\n"
    "        sum = kept[i * N + j];\n"
    "#endif\n"
    "        out[i * N + j] = sum;\n"
    "    }\n"
    "#ifdef PLANT_spoil\n"
    "    if (run > 2)\n"
    "        for (int k = 0; k < K; k++) { data[i * K + k] = 7; weight[k] = 7; }\n"
    "#endif\n"
    "}\n";

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (call->n_inputs != 2 || call->output[0].dtype.code != OPTUNE_DTYPE_FLOAT ||
        call->output[0].dtype.bits != 32 || !optune_tensor_known(&call->output[0]))
        return optune_refuse(why, "needs float32, constant shapes and no bias");
    return true;
}

static void plan_with(const optune_task *task, optune_plan *plan, const char *macro)
{
    const optune_call *call = task->call;
    const int64_t rows = call->input[0].type.dim[0].min, n = call->input[1].type.dim[0].min;
    const int module = optune_plan_module(plan);
    const int runs = optune_plan_scratch(plan, "runs", rows * 4, false);
    const int kept = optune_plan_scratch(plan, "kept", rows * n * 4, false);
    optune_plan_define(plan, module, "N", n);
    optune_plan_define(plan, module, "K", call->input[0].type.dim[1].min);
    optune_plan_define(plan, module, macro, 1);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = "dense",
                  .n_args = 5,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0),
                          optune_scratch_arg(runs), optune_scratch_arg(kept)},
                  .grid = {rows},
                  .block = {1},
              });
}

#define PLANT(id)                                                                              \
    static void plan_##id(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        (void)config;                                                                          \
        plan_with(task, plan, "PLANT_" #id);                                                   \
    }                                                                                          \
    static const optune_impl impl_##id = {                                                     \
        .op = "dense",                                                                         \
        .name = "plant_" #id ".gpu",                                                           \
        .summary = "planted: " #id,                                                            \
        .applies = applies,                                                                    \
        .plan = plan_##id,                                                                     \
        .source = body,                                                                        \
    };
PLANT(lazy)
PLANT(remember)
PLANT(spoil)
PLANT(crash)

static const optune_strategy_row rows[] = {
    {.impl = "plant_lazy.gpu", .plevel = 30},
    {.impl = "plant_remember.gpu", .plevel = 30},
    {.impl = "plant_spoil.gpu", .plevel = 30},
    {.impl = "plant_crash.gpu", .plevel = 30},
    {.impl = "dense_tile.gpu"},
    {.impl = NULL},
};
static const optune_strategy strategy = {.op = "dense", .key = "gpu", .rows = rows};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted GPU candidates that turn bad",
    .strategies = (const optune_strategy *const[]){&strategy, NULL},
    .impls = (const optune_impl *const[]){&impl_lazy, &impl_remember, &impl_spoil, &impl_crash,
                                          NULL},
};
