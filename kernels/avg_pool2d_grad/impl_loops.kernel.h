/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad, generic. */
#define POOL_MEAN 1
#include "kernels/pool/grad/impls_loops.kernel.h"
