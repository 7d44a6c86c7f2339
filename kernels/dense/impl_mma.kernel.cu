/* SPDX-License-Identifier: Apache-2.0 */
/* dense is a batch of one product. */
#include "kernels/common/product_mma.h"
