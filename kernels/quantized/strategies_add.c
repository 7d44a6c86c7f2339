/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add on CPUs, and on targets without a strategy of their own. */
#include "kernels/quantized/quantized.h"

static const optune_strategy_row cpu[] = {{.impl = "quantized_add.cpu"}, {0}};
static const optune_strategy_row any[] = {
    {.impl = "quantized_add.cpu", .condition = host_on_cpu}, {0}};

OPTUNE_STRATEGIES(quantized, add) = {
    {.op = "quantized_add", .key = "cpu", .rows = cpu},
    {.op = "quantized_add", .key = "generic", .rows = any},
    {0},
};
