/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordering, generic: an item is a line. The best k so far are a heap in the output itself, the
 * last of them on top, so that no memory is needed; then the heap is taken apart from its end.
 * Where indices are wanted, the heap is one of indices. Macros: K (0: all), DESCEND, VALUES,
 * INDICES.
 */
#include "kernels/common/generic_line.kernel.h"

typedef struct element {
    SCALAR value;
    i64 index; /* 0 where none are wanted */
} element;

/* The line at hand, in data and in the outputs. */
typedef struct slots {
    i64 from, to, step;
} slots;

/* Numbers come before NaN. Zeros of either sign differ only where no index tells them apart. */
INLINE int before(element a, element b)
{
#if SCALAR_REAL
    const int a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan)
        return a_nan == b_nan ? a.index < b.index : b_nan;
#endif
    if (a.value != b.value)
        return DESCEND ? a.value > b.value : a.value < b.value;
#if SCALAR_REAL && !INDICES
    if (a.value == 0) {
        const SCALAR a_sign = 1 / a.value, b_sign = 1 / b.value;
        return DESCEND ? a_sign > b_sign : a_sign < b_sign;
    }
#endif
    return a.index < b.index;
}

INLINE element of_data(const generic_call *c, const slots *s, i64 i)
{
    const element e = {(SCALAR)READ(0, s->from + i * s->step), INDICES ? i : 0};
    return e;
}

#if INDICES && VALUES
#define INDEX_AT(i) c->o1[i]
#define INDEX_T O1_T
#else
#define INDEX_AT(i) c->o0[i]
#define INDEX_T O0_T
#endif

INLINE element get(const generic_call *c, const slots *s, i64 slot)
{
#if INDICES
    return of_data(c, s, INDEX_AT(s->to + slot * s->step));
#else
    const element e = {(SCALAR)O0_OF(c->o0[s->to + slot * s->step]), 0};
    return e;
#endif
}

INLINE void put(const generic_call *c, const slots *s, i64 slot, element e)
{
#if INDICES
    INDEX_AT(s->to + slot * s->step) = (INDEX_T)e.index;
#else
    WRITE(0, s->to + slot * s->step, e.value);
#endif
}

/* Lets an element sink into a heap of n from a free slot. */
INLINE void sink(const generic_call *c, const slots *s, i64 slot, i64 n, element e)
{
    for (;;) {
        i64 child = 2 * slot + 1;
        if (child >= n)
            break;
        element below = get(c, s, child);
        if (child + 1 < n) {
            const element other = get(c, s, child + 1);
            if (before(below, other)) {
                below = other;
                child++;
            }
        }
        if (!before(e, below))
            break;
        put(c, s, slot, below);
        slot = child;
    }
    put(c, s, slot, e);
}

INLINE void order_line(const generic_call *c, const slots *s, i64 n, i64 k)
{
    for (i64 i = 0; i < k; i++)
        put(c, s, i, of_data(c, s, i));
    for (i64 i = k / 2 - 1; i >= 0; i--)
        sink(c, s, i, k, get(c, s, i));
    for (i64 i = k; i < n; i++) {
        const element e = of_data(c, s, i);
        if (before(e, get(c, s, 0)))
            sink(c, s, 0, k, e);
    }
    for (i64 end = k - 1; end > 0; end--) {
        const element e = get(c, s, end);
        put(c, s, end, get(c, s, 0));
        sink(c, s, 0, end, e);
    }
#if INDICES && VALUES
    for (i64 i = 0; i < k; i++)
        c->o0[s->to + i * s->step] = c->x0[s->from + c->o1[s->to + i * s->step] * s->step];
#endif
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const lines l = lines_of(c);
    const i64 k = K ? K : l.n;
    for (; first < last; first++) {
        const slots s = {line_start(&l, first, l.n), line_start(&l, first, k), l.inner};
        order_line(c, &s, l.n, k);
    }
}

GENERIC_ENTRY
