/* SPDX-License-Identifier: Apache-2.0 */
/* arange, generic: an item is a number, and says itself whether it is one of the row. Macros:
 * LIMIT, REAL. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    (void)c;
    return LIMIT;
}

#if REAL
INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const ACC start = READ(0, 0), stop = READ(1, 0), step = READ(2, 0);
    for (; first < last; first++) {
        const ACC number = FMA((ACC)first, step, start);
        const int in = (step > 0 && number < stop) || (step < 0 && number > stop);
        WRITE(0, first, in ? number : (ACC)0);
    }
}
#else
INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const ACC start = (ACC)READ(0, 0), stop = (ACC)READ(1, 0), step = (ACC)READ(2, 0);
    const u64 from = (u64)start, to = (u64)stop, by = (u64)step;
    u64 n = 0;
    if (step < 0 && start > stop)
        n = (from - to - 1) / (0 - by) + 1;
    if (step > 0 && start < stop)
        n = (to - from - 1) / by + 1;
    for (; first < last; first++)
        WRITE(0, first, (ACC)((u64)first < n ? from + (u64)first * by : 0));
}
#endif

GENERIC_ENTRY
