/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_reduce, generic. */
#if MODE == 0
#define JOIN(a, b) ((a) * (b))
#elif MODE == 1
#define JOIN(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#else
#define JOIN(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#endif

#include "kernels/move/take/scatter.kernel.h"
