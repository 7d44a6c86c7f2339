/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.cpu: F(TILE_H x TILE_W, 3x3) on vectors of channels. Macros from the plan:
 * the shape, TILE_H TILE_W (1, 2, 4 or 7); numbers: the tile rows of a block, panels of output
 * channels of a chunk, vectors of a panel, whether threads take blocks of tiles, else channels.
 *
 * The one idea: a block of tiles is transformed, multiplied and transformed back before the
 * next one is looked at. Its transformed input V stays in the L2 while the packed weights U
 * stream by once, and a chunk of products M is transformed back while it is still warm.
 *
 * Of weights kept as taps, U is no memory of its own: what streams by are the nine taps of each
 * pair of channels, which become points a few input channels at a time, in each thread's own
 * memory.
 *
 * Two modules, so that little is compiled for a config. With PRODUCTS defined, this file is the
 * register tile alone: GEMM_MR GEMM_NV GEMM_KU GEMM_AHEAD, REST, the tiles that whole ones leave
 * of a block, and TAPS, whether weights are kept as such. Without it, it is transforms and loops,
 * which know TILE_H and TILE_W, get all other knobs as numbers and the products as a function:
 * compiled once for all configs of a tile, and each of its larger parts once.
 *
 *   U [chunk][point of U][panel of the chunk][CI][GEMM_NR]     V [point][tile][V_ROW]
 *   M [panel of the chunk][point][tile][GEMM_NR]
 *
 * Algorithm: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016; the
 * matrices are derived from the interpolation points as Toom and Cook do.
 */
#include "kernels/convolution/planes.kernel.h"
#include "kernels/convolution/winograd/winograd_tiles.kernel.h"

/* Points, and as many inputs, of a tile in each direction. */
#define AH (SH == 1 ? TILE_H + 2 : 2 * TILE_H + 1)
#define AW (SW == 1 ? TILE_W + 2 : 2 * TILE_W + 1)
#define POINTS (AH * AW)
/* All odd inputs of stride 2 meet the same weight: one point of U serves TILE points of V. */
#define UH (TILE_H + 2)
#define UW (TILE_W + 2)
#define U_POINTS (UH * UW)
#define LAST_OF(u, tile, all) ((u) <= (tile) ? (u) + 1 : (all)) /* u serves points [u, this) */
#define TILE_ROWS CEIL_DIV(OH, TILE_H)                          /* of one image */
#define TILE_COLS CEIL_DIV(OW, TILE_W)
#define CI_VECS CEIL_DIV(CI, VLEN)
/* One vector of slack in each pitch keeps rows and points from sharing cache sets. */
#define V_ROW (CI_VECS * VLEN + VLEN)

/* A product that is asked for: one point of `tiles` tiles of a block that has `block`; of TAPS
 * `depth` input channels, added to what is there where they are not the first ones. */
typedef struct point_asked {
    const DTYPE *v, *u;
    DTYPE *m;
    i64 tiles, block, depth, add;
} point_asked;
typedef void point_done(void *const *arg); /* arg: a point_asked */

#ifdef PRODUCTS
/* ---- products ---------------------------------------------------------------------------- */

INLINE void product(const point_asked *a, const int rows, i64 t)
{
    const DTYPE *v = a->v + t * V_ROW, *u = a->u;
    DTYPE *m = a->m + t * GEMM_NR;
    gemm_acc acc;
    if (TAPS && a->add)
        gemm_load(acc, rows, m, GEMM_NR, GEMM_NR);
    else
        gemm_start(acc, rows, 0, GEMM_NR);
    gemm_mac(acc, rows, TAPS ? a->depth : CI, v, V_ROW, 1, u, GEMM_NR);
    gemm_store(acc, rows, m, GEMM_NR, GEMM_NR);
}

/* The last, smaller block has no code of its own: what it computes beyond its tiles nobody
 * reads. */
void point(void *const *arg)
{
    const point_asked *a = arg[0];
    const i64 tiles = a->tiles, whole = MIN(tiles, a->block - REST);
    i64 t = 0;
    for (; t < whole; t += GEMM_MR)
        product(a, GEMM_MR, t);
    if (REST && t < tiles)
        product(a, REST, t);
}
#else
/* What the transform of one vector of channels of tile rows [r0, r1) of image n is asked: of the
 * input from channel c on, or of the output's. */
typedef struct rows_asked {
    const DTYPE *from; /* the input; or M */
    DTYPE *to;         /* V; or the output */
    DTYPE *band;       /* room for the rows of it that are not vectors of channels */
    DTYPE *zero;       /* a row of input, to be filled with zeros */
    i64 n, c, r0, r1;
    i64 point, tile;  /* from one to the next in V or M */
    void *const *arg; /* of the stage, for what is fused */
} rows_asked;

#define ALL_ROWS ((i64)N * TILE_ROWS)

/* ---- weights: OIHW to taps, taps to U ----------------------------------------------------- */

/* Vector `v` of output channels, input channels [c0, c1): [channel][9][VLEN]. */
INLINE void taps_of(const DTYPE *weight, i64 v, i64 c0, i64 c1, DTYPE *to)
{
    const i64 co = v * VLEN;
    gemm_pack_bt(to, weight + (MIN(co, CO - 1) * CI + c0) * 9, CI * 9,
                 MAX(0, MIN(VLEN, CO - co)), (c1 - c0) * 9);
}

/* One input channel of one vector of output channels: nine taps to all points, `pitch` apart. */
static __attribute__((noinline)) void points_of_taps(const DTYPE *tap, DTYPE *to, i64 pitch)
{
    vec g[3], t[UH], s[UH][3], r[UW];
    UNROLL(3)
    for (int x = 0; x < 3; x++) {
        UNROLL(3)
        for (int y = 0; y < 3; y++)
            g[y] = load(tap + (y * 3 + x) * VLEN);
        weight_1d(TILE_H, SH, g, t);
        UNROLL(16)
        for (int y = 0; y < UH; y++)
            s[y][x] = t[y];
    }
    UNROLL(16)
    for (int y = 0; y < UH; y++) {
        weight_1d(TILE_W, SW, s[y], r);
        UNROLL(16)
        for (int x = 0; x < UW; x++)
            store(to + (y * UW + x) * pitch, r[x]);
    }
}

/* arg: weight, taps [vector of output channels][CI][9][VLEN], vectors of a panel */
void keep_taps(void *const *arg)
{
    const i64 nv = *(const i64 *)arg[2], vectors = CEIL_DIV(CO, nv * VLEN) * nv;
    PARALLEL_FOR
    for (i64 v = 0; v < vectors; v++)
        taps_of(arg[0], v, 0, CI, (DTYPE *)arg[1] + v * CI * 9 * VLEN);
}

/* arg: weight, U, vectors of a panel, panels of a chunk */
void transform_weight(void *const *arg)
{
    DTYPE *u = arg[1];
    const i64 nv = *(const i64 *)arg[2], most = *(const i64 *)arg[3], nr = nv * VLEN;
    const i64 panels = CEIL_DIV(CO, nr), u_panel = (i64)CI * nr;
    PARALLEL_FOR
    for (i64 panel = 0; panel < panels; panel++) {
        const i64 chunk = panel / most, width = MIN(most, panels - chunk * most);
        DTYPE *first = u + chunk * most * U_POINTS * u_panel + panel % most * u_panel;
        for (i64 c0 = 0; c0 < CI; c0 += VLEN)
            for (i64 j = 0; j < nv; j++) {
                DTYPE tap[VLEN * 9 * VLEN];
                const i64 c1 = MIN(CI, c0 + VLEN);
                taps_of(arg[0], panel * nv + j, c0, c1, tap);
                for (i64 c = c0; c < c1; c++)
                    points_of_taps(tap + (c - c0) * 9 * VLEN, first + c * nr + j * VLEN,
                                   width * u_panel);
            }
    }
}

/* ---- input to V -------------------------------------------------------------------------- */

/* The tile at column x0 of one vector of channels; `row` are its rows from column 0 on. */
INLINE void input_tile(const DTYPE *const *row, i64 x0, DTYPE *to, i64 v_point)
{
    vec d[AH], t[AH], s[AH][AW], r[AW];
    UNROLL(1)
    for (int x = 0; x < AW; x++) {
        const int in = x0 + x >= 0 && x0 + x < W;
        UNROLL(16)
        for (int y = 0; y < AH; y++)
            d[y] = load(row[y] + (in ? x0 + x : 0) * PIXEL_IN);
        input_1d(TILE_H, SH, d, t);
        UNROLL(16)
        for (int y = 0; y < AH; y++)
            s[y][x] = in ? t[y] : (vec){0};
    }
    UNROLL(1)
    for (int y = 0; y < AH; y++) {
        input_1d(TILE_W, SW, s[y], r);
        UNROLL(16)
        for (int x = 0; x < AW; x++)
            store(to + (y * AW + x) * v_point, r[x]);
    }
}

/* To the tiles from `to` on. Rows that do not exist are one row of zeros. */
static __attribute__((noinline)) void input_rows(const rows_asked *a)
{
    const i64 y0 = MAX(0, a->r0 * TILE_H * SH - PT);
    const i64 y1 = MIN(H, (a->r1 * TILE_H - 1) * SH - PT + 3);
    const DTYPE *image =
        planes_read(a->from, a->n, a->c, y0 * W, (y1 - y0) * W, a->band) - y0 * W * PIXEL_IN;
    DTYPE *v = a->to;
    __builtin_memset(a->zero, 0, W * PIXEL_IN * sizeof(DTYPE));
    for (i64 r = a->r0; r < a->r1; r++) {
        const i64 y = r * TILE_H * SH - PT;
        const DTYPE *row[AH];
        for (i64 i = 0; i < AH; i++)
            row[i] = y + i >= 0 && y + i < H ? image + (y + i) * W * PIXEL_IN : a->zero;
        for (i64 q = 0; q < TILE_COLS; q++, v += V_ROW)
            input_tile(row, q * TILE_W * SW - PL, v, a->point);
    }
}
/* ---- M to output ------------------------------------------------------------------------- */

/* One tile of one vector of channels, `rows` x `cols` pixels of which exist. */
INLINE void output_tile(const DTYPE *from, i64 m_point, DTYPE *to, i64 rows, i64 cols)
{
    vec m[AH], y[TILE_H], s[TILE_H][AW], r[TILE_W];
    UNROLL(1)
    for (int j = 0; j < AW; j++) {
        UNROLL(16)
        for (int i = 0; i < AH; i++)
            m[i] = load(from + (i * AW + j) * m_point);
        output_1d(TILE_H, SH, m, y);
        UNROLL(16)
        for (int i = 0; i < TILE_H; i++)
            s[i][j] = y[i];
    }
    UNROLL(1)
    for (int i = 0; i < rows; i++) {
        output_1d(TILE_W, SW, s[i], r);
        UNROLL(16)
        for (int j = 0; j < TILE_W; j++)
            if (j < cols)
                store(to + (i * OW + j) * PIXEL_OUT, r[j]);
    }
}

static __attribute__((noinline)) void output_rows(const rows_asked *a)
{
    const i64 y0 = a->r0 * TILE_H, y1 = MIN(OH, a->r1 * TILE_H);
    DTYPE *image = planes_open(a->to, a->n, a->c, y0 * OW, a->band) - y0 * OW * PIXEL_OUT;
    const DTYPE *m = a->from;
    for (i64 r = a->r0; r < a->r1; r++)
        for (i64 q = 0; q < TILE_COLS; q++, m += a->tile) {
            const i64 y = r * TILE_H, x = q * TILE_W;
            output_tile(m, a->point, image + (y * OW + x) * PIXEL_OUT, MIN(TILE_H, OH - y),
                        MIN(TILE_W, OW - x));
        }
    planes_write(a->to, a->n, a->c, y0 * OW, (y1 - y0) * OW, a->band, a->arg);
}

/* ---- the whole --------------------------------------------------------------------------- */

/* What the numbers of a config come to. */
typedef struct sizes {
    i64 rows, tiles;      /* of a block */
    i64 nr, chunk;        /* channels of a panel, panels of a chunk */
    i64 v_point, m_point; /* from one point to the next */
    i64 u_panel, band;
    i64 depth, u_point; /* of taps: input channels at a time, from one point of U to the next */
} sizes;

INLINE sizes sizes_of(i64 rows, i64 chunk, i64 vectors, i64 depth)
{
    const i64 lines = MIN(rows, TILE_ROWS) * TILE_H; /* of output that a block can touch */
    const i64 in = ((lines - 1) * SH + 3) * W, out = lines * OW;
    sizes z = {.rows = rows, .tiles = rows * TILE_COLS, .nr = vectors * VLEN, .chunk = chunk};
    z.v_point = z.tiles * V_ROW + VLEN;
    z.m_point = z.tiles * z.nr + VLEN;
    z.u_panel = CI * z.nr;
    z.band = MAX(in, out) * VLEN + W * PIXEL_IN;
    z.depth = depth;
    z.u_point = depth * z.nr + VLEN;
    return z;
}

/* What a part of a block is asked: of the input to V, or of V to the output. */
typedef struct block_asked {
    const sizes *z;
    void *const *arg; /* of the stage */
    DTYPE *v;
    i64 first, last; /* tile rows, of those of all images */
} block_asked;

/* One point of U, all points of V that it serves. */
INLINE void products_of(const sizes *z, point_asked *what, i64 a, const DTYPE *v, DTYPE *m,
                        point_done *point)
{
    void *const arg[] = {what};
    for (i64 y = a / UW; y < LAST_OF(a / UW, TILE_H, AH); y++)
        for (i64 x = a % UW; x < LAST_OF(a % UW, TILE_W, AW); x++) {
            what->v = v + (y * AW + x) * z->v_point;
            what->m = m + (y * AW + x) * z->m_point;
            point(arg);
        }
}

/* A part of `parts` of `bytes` of each of a panel's streams of taps is asked for from memory. */
INLINE void ask_taps(const DTYPE *tap, i64 vectors, i64 bytes, i64 part, i64 parts)
{
    for (i64 j = 0; j < vectors; j++)
        for (i64 at = bytes * part / parts / 64 * 64; at < bytes * (part + 1) / parts; at += 64)
            __builtin_prefetch((const char *)(tap + j * CI * 9 * VLEN) + at, 0, 2);
}

/* All points of a chunk of `width` panels, for `tiles` tiles: the taps of some input channels
 * become points, which are multiplied while they are in the caches and the next taps come. */
static __attribute__((noinline)) void products_of_taps(const sizes *z, i64 tiles, i64 width,
                                                       const DTYPE *v, const DTYPE *tap,
                                                       DTYPE *m, DTYPE *u, point_done *point)
{
    const i64 nv = z->nr / VLEN;
    point_asked what = {.u = u, .tiles = tiles, .block = z->tiles};
    for (i64 q = 0; q < width; q++, tap += nv * CI * 9 * VLEN, m += POINTS * z->m_point)
        for (i64 c0 = 0; c0 < CI; c0 += z->depth) {
            const i64 depth = MIN(z->depth, CI - c0), then = c0 + depth < CI ? c0 + depth : 0;
            const DTYPE *next = tap + (then ? then : nv * CI) * 9 * VLEN;
            for (i64 j = 0; j < nv; j++)
                for (i64 c = 0; c < depth; c++)
                    points_of_taps(tap + (j * CI + c0 + c) * 9 * VLEN, u + c * z->nr + j * VLEN,
                                   z->u_point);
            what.depth = depth;
            what.add = c0 > 0;
            for (i64 a = 0; a < U_POINTS; a++) {
                what.u = u + a * z->u_point;
                ask_taps(next, nv, MIN(z->depth, CI - then) * 9 * (i64)sizeof(vec), a,
                         U_POINTS);
                products_of(z, &what, a, v + c0, m, point);
            }
        }
}

/* All points of a chunk of `width` panels, for `tiles` tiles. */
static __attribute__((noinline)) void products_of_points(const sizes *z, i64 tiles, i64 width,
                                                         const DTYPE *v, const DTYPE *u,
                                                         DTYPE *m, point_done *point)
{
    point_asked what = {.tiles = tiles, .block = z->tiles};
    for (i64 a = 0; a < U_POINTS; a++)
        for (i64 q = 0; q < width; q++, u += z->u_panel) {
            what.u = u;
            products_of(z, &what, a, v, m + q * POINTS * z->m_point, point);
        }
}

/* The vector of input channels at `c` of a block. */
static __attribute__((noinline)) void input_channels(const block_asked *b, i64 c)
{
    const sizes *z = b->z;
    DTYPE *band = (DTYPE *)b->arg[5] + THREAD * z->band;
    for (i64 r = b->first, end; r < b->last; r = end) {
        end = MIN(b->last, (r / TILE_ROWS + 1) * TILE_ROWS);
        input_rows(&(rows_asked){
            .from = b->arg[0],
            .to = b->v + (r - b->first) * TILE_COLS * V_ROW + c,
            .band = band,
            .zero = band + z->band - W * PIXEL_IN,
            .n = r / TILE_ROWS,
            .c = c,
            .r0 = r % TILE_ROWS,
            .r1 = r % TILE_ROWS + end - r,
            .point = z->v_point,
        });
    }
}

/* A chunk of output channels of a block. */
static __attribute__((noinline)) void output_channels(const block_asked *b, i64 chunk)
{
    const sizes *z = b->z;
    const i64 panels = CEIL_DIV(CO, z->nr), width = MIN(z->chunk, panels - chunk * z->chunk);
    const i64 tiles = (b->last - b->first) * TILE_COLS;
    const DTYPE *u = b->arg[1];
    DTYPE *m = (DTYPE *)b->arg[4] + THREAD * z->chunk * POINTS * z->m_point;
    point_done *point = (point_done *)b->arg[6];
    if (z->depth)
        products_of_taps(z, tiles, width, b->v, u + chunk * z->chunk * 9 * z->u_panel, m,
                         (DTYPE *)b->arg[12] + THREAD * U_POINTS * z->u_point, point);
    else
        products_of_points(z, tiles, width, b->v, u + chunk * z->chunk * U_POINTS * z->u_panel,
                           m, point);
    for (i64 q = 0; q < width; q++)
        for (i64 j = 0; j < z->nr; j += VLEN) {
            const i64 c = (chunk * z->chunk + q) * z->nr + j;
            for (i64 r = b->first, end; r < b->last && c < CO; r = end) {
                end = MIN(b->last, (r / TILE_ROWS + 1) * TILE_ROWS);
                output_rows(&(rows_asked){
                    .from =
                        m + q * POINTS * z->m_point + (r - b->first) * TILE_COLS * z->nr + j,
                    .to = b->arg[2],
                    .band = (DTYPE *)b->arg[5] + THREAD * z->band,
                    .n = r / TILE_ROWS,
                    .c = c,
                    .r0 = r % TILE_ROWS,
                    .r1 = r % TILE_ROWS + end - r,
                    .point = z->m_point,
                    .tile = z->nr,
                    .arg = b->arg,
                });
            }
        }
}

INLINE block_asked block_of(const sizes *z, void *const *arg, i64 block, i64 owner)
{
    return (block_asked){.z = z,
                         .arg = arg,
                         .v = (DTYPE *)arg[3] + owner * POINTS * z->v_point,
                         .first = block * z->rows,
                         .last = MIN((block + 1) * z->rows, ALL_ROWS)};
}

/* arg: data, U or taps, out, V, M, bands, point, tile rows of a block, panels of a chunk, vectors
 * of a panel, whether threads take blocks; of taps how many input channels at a time, else 0, and
 * some of U */
void winograd(void *const *arg)
{
    const sizes z = sizes_of(*(const i64 *)arg[7], *(const i64 *)arg[8], *(const i64 *)arg[9],
                             *(const i64 *)arg[11]);
    const i64 chunks = CEIL_DIV(CEIL_DIV(CO, z.nr), z.chunk),
              blocks = CEIL_DIV(ALL_ROWS, z.rows);
    if (*(const i64 *)arg[10]) {
        PARALLEL_FOR
        for (i64 block = 0; block < blocks; block++) {
            const block_asked b = block_of(&z, arg, block, THREAD);
            for (i64 c = 0; c < CI; c += VLEN)
                input_channels(&b, c);
            for (i64 chunk = 0; chunk < chunks; chunk++)
                output_channels(&b, chunk);
        }
        return;
    }
    for (i64 block = 0; block < blocks; block++) {
        const block_asked b = block_of(&z, arg, block, 0);
        PARALLEL_FOR
        for (i64 c = 0; c < CI; c += VLEN)
            input_channels(&b, c);
        PARALLEL_FOR
        for (i64 chunk = 0; chunk < chunks; chunk++)
            output_channels(&b, chunk);
    }
}
#endif
