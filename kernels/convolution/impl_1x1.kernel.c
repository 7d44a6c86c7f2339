/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_1x1.cpu: a 1x1 convolution as a matrix product over flattened pixels.
 *
 * With PIXELS, vectors lie along the pixels of NCHW planes, and the output C[oc][pixel] =
 * W[oc][ic] X[ic][pixel] needs no transposition at all: each step of the reduction loads TV
 * vectors of one input plane and broadcasts TM weights. Panels of TV vectors are read where
 * they are, or copied first (PACK); the ragged last one always is, so that nothing is read
 * outside. Otherwise vectors lie along output channels and the shared register tile does the
 * work.
 *
 * The last TAIL pixels of a plane are no vector of their own: beside the vectors of the last panel
 * each is a sum of vectors of the tile's channels, and that panel is read where it is.
 *
 * With PIXELS the plan defines: TM, TV, TAIL, IC_CHUNK, OT_CHUNK (channel tiles of a chunk), PANELS
 * (of a block of pixels at most; the last blocks have one more than the first, as the last panel
 * may be ragged), PACK, UNROLL_IC and PREFETCH (steps ahead).
 */
#include "kernels/convolution/direct/lanes.kernel.h"

#if GATHER

#define OH_READ                                                                                \
    CEIL_DIV(FROM_H, FROM_SH) /* the plane is flattened, OH and OW are not its own */
#define OW_READ CEIL_DIV(FROM_W, FROM_SW)
#define UNIT (IN_BLOCK ? IN_BLOCK : 1)
/* Lanes of a row that are picked at once; rows that end in the midst of a pair are not. */
#define PICK                                                                                   \
    (IN_BLOCK || FROM_SW != 2 || 2 * OW_READ > FROM_W ? 1                                      \
                                                      : MIN(LANES, OW_READ >= 16  ? 16         \
                                                                   : OW_READ >= 8 ? 8          \
                                                                   : OW_READ >= 4 ? 4          \
                                                                                  : 1))

#define LOAD_PART(n, p) (*(const part##n *)(p))

/* The even ones of 2 * PICK elements. */
INLINE void pick(DTYPE *to, const DTYPE *from)
{
#if LANES >= 16
    if (PICK == 16) {
        store(to, LANES_OF(load(from), load(from + 16), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                           22, 24, 26, 28, 30));
        return;
    }
#endif
#if LANES >= 8
    if (PICK == 8) {
        *(part8 *)to =
            LANES_OF(LOAD_PART(8, from), LOAD_PART(8, from + 8), 0, 2, 4, 6, 8, 10, 12, 14);
        return;
    }
#endif
#if LANES >= 4
    *(part4 *)to = LANES_OF(LOAD_PART(4, from), LOAD_PART(4, from + 4), 0, 2, 4, 6);
#endif
}

/* arg: data, the pixels that are read of it */
void gather(void *const *arg)
{
    const DTYPE *data = arg[0];
    DTYPE *pixels = arg[1];
    PARALLEL_FOR
    for (i64 plane = 0; plane < (i64)N * CI / UNIT; plane++)
        for (i64 y = 0; y < OH_READ; y++) {
            const DTYPE *from = data + (plane * FROM_H + y * FROM_SH) * (FROM_W * UNIT);
            DTYPE *to = pixels + (plane * OH_READ + y) * (OW_READ * UNIT);
            i64 x = 0;
            for (; PICK > 1 && x + PICK <= OW_READ; x += PICK)
                pick(to + x, from + 2 * x);
            if (PICK > 1 && x < OW_READ)
                pick(to + OW_READ - PICK, from + 2 * (OW_READ - PICK));
            else
                for (; x < OW_READ; x++)
                    __builtin_memcpy(to + x * UNIT, from + x * FROM_SW * UNIT,
                                     UNIT * sizeof(DTYPE));
        }
}

#endif

#if PIXELS

#define P (OH * OW)
#define WIDTH (TV * LANES)
#define FULL (TAIL ? (P / LANES - 1) / TV : P / WIDTH) /* whole panels */
#define REST (P - FULL * WIDTH)                        /* pixels of the ragged one */
#define REST_VECS CEIL_DIV(REST - TAIL, LANES)
#define TAIL_VECS CEIL_DIV(TM, LANES)
#define ALL_PANELS (FULL + (REST > 0))
#define BLOCKS CEIL_DIV(ALL_PANELS, PANELS)
#define OT CEIL_DIV(CO_G, TM)
#define OT_CHUNKS CEIL_DIV(OT, OT_CHUNK)
#define PANEL_SIZE ((i64)IC_CHUNK * WIDTH)
#define ROWS_REST (CO_G % TM)
#define WEIGHTS_AHEAD 8 /* they come from further off than pixels do */

/* OIHW to [group][tile][CI_G][TM]. */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 t = 0; t < GROUPS * OT; t++) {
        const i64 g = t / OT, first = t % OT * TM;
        for (i64 k = 0; k < CI_G; k++) {
            DTYPE *to = packed + (t * CI_G + k) * TM;
            i64 m = 0;
            for (; m < MIN(TM, CO_G - first); m++)
                to[m] = weight[(g * CO_G + first + m) * CI_G + k];
            for (; m < TM; m++)
                to[m] = 0;
        }
    }
}

/* rows x vecs vectors of C and `tail` pixels behind them over `depth` input channels, of which
 * `count` pixels are stored; rows of C are `plane` apart. `ends` is NULL, or the stage's arguments
 * when these channels are the last. */
INLINE void product(const DTYPE *w, const DTYPE *x, const i64 step, DTYPE *c, const i64 plane,
                    i64 depth, int more, const int rows, const int vecs, const int tail,
                    const i64 count, void *const *ends)
{
    vec acc[TM][TV], column[MAX(TAIL, 1)][TAIL_VECS];
    UNROLL(16)
    for (int i = 0; i < tail * TAIL_VECS; i++)
        column[i / TAIL_VECS][i % TAIL_VECS] = (vec){0};
    UNROLL(64)
    for (int m = 0; m < rows; m++) {
        UNROLL(16)
        for (int v = 0; v < vecs; v++)
            acc[m][v] = (vec){0};
    }
    if (ends) {
        DTYPE *const out = (DTYPE *)ends[2];
        UNROLL(1)
        for (int m = 0; m < rows; m++)
            expect(out, ends, c + m * plane - out, count);
    }
    UNROLL(UNROLL_IC)
    for (i64 k = 0; k < depth; k++) {
        vec xv[TV];
        UNROLL(16)
        for (int v = 0; v < vecs; v++) {
            xv[v] = load(x + k * step + v * LANES);
            if (PREFETCH)
                __builtin_prefetch(x + (k + PREFETCH) * step + v * LANES);
        }
        if (PREFETCH)
            __builtin_prefetch(w + (k + WEIGHTS_AHEAD * PREFETCH) * TM);
        UNROLL(64)
        for (int m = 0; m < rows; m++) {
            const DTYPE b = w[k * TM + m];
            UNROLL(16)
            for (int v = 0; v < vecs; v++)
                acc[m][v] += xv[v] * b;
        }
        UNROLL(16)
        for (int i = 0; i < tail * TAIL_VECS; i++)
            column[i / TAIL_VECS][i % TAIL_VECS] += load(w + k * TM + i % TAIL_VECS * LANES) *
                                                    x[k * step + vecs * LANES + i / TAIL_VECS];
    }
    UNROLL(64)
    for (int m = 0; m < rows; m++) {
        UNROLL(16)
        for (int v = 0; v < vecs; v++) {
            const int lanes = MIN((i64)LANES, count - v * LANES);
            DTYPE *to = c + m * plane + v * LANES;
            if (VARIES && lanes < 1)
                continue;
            if (IC_CHUNK < CI_G && more)
                acc[m][v] += get(to, lanes);
            if (EPILOGUE && ends)
                acc[m][v] = epilogue_some(acc[m][v], ends, to - (const DTYPE *)ends[2], lanes);
            put(to, acc[m][v], lanes);
        }
    }
    UNROLL(16)
    for (int t = 0; t < tail; t++) {
        DTYPE done[TAIL_VECS * LANES] __attribute__((aligned(VEC_BYTES)));
        UNROLL(16)
        for (int j = 0; j < TAIL_VECS; j++)
            *(vec *)(done + j * LANES) = column[t][j];
        UNROLL(1)
        for (int m = 0; m < rows; m++) {
            DTYPE *to = c + m * plane + vecs * LANES + t, sum = done[m];
            if (IC_CHUNK < CI_G && more)
                sum += *to;
            if (EPILOGUE && ends)
                sum = epilogue_one(sum, ends, to - (const DTYPE *)ends[2]);
            *to = sum;
        }
    }
}

/* All channel tiles of a chunk over one panel. */
INLINE void tiles(const DTYPE *w, const DTYPE *x, const i64 step, DTYPE *c, i64 depth, int more,
                  const int rows, const int ragged, void *const *arg, void *const *ends)
{
    product(w, x, step, c, P, depth, more, rows, ragged && !VARIES ? REST_VECS : TV,
            ragged ? TAIL : 0, ragged ? REST : WIDTH, ends);
}

void conv2d(void *const *arg)
{
    const DTYPE *data = arg[0];
    const DTYPE *packed = arg[1];
    DTYPE *out = arg[2];
    DTYPE *panels = arg[3];
    PARALLEL_FOR
    for (i64 it = 0; it < (i64)N * GROUPS * OT_CHUNKS * BLOCKS; it++) {
        const i64 block = it % BLOCKS, chunk = it / BLOCKS % OT_CHUNKS;
        const i64 image = it / BLOCKS / OT_CHUNKS; /* batch item and group */
        const i64 p0 = block * ALL_PANELS / BLOCKS, p1 = (block + 1) * ALL_PANELS / BLOCKS;
        DTYPE *mine = panels + (i64)THREAD * PANELS * PANEL_SIZE;
        for (i64 k0 = 0; k0 < CI_G; k0 += IC_CHUNK) {
            const i64 depth = MIN(IC_CHUNK, CI_G - k0);
            const DTYPE *x = data + (image * CI_G + k0) * P;
            void *const *ends = k0 + depth == CI_G ? arg : 0;
            for (i64 p = p0; p < p1; p++) {
                if (p < FULL ? !PACK : TAIL > 0)
                    continue;
                DTYPE *to = mine + (p - p0) * PANEL_SIZE;
                for (i64 k = 0; k < depth; k++)
                    if (p < FULL)
                        __builtin_memcpy(to + k * WIDTH, x + k * P + p * WIDTH,
                                         WIDTH * sizeof(DTYPE));
                    else
                        __builtin_memcpy(to + k * WIDTH, x + k * P + p * WIDTH,
                                         REST * sizeof(DTYPE));
            }
            for (i64 t = chunk * OT_CHUNK; t < MIN(OT, (chunk + 1) * OT_CHUNK); t++) {
                const DTYPE *w = packed + ((image % GROUPS * OT + t) * CI_G + k0) * TM;
                DTYPE *c = out + (image * CO_G + t * TM) * P;
                const int whole = ROWS_REST == 0 || t < OT - 1;
                for (i64 p = p0; p < MIN(FULL, p1); p++) {
                    const DTYPE *from = PACK ? mine + (p - p0) * PANEL_SIZE : x + p * WIDTH;
                    if (whole)
                        tiles(w, from, PACK ? WIDTH : P, c + p * WIDTH, depth, k0 > 0, TM, 0,
                              arg, ends);
                    else
                        tiles(w, from, PACK ? WIDTH : P, c + p * WIDTH, depth, k0 > 0,
                              ROWS_REST, 0, arg, ends);
                }
                if (REST && p1 > FULL) {
                    const DTYPE *from =
                        TAIL ? x + FULL * WIDTH : mine + (FULL - p0) * PANEL_SIZE;
                    const i64 step = TAIL ? P : WIDTH;
                    if (whole)
                        tiles(w, from, step, c + FULL * WIDTH, depth, k0 > 0, TM, 1, arg, ends);
                    else
                        tiles(w, from, step, c + FULL * WIDTH, depth, k0 > 0, ROWS_REST, 1, arg,
                              ends);
                }
            }
        }
    }
}
#else
#include "kernels/convolution/direct/impl_direct.kernel.c"
#endif
