/* SPDX-License-Identifier: Apache-2.0 */
/* Scans, generic: an item is a line. */
#include "kernels/common/generic_line.kernel.h"

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const lines l = lines_of(c);
    for (; first < last; first++) {
        const i64 at = line_start(&l, first, l.n);
        ACC sum = PRODUCT;
        for (i64 i = 0; i < l.n; i++) {
            const i64 here = at + i * l.inner;
            const ACC v = (ACC)READ(0, here), before = sum;
            sum = PRODUCT ? sum * v : sum + v;
            WRITE(0, here, EXCLUSIVE ? before : sum);
        }
    }
}

GENERIC_ENTRY
