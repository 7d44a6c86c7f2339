/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d by the schedule 'direct'. */
#include "kernels/avg_pool2d/compute.h"
#include "kernels/pool/impls_direct.kernel.c"
