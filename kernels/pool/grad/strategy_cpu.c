/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling on CPUs, and on targets without a strategy of their own that compile C for
 * one. */
#include "kernels/host/host.h"

OPTUNE_STRATEGY(pool_grad, cpu) = {
    .family = "pool_grad",
    .keys = (const char *const[]){"cpu", "generic", NULL},
    .rows = (const optune_strategy_row[]){{.impl = ".cpu", .condition = host_on_cpu}, {0}},
};
