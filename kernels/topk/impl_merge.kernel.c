/* SPDX-License-Identifier: Apache-2.0 */
/* topk_merge.cpu: the body that sort, argsort and topk share; the plan says what is wanted. */
#include "kernels/order/impls_merge.kernel.c"
