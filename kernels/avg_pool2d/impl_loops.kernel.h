/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d, generic. */
#define POOL_MEAN 1
#include "kernels/pool/impls_loops.kernel.h"
