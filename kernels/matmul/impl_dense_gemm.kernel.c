/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemm.cpu: a blocked GEMM over packed panels of the weight. Macros from the plan: M N K,
 * M_VARIES (the rows are an argument, M at most), BIAS, GEMM_MR GEMM_NV GEMM_KU GEMM_AHEAD (the
 * tile), KC (depth of a block), ROW_TILES and COL_PANELS (tiles and panels of one task),
 * ROWS_INNER (which loop reuses what the L1 holds), PACK_DATA, NEXT_PANEL (all tiles of a panel
 * together prefetch the next one to the L2).
 *
 * A packed weight is [panel][K][GEMM_NR], packed data is [strip][K][GEMM_MR] with strips
 * DATA_STRIP elements apart (the slack takes the zeros that packing writes beyond a strip).
 *
 * Rows that are a constant are cut into whole tiles and one remainder; rows at run time are
 * shared evenly among as many tiles, so that none is a sliver.
 */
#include "kernels/matmul/gemm.kernel.h"

#define PANELS CEIL_DIV(N, GEMM_NR)
#define DATA_STRIP (CEIL_DIV(K * GEMM_MR, VLEN) * VLEN + VLEN)

#if PACK_DATA
#define A_ROW 1
#define A_K GEMM_MR
#else
#define A_ROW K
#define A_K 1
#endif

/* How the rows are cut: the first `more` tiles have one row more. */
typedef struct cut {
    i64 m, tiles, rows, more;
} cut;

INLINE cut cut_of(const void *rows)
{
    const i64 m = M_VARIES ? *(const i64 *)rows : M, tiles = CEIL_DIV(m, GEMM_MR);
    return M_VARIES ? (cut){m, tiles, m / tiles, m % tiles} : (cut){m, tiles, GEMM_MR, 0};
}

/* Where rows are a constant, so is the rest, also within an outlined loop. */
INLINE i64 first_row(const cut *c, i64 t)
{
    return M_VARIES ? t * c->rows + MIN(t, c->more) : t * GEMM_MR;
}

INLINE i64 tiles_of(const cut *c)
{
    return M_VARIES ? c->tiles : CEIL_DIV(M, GEMM_MR);
}

/* arg: weight [N][K], packed weight */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++) {
        DTYPE *to = packed + p * K * GEMM_NR;
        const DTYPE *from = weight + p * GEMM_NR * K;
        if ((p + 1) * GEMM_NR <= N)
            gemm_pack_bt(to, from, K, GEMM_NR, K);
        else
            gemm_pack_bt(to, from, K, N % GEMM_NR, K);
    }
}

#if PACK_DATA
/* arg: data [M][K], packed data, rows if M_VARIES */
void pack_data(void *const *arg)
{
    const DTYPE *data = arg[0];
    DTYPE *packed = arg[1];
    const cut c = cut_of(M_VARIES ? arg[2] : 0);
    PARALLEL_FOR
    for (i64 t = 0; t < tiles_of(&c); t++) {
        DTYPE *to = packed + t * DATA_STRIP;
        const DTYPE *from = data + first_row(&c, t) * K;
        /* A strip may have rows of the next tile behind its own: nobody looks at them. */
        if (first_row(&c, t) + GEMM_MR <= c.m)
            gemm_pack_a(to, from, K, GEMM_MR, K);
#if M_VARIES
        else
            for (i64 k = 0; k < K; k++)
                for (i64 i = 0; i < first_row(&c, t + 1) - first_row(&c, t); i++)
                    to[k * GEMM_MR + i] = from[i * K + k];
#else
        else
            gemm_pack_a(to, from, K, M % GEMM_MR, K);
#endif
    }
}
#endif

/* `next` is this tile's share of the panel to come, one of `sharers`; `ends` is NULL, or the
 * stage's arguments when this is the last block of depth. */
INLINE void tile(const DTYPE *a, const DTYPE *b, const DTYPE *bias, DTYPE *c, const int rows,
                 const int whole, const int first, i64 depth, const DTYPE *next,
                 const i64 sharers, void *const *ends)
{
    gemm_acc acc;
    if (first && whole)
        gemm_start(acc, rows, bias, GEMM_NR);
    else if (first)
        gemm_start(acc, rows, bias, N % GEMM_NR);
    else if (whole)
        gemm_load(acc, rows, c, N, GEMM_NR);
    else
        gemm_load(acc, rows, c, N, N % GEMM_NR);
    i64 k = 0;
    for (; NEXT_PANEL && k + sharers <= depth; k += sharers) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++)
            __builtin_prefetch(next + k / sharers * GEMM_NR + j * VLEN, 0, 2);
        gemm_mac(acc, rows, sharers, a + k * A_K, A_ROW, A_K, b + k * GEMM_NR, GEMM_NR);
    }
    gemm_mac(acc, rows, depth - k, a + k * A_K, A_ROW, A_K, b + k * GEMM_NR, GEMM_NR);
    if (EPILOGUE && ends)
        gemm_finish(acc, rows, c, N, whole ? GEMM_NR : N % GEMM_NR, ends,
                    c - (const DTYPE *)ends[2]);
    else if (whole)
        gemm_store(acc, rows, c, N, GEMM_NR);
    else
        gemm_store(acc, rows, c, N, N % GEMM_NR);
}

#if M_VARIES
/* An instance for every number of rows; where it starts and ends matters less. */
static __attribute__((noinline)) void tile_of(int rows, const DTYPE *a, const DTYPE *b,
                                              const DTYPE *bias, DTYPE *c, int whole, int first,
                                              i64 depth, const DTYPE *next, i64 sharers,
                                              void *const *ends)
{
    switch (rows) {
#define CASE(r)                                                                                \
    case r:                                                                                    \
        if (r <= GEMM_MR)                                                                      \
            tile(a, b, bias, c, MIN(r, GEMM_MR), whole, first, depth, next, sharers, ends);    \
        break;
        GEMM_EACH_ROWS(CASE)
    }
}
#endif

/* One tile; ragged edges and the first block of depth are instances of their own. */
INLINE void tile_at(const cut *cut, i64 t, i64 p, const DTYPE *data, const DTYPE *packed,
                    const DTYPE *bias, DTYPE *out, i64 k0, const int first, i64 depth,
                    void *const *arg)
{
    const i64 row = first_row(cut, t), sharers = MIN(ROW_TILES, tiles_of(cut));
    const DTYPE *a = data + (PACK_DATA ? t * DATA_STRIP : row * K) + k0 * A_K;
    const DTYPE *b = packed + (p * K + k0) * GEMM_NR;
    const DTYPE *add = BIAS ? bias + p * GEMM_NR : 0;
    DTYPE *c = out + row * N + p * GEMM_NR;
    const DTYPE *next = b + K * GEMM_NR + (t % sharers) * (depth / sharers) * GEMM_NR;
    void *const *ends = k0 + depth == K ? arg : 0;
    const int whole = N % GEMM_NR == 0 || (p + 1) * GEMM_NR <= N;
#if M_VARIES
    tile_of(cut->rows + (t < cut->more), a, b, add, c, whole, first, depth, next, sharers,
            ends);
#else
    const int full_rows = M % GEMM_MR == 0 || (t + 1) * GEMM_MR <= M;
    if (full_rows && whole)
        tile(a, b, add, c, GEMM_MR, 1, first, depth, next, sharers, ends);
    else if (full_rows)
        tile(a, b, add, c, GEMM_MR, 0, first, depth, next, sharers, ends);
    else if (whole)
        tile(a, b, add, c, M % GEMM_MR, 1, first, depth, next, sharers, ends);
    else
        tile(a, b, add, c, M % GEMM_MR, 0, first, depth, next, sharers, ends);
#endif
}

INLINE void block(const cut *cut, i64 t0, i64 p0, const DTYPE *data, const DTYPE *packed,
                  const DTYPE *bias, DTYPE *out, i64 k0, const int first, i64 depth,
                  void *const *arg)
{
    const i64 t1 = MIN(t0 + ROW_TILES, tiles_of(cut)), p1 = MIN(p0 + COL_PANELS, PANELS);
#if ROWS_INNER
    for (i64 p = p0; p < p1; p++)
        for (i64 t = t0; t < t1; t++)
#else
    for (i64 t = t0; t < t1; t++)
        for (i64 p = p0; p < p1; p++)
#endif
            tile_at(cut, t, p, data, packed, bias, out, k0, first, depth, arg);
}

/* arg: data or packed data, packed weight, out, bias if BIAS, rows if M_VARIES */
void gemm(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1], *bias = BIAS ? arg[3] : 0;
    DTYPE *out = arg[2];
    const cut c = cut_of(M_VARIES ? arg[3 + BIAS] : 0);
    PARALLEL_FOR_N(2)
    for (i64 p0 = 0; p0 < PANELS; p0 += COL_PANELS)
        for (i64 t0 = 0; t0 < tiles_of(&c); t0 += ROW_TILES) {
            block(&c, t0, p0, data, packed, bias, out, 0, 1, MIN(KC, K), arg);
            for (i64 k0 = KC; k0 < K; k0 += KC)
                block(&c, t0, p0, data, packed, bias, out, k0, 0, MIN(KC, K - k0), arg);
        }
}
