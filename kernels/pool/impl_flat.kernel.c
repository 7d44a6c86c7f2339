/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'flat'. */
#include "kernels/pool/compute.h"
#include "kernels/pool/impls_flat.kernel.c"
