/* SPDX-License-Identifier: Apache-2.0 */
/* Lines ordered by kernels/order/quick.kernel.h: the first K, the others only as far as that
 * needs. */
#include "kernels/order/lines.kernel.h"
#include "kernels/order/quick.kernel.h"

static item *arrange(item *a, item *b, void *more)
{
    quick(a, b, N, K, quick_depth(N));
    return a;
}
