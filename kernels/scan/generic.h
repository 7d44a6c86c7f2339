/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of generic scans share. */
#ifndef OPTUNE_KERNELS_SCAN_GENERIC_H
#define OPTUNE_KERNELS_SCAN_GENERIC_H

#include "kernels/host/generic.h"

void scan_generic_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
