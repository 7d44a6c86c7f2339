/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of generic pooling, forward and backward: any dtype, layout and dims. */
#ifndef OPTUNE_KERNELS_POOL_GENERIC_H
#define OPTUNE_KERNELS_POOL_GENERIC_H

#include "kernels/host/generic_window.h"
#include "kernels/pool/pool.h"

void pool_generic_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
