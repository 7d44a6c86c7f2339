/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take on GPUs: a slice of [OUTER][N][INNER] is a run of UNITS units of memory, of up to 16 bytes.
 * LANES threads copy one side by side, EACH units of them at once; CHUNKS blocks share it.
 *
 * Macros: WORD WIDTH (a unit is so many words), INDEX, OUTER N COUNT, SLICES (OUTER * COUNT), UNITS
 * THREADS LANES EACH.
 */
#include "kernels/common/gpu.kernel.h"

#define TEAMS (THREADS / LANES)
#define AT_ONCE (LANES * EACH)
#define CHUNKS CEIL_DIV(UNITS, AT_ONCE)

VECTOR(unit, WORD, WIDTH);

KERNEL(THREADS, 1, 1)
take(GLOBAL const WORD *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
     GLOBAL WORD *RESTRICT out)
{
    const i64 slice = (i64)(BLOCK_X / CHUNKS) * TEAMS + THREAD_X / LANES;
    const int first = BLOCK_X % CHUNKS * AT_ONCE + THREAD_X % LANES;
    if (slice < SLICES) {
        const i64 outer = OUTER == 1 ? 0 : slice / COUNT,
                  index = indices[slice - outer * COUNT];
        const i64 counted = index < 0 ? index + N : index;
        const i64 which = counted < 0 ? 0 : MIN(counted, (i64)N - 1);
        GLOBAL const unit *const from = (GLOBAL const unit *)data + (outer * N + which) * UNITS;
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
