/* SPDX-License-Identifier: Apache-2.0 */
/* argsort_runs.gpu: the body that sort, argsort and topk share; the plan says what is wanted. */
#include "kernels/order/impls_runs.kernel.cu"
