/* SPDX-License-Identifier: Apache-2.0 */
/* Lines along an axis of the first input, for generic bodies. Macro: AXIS, counted from the
 * front; negative: all elements are one line. */
#ifndef OPTUNE_KERNELS_COMMON_GENERIC_LINE_H
#define OPTUNE_KERNELS_COMMON_GENERIC_LINE_H

#include "kernels/common/generic_body.kernel.h"

typedef struct lines {
    i64 outer, n, inner;
} lines;

INLINE lines lines_of(const generic_call *c)
{
    DIMS(dim, X0);
    lines l = {1, 1, 1};
    for (int d = 0; d < X0_RANK; d++) {
        l.outer *= d < AXIS ? dim[d] : 1;
        l.n *= d == AXIS || AXIS < 0 ? dim[d] : 1;
        l.inner *= d > AXIS && AXIS >= 0 ? dim[d] : 1;
    }
    return l;
}

/* Lines of no elements are nothing to do, however many there are. */
INLINE i64 items(const generic_call *c)
{
    const lines l = lines_of(c);
    return l.n ? l.outer * l.inner : 0;
}

/* The first element of a line in a tensor that has n along the axis. */
INLINE i64 line_start(const lines *l, i64 line, i64 n)
{
    return line / l->inner * n * l->inner + line % l->inner;
}

#endif
