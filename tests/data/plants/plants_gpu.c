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
#include "../planted_dense.h"

static const char body[] = PLANTED_GPU_WORDS
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

static void plan_with(const optune_task *task, optune_plan *plan, const char *macro)
{
    const optune_call *call = task->call;
    const int64_t rows = call->input[0].type.dim[0].min, n = call->input[1].type.dim[0].min;
    const int module = planted_shape(task, plan);
    optune_stage stage = planted_stage(module);
    stage.n_args = 5;
    stage.arg[3] = optune_scratch_arg(optune_plan_scratch(plan, "runs", rows * 4, false));
    stage.arg[4] = optune_scratch_arg(optune_plan_scratch(plan, "kept", rows * n * 4, false));
    stage.grid[0] = rows;
    stage.block[0] = 1;
    optune_plan_define(plan, module, macro, 1);
    optune_plan_stage(plan, &stage);
}

#define PLANT(id)                                                                              \
    PLANTED_PLAN(id, plan_with, "PLANT_" #id)                                                  \
    PLANTED_ROW(id, "plant_" #id ".gpu", #id, body, .applies = planted_applies);

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
