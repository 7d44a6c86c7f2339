/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plugins of planted candidates for dense share: when they apply, the shape as macros, the
 * stage that all of them run, a row of each, and the words that GPU bodies need.
 */
#ifndef PLANTED_DENSE_H
#define PLANTED_DENSE_H

#include <stddef.h>

#include "optune/define.h"

__attribute__((unused)) static bool planted_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (call->n_inputs != 2 || call->output[0].dtype.code != OPTUNE_DTYPE_FLOAT ||
        call->output[0].dtype.bits != 32 || !optune_tensor_known(&call->output[0]))
        return optune_refuse(why, "needs float32, constant shapes and no bias");
    return true;
}

/* A module of [M,K] data and [N,K] weights. */
__attribute__((unused)) static int planted_shape(const optune_task *task, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "M", call->input[0].type.dim[0].min);
    optune_plan_define(plan, module, "N", call->input[1].type.dim[0].min);
    optune_plan_define(plan, module, "K", call->input[0].type.dim[1].min);
    return module;
}

/* `dense` of the module over data, weight and out; more may be said before it is added. */
__attribute__((unused)) static optune_stage planted_stage(int module)
{
    return (optune_stage){
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "dense",
        .n_args = 3,
        .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
    };
}

/* The plan plan_<id>, which `make` makes with what stands behind it. */
#define PLANTED_PLAN(id, make, ...)                                                            \
    static void plan_##id(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        (void)config;                                                                          \
        make(task, plan, __VA_ARGS__);                                                         \
    }

/* And the row impl_<id> with it; what stands behind `text` are further fields. */
#define PLANTED_ROW(id, row, what, text, ...)                                                  \
    static const optune_impl impl_##id = {.op = "dense",                                       \
                                          .name = row,                                         \
                                          .summary = "planted: " what,                         \
                                          .plan = plan_##id,                                   \
                                          .source = text,                                      \
                                          __VA_ARGS__}

/* GLOBAL, KERNEL, ROW and WHERE (an address as a number) in OpenCL C and in CUDA. */
#define PLANTED_GPU_WORDS                                                                      \
    "#ifdef __OPENCL_VERSION__\n"                                                              \
    "#define GLOBAL __global\n"                                                                \
    "#define KERNEL __kernel\n"                                                                \
    "#define ROW ((int)get_group_id(0))\n"                                                     \
    "#define WHERE ulong\n"                                                                    \
    "#else\n"                                                                                  \
    "#define GLOBAL\n"                                                                         \
    "#define KERNEL extern \"C\" __global__\n"                                                 \
    "#define ROW ((int)blockIdx.x)\n"                                                          \
    "#define WHERE unsigned long long\n"                                                       \
    "#endif\n"

/* The product, row by row, in C. */
#define PLANTED_LOOPS                                                                          \
    "    for (long i = 0; i < M; i++)\n"                                                       \
    "        for (long j = 0; j < N; j++) {\n"                                                 \
    "            float sum = 0;\n"                                                             \
    "            for (long k = 0; k < K; k++) sum += data[i * K + k] * weight[j * K + k];\n"   \
    "            out[i * N + j] = sum;\n"                                                      \
    "        }\n"

#endif
