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
bool gradient_gemm_applies(const optune_task *task, bool known, char *why);

/* Bytes of all threads' memories, of `each` elements. */
static inline int64_t gradient_gemm_bytes(const optune_task *task, const conv2d_shape *s,
                                          int64_t each)
{
    return matmul_threads(task) * each * conv2d_elem(s);
}

/* A module with the shape, the tile and MEMORY: the elements that a thread has for itself.
 * `function` gets both inputs, the output and the threads' memories, which hold `what`. */
int gradient_gemm_plan(const optune_task *task, const optune_config *config, optune_plan *plan,
                       const conv2d_shape *s, const char *function, const char *what,
                       int64_t each);

#endif
