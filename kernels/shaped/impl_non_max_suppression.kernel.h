/* SPDX-License-Identifier: Apache-2.0 */
/*
 * non_max_suppression, generic: one item, as each class's rows lie behind those before it. The
 * boxes that are chosen are read from the output. A product is an FMA with nothing to add: so no
 * compiler rounds it together with what follows, and all decide alike. Macros: MOST, CENTRED, IOU,
 * SCORE.
 */
#include "kernels/common/generic_body.kernel.h"

#define PRODUCT(a, b) FMA(a, b, (ACC)0)

INLINE i64 items(const generic_call *c)
{
    (void)c;
    return 1;
}

INLINE ACC coordinate(const generic_call *c, i64 box, int k)
{
    return READ(0, 4 * box + k);
}

INLINE ACC smaller(ACC a, ACC b)
{
    return b < a ? b : a;
}

INLINE ACC larger(ACC a, ACC b)
{
    return b > a ? b : a;
}

INLINE ACC low_edge(const generic_call *c, i64 box, int axis)
{
    const ACC a = coordinate(c, box, axis), b = coordinate(c, box, 2 + axis);
    return CENTRED ? a - PRODUCT(b, (ACC)0.5) : smaller(a, b);
}

INLINE ACC high_edge(const generic_call *c, i64 box, int axis)
{
    const ACC a = coordinate(c, box, axis), b = coordinate(c, box, 2 + axis);
    return CENTRED ? a + PRODUCT(b, (ACC)0.5) : larger(a, b);
}

INLINE int overlaps(const generic_call *c, i64 i, i64 j)
{
    ACC of_i[2], of_j[2], both[2];
    for (int axis = 0; axis < 2; axis++) {
        const ACC low_i = low_edge(c, i, axis), high_i = high_edge(c, i, axis);
        const ACC low_j = low_edge(c, j, axis), high_j = high_edge(c, j, axis);
        of_i[axis] = high_i - low_i;
        of_j[axis] = high_j - low_j;
        both[axis] = larger(smaller(high_i, high_j) - larger(low_i, low_j), (ACC)0);
    }
    const ACC common = PRODUCT(both[0], both[1]);
    const ACC either = PRODUCT(of_i[0], of_i[1]) + PRODUCT(of_j[0], of_j[1]) - common;
    return common > PRODUCT(IOU, either);
}

/* The best of those that come behind `last` (-1: all) in the order of scores; -1: none. */
INLINE i64 next(const generic_call *c, i64 at, i64 n, i64 last)
{
    i64 best = -1;
    const ACC behind = last < 0 ? (ACC)0 : (ACC)READ(1, at * n + last);
    ACC most = 0;
    for (i64 j = 0; j < n; j++) {
        const ACC s = READ(1, at * n + j);
        if (s > SCORE && (last < 0 || s < behind || (s == behind && j > last)) &&
            (best < 0 || s > most)) {
            best = j;
            most = s;
        }
    }
    return best;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(box, X0);
    DIMS(score, X1);
    const i64 images = box[0], n = box[1], classes = score[1];
    const i64 most = MOST < 0 ? n : MIN((i64)MOST, n);
    i64 to = 0;
    (void)first, (void)last;
    for (i64 at = 0; at < images * classes; at++) {
        const i64 image = at / classes, start = to;
        for (i64 j = next(c, at, n, -1); j >= 0 && to - start < most; j = next(c, at, n, j)) {
            int overlapped = 0;
            for (i64 k = start; k < to && !overlapped; k++)
                overlapped = overlaps(c, image * n + j, image * n + c->o0[3 * k + 2]);
            if (overlapped)
                continue;
            c->o0[3 * to] = image;
            c->o0[3 * to + 1] = at % classes;
            c->o0[3 * to + 2] = j;
            to++;
        }
    }
    for (to *= 3; to < 3 * images * classes * most; to++)
        c->o0[to] = 0;
}

GENERIC_ENTRY
