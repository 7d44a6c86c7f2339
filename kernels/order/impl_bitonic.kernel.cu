/* SPDX-License-Identifier: Apache-2.0 */
/* sort_bitonic.gpu: the body that sort, argsort and topk share; the plan says what is wanted. */
#include "kernels/order/impls_bitonic.kernel.cu"
