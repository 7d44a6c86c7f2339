/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample, generic: an item is a place, in all channels. A product that decides which pixels
 * are read is an FMA with nothing to add, so that no compiler rounds it with what follows. Macros:
 * AXES, TAPS along each of them, ZEROS, BORDER, CORNERS.
 */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    (void)c;
    return out[0] * elements(out + 2, AXES);
}

INLINE ACC position(ACC at, i64 extent)
{
    const ACC one = at + (ACC)1, far = (ACC)1073741824;
#if CORNERS
    const ACC u = FMA(one / (ACC)2, (ACC)(extent - 1), (ACC)0);
#else
    const ACC u = (FMA(one, (ACC)extent, (ACC)0) - (ACC)1) / (ACC)2;
#endif
    return u > far ? far : u >= -far ? u : -far;
}

/* -1: outside, where nothing is. */
INLINE i64 inside(i64 i, i64 extent)
{
    if (i >= 0 && i < extent)
        return i;
#if ZEROS
    return -1;
#elif BORDER
    return i < 0 ? 0 : extent - 1;
#else
    const i64 period = !CORNERS ? 2 * extent : extent > 1 ? 2 * (extent - 1) : 1;
    i = (i % period + period) % period;
    return i < extent ? i : CORNERS ? period - i : period - 1 - i;
#endif
}

INLINE ACC cubic(ACC d)
{
    const ACC a = (ACC)-0.75;
    return d <= (ACC)1 ? ((a + (ACC)2) * d - (a + (ACC)3)) * d * d + (ACC)1
                       : ((a * d - (ACC)5 * a) * d + (ACC)8 * a) * d - (ACC)4 * a;
}

INLINE void taps(ACC at, i64 extent, i64 *place, ACC *weight)
{
    const ACC u = position(at, extent);
    i64 low = (i64)u;
    low -= (ACC)low > u;
    const ACC far = u - (ACC)low;
#if TAPS == 1
    const int up = far > (ACC)0.5 || (far == (ACC)0.5 && low % 2 != 0);
    place[0] = inside(low + up, extent);
    weight[0] = 1;
#else
    for (int k = 0; k < TAPS; k++) {
        const int step = k - (TAPS == 4);
        const ACC away = far - (ACC)step;
        place[k] = inside(low + step, extent);
        weight[k] = TAPS == 2 ? (k ? far : (ACC)1 - far) : cubic(away < 0 ? -away : away);
    }
#endif
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(data, X0);
    DIMS(out, O0);
    const i64 plane = elements(data + 2, AXES), to = elements(out + 2, AXES);
    for (; first < last; first++) {
        i64 x[TAPS], y[TAPS], z[TAPS] = {0};
        ACC by_x[TAPS], by_y[TAPS], by_z[TAPS] = {1};
        taps(READ(1, AXES * first), data[AXES + 1], x, by_x);
        taps(READ(1, AXES * first + 1), data[AXES], y, by_y);
#if AXES == 3
        taps(READ(1, AXES * first + 2), data[2], z, by_z);
#endif
        const i64 image = first / to * data[1];
        for (i64 k = 0; k < data[1]; k++) {
            ACC sum = 0;
            for (int l = 0; l < (AXES == 3 ? TAPS : 1); l++)
                for (int j = 0; j < TAPS; j++)
                    for (int i = 0; i < TAPS; i++)
                        if (z[l] >= 0 && y[j] >= 0 && x[i] >= 0)
                            sum +=
                                by_z[l] * by_y[j] * by_x[i] *
                                READ(0, (image + k) * plane +
                                            (z[l] * data[AXES] + y[j]) * data[AXES + 1] + x[i]);
            WRITE(0, (image + k) * to + first % to, sum);
        }
    }
}

GENERIC_ENTRY
