/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of tiles: the last loop is along the output, the one before it along the input. A tile
 * is SIDE vectors of SIDE elements, transposed by log2(SIDE) rounds of exchanges: round s swaps
 * the halves that differ in bit s of row and column.
 */
#include "kernels/move/rows_body.kernel.h"

typedef ELEMENT side_vec __attribute__((vector_size(SIDE * ELEMENT_BYTES)));
typedef side_vec side_vecu __attribute__((aligned(ELEMENT_BYTES), may_alias));
#if ELEMENT_BYTES == 8
typedef i64 side_index __attribute__((vector_size(SIDE * ELEMENT_BYTES)));
#else
typedef i32 side_index __attribute__((vector_size(SIDE * ELEMENT_BYTES)));
#endif

INLINE void exchange(side_vec *v, const int s)
{
    side_index low, high;
    for (int l = 0; l < SIDE; l++) {
        low[l] = l & s ? SIDE + l - s : l;
        high[l] = l & s ? SIDE + l : l + s;
    }
    UNROLL(16)
    for (int r = 0; r < SIDE; r++) {
        if (r & s)
            continue;
        const side_vec a = v[r], b = v[r + s];
        v[r] = __builtin_shuffle(a, b, low);
        v[r + s] = __builtin_shuffle(a, b, high);
    }
}

/* SIDE x SIDE elements: input rows are in_step apart, output rows out_step. */
INLINE void tile(ELEMENT *out, i64 out_step, const ELEMENT *in, i64 in_step)
{
    side_vec v[SIDE];
    UNROLL(16)
    for (int i = 0; i < SIDE; i++)
        v[i] = *(const side_vecu *)(in + i * in_step);
    exchange(v, 1);
    exchange(v, 2);
#if SIDE > 4
    exchange(v, 4);
#endif
#if SIDE > 8
    exchange(v, 8);
#endif
    UNROLL(16)
    for (int j = 0; j < SIDE; j++) {
#if STREAM
        for (int b = 0; b < SIDE * ELEMENT_BYTES; b += LINE)
            stream_line((char *)(out + j * out_step) + b, (const char *)&v[j] + b);
#else
        *(side_vecu *)(out + j * out_step) = v[j];
#endif
    }
}

/* Number t of the tiles of an extent, the last of which ends with it. */
#define START(t, extent) MIN((t)*SIDE, (extent)-SIDE)

INLINE void move_tiles(const i64 *const p, void *const *arg)
{
    enum { TILES = SPAN / SIDE };
    const i64 rank = RANK(p), rows = EXTENT(p, rank - 2), cols = EXTENT(p, rank - 1);
    const i64 row_step = OUT_STRIDE(p, rank - 2), col_step = IN_STRIDE(p, rank - 1);
    const i64 row_tiles = CEIL_DIV(rows, SIDE), col_tiles = CEIL_DIV(cols, SIDE);
    const i64 row_spans = CEIL_DIV(row_tiles, TILES), col_spans = CEIL_DIV(col_tiles, TILES);
    const ELEMENT *const from = arg[1 + INPUT(p)];
    PARALLEL_FOR
    for (i64 t = 0; t < outside(p, rank - 2) * row_spans * col_spans; t++) {
        i64 in, out;
        place(p, rank - 2, t / row_spans / col_spans, &in, &out);
#if WALK_OUT
        const i64 r0 = t / col_spans % row_spans * TILES, c0 = t % col_spans * TILES;
#else
        const i64 r0 = t % row_spans * TILES, c0 = t / row_spans % col_spans * TILES;
#endif
        const i64 r1 = MIN(r0 + TILES, row_tiles), c1 = MIN(c0 + TILES, col_tiles);
#if WALK_OUT
        for (i64 r = r0; r < r1; r++)
            for (i64 c = c0; c < c1; c++)
#else
        for (i64 c = c0; c < c1; c++)
            for (i64 r = r0; r < r1; r++)
#endif
            {
                const i64 i = START(r, rows), j = START(c, cols);
                tile((ELEMENT *)arg[0] + out + i * row_step + j, row_step,
                     from + in + i + j * col_step, col_step);
            }
    }
}

INLINE void move_piece(const i64 *const p, void *const *arg)
{
    if (MODE(p) == MODE_TILES)
        move_tiles(p, arg);
    else
        move_rows(p, arg);
}

#define HOW move_piece

#include "kernels/move/impl_rows.kernel.c"
