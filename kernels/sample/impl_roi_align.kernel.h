/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_align, generic: an item is a bin, in all channels. A product that decides which pixels are
 * read is an FMA with nothing to add, so that no compiler rounds it with what follows. Macros:
 * SCALE, PLACES, HALF, MOST.
 */
#include "kernels/common/generic_body.kernel.h"

#define PRODUCT(a, b) FMA(a, b, (ACC)0)

typedef struct side {
    ACC start, bin;
    i64 places;
} side;

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    (void)c;
    return out[0] * out[2] * out[3];
}

/* The least k with k * bins >= length. */
INLINE i64 cover(ACC length, i64 bins)
{
    i64 k = (i64)(length / (ACC)bins);
    while ((ACC)k * (ACC)bins < length)
        k++;
    while (k > 0 && (ACC)(k - 1) * (ACC)bins >= length)
        k--;
    return k;
}

INLINE side side_of(const generic_call *c, i64 low, i64 bins)
{
    side s;
    const ACC middle = HALF ? (ACC)0.5 : (ACC)0, far = (ACC)16777216;
    const ACC end = PRODUCT(READ(1, low + 2), SCALE) - middle;
    s.start = PRODUCT(READ(1, low), SCALE) - middle;
    ACC length = end - s.start;
    if (!HALF && !(length >= (ACC)1))
        length = 1;
    length = length < far ? length : far;
    s.bin = length / (ACC)bins;
    s.places = PLACES ? PLACES : length > (ACC)0 ? cover(length, bins) : 0;
    return s;
}

INLINE int around(side s, i64 bin, i64 place, i64 extent, i64 *at, ACC *weight)
{
    const ACC first = s.start + PRODUCT((ACC)bin, s.bin);
    ACC u = first + PRODUCT((ACC)place + (ACC)0.5, s.bin) / (ACC)s.places;
    if (!(u >= (ACC)-1 && u <= (ACC)extent))
        return 0;
    u = u > (ACC)0 ? u : (ACC)0;
    at[0] = MIN((i64)u, extent - 1);
    at[1] = MIN(at[0] + 1, extent - 1);
    weight[1] = at[1] > at[0] ? u - (ACC)at[0] : (ACC)0;
    weight[0] = (ACC)1 - weight[1];
    return 1;
}

/* A NaN stays. */
INLINE ACC larger(ACC a, ACC b)
{
    return a != a || a > b ? a : b;
}

INLINE ACC bin_of(const generic_call *c, i64 base, side y, side x, i64 row, i64 column, i64 h,
                  i64 w)
{
    ACC sum = 0, best = -GENERIC_INFINITY;
    for (i64 j = 0; j < y.places; j++)
        for (i64 i = 0; i < x.places; i++) {
            i64 rows[2], columns[2];
            ACC by[2], across[2];
            if (!around(y, row, j, h, rows, by) || !around(x, column, i, w, columns, across)) {
                best = larger(best, (ACC)0);
                continue;
            }
            for (int k = 0; k < 4; k++) {
                const ACC part = by[k / 2] * across[k % 2] *
                                 READ(0, base + rows[k / 2] * w + columns[k % 2]);
                best = larger(best, part);
                sum += part;
            }
        }
    const i64 places = y.places * x.places;
    return places < 1 ? (ACC)0 : MOST ? best : sum / (ACC)places;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(data, X0);
    DIMS(out, O0);
    const i64 h = data[2], w = data[3], bins = out[2] * out[3];
    for (; first < last; first++) {
        const i64 roi = first / bins, row = first % bins / out[3], column = first % out[3];
        const side x = side_of(c, 4 * roi, out[3]), y = side_of(c, 4 * roi + 1, out[2]);
        i64 image = (i64)c->x2[roi];
        image += image < 0 ? data[0] : 0;
        image = image < 0 ? 0 : MIN(image, data[0] - 1);
        for (i64 k = 0; k < data[1]; k++)
            WRITE(0, (roi * data[1] + k) * bins + row * out[3] + column,
                  bin_of(c, (image * data[1] + k) * h * w, y, x, row, column, h, w));
    }
}

GENERIC_ENTRY
