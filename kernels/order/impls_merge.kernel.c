/* SPDX-License-Identifier: Apache-2.0 */
/* Lines ordered by a merge sort: for any element, any number of them, any compiler. */
#include "kernels/order/lines.kernel.h"
#include "kernels/order/small.kernel.h"

static item *arrange(item *a, item *b, void *more)
{
    return merge_sort(a, b, N);
}
