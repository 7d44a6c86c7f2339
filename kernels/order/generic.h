/* SPDX-License-Identifier: Apache-2.0 */
/* The row of generic ordering: sort, argsort, topk. */
#ifndef OPTUNE_KERNELS_SORT_GENERIC_H
#define OPTUNE_KERNELS_SORT_GENERIC_H

#include "kernels/host/generic.h"
#include "kernels/order/order.h"

void order_generic_plan(const optune_task *task, const optune_config *config,
                        optune_plan *plan);

#endif
