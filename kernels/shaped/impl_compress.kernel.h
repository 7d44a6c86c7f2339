/* SPDX-License-Identifier: Apache-2.0 */
/* compress, generic: one item, as each place depends on how many come before it. Macro: AXIS,
 * negative: all elements are along it. */
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
    DIMS(condition, X1);
    i64 outer = 1, n = 1, inner = 1, to = 0;
    for (int d = 0; d < X0_RANK; d++) {
        outer *= d < AXIS ? dim[d] : 1;
        n *= d == AXIS || AXIS < 0 ? dim[d] : 1;
        inner *= d > AXIS && AXIS >= 0 ? dim[d] : 1;
    }
    const i64 decided = MIN(n, condition[0]);
    for (i64 o = 0; o < outer; o++)
        for (i64 k = 0; k < decided; k++)
            for (i64 i = 0; i < inner && c->x1[k]; i++)
                c->o0[to++] = c->x0[(o * n + k) * inner + i];
    for (; to < outer * decided * inner; to++)
        c->o0[to] = 0;
}

GENERIC_ENTRY
