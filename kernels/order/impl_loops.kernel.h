/* SPDX-License-Identifier: Apache-2.0 */
/* sort, generic. */
#include "kernels/order/impls_loops.kernel.h"
