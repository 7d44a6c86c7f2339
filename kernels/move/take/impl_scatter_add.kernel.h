/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_add, generic. */
#define JOIN(a, b) ((a) + (b))

#include "kernels/move/take/scatter.kernel.h"
