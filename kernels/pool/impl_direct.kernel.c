/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d by the schedule 'direct'. */
#include "kernels/pool/compute.h"
#include "kernels/pool/impls_direct.kernel.c"
