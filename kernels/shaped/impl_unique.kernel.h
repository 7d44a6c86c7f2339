/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique, generic: one item. Indices are sorted as a heap in the output of indices; whoever is
 * equal then learns who is first of them; at last the first ones are numbered. So no memory is
 * needed beside the outputs. Macros: REAL, SORTED.
 */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    (void)c;
    return 1;
}

/* -1, 0, 1: NaNs are equal and last. */
INLINE int compare(const generic_call *c, i64 a, i64 b)
{
    const ACC x = (ACC)READ(0, a), y = (ACC)READ(0, b);
#if REAL
    if (x != x || y != y)
        return (x != x) - (y != y);
#endif
    return (x > y) - (x < y);
}

INLINE int before(const generic_call *c, i64 a, i64 b)
{
    const int values = compare(c, a, b);
    return values ? values < 0 : a < b;
}

/* Lets an index sink into a heap of n, the last of all on top. */
INLINE void sink(const generic_call *c, i64 slot, i64 n, i64 index)
{
    for (;;) {
        i64 child = 2 * slot + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(c, c->o1[child], c->o1[child + 1]))
            child++;
        if (!before(c, index, c->o1[child]))
            break;
        c->o1[slot] = c->o1[child];
        slot = child;
    }
    c->o1[slot] = index;
}

INLINE void sort_indices(const generic_call *c, i64 n)
{
    for (i64 i = 0; i < n; i++)
        c->o1[i] = i;
    for (i64 i = n / 2 - 1; i >= 0; i--)
        sink(c, i, n, c->o1[i]);
    for (i64 end = n - 1; end > 0; end--) {
        const i64 index = c->o1[end];
        c->o1[end] = c->o1[0];
        sink(c, 0, end, index);
    }
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    const i64 n = dim[0];
    i64 found = 0;
    (void)first, (void)last;
    sort_indices(c, n);
    for (i64 i = 0, leader = 0; i < n; i++) {
        const i64 index = c->o1[i];
        if (i == 0 || compare(c, leader, index) != 0)
            leader = index;
        c->o2[index] = leader;
    }
    /* What is written to o1 lies in front of what is still read of it. */
    for (i64 i = 0; i < n; i++) {
        const i64 index = SORTED ? c->o1[i] : i;
        const i64 leader = c->o2[index];
        if (SORTED ? i > 0 && leader == c->o1[found - 1] : leader != index)
            continue;
        c->o1[found] = leader;
        found++;
    }
    for (i64 k = 0; k < n; k++) {
        c->o0[k] = k < found ? c->x0[c->o1[k]] : 0;
        c->o1[k] = k < found ? c->o1[k] : 0;
#if OUTPUTS > 3
        c->o3[k] = 0;
#endif
    }
    /* The number of its first: negative, until all who need the index of it have read it. */
    for (i64 k = 0; k < found; k++)
        c->o2[c->o1[k]] = -1 - k;
    for (i64 i = 0; i < n; i++) {
        const i64 of = c->o2[i];
        const i64 k = of < 0 ? -1 - of : -1 - c->o2[of];
#if OUTPUTS > 3
        c->o3[k]++;
#endif
        if (of >= 0)
            c->o2[i] = -1 - k;
    }
    for (i64 i = 0; i < n; i++)
        c->o2[i] = -1 - c->o2[i];
}

GENERIC_ENTRY
