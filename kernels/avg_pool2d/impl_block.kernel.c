/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d by the schedule 'block'. */
#include "kernels/avg_pool2d/compute.h"
#include "kernels/pool/impls_block.kernel.c"
