/* SPDX-License-Identifier: Apache-2.0 */
/* sort_network.cpu: a sorting network over many short lines, each a lane. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(order, network) = {
    .op = "sort",
    .name = "sort_network.cpu",
    .summary = "a sorting network over many short lines, each a lane",
    .applies = order_network_applies,
    .space = order_network_space,
    .plan = order_network_plan,
};
