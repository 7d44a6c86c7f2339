/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add and quantized_multiply on CPUs, and on targets without a strategy of their own. */
#include "kernels/quantized/quantized.h"

#define ROWS(name, op)                                                                         \
    static const optune_strategy_row name[] = {{.impl = op ".cpu"}, {0}};                      \
    static const optune_strategy_row name##_any[] = {                                          \
        {.impl = op ".cpu", .condition = host_on_cpu}, {0}}
ROWS(add, "quantized_add");
ROWS(multiply, "quantized_multiply");

OPTUNE_STRATEGIES(quantized, pair) = {
    {.op = "quantized_add", .key = "cpu", .rows = add},
    {.op = "quantized_add", .key = "generic", .rows = add_any},
    {.op = "quantized_multiply", .key = "cpu", .rows = multiply},
    {.op = "quantized_multiply", .key = "generic", .rows = multiply_any},
    {0},
};
