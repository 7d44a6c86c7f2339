/* SPDX-License-Identifier: Apache-2.0 */
/* argwhere, generic: one item, as each row's place depends on how many come before it. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    (void)c;
    return 1;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    (void)first, (void)last;
    DIMS(dim, X0);
    const i64 n = elements(dim, X0_RANK);
    i64 to = 0;
    for (i64 i = 0; i < n; i++) {
        if (READ(0, i) == 0)
            continue;
        i64 at[8];
        place(i, dim, X0_RANK, at);
        for (int d = 0; d < X0_RANK; d++)
            c->o0[to++] = at[d];
    }
    for (; to < n * X0_RANK; to++)
        c->o0[to] = 0;
}

GENERIC_ENTRY
