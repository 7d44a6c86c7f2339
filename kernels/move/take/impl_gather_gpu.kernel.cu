/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather on GPUs: indices and output are [OUTER][ROWS][COLUMNS]. LANES threads have WIDTH outputs
 * each side by side. Of an INNERMOST axis a row is a line of its own, N elements of the data; else
 * a column is, and blocks go down a slab of columns before they turn to the next, so that what one
 * brought into the cache serves those behind it.
 *
 * Where a block HOLDS its lines in shared memory, whole ones or a slab of columns, PARTS blocks
 * share each. A thread has EACH vectors at once: along a line that is held, else down rows.
 *
 * Macros: ELEMENT INDEX, PIECE PIECE_WORDS (what is held is moved in such), INNERMOST ROWS COLUMNS
 * N WIDTH THREADS LANES EACH HOLDS PARTS.
 */
#include "kernels/common/looked_up.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"

#define TEAMS (THREADS / LANES)

VECTOR(indices_vector, INDEX, WIDTH);
VECTOR(elements_vector, ELEMENT, WIDTH);

#if HOLDS
VECTOR(piece, PIECE, PIECE_WORDS);
#endif

#if HOLDS && INNERMOST

#define ROUND (LANES * WIDTH * EACH)
#define ROUNDS CEIL_DIV(CEIL_DIV(COLUMNS, ROUND), PARTS) /* of a block */
#define LINE_PIECES (N * (int)sizeof(ELEMENT) / (PIECE_WORDS * (int)sizeof(PIECE)))

INLINE void load_indices(GLOBAL const INDEX *RESTRICT indices, const bool mine, const int first,
                         indices_vector x[EACH])
{
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (mine && first + e * (LANES * WIDTH) < COLUMNS)
            x[e] = *(GLOBAL const indices_vector *)(indices + first + e * (LANES * WIDTH));
}

KERNEL(THREADS, 1, 1)
gather(GLOBAL const ELEMENT *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
       GLOBAL ELEMENT *RESTRICT out)
{
    SHARED(pool, (TEAMS * N * sizeof(ELEMENT) + 15) / 16 * 16);
    LOCAL ELEMENT *const held = (LOCAL ELEMENT *)pool;
    const int team = THREAD_X / LANES, lane = THREAD_X % LANES;
    const i64 first_row = (i64)(BLOCK_X / PARTS) * TEAMS, row = first_row + team;
    const bool mine = row < ROWS;
    const i64 from = row * COLUMNS;
    int first = BLOCK_X % PARTS * (ROUNDS * ROUND) + lane * WIDTH;
    indices_vector x[EACH];
    load_indices(indices + from, mine, first, x);
    {
        const int pieces = (int)MIN((i64)TEAMS, ROWS - first_row) * LINE_PIECES;
        GLOBAL const piece *const line = (GLOBAL const piece *)(data + first_row * N);
        UNROLL_BY(4)
        for (int i = THREAD_X; i < pieces; i += THREADS)
            ((LOCAL piece *)pool)[i] = line[i];
    }
    BARRIER();
    UNROLL_BY(1)
    for (int round = 0; round < ROUNDS; round++, first += ROUND) {
        if (round)
            load_indices(indices + from, mine, first, x);
        UNROLL
        for (int e = 0; e < EACH; e++) {
            const int column = first + e * (LANES * WIDTH);
            elements_vector y;
            if (mine && column < COLUMNS) {
                UNROLL
                for (int v = 0; v < WIDTH; v++)
                    y.v[v] = held[team * N + (int)place_of((i64)x[e].v[v], N)];
                STORE_VECTOR((GLOBAL elements_vector *)(out + from + column), y);
            }
        }
    }
}

#else

#define SLAB (LANES * WIDTH)
#define SLABS CEIL_DIV(COLUMNS, SLAB)

#if HOLDS

#define AT_ONCE (TEAMS * EACH)
#define SHARE CEIL_DIV(CEIL_DIV(ROWS, AT_ONCE), PARTS) /* of a block, of so many rows */
#define PIECE_ELEMENTS MAX(PIECE_WORDS * (int)sizeof(PIECE) / (int)sizeof(ELEMENT), 1)
#define ROW_PIECES (SLAB / PIECE_ELEMENTS)

/* A slab's N rows of `data`, of which `columns` lie in it. */
INLINE void hold(LOCAL ELEMENT *held, GLOBAL const ELEMENT *RESTRICT data, const int columns)
{
    UNROLL_BY(8)
    for (int i = THREAD_X; i < N * ROW_PIECES; i += THREADS) {
        const int row = i / ROW_PIECES, at = i % ROW_PIECES * PIECE_ELEMENTS;
        if (SLAB == COLUMNS || at < columns) {
            GLOBAL const ELEMENT *const from = data + (i64)row * COLUMNS + at;
#ifdef CP_ASYNC_WAIT
            if (sizeof(piece) == 16) {
                cp_async_16(held + i * PIECE_ELEMENTS, from);
                continue;
            }
#endif
            *(LOCAL piece *)(held + i * PIECE_ELEMENTS) = *(GLOBAL const piece *)from;
        }
    }
#ifdef CP_ASYNC_WAIT
    cp_async_commit();
#endif
}

INLINE void load_indices(GLOBAL const INDEX *RESTRICT indices, const int row, const int end,
                         indices_vector x[EACH])
{
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (row + e * TEAMS < end)
            x[e] = *(GLOBAL const indices_vector *)(indices + (i64)(row + e * TEAMS) * COLUMNS);
}

KERNEL(THREADS, 1, 1)
gather(GLOBAL const ELEMENT *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
       GLOBAL ELEMENT *RESTRICT out)
{
    SHARED(pool, (N * SLAB * sizeof(ELEMENT) + 15) / 16 * 16);
    LOCAL ELEMENT *const held = (LOCAL ELEMENT *)pool;
    const int part = BLOCK_X % PARTS, slab = BLOCK_X / PARTS % SLABS;
    const i64 outer = BLOCK_X / PARTS / SLABS;
    const int lane = THREAD_X % LANES * WIDTH, column = slab * SLAB + lane;
    const i64 from = outer * ROWS * COLUMNS + column;
    const int end = column < COLUMNS ? MIN(ROWS, (part + 1) * (SHARE * AT_ONCE)) : 0;
    int row = part * (SHARE * AT_ONCE) + THREAD_X / LANES;
    indices_vector x[EACH];
    hold(held, data + outer * N * COLUMNS + slab * SLAB, COLUMNS - slab * SLAB);
    load_indices(indices + from, row, end, x);
#ifdef CP_ASYNC_WAIT
    CP_ASYNC_WAIT(0);
#endif
    BARRIER();
    UNROLL_BY(1)
    for (int round = 0; round < SHARE; round++, row += AT_ONCE) {
        elements_vector y[EACH];
        UNROLL
        for (int e = 0; e < EACH; e++) {
            UNROLL
            for (int v = 0; v < WIDTH; v++)
                if (row + e * TEAMS < end)
                    y[e].v[v] = held[(int)place_of((i64)x[e].v[v], N) * SLAB + lane + v];
        }
        load_indices(indices + from, row + AT_ONCE, round + 1 < SHARE ? end : 0, x);
        UNROLL
        for (int e = 0; e < EACH; e++)
            if (row + e * TEAMS < end)
                STORE_VECTOR((GLOBAL elements_vector *)(out + from +
                                                        (i64)(row + e * TEAMS) * COLUMNS),
                             y[e]);
    }
}

#else

KERNEL(THREADS, 1, 1)
gather(GLOBAL const ELEMENT *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
       GLOBAL ELEMENT *RESTRICT out)
{
    const int part = BLOCK_X % PARTS, slab = BLOCK_X / PARTS % SLABS;
    const i64 outer = BLOCK_X / PARTS / SLABS;
    const int column = slab * SLAB + THREAD_X % LANES * WIDTH;
    const i64 row = (i64)part * (TEAMS * EACH) + THREAD_X / LANES;
    const i64 at = (outer * ROWS + row) * COLUMNS + column;
    indices_vector x[EACH];
    elements_vector y[EACH];
    if (column >= COLUMNS)
        return;
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (row + e * TEAMS < ROWS)
            x[e] = *(GLOBAL const indices_vector *)(indices + at + (i64)e * TEAMS * COLUMNS);
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (row + e * TEAMS < ROWS) {
            UNROLL
            for (int v = 0; v < WIDTH; v++)
                y[e].v[v] =
                    INNERMOST
                        ? data[(row + e * TEAMS) * N + place_of((i64)x[e].v[v], N)]
                        : data[(outer * N + place_of((i64)x[e].v[v], N)) * COLUMNS + column + v];
        }
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (row + e * TEAMS < ROWS)
            STORE_VECTOR((GLOBAL elements_vector *)(out + at + (i64)e * TEAMS * COLUMNS), y[e]);
}

#endif
#endif
