/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d by the schedule 'flat'. */
#include "kernels/avg_pool2d/compute.h"
#include "kernels/pool/impls_flat.kernel.c"
