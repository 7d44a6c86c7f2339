/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_split_planes.x86: convolutions of float32 in NCHW as sums of products of bfloat16, by
 * tiles, for kernels of several taps: each number is split once, not once for each tap.
 *
 * The one idea: what is laid out anew with the padding in it are the parts. A step of depth is 32
 * channels at one tap; its words are planes of 16 words of depth by pixels, one for each residue of
 * rows and columns by the strides, and pixel p of an output, counted with the pitch of a plane,
 * meets a tap at p plus a constant: the tile is the plane as it lies, from there on. Depth is
 * [32 channels][tap][channel], so that what the taps of 32 channels read stays in the first cache.
 *
 * Macros from the plan: those of conv2d_define; PHASE_H PHASE_W (residues), ROWS PITCH PLANE (of a
 * plane: rows, their words, all and what is behind them), BLOCK (panels of 32 pixels of a task),
 * PARTS (of the channels, a task each), EXPECT (lines of output are asked for ahead).
 */
#include "kernels/common/cpu.kernel.h"

#define TAPS (KH * KW)
#define GROUP_STEPS CEIL_DIV(CI_G, 32) /* of one tap */
#define K (GROUP_STEPS * 32 * TAPS)
#define CHANNEL_OF(k) ((k) / (32 * TAPS) * 32 + (k) % 32)
#define TAP_OF(k) ((k) / 32 % TAPS)

/* Words of a plane, of the three that are its parts, and of all of 32 channels. */
#define PART_PLANES (16 * (i64)PLANE)
#define PHASE_PLANES (3 * PART_PLANES)
#define STEP_PLANES (PHASE_H * PHASE_W * PHASE_PLANES)

/* Where a step's word 0 of pixel 0 is. */
INLINE i64 step_at(i64 s)
{
    const i64 tap = s % TAPS, y = tap / KW * DH, x = tap % KW * DW;
    return s / TAPS * STEP_PLANES +
           (y % SH % PHASE_H * PHASE_W + x % SW % PHASE_W) * PHASE_PLANES + y / SH * PITCH +
           x / SW;
}

#define SPLIT_B_STEP(b, s) ((b) + step_at(s))
#define SPLIT_B_PART PART_PLANES
#define SPLIT_B_HALF 16
#define SPLIT_B_ROW PLANE
#include "kernels/convolution/split/outputs.kernel.h"

#define IMAGES ((i64)N * GROUPS)
#define LEASTS (IMAGES * GROUP_STEPS * 16) /* words in front of the planes */

/* ---- planes ------------------------------------------------------------------------------ */

/* 16 elements of a row of a plane from j on, as lay_row has them; `line` is a whole one. */
INLINE vec row_at(const DTYPE *row, const DTYPE *line, i64 j, i64 left)
{
    if (!row)
        return (vec){0};
    if (SW > 1)
        return load(line + j);
    const i64 first = MIN(16, MAX(0, -(j + left))), last = MAX(first, MIN(16, W - (j + left)));
    const unsigned lanes = ((1u << last) - 1) & ~((1u << first) - 1);
    return (vec)__builtin_ia32_loadups512_mask((const float *)row + j + left, (floats16){0},
                                               (unsigned short)lanes);
}

/* The rows of a plane that channels x and y of a step are, NULL where a channel is none; gives the
 * least of `least` and the sizes of their numbers. */
INLINE words lay_plane(u32 *to, const DTYPE *x, const DTYPE *y, i64 top, i64 left, words least)
{
    DTYPE line[2][CEIL_DIV(PITCH, 16) * 16] __attribute__((aligned(64))) = {{0}};
    for (i64 i = 0; i < ROWS; i++, to += PITCH) {
        const i64 h = i * SH + top;
        const int inside = h >= 0 && h < H;
        const DTYPE *const a = inside && x ? x + h * W : 0, *const b =
                                                                inside && y ? y + h * W : 0;
        if (SW > 1 && a)
            lay_row(line[0], a, left);
        if (SW > 1 && b)
            lay_row(line[1], b, left);
        /* What is written behind a row is where the next one, or nothing, is. */
        for (i64 j = 0; j < PITCH; j += 16) {
            const vec v = row_at(a, line[0], j, left), w = row_at(b, line[1], j, left);
            split_store(to + j, PART_PLANES, v, w);
            least = least_of(least, least_of(size_of(v), size_of(w)));
        }
    }
    for (i64 j = ROWS * PITCH; j < PLANE; j++, to++)
        to[0] = to[PART_PLANES] = to[2 * PART_PLANES] = 0;
    return least;
}

/* arg: data, its planes behind the least size of each two channels */
void lay_data(void *const *arg)
{
    const DTYPE *data = arg[0];
    u32 *planes = arg[1];
    PARALLEL_FOR
    for (i64 pair = 0; pair < IMAGES * GROUP_STEPS * 16; pair++) {
        const i64 step = pair / 16, c = step % GROUP_STEPS * 32 + pair % 16;
        const DTYPE *const x = data + (step / GROUP_STEPS * CI_G + c) * (H * W);
        u32 *to = planes + LEASTS + step * STEP_PLANES + pair % 16 * PLANE;
        words least = (words){0} - 1;
        for (int phase = 0; phase < PHASE_H * PHASE_W; phase++, to += PHASE_PLANES)
            least = lay_plane(to, c < CI_G ? x : 0, c + 16 < CI_G ? x + 16 * H * W : 0,
                              phase / PHASE_W - PT, phase % PHASE_W - PL, least);
        planes[pair] = split_least(least);
    }
}

/* Of the data itself: it is asked for where tiles do not serve. */
INLINE vec pixels_at(const DTYPE *data, i64 k, i64 p)
{
    vec v = {0};
    const i64 c = CHANNEL_OF(k), tap = TAP_OF(k);
    for (int l = 0; l < 16 && c < CI_G; l++) {
        const i64 i = (p + l) / PITCH * SH + tap / KW * DH - PT;
        const i64 j = (p + l) % PITCH * SW + tap % KW * DW - PL;
        if (p + l < PIXELS && i >= 0 && i < H && j >= 0 && j < W)
            v[l] = data[(c * H + i) * W + j];
    }
    return v;
}

/* ---- the product ------------------------------------------------------------------------- */

/* arg: planes, panels of the weight, out, data */
void conv2d(void *const *arg)
{
    const u32 *planes = arg[0], *packed = arg[1];
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < IMAGES * BLOCKS * PARTS; task++) {
        const i64 part = task % PARTS, block = task / PARTS % BLOCKS;
        const i64 image = task / PARTS / BLOCKS; /* batch item and group */
        const i64 q0 = block * COLUMNS / BLOCKS, q1 = (block + 1) * COLUMNS / BLOCKS;
        const i64 p0 = part * PANELS / PARTS, p1 = (part + 1) * PANELS / PARTS;
        const i64 kept = image % GROUPS * PANELS; /* the first panel of the group */
        const u32 *const from = planes + LEASTS + image * GROUP_STEPS * STEP_PLANES;
        DTYPE here[2][SUMS + 16] __attribute__((aligned(64)));
        struct pending pending[2]; /* the last block and this one */
        int turn = 0;
        u32 least = SIZE_NONE;
        for (i64 i = 0; i < GROUP_STEPS * 16; i++)
            least = MIN(least, planes[image * GROUP_STEPS * 16 + i]);
        pending[1].rows = 0;
        if (granted)
            tiles_begin(TILE_ROWS);
        for (i64 p = p0; p < p1; p++)
            for (i64 q = q0; q < q1; q++, turn ^= 1) {
                struct pending *const w = &pending[turn], *const last = &pending[turn ^ 1];
                w->panel = packed + HEAD + (kept + p) * PANEL_WORDS;
                w->data = (const DTYPE *)arg[3] + image * CI_G * (H * W);
                w->sums = here[turn];
                w->data_least = least;
                pend(w, arg, image, p, q, granted);
                if (granted)
                    split_block(w->panel, from + q * 32, STEPS, w->sums, 1, last, w->rows,
                                PIXELS - q * 32);
                else
                    finish(last, 0, 32);
            }
        finish(&pending[turn ^ 1], 0, 32);
        if (granted)
            tiles_end();
    }
}
