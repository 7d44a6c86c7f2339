/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.cpu: F(tile_h x tile_w, 3x3) on vectors of channels, tiles of 1, 2, 4 or 7
 * outputs in each direction.
 *
 * The one idea: a block of tiles is transformed, multiplied and transformed back before the
 * next one is looked at. Its transformed input V stays in the L2 while the packed weights U
 * stream by once, and a chunk of products M is transformed back while it is still warm.
 *
 * Of weights kept as taps, U is no memory of its own: what streams by are the nine taps of each
 * pair of channels, which become points a few input channels at a time, in each thread's own
 * memory.
 *
 * Three modules, so that little is compiled for a config; macros from the plan are the shape and
 * what each adds. With PRODUCTS defined, this file is the register tile alone: GEMM_MR GEMM_NV
 * GEMM_KU, REST, the tiles that whole ones leave of a block, and PREFETCH, whether U is asked for
 * ahead; how far is a number. With TRANSFORMS, it is the transforms of tiles of TILE_H x TILE_W,
 * once for all configs of such a tile. With neither, it is the loops, which read and write the
 * tensors, get all knobs as numbers and the other two as functions: compiled once for a shape.
 *
 *   U [chunk][point of U][panel of the chunk][CI][GEMM_NR]     V [point][tile][V_ROW]
 *   M [panel of the chunk][point][tile][GEMM_NR]
 *
 * Algorithm: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016; the
 * matrices are derived from the interpolation points as Toom and Cook do.
 */
#include "kernels/common/shares.shared.h"
#include "kernels/convolution/planes.kernel.h"
#ifdef TRANSFORMS
#include "kernels/convolution/winograd/winograd_tiles.kernel.h"
#endif

/* Points, and as many inputs, of a tile of so many outputs in each direction. */
#define POINTS_H(tile) (SH == 1 ? (tile) + 2 : 2 * (tile) + 1)
#define POINTS_W(tile) (SW == 1 ? (tile) + 2 : 2 * (tile) + 1)
/* All odd inputs of stride 2 meet the same weight: one point of U serves `tile` points of V. */
#define U_OF(tile) ((tile) + 2)
#define LAST_OF(u, tile, all) ((u) <= (tile) ? (u) + 1 : (all)) /* u serves points [u, this) */
#define CI_VECS CEIL_DIV(CI, VLEN)
/* One vector of slack in each pitch keeps rows and points from sharing cache sets. */
#define V_ROW (CI_VECS * VLEN + VLEN)

/* A function of another module: arg[0] is what it is asked. */
typedef void asked_function(void *const *arg);

/* A product that is asked for: one point of `tiles` tiles of a block that has `block`, of `depth`
 * input channels, added to what is there where they are not the first ones; U is asked for `ahead`
 * channels ahead. */
typedef struct point_asked {
    const DTYPE *v, *u;
    DTYPE *m;
    i64 tiles, block, depth, add, ahead;
} point_asked;

/* Taps of `count` input channels of a vector of output channels, [channel][9][VLEN], to points. */
typedef struct taps_asked {
    const DTYPE *tap;
    DTYPE *to;
    i64 count, step, pitch; /* from one channel to the next, from one point to the next */
} taps_asked;

/* A row of tiles of a vector of input channels to points. */
typedef struct input_asked {
    const DTYPE *const *row; /* of each row of inputs of a tile, from column 0 on */
    DTYPE *to;
    i64 point; /* from one to the next */
} input_asked;

/* A row of tiles of a vector of output channels, `rows` of whose pixels exist, from points. */
typedef struct output_asked {
    const DTYPE *from;
    DTYPE *to;
    i64 point, tile; /* from one to the next */
    i64 rows;
} output_asked;

/* What the module of transforms says of itself. */
typedef struct transforms_asked {
    i64 tile_h, tile_w;
    asked_function *taps, *input, *output;
} transforms_asked;

#ifdef PRODUCTS
/* ---- products ---------------------------------------------------------------------------- */

/* gemm_mac over rows of V, but that how far ahead U is asked for is told at run time. There is a
 * channel at least: sums that may or may not be added to would not stay in registers. */
INLINE void mac(gemm_acc acc, const int rows, i64 depth, i64 ahead, const DTYPE *v,
                const DTYPE *u)
{
    const DTYPE *end = u + depth * GEMM_NR;
    UNROLL(GEMM_KU)
    do {
        vec uv[GEMM_NV];
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++) {
            uv[j] = load(u + j * VLEN);
            if (PREFETCH)
                __builtin_prefetch(u + ahead + j * VLEN, 0, 3);
        }
        UNROLL(64)
        for (int i = 0; i < rows; i++) {
            const vec one = splat(v[i * V_ROW]);
            UNROLL(64)
            for (int j = 0; j < GEMM_NV; j++)
                acc[i][j] += one * uv[j];
        }
        v++;
        u += GEMM_NR;
    } while (u != end);
}

/* Without a branch between two ways to begin, over which sums would not stay in registers. */
INLINE void product(const point_asked *a, const int rows, i64 t)
{
    static const vec none[GEMM_NV];
    DTYPE *m = a->m + t * GEMM_NR;
    gemm_acc acc;
    gemm_load(acc, rows, a->add ? m : (const DTYPE *)none, a->add ? GEMM_NR : 0, GEMM_NR);
    mac(acc, rows, a->depth, a->ahead * GEMM_NR, a->v + t * V_ROW, a->u);
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
#elif defined TRANSFORMS
#define AH POINTS_H(TILE_H)
#define AW POINTS_W(TILE_W)
#define UH U_OF(TILE_H)
#define UW U_OF(TILE_W)

/* ---- taps to U ---------------------------------------------------------------------------- */

/* One input channel: nine taps to all points, `pitch` apart. */
INLINE void points_of_taps(const DTYPE *tap, DTYPE *to, i64 pitch)
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

static void taps(void *const *arg)
{
    const taps_asked a = *(const taps_asked *)arg[0];
    for (i64 c = 0; c < a.count; c++)
        points_of_taps(a.tap + c * 9 * VLEN, a.to + c * a.step, a.pitch);
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

static void input(void *const *arg)
{
    const input_asked a = *(const input_asked *)arg[0];
    const DTYPE *row[AH];
    for (int i = 0; i < AH; i++)
        row[i] = a.row[i];
    for (i64 q = 0; q < CEIL_DIV(OW, TILE_W); q++)
        input_tile(row, q * TILE_W * SW - PL, a.to + q * V_ROW, a.point);
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

static void output(void *const *arg)
{
    const output_asked a = *(const output_asked *)arg[0];
    for (i64 q = 0; q < CEIL_DIV(OW, TILE_W); q++)
        output_tile(a.from + q * a.tile, a.point, a.to + q * TILE_W * PIXEL_OUT, a.rows,
                    MIN(TILE_W, OW - q * TILE_W));
}

void transforms(void *const *arg)
{
    *(transforms_asked *)arg[0] = (transforms_asked){
        .tile_h = TILE_H, .tile_w = TILE_W, .taps = taps, .input = input, .output = output};
}
#else
enum { MOST_AH = 2 * 7 + 1 };

/* ---- sizes -------------------------------------------------------------------------------- */

/* What the numbers of a config come to. */
typedef struct sizes {
    transforms_asked does;
    i64 points, ah, aw;       /* of a tile */
    i64 uh, uw;               /* and of its weights */
    i64 tile_rows, tile_cols; /* of one image */
    i64 rows, tiles;          /* of a block */
    i64 nr, chunk;            /* channels of a panel, panels of a chunk */
    i64 v_point, m_point;     /* from one point to the next */
    i64 u_panel, band;
    i64 depth, u_point; /* of taps: input channels at a time, from one point of U to the next */
    i64 ahead;          /* channels that U is asked for ahead */
} sizes;

INLINE sizes sizes_of(void *const *arg)
{
    sizes z = {.rows = *(const i64 *)arg[8],
               .chunk = *(const i64 *)arg[9],
               .nr = *(const i64 *)arg[10] * VLEN,
               .depth = *(const i64 *)arg[12],
               .ahead = *(const i64 *)arg[14]};
    ((asked_function *)arg[7])((void *[]){&z.does});
    const i64 h = z.does.tile_h, w = z.does.tile_w;
    z.ah = POINTS_H(h);
    z.aw = POINTS_W(w);
    z.uh = U_OF(h);
    z.uw = U_OF(w);
    z.points = z.ah * z.aw;
    z.tile_rows = CEIL_DIV(OH, h);
    z.tile_cols = CEIL_DIV(OW, w);
    const i64 lines = MIN(z.rows, z.tile_rows) * h; /* of output that a block can touch */
    const i64 in = ((lines - 1) * SH + 3) * W, out = lines * OW;
    z.tiles = z.rows * z.tile_cols;
    z.v_point = z.tiles * V_ROW + VLEN;
    z.m_point = z.tiles * z.nr + VLEN;
    z.u_panel = CI * z.nr;
    z.band = MAX(in, out) * VLEN + W * PIXEL_IN;
    z.u_point = z.depth * z.nr + VLEN;
    return z;
}

/* ---- weights: OIHW to taps, taps to U ----------------------------------------------------- */

/* Vector `v` of output channels, input channels [c0, c1): [channel][9][VLEN]. */
static __attribute__((noinline)) void taps_of(const DTYPE *weight, i64 v, i64 c0, i64 c1,
                                              DTYPE *to)
{
    const i64 co = v * VLEN;
    gemm_pack_bt(to, weight + (MIN(co, CO - 1) * CI + c0) * 9, CI * 9,
                 MAX(0, MIN(VLEN, CO - co)), (c1 - c0) * 9);
}

/* arg: weight, taps [vector of output channels][CI][9][VLEN], transforms, vectors of a panel */
void keep_taps(void *const *arg)
{
    const i64 nv = *(const i64 *)arg[3], vectors = CEIL_DIV(CO, nv * VLEN) * nv;
    PARALLEL_FOR
    for (i64 v = 0; v < vectors; v++)
        taps_of(arg[0], v, 0, CI, (DTYPE *)arg[1] + v * CI * 9 * VLEN);
}

/* arg: weight, U, transforms, vectors of a panel, panels of a chunk */
void transform_weight(void *const *arg)
{
    transforms_asked does;
    ((asked_function *)arg[2])((void *[]){&does});
    DTYPE *u = arg[1];
    const i64 nv = *(const i64 *)arg[3], most = *(const i64 *)arg[4], nr = nv * VLEN;
    const i64 panels = CEIL_DIV(CO, nr), u_panel = (i64)CI * nr;
    const i64 u_points = U_OF(does.tile_h) * U_OF(does.tile_w);
    PARALLEL_FOR
    for (i64 panel = 0; panel < panels; panel++) {
        const i64 chunk = panel / most, width = MIN(most, panels - chunk * most);
        DTYPE *first = u + chunk * most * u_points * u_panel + panel % most * u_panel;
        for (i64 c0 = 0; c0 < CI; c0 += VLEN)
            for (i64 j = 0; j < nv; j++) {
                DTYPE tap[VLEN * 9 * VLEN];
                const i64 c1 = MIN(CI, c0 + VLEN);
                taps_of(arg[0], panel * nv + j, c0, c1, tap);
                does.taps((void *[]){&(taps_asked){.tap = tap,
                                                   .to = first + c0 * nr + j * VLEN,
                                                   .count = c1 - c0,
                                                   .step = nr,
                                                   .pitch = width * u_panel}});
            }
    }
}

/* ---- input to V -------------------------------------------------------------------------- */

/* What a part of a block is asked: of the input to V, or of V to the output. */
typedef struct block_asked {
    const sizes *z;
    void *const *arg; /* of the stage */
    DTYPE *v;
    i64 first, last; /* tile rows, of those of all images */
} block_asked;

/* Tile rows [r0, r1) of image n of the vector of channels at `c`, to the tiles from `to` on. Rows
 * that do not exist are one row of zeros. */
static __attribute__((noinline)) void input_rows(const block_asked *b, i64 n, i64 c, i64 r0,
                                                 i64 r1, DTYPE *to)
{
    const sizes *z = b->z;
    const i64 step = z->does.tile_h * SH;
    const i64 y0 = MAX(0, r0 * step - PT);
    const i64 y1 = MIN(H, (r1 * z->does.tile_h - 1) * SH - PT + 3);
    DTYPE *band = (DTYPE *)b->arg[5] + THREAD * z->band, *zero = band + z->band - W * PIXEL_IN;
    const DTYPE *image =
        planes_read(b->arg[0], n, c, y0 * W, (y1 - y0) * W, band) - y0 * W * PIXEL_IN;
    __builtin_memset(zero, 0, W * PIXEL_IN * sizeof(DTYPE));
    for (i64 r = r0; r < r1; r++, to += z->tile_cols * V_ROW) {
        const i64 y = r * step - PT;
        const DTYPE *row[MOST_AH];
        for (i64 i = 0; i < z->ah; i++)
            row[i] = y + i >= 0 && y + i < H ? image + (y + i) * W * PIXEL_IN : zero;
        z->does.input((void *[]){&(input_asked){.row = row, .to = to, .point = z->v_point}});
    }
}

/* Tile rows [first, last) of a block of the vector of input channels at `c`. */
static void input_channels(const block_asked *b, i64 c, i64 first, i64 last)
{
    const i64 all = b->z->tile_rows;
    for (i64 r = first, end; r < last; r = end) {
        end = MIN(last, (r / all + 1) * all);
        input_rows(b, r / all, c, r % all, r % all + end - r,
                   b->v + (r - b->first) * b->z->tile_cols * V_ROW + c);
    }
}

/* ---- M to output ------------------------------------------------------------------------- */

/* The same of output channels, from the products from `m` on. */
static __attribute__((noinline)) void output_rows(const block_asked *b, i64 n, i64 c, i64 r0,
                                                  i64 r1, const DTYPE *m)
{
    const sizes *z = b->z;
    const i64 h = z->does.tile_h, y0 = r0 * h, y1 = MIN(OH, r1 * h);
    DTYPE *band = (DTYPE *)b->arg[5] + THREAD * z->band;
    DTYPE *image = planes_open(b->arg[2], n, c, y0 * OW, band) - y0 * OW * PIXEL_OUT;
    for (i64 r = r0; r < r1; r++, m += z->tile_cols * z->nr)
        z->does.output((void *[]){&(output_asked){.from = m,
                                                  .to = image + r * h * OW * PIXEL_OUT,
                                                  .point = z->m_point,
                                                  .tile = z->nr,
                                                  .rows = MIN(h, OH - r * h)}});
    planes_write(b->arg[2], n, c, y0 * OW, (y1 - y0) * OW, band, b->arg);
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Point (y0, x0) of U, all points of V that it serves. */
INLINE void products_of(const sizes *z, point_asked *what, i64 y0, i64 x0, const DTYPE *v,
                        DTYPE *m, asked_function *point)
{
    void *const arg[] = {what};
    const i64 y1 = LAST_OF(y0, z->does.tile_h, z->ah), x1 = LAST_OF(x0, z->does.tile_w, z->aw);
    for (i64 y = y0; y < y1; y++)
        for (i64 x = x0; x < x1; x++) {
            what->v = v + (y * z->aw + x) * z->v_point;
            what->m = m + (y * z->aw + x) * z->m_point;
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
                                                       DTYPE *m, DTYPE *u,
                                                       asked_function *point)
{
    const i64 nv = z->nr / VLEN;
    point_asked what = {.u = u, .tiles = tiles, .block = z->tiles, .ahead = z->ahead};
    for (i64 q = 0; q < width; q++, tap += nv * CI * 9 * VLEN, m += z->points * z->m_point)
        for (i64 c0 = 0; c0 < CI; c0 += z->depth) {
            const i64 depth = MIN(z->depth, CI - c0), then = c0 + depth < CI ? c0 + depth : 0;
            const DTYPE *next = tap + (then ? then : nv * CI) * 9 * VLEN;
            for (i64 j = 0; j < nv; j++)
                z->does.taps((void *[]){&(taps_asked){.tap = tap + (j * CI + c0) * 9 * VLEN,
                                                      .to = u + j * VLEN,
                                                      .count = depth,
                                                      .step = z->nr,
                                                      .pitch = z->u_point}});
            what.depth = depth;
            what.add = c0 > 0;
            what.u = u;
            for (i64 y = 0, a = 0; y < z->uh; y++)
                for (i64 x = 0; x < z->uw; x++, a++, what.u += z->u_point) {
                    ask_taps(next, nv, MIN(z->depth, CI - then) * 9 * (i64)sizeof(vec), a,
                             z->uh * z->uw);
                    products_of(z, &what, y, x, v + c0, m, point);
                }
        }
}

/* All points of a chunk of `width` panels, for `tiles` tiles. */
static __attribute__((noinline)) void products_of_points(const sizes *z, i64 tiles, i64 width,
                                                         const DTYPE *v, const DTYPE *u,
                                                         DTYPE *m, asked_function *point)
{
    point_asked what = {.tiles = tiles, .block = z->tiles, .depth = CI, .ahead = z->ahead};
    for (i64 y = 0; y < z->uh; y++)
        for (i64 x = 0; x < z->uw; x++)
            for (i64 q = 0; q < width; q++, u += z->u_panel) {
                what.u = u;
                products_of(z, &what, y, x, v, m + q * z->points * z->m_point, point);
            }
}

/* A chunk of output channels of a block. */
static __attribute__((noinline)) void output_channels(const block_asked *b, i64 chunk)
{
    const sizes *z = b->z;
    const i64 panels = CEIL_DIV(CO, z->nr), width = MIN(z->chunk, panels - chunk * z->chunk);
    const i64 all = z->tile_rows, tiles = (b->last - b->first) * z->tile_cols;
    const DTYPE *u = b->arg[1];
    DTYPE *m = (DTYPE *)b->arg[4] + THREAD * z->chunk * z->points * z->m_point;
    asked_function *point = (asked_function *)b->arg[6];
    if (z->depth)
        products_of_taps(z, tiles, width, b->v, u + chunk * z->chunk * 9 * z->u_panel, m,
                         (DTYPE *)b->arg[13] + THREAD * z->uh * z->uw * z->u_point, point);
    else
        products_of_points(z, tiles, width, b->v,
                           u + chunk * z->chunk * z->uh * z->uw * z->u_panel, m, point);
    for (i64 q = 0; q < width; q++)
        for (i64 j = 0; j < z->nr; j += VLEN) {
            const i64 c = (chunk * z->chunk + q) * z->nr + j;
            const DTYPE *from = m + q * z->points * z->m_point + j;
            for (i64 r = b->first, end; r < b->last && c < CO; r = end) {
                end = MIN(b->last, (r / all + 1) * all);
                output_rows(b, r / all, c, r % all, r % all + end - r,
                            from + (r - b->first) * z->tile_cols * z->nr);
            }
        }
}

INLINE block_asked block_of(const sizes *z, void *const *arg, i64 block, i64 owner)
{
    return (block_asked){.z = z,
                         .arg = arg,
                         .v = (DTYPE *)arg[3] + owner * z->points * z->v_point,
                         .first = block * z->rows,
                         .last = MIN((block + 1) * z->rows, N * z->tile_rows)};
}

/* arg: data, U or taps, out, V, M, bands, point, transforms, tile rows of a block, panels of a
 * chunk, vectors of a panel, whether threads take blocks, else channels; of taps how many input
 * channels at a time, else 0, and some of U; how many channels ahead U is asked for */
void winograd(void *const *arg)
{
    const sizes z = sizes_of(arg);
    const i64 chunks = CEIL_DIV(CEIL_DIV(CO, z.nr), z.chunk);
    const i64 blocks = CEIL_DIV(N * z.tile_rows, z.rows);
    if (*(const i64 *)arg[11]) {
        PARALLEL_FOR
        for (i64 block = 0; block < blocks; block++) {
            const block_asked b = block_of(&z, arg, block, THREAD);
            for (i64 c = 0; c < CI; c += VLEN)
                input_channels(&b, c, b.first, b.last);
            for (i64 chunk = 0; chunk < chunks; chunk++)
                output_channels(&b, chunk);
        }
        return;
    }
    for (i64 block = 0; block < blocks; block++) {
        const block_asked b = block_of(&z, arg, block, 0);
        const i64 rows = b.last - b.first;
        const i64 parts = even_pieces(OT_THREADS, CI_VECS, 1, rows);
        PARALLEL_FOR
        for (i64 i = 0; i < parts * CI_VECS; i++)
            input_channels(&b, i % CI_VECS * VLEN, b.first + i / CI_VECS * rows / parts,
                           b.first + (i / CI_VECS + 1) * rows / parts);
        PARALLEL_FOR
        for (i64 chunk = 0; chunk < chunks; chunk++)
            output_channels(&b, chunk);
    }
}
#endif
