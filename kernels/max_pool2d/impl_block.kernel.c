/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'block'. */
#include "kernels/max_pool2d/compute.h"
#include "kernels/pool/block.h"
