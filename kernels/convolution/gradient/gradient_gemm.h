/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conv2d_transpose and conv2d_backward_weight, the gradients of conv2d, share when they are
 * products of register tiles on CPUs: what they ask of a call, and the plan, in which every thread
 * has memory of its own next to the inputs and the output. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_GRADIENT_GEMM_H
#define OPTUNE_KERNELS_CONV2D_GRADIENT_GEMM_H

#include "kernels/convolution/shape.h"
#include "kernels/matmul/matmul.h"

/* `known`: whether the call's numbers are. */
static inline bool gradient_gemm_applies(const optune_task *task, bool known, char *why)
{
    if (!known)
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

/* Bytes of all threads' memories, of `each` elements. */
static inline int64_t gradient_gemm_bytes(const optune_task *task, const conv2d_shape *s,
                                          int64_t each)
{
    return matmul_threads(task) * each * conv2d_elem(s);
}

/* A module with the shape, the tile and MEMORY: the elements that a thread has for itself.
 * `function` gets both inputs, the output and the threads' memories, which hold `what`. */
static inline int gradient_gemm_plan(const optune_task *task, const optune_config *config,
                                     optune_plan *plan, const conv2d_shape *s,
                                     const char *function, const char *what, int64_t each)
{
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, s);
    matmul_define_tile(plan, m, config);
    optune_plan_define(plan, m, "MEMORY", each);
    const int memory =
        optune_plan_scratch(plan, what, gradient_gemm_bytes(task, s, each), false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = function,
                              .n_args = 4,
                              .arg = {optune_input_arg(0), optune_input_arg(1),
                                      optune_output_arg(0), optune_scratch_arg(memory)}});
    return m;
}

#endif
