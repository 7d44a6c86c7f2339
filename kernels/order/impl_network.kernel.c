/* SPDX-License-Identifier: Apache-2.0 */
/* sort_network.cpu: the body that sort and argsort share; the plan says what is wanted. */
#include "kernels/order/impls_network.kernel.c"
