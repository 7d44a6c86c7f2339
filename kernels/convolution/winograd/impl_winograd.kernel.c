/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd.cpu: F(TILE_H x TILE_W, 3x3) on vectors of channels. Macros from the plan:
 * the shape, TILE_H TILE_W (1, 2, 4 or 7), SPLIT_BLOCKS (threads take blocks of tiles, else
 * channels); numbers: the tile rows of a block, panels of output channels of a chunk, vectors of a
 * panel.
 *
 * The one idea: a block of tiles is transformed, multiplied and transformed back before the
 * next one is looked at. Its transformed input V stays in the L2 while the packed weights U
 * stream by once, and a chunk of products M is transformed back while it is still warm.
 *
 * Two modules, so that little is compiled for a config. With PRODUCTS defined, this file is the
 * register tile alone: GEMM_MR GEMM_NV GEMM_KU GEMM_AHEAD, and REST, the tiles that whole ones
 * leave of a block. Without it, it is transforms and loops, which know TILE_H, TILE_W and
 * SPLIT_BLOCKS, get all other knobs as numbers and the products as a function: compiled once for
 * all configs of a tile.
 *
 *   U [chunk][point of U][panel of the chunk][CI][GEMM_NR]     V [point][tile][V_ROW]
 *   M [panel of the chunk][point][tile][GEMM_NR]
 *
 * Algorithm: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016; the
 * matrices are derived from the interpolation points as Toom and Cook do.
 */
#include "kernels/convolution/planes.kernel.h"
#include "kernels/convolution/winograd/winograd_points.kernel.h"

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

/* A product that is asked for: one point of `tiles` tiles of a block that has `block`. */
typedef struct point_asked {
    const DTYPE *v, *u;
    DTYPE *m;
    i64 tiles, block;
} point_asked;
typedef void point_done(void *const *arg); /* arg: a point_asked */

#ifdef PRODUCTS
/* ---- products ---------------------------------------------------------------------------- */

INLINE void product(const int rows, const DTYPE *v, const DTYPE *u, DTYPE *m)
{
    gemm_acc acc;
    gemm_start(acc, rows, 0, GEMM_NR);
    gemm_mac(acc, rows, CI, v, V_ROW, 1, u, GEMM_NR);
    gemm_store(acc, rows, m, GEMM_NR, GEMM_NR);
}

/* The last, smaller block has no code of its own: what it computes beyond its tiles nobody
 * reads. */
void point(void *const *arg)
{
    const point_asked *a = arg[0];
    const DTYPE *v = a->v, *u = a->u;
    DTYPE *m = a->m;
    const i64 tiles = a->tiles, whole = MIN(tiles, a->block - REST);
    i64 t = 0;
    for (; t < whole; t += GEMM_MR)
        product(GEMM_MR, v + t * V_ROW, u, m + t * GEMM_NR);
    if (REST && t < tiles)
        product(REST, v + t * V_ROW, u, m + t * GEMM_NR);
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

#if SPLIT_BLOCKS
#define PARALLEL_BLOCKS PARALLEL_FOR
#define PARALLEL_CHANNELS
#define V_OWNER THREAD
#else
#define PARALLEL_BLOCKS
#define PARALLEL_CHANNELS PARALLEL_FOR
#define V_OWNER 0
#endif

/* ---- one-dimensional transforms ---------------------------------------------------------- */

/* Stride 2 sees two sequences: the even inputs with two weights, by F(2,2) at 0, 1 and infinity
 * or F(4,2) at 0, 1, -1, 2 and infinity, and the odd inputs with one weight, as they are. A
 * tile of 1 is no transform at all.
 *
 * Tiles of 7, for rows of 7, 14, 28 ..., interpolate at pairs of points +-x and infinity:
 * F(7,3) at four pairs, F(7,2) at three and 0. */
INLINE DTYPE pair(const int stride, const int i)
{
    return stride == 2 ? PAIR_2(i) : PAIR_1(i);
}

/* The j-th of the pairs other than i, squared. */
INLINE DTYPE other(const int stride, const int i, const int j)
{
    const DTYPE x = pair(stride, j + (j >= i));
    return x * x;
}

/* Over the product of the differences to all other finite points, at x > 0. */
INLINE DTYPE norm(const int stride, const int i)
{
    const DTYPE x = pair(stride, i), z = x * x;
    if (stride == 2)
        return 1 / (2 * z * (z - other(2, i, 0)) * (z - other(2, i, 1)));
    return 1 / (2 * x * (z - other(1, i, 0)) * (z - other(1, i, 1)) * (z - other(1, i, 2)));
}

INLINE void weight_7(const int stride, const vec *g, vec *t)
{
    const int pairs = stride == 2 ? 3 : 4;
    UNROLL(16)
    for (int i = 0; i < pairs; i++) {
        const DTYPE x = pair(stride, i), n = norm(stride, i);
        const vec e = (stride == 2 ? g[0] : g[0] + g[2] * (x * x)) * n;
        const vec o = (stride == 2 ? g[2] : g[1]) * (x * n);
        t[2 * i] = e + o;
        t[2 * i + 1] = stride == 2 ? e - o : o - e;
    }
    if (stride == 1) {
        t[8] = g[2];
        return;
    }
    const DTYPE a = other(2, 3, 0), b = other(2, 3, 1), c = other(2, 3, 2);
    t[6] = g[0] * (-1 / (a * b * c));
    t[7] = g[2];
    t[8] = g[1];
}

/* A polynomial in x^2 with roots at three or two others' squares, on every second input. */
INLINE vec roots_3(const int i, const vec *d)
{
    const DTYPE a = other(1, i, 0), b = other(1, i, 1), c = other(1, i, 2);
    return (d[6] - d[4] * (a + b + c)) + (d[2] * (a * b + a * c + b * c) - d[0] * (a * b * c));
}
INLINE vec roots_2(const int i, const vec *d)
{
    const DTYPE a = other(2, i, 0), b = other(2, i, 1);
    return d[8] - d[4] * (a + b) + d[0] * (a * b);
}

INLINE void input_7(const int stride, const vec *d, vec *t)
{
    if (stride == 1) {
        UNROLL(16)
        for (int i = 0; i < 4; i++) {
            const vec o = roots_3(i, d + 1), e = roots_3(i, d) * pair(1, i);
            t[2 * i] = o + e;
            t[2 * i + 1] = o - e;
        }
        const DTYPE z = pair(1, 3) * pair(1, 3);
        t[8] = roots_3(3, d + 2) - roots_3(3, d) * z;
        return;
    }
    UNROLL(16)
    for (int i = 0; i < 3; i++) {
        const vec e = roots_2(i, d + 4), o = roots_2(i, d + 2) * pair(2, i);
        t[2 * i] = e + o;
        t[2 * i + 1] = e - o;
    }
    const DTYPE z = pair(2, 2) * pair(2, 2);
    t[6] = roots_2(2, d + 4) - roots_2(2, d) * z;
    t[7] = roots_2(2, d + 6) - roots_2(2, d + 2) * z;
    UNROLL(16)
    for (int i = 0; i < 7; i++)
        t[8 + i] = d[2 * i + 1];
}

INLINE void output_7(const int stride, const vec *t, vec *y)
{
    UNROLL(16)
    for (int k = 0; k < 7; k++)
        y[k] = stride == 2 ? t[8 + k] : (vec){0};
    y[6] += t[stride == 2 ? 7 : 8];
    if (stride == 2)
        y[0] += t[6];
    const int pairs = stride == 2 ? 3 : 4;
    UNROLL(16)
    for (int i = 0; i < pairs; i++) {
        const vec e = t[2 * i] + t[2 * i + 1], o = t[2 * i] - t[2 * i + 1];
        DTYPE power = 1;
        UNROLL(16)
        for (int k = 0; k < 7; k++) {
            y[k] += (k % 2 ? o : e) * power;
            power *= pair(stride, i);
        }
    }
}

INLINE void plain(const vec *from, vec *to)
{
    UNROLL(16)
    for (int i = 0; i < 3; i++)
        to[i] = from[i];
}

/* t = G g: three weights to the points of U, where odd inputs share one. */
INLINE void weight_1d(const int m, const int stride, const vec *g, vec *t)
{
    if (m == 1) {
        plain(g, t);
    } else if (m == 7) {
        weight_7(stride, g, t);
    } else if (stride == 2) {
        if (m == 2) {
            t[0] = g[0];
            t[1] = g[0] + g[2];
            t[2] = g[2];
        } else {
            t[0] = g[0] * (DTYPE)0.5;
            t[1] = (g[0] + g[2]) * (DTYPE)-0.5;
            t[2] = (g[2] - g[0]) * (DTYPE)(1 / 6.0);
            t[3] = (g[0] + 2 * g[2]) * (DTYPE)(1 / 6.0);
            t[4] = g[2];
        }
        t[m + 1] = g[1];
    } else {
        points_of_weight(m, g, t);
    }
}

/* t = B^T d: inputs to points. */
INLINE void input_1d(const int m, const int stride, const vec *d, vec *t)
{
    if (m == 1) {
        plain(d, t);
    } else if (m == 7) {
        input_7(stride, d, t);
    } else if (stride == 2) {
        if (m == 2) {
            t[0] = d[0] - d[2];
            t[1] = d[2];
            t[2] = d[4] - d[2];
        } else {
            const vec a = d[6] - d[4] - 2 * d[2], b = d[6] - d[2];
            t[0] = b + 2 * (d[0] - d[4]);
            t[1] = a;
            t[2] = d[6] - 3 * d[4] + 2 * d[2];
            t[3] = b;
            t[4] = d[8] - d[4] - 2 * b;
        }
        UNROLL(16)
        for (int i = 0; i < m; i++)
            t[m + 1 + i] = d[2 * i + 1];
    } else {
        points_of_input(m, d, t);
    }
}

/* y = A^T t: points to m outputs. */
INLINE void output_1d(const int m, const int stride, const vec *t, vec *y)
{
    if (m == 1) {
        y[0] = t[0] + t[1] + t[2];
    } else if (m == 7) {
        output_7(stride, t, y);
    } else if (stride == 2) {
        if (m == 2) {
            y[0] = t[0] + t[1] + t[3];
            y[1] = t[1] + t[2] + t[4];
        } else {
            const vec e = t[1] + t[2], o = t[1] - t[2];
            y[0] = t[0] + e + t[3] + t[5];
            y[1] = o + 2 * t[3] + t[6];
            y[2] = e + 4 * t[3] + t[7];
            y[3] = o + 8 * t[3] + t[4] + t[8];
        }
    } else {
        outputs_of_points(m, t, y);
    }
}

/* ---- weights: OIHW to U ------------------------------------------------------------------ */

/* arg: weight, U, vectors of a panel, panels of a chunk */
void transform_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *u = arg[1];
    const i64 nv = *(const i64 *)arg[2], most = *(const i64 *)arg[3], nr = nv * VLEN;
    const i64 panels = CEIL_DIV(CO, nr), u_panel = (i64)CI * nr;
    PARALLEL_FOR
    for (i64 panel = 0; panel < panels; panel++) {
        const i64 chunk = panel / most, width = MIN(most, panels - chunk * most);
        DTYPE *first = u + chunk * most * U_POINTS * u_panel + panel % most * u_panel;
        for (i64 c = 0; c < CI; c++)
            for (i64 j = 0; j < nv; j++) {
                const i64 co = panel * nr + j * VLEN;
                vec g[3][3] = {0}, t[UH], s[UH][3], r[UW];
                for (i64 l = 0; l < VLEN && co + l < CO; l++)
                    for (i64 k = 0; k < 9; k++)
                        ((DTYPE *)&g[k % 3][k / 3])[l] = weight[((co + l) * CI + c) * 9 + k];
                UNROLL(1)
                for (int x = 0; x < 3; x++) {
                    weight_1d(TILE_H, SH, g[x], t);
                    UNROLL(16)
                    for (int y = 0; y < UH; y++)
                        s[y][x] = t[y];
                }
                UNROLL(1)
                for (int y = 0; y < UH; y++) {
                    weight_1d(TILE_W, SW, s[y], r);
                    UNROLL(16)
                    for (int x = 0; x < UW; x++)
                        store(first + (y * UW + x) * width * u_panel + c * nr + j * VLEN, r[x]);
                }
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
} sizes;

INLINE sizes sizes_of(i64 rows, i64 chunk, i64 vectors)
{
    const i64 lines = MIN(rows, TILE_ROWS) * TILE_H; /* of output that a block can touch */
    const i64 in = ((lines - 1) * SH + 3) * W, out = lines * OW;
    sizes z = {.rows = rows, .tiles = rows * TILE_COLS, .nr = vectors * VLEN, .chunk = chunk};
    z.v_point = z.tiles * V_ROW + VLEN;
    z.m_point = z.tiles * z.nr + VLEN;
    z.u_panel = CI * z.nr;
    z.band = MAX(in, out) * VLEN + W * PIXEL_IN;
    return z;
}

/* All points of a chunk of `width` panels, for `tiles` tiles. */
INLINE void products(const sizes *z, i64 tiles, i64 width, const DTYPE *v, const DTYPE *u,
                     DTYPE *m, point_done *point)
{
    point_asked what = {.tiles = tiles, .block = z->tiles};
    void *const arg[] = {&what};
    for (i64 a = 0; a < U_POINTS; a++)
        for (i64 q = 0; q < width; q++, u += z->u_panel)
            for (i64 y = a / UW; y < LAST_OF(a / UW, TILE_H, AH); y++)
                for (i64 x = a % UW; x < LAST_OF(a % UW, TILE_W, AW); x++) {
                    what.v = v + (y * AW + x) * z->v_point;
                    what.u = u;
                    what.m = m + (q * POINTS + y * AW + x) * z->m_point;
                    point(arg);
                }
}

/* arg: data, U, out, V, M, bands, point, tile rows of a block, panels of a chunk, vectors of a
 * panel */
void winograd(void *const *arg)
{
    const DTYPE *data = arg[0], *u = arg[1];
    DTYPE *out = arg[2], *v_all = arg[3], *m_all = arg[4], *bands = arg[5];
    point_done *point = (point_done *)arg[6];
    const sizes z = sizes_of(*(const i64 *)arg[7], *(const i64 *)arg[8], *(const i64 *)arg[9]);
    const i64 panels = CEIL_DIV(CO, z.nr), chunks = CEIL_DIV(panels, z.chunk);
    const i64 blocks = CEIL_DIV(ALL_ROWS, z.rows);
    PARALLEL_BLOCKS
    for (i64 block = 0; block < blocks; block++) {
        const i64 first = block * z.rows, last = MIN(first + z.rows, ALL_ROWS);
        DTYPE *v = v_all + V_OWNER * POINTS * z.v_point;
        PARALLEL_CHANNELS
        for (i64 c = 0; c < CI; c += VLEN)
            for (i64 r = first, end; r < last; r = end) {
                DTYPE *band = bands + THREAD * z.band;
                end = MIN(last, (r / TILE_ROWS + 1) * TILE_ROWS);
                input_rows(&(rows_asked){
                    .from = data,
                    .to = v + (r - first) * TILE_COLS * V_ROW + c,
                    .band = band,
                    .zero = band + z.band - W * PIXEL_IN,
                    .n = r / TILE_ROWS,
                    .c = c,
                    .r0 = r % TILE_ROWS,
                    .r1 = r % TILE_ROWS + end - r,
                    .point = z.v_point,
                });
            }
        PARALLEL_CHANNELS
        for (i64 chunk = 0; chunk < chunks; chunk++) {
            const i64 width = MIN(z.chunk, panels - chunk * z.chunk);
            const DTYPE *from = u + chunk * z.chunk * U_POINTS * z.u_panel;
            DTYPE *m = m_all + THREAD * z.chunk * POINTS * z.m_point;
            products(&z, (last - first) * TILE_COLS, width, v, from, m, point);
            for (i64 q = 0; q < width; q++)
                for (i64 j = 0; j < z.nr; j += VLEN) {
                    const i64 c = (chunk * z.chunk + q) * z.nr + j;
                    for (i64 r = first, end; r < last && c < CO; r = end) {
                        end = MIN(last, (r / TILE_ROWS + 1) * TILE_ROWS);
                        output_rows(&(rows_asked){
                            .from =
                                m + q * POINTS * z.m_point + (r - first) * TILE_COLS * z.nr + j,
                            .to = out,
                            .band = bands + THREAD * z.band,
                            .n = r / TILE_ROWS,
                            .c = c,
                            .r0 = r % TILE_ROWS,
                            .r1 = r % TILE_ROWS + end - r,
                            .point = z.m_point,
                            .tile = z.nr,
                            .arg = arg,
                        });
                    }
                }
        }
    }
}
#endif
