/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_map on CPUs, and on targets without a strategy of their own. */
#include "kernels/quantized/quantized.h"

static const optune_strategy_row cpu[] = {{.impl = "quantized_map.cpu"}, {0}};
static const optune_strategy_row any[] = {
    {.impl = "quantized_map.cpu", .condition = host_on_cpu}, {0}};

OPTUNE_STRATEGIES(quantized, map) = {
    {.op = "quantized_map", .key = "cpu", .rows = cpu},
    {.op = "quantized_map", .key = "generic", .rows = any},
    {0},
};
