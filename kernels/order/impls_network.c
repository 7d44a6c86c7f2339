/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_network.cpu: a sorting network over many short lines, each a lane. */
#include "kernels/order/order_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_network.cpu",                                                 \
        .summary = "a sorting network over many short lines, each a lane",                     \
        .applies = order_network_applies, .space = order_network_space,                        \
        .plan = order_network_plan, .symbolic = "*"                                            \
    }

OPTUNE_IMPLS(order, network) = {ROW("sort"), ROW("argsort"), {0}};
