/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_quick.cpu: the body that sort, argsort and topk share; the plan says what is wanted. */
#include "kernels/order/impls_quick.kernel.c"
