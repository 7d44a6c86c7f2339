/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of matrix products by warpgroups: out[b][m][n] = sum over k of x[b][m][k] *
 * y[b][n][k], for operands whose rows lie along the depth. Boxes of both travel through a ring
 * of STAGES tiles in shared memory; CONSUMERS warpgroups each own BM / CONSUMERS rows of a
 * block's BM x BN outputs, in registers. With PRODUCER a warpgroup of its own copies, as far
 * ahead as the ring is deep; without, a thread of the first one does so behind its products.
 *
 * `full` of a stage waits for its bytes, `empty` for the warps that read them. Blocks take
 * tiles of the output in bands of GROUP_M tiles along m, so that those at work share operands
 * in the L2 cache.
 *
 * The CLUSTER blocks of a cluster have tiles next to each other along m: each copies a slice of
 * the tile of y that they share into the shared memory of all.
 *
 * With BOXES the way out is that of the way in: by the copy engine from shared memory, where
 * rows of the output are multiples of 16 bytes; else every thread stores pairs of columns.
 *
 * Macros of the plan: B M N K, BM BN PANELS STAGES CONSUMERS PRODUCER GROUP_M CLUSTER BLOCKS,
 * TYPE (f16, bf16, tf32, s8), ELEM (its bytes), SUM OUT OUT_OF SUM_OF (types of sums and
 * outputs, one from the other), BITS_OF (those of the output that a sum, or with HALVES two
 * become), BOXES, X_SHARED Y_SHARED (one matrix for all b), INDEX, BIAS.
 */
#include "kernels/common/wgmma_gpu.kernel.h"
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define THREADS (128 * (CONSUMERS + PRODUCER))
#define PANEL (128 / ELEM)       /* elements of depth in a row of shared memory */
#define DEPTH (PANELS * PANEL)   /* in a stage */
#define STEPS CEIL_DIV(K, DEPTH) /* of a tile */
#define X_BYTES (128 * PANELS * BM)
#define STAGE_BYTES (X_BYTES + 128 * PANELS * BN)
#define MINE (BM / 64 / CONSUMERS)       /* products of a warpgroup along m */
#define TILES_M CEIL_DIV(M, BM *CLUSTER) /* of a cluster's tiles, which lie along m */
#define TILES_N CEIL_DIV(N, BN)
#define TILES (B * TILES_M * TILES_N)
#define SLICE (BN / CLUSTER) /* rows of y that a block copies for all */
#define WARPS (4 * CONSUMERS)
#define OUT_BYTES (BOXES * WARPS * 2 * 2048) /* two boxes of a warp: 16 rows of 128 bytes */
#define POOL_BYTES (WARPGROUP_SLACK + STAGES * STAGE_BYTES + OUT_BYTES + 2 * STAGES * 16)

typedef struct ring {
    int stage;
    u32 parity;
} ring;

INLINE void next(ring *r)
{
    if (++r->stage == STAGES) {
        r->stage = 0;
        r->parity ^= 1;
    }
}

typedef struct place {
    int b, m, n;
} place;

/* Tile number `tile` of a cluster, for its block `rank`. */
INLINE place place_of(int tile, int rank)
{
    const int b = tile / (TILES_M * TILES_N), t = tile % (TILES_M * TILES_N);
    const int first = t / (GROUP_M * TILES_N) * GROUP_M, rows = MIN(GROUP_M, TILES_M - first);
    const int in_band = t - first * TILES_N;
    place p;
    p.b = b;
    p.m = ((first + in_band % rows) * CLUSTER + rank) * BM;
    p.n = in_band / rows * BN;
    return p;
}

#define X_TILE(stage) (base + (stage)*STAGE_BYTES)
#define Y_TILE(stage) (base + (stage)*STAGE_BYTES + X_BYTES)
#define OUT_BOX(turn) (base + STAGES * STAGE_BYTES + ((turn)*WARPS + THREAD_X / 32) * 2048)
#define FULL(stage) (base + STAGES * STAGE_BYTES + OUT_BYTES + (stage)*MBARRIER_BYTES)
#define EMPTY(stage) FULL((stage) + STAGES)

#if CLUSTER > 1
#define COPY_Y(to, map, x, y, z, barrier) copy_box_3d_to_all(to, map, x, y, z, barrier, CLUSTER)
#else
#define COPY_Y(to, map, x, y, z, barrier) copy_box_3d(to, map, x, y, z, barrier)
#endif

/* One thread. Of y a block copies its slice into all blocks of the cluster, once none of them
 * reads what was there. */
#define PRODUCE(r, p, step)                                                                    \
    {                                                                                          \
        mbarrier_wait(EMPTY((r).stage), (r).parity ^ 1);                                       \
        mbarrier_expect(FULL((r).stage), STAGE_BYTES);                                         \
        UNROLL for (int at = 0; at < PANELS; at++)                                             \
        {                                                                                      \
            const int depth = (step)*DEPTH + at * PANEL;                                       \
            copy_box_3d(X_TILE((r).stage) + at * 128 * BM, x, depth, (p).m,                    \
                        X_SHARED ? 0 : (p).b, FULL((r).stage));                                \
            COPY_Y(Y_TILE((r).stage) + (at * BN + rank * SLICE) * 128, y, depth,               \
                   (p).n + rank * SLICE, Y_SHARED ? 0 : (p).b, FULL((r).stage));               \
        }                                                                                      \
    }

#if CLUSTER > 1
#define RELEASE(stage)                                                                         \
    if (THREAD_X % 32 < CLUSTER)                                                               \
        mbarrier_arrive_in(EMPTY(stage), THREAD_X % 32);
#else
#define RELEASE(stage)                                                                         \
    if (THREAD_X % 32 == 0)                                                                    \
        mbarrier_arrive(EMPTY(stage));
#endif

/* All threads of a warpgroup. The products of a step are under way while the next one's tile is
 * waited for; a tile is given back once the products behind it have begun. */
#define CONSUME(r, step)                                                                       \
    {                                                                                          \
        mbarrier_wait(FULL((r).stage), (r).parity);                                            \
        wgmma_fence();                                                                         \
        UNROLL for (int at = 0; at < PANELS * 4; at++)                                         \
        {                                                                                      \
            UNROLL for (int part = 0; part < MINE; part++)                                     \
                WGMMA(TYPE, BN, acc[part],                                                     \
                      rows_128(X_TILE((r).stage) + at / 4 * 128 * BM +                         \
                               (group * MINE + part) * 64 * 128 + at % 4 * 32),                \
                      rows_128(Y_TILE((r).stage) + at / 4 * 128 * BN + at % 4 * 32),           \
                      (step) > 0 || at > 0);                                                   \
        }                                                                                      \
        wgmma_commit();                                                                        \
        if ((step) > 0) {                                                                      \
            WGMMA_WAIT(1);                                                                     \
            RELEASE(((r).stage + STAGES - 1) % STAGES)                                         \
        }                                                                                      \
    }

#define COLLECT(r)                                                                             \
    {                                                                                          \
        WGMMA_WAIT(0);                                                                         \
        UNROLL for (int part = 0; part < MINE; part++) wgmma_keep(acc[part], BN);              \
        RELEASE((r).stage)                                                                     \
    }

/* ---- the way out ------------------------------------------------------------------------- */

#if BIAS
#define BIAS_AT(n) ((n) < N ? SUM_OF(bias[n]) : 0)
#define PLUS(a, b) ((a) + (b))
#else
#define BIAS_AT(n) 0
#define PLUS(a, b) (a)
#endif

/* What is fused, on columns n, n + 1 of a row. */
#define FUSE(p, m, n, left, right)                                                             \
    if (EPILOGUE && (m) < M && (n) < N) {                                                      \
        const INDEX o = ((INDEX)(p).b * M + (m)) * N + (n);                                    \
        EPILOGUE_APPLY(left, o)                                                                \
        if ((n) + 1 < N)                                                                       \
            EPILOGUE_APPLY(right, o + 1)                                                       \
        (void)o;                                                                               \
    }

#define ROW_OF(p, part)                                                                        \
    ((p).m + (group * MINE + (part)) * 64 + THREAD_X / 32 % 4 * 16) /* a warp's first */

#if BOXES

#define COLUMNS (128 / (int)sizeof(OUT)) /* of a box */

/* Columns c, c + 1 of row r of a box, swizzled as the copy engine takes it. */
INLINE void write_pair(u32 box, int r, int c, SUM a, SUM b)
{
    const u32 at = box + (u32)(r * 128), x = (u32)(r % 8 * 16);
#if HALVES
    shared_write(at + ((u32)(c * 2) ^ x), BITS_OF(a, b));
#else
    shared_write(at + ((u32)(c * 4) ^ x), BITS_OF(a));
    shared_write(at + ((u32)(c * 4 + 4) ^ x), BITS_OF(b));
#endif
}

/* Warps write boxes of 16 rows into shared memory, two in turn, from which the copy engine
 * stores them. */
#define STORE(p)                                                                               \
    {                                                                                          \
        const int lane = THREAD_X % 32;                                                        \
        UNROLL for (int box = 0; box < MINE * BN / COLUMNS; box++, turn ^= 1)                  \
        {                                                                                      \
            const int part = box / (BN / COLUMNS), left = box % (BN / COLUMNS) * COLUMNS;      \
            if (lane == 0)                                                                     \
                STORES_WAIT(1);                                                                \
            WARP_BARRIER();                                                                    \
            UNROLL for (int col = 0; col < COLUMNS; col += 8)                                  \
            {                                                                                  \
                const int n = (p).n + left + col + lane % 4 * 2, at = (left + col) / 2;        \
                const SUM more0 = BIAS_AT(n), more1 = BIAS_AT(n + 1);                          \
                UNROLL for (int h = 0; h < 2; h++)                                             \
                {                                                                              \
                    const int row = lane / 4 + 8 * h, m = ROW_OF(p, part) + row;               \
                    SUM a = PLUS(acc[part][at + 2 * h], more0);                                \
                    SUM b = PLUS(acc[part][at + 2 * h + 1], more1);                            \
                    FUSE(p, m, n, a, b)                                                        \
                    write_pair(OUT_BOX(turn), row, col + lane % 4 * 2, a, b);                  \
                }                                                                              \
            }                                                                                  \
            shared_visible();                                                                  \
            WARP_BARRIER();                                                                    \
            if (lane == 0) {                                                                   \
                store_box_3d(out, (p).n + left, ROW_OF(p, part), (p).b, OUT_BOX(turn));        \
                stores_commit();                                                               \
            }                                                                                  \
        }                                                                                      \
    }

#else

typedef struct ALIGNED(2 * sizeof(OUT)) out_pair {
    OUT v[2];
} out_pair;

/* Two columns of a row; `more` where both are inside. */
INLINE void store_pair(GLOBAL OUT *to, SUM a, SUM b, int more)
{
    if (N % 2 == 0) {
        out_pair p;
        p.v[0] = OUT_OF(a);
        p.v[1] = OUT_OF(b);
        *(GLOBAL out_pair *)to = p;
    } else {
        to[0] = OUT_OF(a);
        if (more)
            to[1] = OUT_OF(b);
    }
}

#define STORE(p)                                                                               \
    {                                                                                          \
        const int lane = THREAD_X % 32;                                                        \
        UNROLL for (int at = 0; at < BN / 2; at += 4)                                          \
        {                                                                                      \
            const int col = (p).n + at * 2 + lane % 4 * 2;                                     \
            const SUM more0 = BIAS_AT(col), more1 = BIAS_AT(col + 1);                          \
            UNROLL for (int eight = 0; eight < 2 * MINE; eight++)                              \
            {                                                                                  \
                const int row = ROW_OF(p, eight / 2) + lane / 4 + eight % 2 * 8;               \
                SUM a = PLUS(acc[eight / 2][at + eight % 2 * 2], more0);                       \
                SUM b = PLUS(acc[eight / 2][at + eight % 2 * 2 + 1], more1);                   \
                FUSE(p, row, col, a, b)                                                        \
                if (row < M && col < N)                                                        \
                    store_pair(out + ((INDEX)(p).b * M + row) * N + col, a, b, col + 1 < N);   \
            }                                                                                  \
        }                                                                                      \
    }

#endif

/* Shared memory is read to the end before it is another block's. */
#define FINISH                                                                                 \
    if (BOXES && THREAD_X % 32 == 0)                                                           \
        STORES_WAIT(0);

/* Nobody leaves while others of the cluster may still write here. */
#if CLUSTER > 1
#define KERNEL_OF(threads) KERNEL_CLUSTER(threads, CLUSTER)
#define ALL_BARRIER() CLUSTER_BARRIER()
#define LEAVE() CLUSTER_BARRIER()
#else
#define KERNEL_OF(threads) KERNEL_ALONE(threads)
#define ALL_BARRIER() BARRIER()
#define LEAVE() ((void)0)
#endif
#define FIRST (BLOCK_X / CLUSTER)
#define STRIDE (BLOCKS / CLUSTER)

KERNEL_OF(THREADS)
product(TENSOR_MAP(x), TENSOR_MAP(y),
#if BOXES
        TENSOR_MAP(out)
#else
        GLOBAL OUT *RESTRICT out
#endif
            OUTPUT_PARAMETERS(OUT))
{
    SHARED(pool, POOL_BYTES);
    const u32 base = shared_base(pool);
    const int group = warpgroup(), rank = BLOCK_X % CLUSTER;
    if (THREAD_X == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(FULL(s), 1);
            mbarrier_init(EMPTY(s), WARPS * CLUSTER);
        }
        mbarriers_visible();
    }
    ALL_BARRIER();
    ring r = {0, 0};
    int turn = 0;
#if PRODUCER
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            REGISTERS_LESS(40);
        if (THREAD_X == 128 * CONSUMERS)
            for (int tile = FIRST; tile < TILES; tile += STRIDE) {
                const place p = place_of(tile, rank);
                UNROLL_BY(1)
                for (int step = 0; step < STEPS; step++, next(&r))
                    PRODUCE(r, p, step)
            }
    } else {
        if (CONSUMERS > 1)
            REGISTERS_MORE(232);
        for (int tile = FIRST; tile < TILES; tile += STRIDE) {
            const place p = place_of(tile, rank);
            SUM acc[MINE][BN / 2];
            UNROLL_BY(1)
            for (int step = 0; step < STEPS; step++) {
                if (step > 0)
                    next(&r);
                CONSUME(r, step)
            }
            COLLECT(r)
            next(&r);
            STORE(p)
        }
        FINISH
    }
#else
    /* The first thread stays STAGES - 1 tiles ahead, over the end of an output's tile, too. */
    const int steps = CEIL_DIV(TILES - FIRST, STRIDE) * STEPS;
    ring in = {0, 0};
    int made = 0;
    for (; THREAD_X == 0 && made < MIN(STAGES - 1, steps); made++, next(&in)) {
        const place p = place_of(FIRST + made / STEPS * STRIDE, rank);
        PRODUCE(in, p, made % STEPS)
    }
    for (int tile = FIRST; tile < TILES; tile += STRIDE) {
        const place p = place_of(tile, rank);
        SUM acc[MINE][BN / 2];
        UNROLL_BY(1)
        for (int step = 0; step < STEPS; step++) {
            if (step > 0)
                next(&r);
            CONSUME(r, step)
            if (THREAD_X == 0 && made < steps) {
                const place q = place_of(FIRST + made / STEPS * STRIDE, rank);
                PRODUCE(in, q, made % STEPS)
                made++;
                next(&in);
            }
            WARP_BARRIER();
        }
        COLLECT(r)
        next(&r);
        STORE(p)
    }
    FINISH
#endif
    LEAVE();
}
