/* SPDX-License-Identifier: Apache-2.0 */
/* How strided_slice cuts an axis of n elements: ends below 0 count from behind, and what lies
 * outside is cut off. */
#ifndef OPTUNE_KERNELS_MOVE_CUT_H
#define OPTUNE_KERNELS_MOVE_CUT_H

/* Where an end lies; with a step below 0 one of -1 is in front of all. */
INLINE i64 cut_end(i64 n, i64 at, i64 step)
{
    const i64 low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    at += at < 0 ? n : 0;
    return at < low ? low : at > high ? high : at;
}

/* How many elements are left. */
INLINE i64 cut_length(i64 n, i64 from, i64 to, i64 step)
{
    const i64 first = cut_end(n, from, step), end = cut_end(n, to, step);
    const i64 over = step < 0 ? -step : step, span = step < 0 ? first - end : end - first;
    return span > 0 ? (span - 1) / over + 1 : 0;
}

#endif
