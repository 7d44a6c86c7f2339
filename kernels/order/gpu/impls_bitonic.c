/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_bitonic.gpu: a network in shared memory. */
#include "kernels/order/gpu/order_gpu.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_bitonic.gpu", .summary = "a network in shared memory",        \
        .applies = order_bitonic_applies, .space = order_bitonic_space,                        \
        .fallback = order_bitonic_fallback, .valid = order_bitonic_valid,                      \
        .plan = order_bitonic_plan, .estimate = order_bitonic_estimate                         \
    }

OPTUNE_IMPLS(order_gpu, bitonic) = {ROW("sort"), ROW("argsort"), ROW("topk"), {0}};
