/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, generic: an item is a line; exponentials are computed twice. */
#include "kernels/common/generic_line.kernel.h"
#include "kernels/common/generic_scalar.kernel.h"

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const lines l = lines_of(c);
    for (; first < last; first++) {
        const i64 at = line_start(&l, first, l.n), end = at + l.n * l.inner;
        SCALAR most = s_lowest, sum = 0;
        for (i64 i = at; i < end; i += l.inner)
            most = s_max(most, (SCALAR)READ(0, i));
        for (i64 i = at; i < end; i += l.inner)
            sum += s_exp((SCALAR)READ(0, i) - most);
        for (i64 i = at; i < end; i += l.inner)
            WRITE(0, i, s_exp((SCALAR)READ(0, i) - most) / sum);
    }
}

GENERIC_ENTRY
