/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise and broadcast ops on CPUs and on GPUs, unless they have a strategy of their own. */
#include "optune/define.h"

#define ROW(key_, name)                                                                        \
    {                                                                                          \
        .pattern = OPTUNE_BROADCAST, .key = key_, .rows = (const optune_strategy_row[])        \
        {                                                                                      \
            {.impl = name},                                                                    \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(elementwise,
                  devices) = {ROW("cpu", "vector.cpu"), ROW("gpu", "grid.gpu"), {0}};
