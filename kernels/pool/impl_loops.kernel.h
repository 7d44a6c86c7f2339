/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d, generic. */
#define POOL_MEAN 0
#include "kernels/pool/impls_loops.kernel.h"
