/* SPDX-License-Identifier: Apache-2.0 */
/* topk, generic. */
#include "kernels/order/impls_loops.kernel.h"
