/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'rows'. */
#include "kernels/max_pool2d/compute.h"
#include "kernels/pool/rows.h"
