/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of planted candidates for dense on GPUs, each bad in one way, beside the good
 * dense_tile.gpu. Its strategy overrides dense's for the key "gpu":
 *
 *   bad_bounds.gpu   right, but also writes one element past its output
 *   bad_before.gpu   right, but also writes one element in front of its output
 *   bad_input.gpu    right, but changes its data
 *   bad_read.gpu     uses one element past its data: what lies there is no number
 *   bad_lie.gpu      right everywhere but in its last element
 *   bad_half.gpu     leaves half of the output unwritten
 *   bad_hang.gpu     never returns
 *   bad_crash.gpu    writes to an address that is nobody's
 *   bad_compile.gpu  does not compile
 *   bad_block.gpu    asks for more threads in a block than any device has
 *   bad_stray.gpu    right; a stand-in for a device has it write to another buffer
 *   bad_scratch.gpu  right; asks for scratch and does not use it
 *
 * Build: cc -shared -fPIC -I include -o plugin_bad_gpu.so tests/data/plugin_bad_gpu.c
 */
#include <string.h>

#include "planted_dense.h"

static const char body[] = PLANTED_GPU_WORDS
    "#ifdef BAD_COMPILE\n"
    "#error planted: this candidate does not compile\n"
    "#endif\n"
    "KERNEL void dense(GLOBAL float *data, GLOBAL const float *weight, GLOBAL float *out) {\n"
    "    const int i = ROW;\n"
    "#ifdef BAD_HANG\n"
    "    while (*(volatile GLOBAL float *)weight < 1e30f) ;\n"
    "#endif\n"
    "#ifdef BAD_CRASH\n"
    "    *(volatile GLOBAL int *)(WHERE)4096 = 1;\n"
    "#endif\n"
    "#ifdef BAD_HALF\n"
    "    if (i % 2) return;\n"
    "#endif\n"
    "    for (int j = 0; j < N; j++) {\n"
    "        float sum = 0;\n"
    "        for (int k = 0; k < K; k++) sum += data[i * K + k] * weight[j * K + k];\n"
    "#ifdef BAD_READ\n"
    "        sum += 0 * data[M * K];\n"
    "#endif\n"
    "        out[i * N + j] = sum;\n"
    "    }\n"
    "    if (i) return;\n"
    "#ifdef BAD_LIE\n"
    "    float last = 0;\n"
    "    for (int k = 0; k < K; k++) last += data[k] * weight[k];\n"
    "    out[0] = last + 0.5f;\n"
    "#endif\n"
    "#ifdef BAD_BOUNDS\n"
    "    out[M * N] = 0;\n"
    "#endif\n"
    "#ifdef BAD_BEFORE\n"
    "    out[-1] = 0;\n"
    "#endif\n"
    "#ifdef BAD_INPUT\n"
    "    data[0] += 1;\n"
    "#endif\n"
    "}\n";

/* Each is a function of its own name, so that who sees only names can tell them apart. */
static void plan_with(const optune_task *task, optune_plan *plan, const char *fault,
                      const char *function, int64_t threads)
{
    const int module = planted_shape(task, plan);
    optune_stage stage = planted_stage(module);
    stage.function = function;
    stage.grid[0] = task->call->input[0].type.dim[0].min;
    stage.block[0] = threads;
    optune_plan_define(plan, module, fault, 1);
    optune_plan_define_text(plan, module, "dense", function);
    if (strcmp(fault, "BAD_SCRATCH") == 0)
        optune_plan_scratch(plan, "unused", 4096, false);
    optune_plan_stage(plan, &stage);
}

#define PLANTED(id, fault, threads)                                                            \
    PLANTED_PLAN(id, plan_with, fault, "dense_" #id, threads)                                  \
    PLANTED_ROW(id, "bad_" #id ".gpu", fault, body, .applies = planted_applies);

PLANTED(bounds, "BAD_BOUNDS", 1)
PLANTED(before, "BAD_BEFORE", 1)
PLANTED(input, "BAD_INPUT", 1)
PLANTED(read, "BAD_READ", 1)
PLANTED(lie, "BAD_LIE", 1)
PLANTED(half, "BAD_HALF", 1)
PLANTED(hang, "BAD_HANG", 1)
PLANTED(crash, "BAD_CRASH", 1)
PLANTED(compile, "BAD_COMPILE", 1)
PLANTED(block, "BAD_BLOCK", 1 << 20)
PLANTED(stray, "BAD_STRAY", 1)
PLANTED(scratch, "BAD_SCRATCH", 1)

static const optune_impl *const impls[] = {
    &impl_bounds,  &impl_before, &impl_input, &impl_read,    &impl_lie,
    &impl_half,    &impl_hang,   &impl_crash, &impl_compile, &impl_block,
    &impl_scratch, &impl_stray,  NULL,
};

static const optune_strategy_row rows[] = {
    {.impl = "dense_tile.gpu"}, {.impl = "bad_bounds.gpu"},
    {.impl = "bad_before.gpu"}, {.impl = "bad_input.gpu"},
    {.impl = "bad_read.gpu"},   {.impl = "bad_lie.gpu"},
    {.impl = "bad_half.gpu"},   {.impl = "bad_hang.gpu"},
    {.impl = "bad_crash.gpu"},  {.impl = "bad_compile.gpu"},
    {.impl = "bad_block.gpu"},  {.impl = "bad_scratch.gpu"},
    {.impl = "bad_stray.gpu"},  {.impl = NULL},
};

static const optune_strategy strategy = {.op = "dense", .key = "gpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted GPU candidates",
    .strategies = strategies,
    .impls = impls,
};
