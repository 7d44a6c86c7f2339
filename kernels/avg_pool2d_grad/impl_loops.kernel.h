/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad, generic. */
#define POOL_MEAN 1
#include "kernels/pool/loops_grad.h"
