/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_grad, generic. */
#define POOL_MEAN 0
#include "kernels/pool/grad/impls_loops.kernel.h"
