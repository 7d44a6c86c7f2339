/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather on GPUs: indices and output are [OUTER][ROWS][COLUMNS]. LANES threads have WIDTH outputs
 * each side by side. Of an INNERMOST axis a row is a line of its own, N elements of the data; else
 * a column is, and blocks go down a slab of columns before they turn to the next, so that what one
 * brought into the cache serves those behind it.
 *
 * Where a block HOLDS its lines in shared memory, PARTS blocks share each, and a thread has EACH
 * vectors along it; else EACH rows.
 *
 * Macros: ELEMENT INDEX, PIECE PIECE_WORDS (a line is moved in such), INNERMOST ROWS COLUMNS N
 * WIDTH THREADS LANES EACH HOLDS PARTS.
 */
#include "kernels/common/looked_up.kernel.h"

#define TEAMS (THREADS / LANES)

VECTOR(indices_vector, INDEX, WIDTH);
VECTOR(elements_vector, ELEMENT, WIDTH);

#if HOLDS

#define ROUND (LANES * WIDTH * EACH)
#define ROUNDS CEIL_DIV(CEIL_DIV(COLUMNS, ROUND), PARTS) /* of a block */
#define LINE_PIECES (N * (int)sizeof(ELEMENT) / (PIECE_WORDS * (int)sizeof(PIECE)))

VECTOR(piece, PIECE, PIECE_WORDS);

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

#define SLABS CEIL_DIV(COLUMNS, LANES *WIDTH)

KERNEL(THREADS, 1, 1)
gather(GLOBAL const ELEMENT *RESTRICT data, GLOBAL const INDEX *RESTRICT indices,
       GLOBAL ELEMENT *RESTRICT out)
{
    const int part = BLOCK_X % PARTS, slab = BLOCK_X / PARTS % SLABS;
    const i64 outer = BLOCK_X / PARTS / SLABS;
    const int column = (slab * LANES + THREAD_X % LANES) * WIDTH;
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
