/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_network.cpu: a sorting network over many short lines, each a lane. */
#include "kernels/order/order_rows.h"

OPTUNE_IMPL(argsort, network) = {
    .op = "argsort",
    .name = "argsort_network.cpu",
    .summary = "a sorting network over many short lines, each a lane",
    .applies = order_network_applies,
    .space = order_network_space,
    .plan = order_network_plan,
};
