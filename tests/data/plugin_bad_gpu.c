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
 *
 * Build: cc -shared -fPIC -I include -o plugin_bad_gpu.so tests/data/plugin_bad_gpu.c
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

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (call->n_inputs != 2 || call->output[0].dtype.code != OPTUNE_DTYPE_FLOAT ||
        call->output[0].dtype.bits != 32 || !optune_tensor_known(&call->output[0]))
        return optune_refuse(why, "needs float32, constant shapes and no bias");
    return true;
}

/* Each is a function of its own name, so that who sees only names can tell them apart. */
static void plan_with(const optune_task *task, optune_plan *plan, const char *fault,
                      const char *function, int64_t threads)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "M", call->input[0].type.dim[0].min);
    optune_plan_define(plan, module, "N", call->input[1].type.dim[0].min);
    optune_plan_define(plan, module, "K", call->input[0].type.dim[1].min);
    optune_plan_define(plan, module, fault, 1);
    optune_plan_define_text(plan, module, "dense", function);
    optune_plan_stage(
        plan, &(optune_stage){
                  .phase = OPTUNE_TIMED,
                  .module = module,
                  .function = function,
                  .n_args = 3,
                  .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
                  .grid = {call->input[0].type.dim[0].min},
                  .block = {threads},
              });
}

#define PLANTED(id, fault, threads)                                                            \
    static void plan_##id(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        (void)config;                                                                          \
        plan_with(task, plan, fault, "dense_" #id, threads);                                   \
    }                                                                                          \
    static const optune_impl impl_##id = {                                                     \
        .op = "dense",                                                                         \
        .name = "bad_" #id ".gpu",                                                             \
        .summary = "planted: " fault,                                                          \
        .applies = applies,                                                                    \
        .plan = plan_##id,                                                                     \
        .source = body,                                                                        \
    };

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

static const optune_impl *const impls[] = {
    &impl_bounds, &impl_before, &impl_input,   &impl_read,  &impl_lie, &impl_half,
    &impl_hang,   &impl_crash,  &impl_compile, &impl_block, NULL,
};

static const optune_strategy_row rows[] = {
    {.impl = "dense_tile.gpu"},  {.impl = "bad_bounds.gpu"}, {.impl = "bad_before.gpu"},
    {.impl = "bad_input.gpu"},   {.impl = "bad_read.gpu"},   {.impl = "bad_lie.gpu"},
    {.impl = "bad_half.gpu"},    {.impl = "bad_hang.gpu"},   {.impl = "bad_crash.gpu"},
    {.impl = "bad_compile.gpu"}, {.impl = "bad_block.gpu"},  {.impl = NULL},
};

static const optune_strategy strategy = {.op = "dense", .key = "gpu", .rows = rows};
static const optune_strategy *const strategies[] = {&strategy, NULL};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted GPU candidates",
    .strategies = strategies,
    .impls = impls,
};
