/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline of products by warpgroups, whatever is multiplied: out[b][m][n] = sum over k of
 * x[b][m][k] * y[b][n][k]. Panels of both, rows of 128 bytes of depth, travel through a ring
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
 * lines of the output are multiples of 16 bytes; else every thread stores pairs of columns.
 *
 * Macros of the plan: B M N K, BM BN PANELS STAGES CONSUMERS PRODUCER GROUP_M CLUSTER BLOCKS,
 * TYPE (f16, bf16, tf32, s8, u8s8), ELEM (its bytes), SUM OUT OUT_OF SUM_OF (types of sums and
 * outputs, one from the other), BITS_OF (those of the output that a sum, or with HALVES two
 * become), BOXES, INDEX, BIAS. Macros of the body, whose operands are the tensor maps x and y:
 *   COPY_X(to, p, panel, barrier)         BM rows of a panel of depth at place p
 *   COPY_Y(to, p, panel, slice, barrier)  SLICE rows from row `slice` of the tile on, for all
 *                                         blocks of the cluster (the words ..._OF_ALL)
 *                                         or instead what the warpgroup that copies, all of its
 *                                         threads, makes of memory:
 *     Y_PARAMETERS Y_HELD                 of the kernel, and what a thread holds between steps
 *     FETCH_Y(q, step)                    what it needs of a step of place q
 *     WRITE_Y(to, q, next)                a panel of what it holds; it fetches the next step's
 *   LINE, OUT_AT(b, m, n)                 outputs side by side along n, and where one is
 *   STORE_BOX(b, m, n, from)              the box of 16 rows that begins at m, n
 *                                         or instead of these three, where BOXES is 0:
 *     STORE(p)                            what becomes of the sums `acc` of place p
 * A body whose kernel has more parameters names them behind the map: Y_PARAMETERS.
 */
#ifndef OPTUNE_KERNELS_MATMUL_WGMMA_TILE_GPU_H
#define OPTUNE_KERNELS_MATMUL_WGMMA_TILE_GPU_H

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
#define COPY_BOX_OF_ALL(to, map, x, y, z, barrier)                                             \
    copy_box_3d_to_all(to, map, x, y, z, barrier, CLUSTER)
#define COPY_PIXELS_OF_ALL(to, map, c, x, y, image, dx, dy, barrier)                           \
    copy_pixels_to_all(to, map, c, x, y, image, dx, dy, barrier, CLUSTER)
#else
#define COPY_BOX_OF_ALL(to, map, x, y, z, barrier) copy_box_3d(to, map, x, y, z, barrier)
#define COPY_PIXELS_OF_ALL(to, map, c, x, y, image, dx, dy, barrier)                           \
    copy_pixels(to, map, c, x, y, image, dx, dy, barrier)
#endif

/* One thread. Of y a block copies its slice into all blocks of the cluster, once none of them
 * reads what was there. */
#define PRODUCE(r, p, step)                                                                    \
    {                                                                                          \
        mbarrier_wait(EMPTY((r).stage), (r).parity ^ 1);                                       \
        mbarrier_expect(FULL((r).stage), STAGE_BYTES);                                         \
        UNROLL for (int at = 0; at < PANELS; at++)                                             \
        {                                                                                      \
            COPY_X(X_TILE((r).stage) + at * 128 * BM, p, (step)*PANELS + at, FULL((r).stage)); \
            COPY_Y(Y_TILE((r).stage) + (at * BN + rank * SLICE) * 128, p, (step)*PANELS + at,  \
                   rank *SLICE, FULL((r).stage));                                              \
        }                                                                                      \
    }

#ifdef WRITE_Y
#define ARRIVALS (1 + 128)
#define WRITER_REGISTERS 104
#define CONSUMER_REGISTERS 200
/* By each of them; what is written is known to products then. */
#define PRODUCE_WRITTEN(r, p, step, q, next)                                                   \
    {                                                                                          \
        mbarrier_wait(EMPTY((r).stage), (r).parity ^ 1);                                       \
        if (THREAD_X == 128 * CONSUMERS) {                                                     \
            mbarrier_expect(FULL((r).stage), X_BYTES);                                         \
            COPY_X(X_TILE((r).stage), p, step, FULL((r).stage));                               \
        }                                                                                      \
        WRITE_Y(Y_TILE((r).stage), q, next)                                                    \
        shared_visible();                                                                      \
        mbarrier_arrive(FULL((r).stage));                                                      \
    }
#else
#define ARRIVALS 1
#ifndef Y_PARAMETERS
#define Y_PARAMETERS TENSOR_MAP(y)
#endif
#define WRITER_REGISTERS 40
#define CONSUMER_REGISTERS 232
#endif
/* Who takes more waits for ever for what the block was not given: 168 a thread, of 384. */
#if WRITER_REGISTERS + 2 * CONSUMER_REGISTERS > 3 * 168
#error warpgroups ask for more registers than their block has
#endif

#if CLUSTER > 1
#define RELEASE(stage)                                                                         \
    if (THREAD_X % 32 < CLUSTER)                                                               \
        mbarrier_arrive_in(EMPTY(stage), THREAD_X % 32);
#else
#define RELEASE(stage)                                                                         \
    if (THREAD_X % 32 == 0)                                                                    \
        mbarrier_arrive(EMPTY(stage));
#endif

/* All threads of a warpgroup: the products of a step, whose place in the ring is r's. `first` is a
 * constant. */
#define MULTIPLY(r, first)                                                                     \
    {                                                                                          \
        mbarrier_wait(FULL((r).stage), (r).parity);                                            \
        wgmma_fence();                                                                         \
        UNROLL for (int at = 0; at < PANELS * 4; at++)                                         \
        {                                                                                      \
            UNROLL for (int part = 0; part < MINE; part++)                                     \
                WGMMA(TYPE, BN, acc[part],                                                     \
                      rows_128_on(rows_x, (r).stage * (STAGE_BYTES / 16) + at / 4 * 8 * BM +   \
                                              part * 64 * 8 + at % 4 * 2),                     \
                      rows_128_on(rows_y, (r).stage * (STAGE_BYTES / 16) + at / 4 * 8 * BN +   \
                                              at % 4 * 2),                                     \
                      !(first) || at > 0);                                                     \
        }                                                                                      \
        wgmma_commit();                                                                        \
    }

/* They are under way while the next step's tile is waited for; a tile is given back once the
 * products behind it have begun. */
#define GO_ON(r)                                                                               \
    {                                                                                          \
        const int before = (r).stage;                                                          \
        ring_next(&(r), STAGES);                                                               \
        MULTIPLY(r, 0)                                                                         \
        WGMMA_WAIT(1);                                                                         \
        RELEASE(before)                                                                        \
    }

#define COLLECT(r)                                                                             \
    {                                                                                          \
        WGMMA_WAIT(0);                                                                         \
        UNROLL for (int part = 0; part < MINE; part++) wgmma_keep(acc[part], BN);              \
        RELEASE((r).stage)                                                                     \
        ring_next(&(r), STAGES);                                                               \
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
        const INDEX o = OUT_AT((p).b, m, n);                                                   \
        EPILOGUE_APPLY(left, o)                                                                \
        if ((n) + 1 < N) {                                                                     \
            const INDEX o = OUT_AT((p).b, m, (n) + 1);                                         \
            EPILOGUE_APPLY(right, o)                                                           \
            (void)o;                                                                           \
        }                                                                                      \
        (void)o;                                                                               \
    }

#define ROW_OF(p, part)                                                                        \
    ((p).m + (group * MINE + (part)) * 64 + THREAD_X / 32 % 4 * 16) /* a warp's first */

#if defined(STORE)
#elif BOXES

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
                STORE_BOX((p).b, ROW_OF(p, part), (p).n + left, OUT_BOX(turn));                \
                stores_commit();                                                               \
            }                                                                                  \
        }                                                                                      \
    }

#else

typedef struct ALIGNED(2 * sizeof(OUT)) out_pair {
    OUT v[2];
} out_pair;

/* Two columns of a row. */
INLINE void store_pair(GLOBAL OUT *RESTRICT out, int b, int m, int n, SUM first, SUM second)
{
    if (LINE % 2 == 0) {
        out_pair p;
        p.v[0] = OUT_OF(first);
        p.v[1] = OUT_OF(second);
        *(GLOBAL out_pair *)(out + OUT_AT(b, m, n)) = p;
    } else {
        out[OUT_AT(b, m, n)] = OUT_OF(first);
        if (n + 1 < N)
            out[OUT_AT(b, m, n + 1)] = OUT_OF(second);
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
                    store_pair(out, (p).b, row, col, a, b);                                    \
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
#define PRODUCE_BEHIND                                                                         \
    if (THREAD_X == 0 && made < steps) {                                                       \
        const place q = place_of(FIRST + made / STEPS * STRIDE, rank);                         \
        PRODUCE(in, q, made % STEPS)                                                           \
        made++;                                                                                \
        ring_next(&in, STAGES);                                                                \
    }                                                                                          \
    WARP_BARRIER();
#define FIRST (BLOCK_X / CLUSTER)
#define STRIDE (BLOCKS / CLUSTER)

KERNEL_OF(THREADS)
product(TENSOR_MAP(x), Y_PARAMETERS,
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
            mbarrier_init(FULL(s), ARRIVALS);
            mbarrier_init(EMPTY(s), WARPS * CLUSTER);
        }
        mbarriers_visible();
    }
    ALL_BARRIER();
    const u64 rows_x = rows_128(X_TILE(0) + (u32)(group * MINE * 64 * 128));
    const u64 rows_y = rows_128(Y_TILE(0));
    ring r = {0, 0};
    int turn = 0;
#if PRODUCER
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            REGISTERS_LESS(WRITER_REGISTERS);
#ifdef WRITE_Y
        Y_HELD
        place q = place_of(FIRST, rank);
        FETCH_Y(q, 0)
        for (int tile = FIRST; tile < TILES; tile += STRIDE) {
            const place p = q;
            UNROLL_BY(1)
            for (int step = 0; step < STEPS; step++, ring_next(&r, STAGES)) {
                const bool end = step + 1 == STEPS;
                if (end)
                    q = place_of(MIN(tile + STRIDE, TILES - 1), rank);
                PRODUCE_WRITTEN(r, p, step, q, end ? 0 : step + 1)
            }
        }
#else
        if (THREAD_X == 128 * CONSUMERS)
            for (int tile = FIRST; tile < TILES; tile += STRIDE) {
                const place p = place_of(tile, rank);
                UNROLL_BY(1)
                for (int step = 0; step < STEPS; step++, ring_next(&r, STAGES))
                    PRODUCE(r, p, step)
            }
#endif
    } else {
        if (CONSUMERS > 1)
            REGISTERS_MORE(CONSUMER_REGISTERS);
        for (int tile = FIRST; tile < TILES; tile += STRIDE) {
            const place p = place_of(tile, rank);
            SUM acc[MINE][BN / 2];
            MULTIPLY(r, 1)
            UNROLL_BY(1)
            for (int step = 1; step < STEPS; step++)
                GO_ON(r)
            COLLECT(r)
            STORE(p)
        }
        FINISH
    }
#else
    /* The first thread stays STAGES - 1 tiles ahead, over the end of an output's tile, too. */
    const int steps = CEIL_DIV(TILES - FIRST, STRIDE) * STEPS;
    ring in = {0, 0};
    int made = 0;
    for (; THREAD_X == 0 && made < MIN(STAGES - 1, steps); made++, ring_next(&in, STAGES)) {
        const place p = place_of(FIRST + made / STEPS * STRIDE, rank);
        PRODUCE(in, p, made % STEPS)
    }
    for (int tile = FIRST; tile < TILES; tile += STRIDE) {
        const place p = place_of(tile, rank);
        SUM acc[MINE][BN / 2];
        MULTIPLY(r, 1)
        PRODUCE_BEHIND
        UNROLL_BY(1)
        for (int step = 1; step < STEPS; step++) {
            GO_ON(r)
            PRODUCE_BEHIND
        }
        COLLECT(r)
        STORE(p)
    }
    FINISH
#endif
    LEAVE();
}

#endif
