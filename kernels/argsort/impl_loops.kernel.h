/* SPDX-License-Identifier: Apache-2.0 */
/* argsort, generic. */
#include "kernels/order/impls_loops.kernel.h"
