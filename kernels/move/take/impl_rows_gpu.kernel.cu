/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take on GPUs: a slice of [OUTER][N][INNER] is a run of UNITS units of memory, of up to 16 bytes.
 * LANES threads copy one side by side, EACH units of them at once; CHUNKS blocks share it. FLAT:
 * threads are side by side along all slices, and EACH of their units are a block's width apart.
 *
 * Macros: WORD WIDTH (a unit is so many words), INDEX, COUNTER (of units), OUTER N COUNT, SLICES
 * (OUTER * COUNT), UNITS THREADS LANES EACH FLAT.
 */
#include "kernels/common/looked_up.kernel.h"

#define TEAMS (THREADS / LANES)
#define AT_ONCE (LANES * EACH)
#define CHUNKS CEIL_DIV(UNITS, AT_ONCE)

VECTOR(unit, WORD, WIDTH);

/* The slice of data that comes to lie at slice `to`: first of its units. */
INLINE i64 looked_up(GLOBAL const INDEX *RESTRICT indices, const i64 to)
{
    const i64 outer = OUTER == 1 ? 0 : to / COUNT;
    return (outer * N + place_of(indices[to - outer * COUNT], N)) * UNITS;
}

#if FLAT

KERNEL(THREADS, 1, 1)
take(GLOBAL const WORD *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
     GLOBAL WORD *RESTRICT out)
{
    const COUNTER first = (COUNTER)BLOCK_X * (THREADS * EACH) + THREAD_X;
    const COUNTER all = (COUNTER)SLICES * UNITS;
    i64 from[EACH];
    unit x[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const COUNTER at = first + e * THREADS;
        if (at < all)
            from[e] = looked_up(indices, at / UNITS) + (i64)(at % UNITS);
    }
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < all)
            x[e] = ((GLOBAL const unit *)data)[from[e]];
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < all)
            STORE_VECTOR((GLOBAL unit *)out + first + e * THREADS, x[e]);
}

#else

KERNEL(THREADS, 1, 1)
take(GLOBAL const WORD *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
     GLOBAL WORD *RESTRICT out)
{
    const i64 slice = (i64)(BLOCK_X / CHUNKS) * TEAMS + THREAD_X / LANES;
    const int first = BLOCK_X % CHUNKS * AT_ONCE + THREAD_X % LANES;
    if (slice < SLICES) {
        GLOBAL const unit *const from = (GLOBAL const unit *)data + looked_up(indices, slice);
        GLOBAL unit *const to = (GLOBAL unit *)out + slice * UNITS;
        unit x[EACH];
        UNROLL
        for (int e = 0; e < EACH; e++)
            if (first + e * LANES < UNITS)
                x[e] = from[first + e * LANES];
        UNROLL
        for (int e = 0; e < EACH; e++)
            if (first + e * LANES < UNITS)
                STORE_VECTOR(to + first + e * LANES, x[e]);
    }
}

#endif
