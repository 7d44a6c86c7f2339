/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul is a batch of products. */
#include "kernels/common/product_mma.h"
