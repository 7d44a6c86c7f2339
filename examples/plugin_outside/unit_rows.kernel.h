/* SPDX-License-Identifier: Apache-2.0 */
/* unit_rows, generic: an item is a row. */
#include "kernels/common/generic_line.kernel.h"

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const lines l = lines_of(c);
    for (; first < last; first++) {
        const i64 at = line_start(&l, first, l.n), end = at + l.n * l.inner;
        ACC all = 0;
        for (i64 i = at; i < end; i += l.inner)
            all += READ(0, i) < 0 ? -(ACC)READ(0, i) : (ACC)READ(0, i);
        for (i64 i = at; i < end; i += l.inner)
            WRITE(0, i, (ACC)READ(0, i) / all);
    }
}

GENERIC_ENTRY
