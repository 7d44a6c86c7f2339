/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_split.x86: convolutions of float32 in NCHW as sums of products of bfloat16, by tiles:
 * output channels are rows, pixels columns, so that no lane is moved anywhere.
 *
 * The data lies in planes with the padding in them, one for each residue of rows and columns by the
 * strides, as kernels/convolution/dots/words.kernel.h has them, of float32: pixel p of an output,
 * counted with the pitch of a plane, meets a tap of the kernel at p plus a constant, so that 32
 * pixels of a step of depth are 32 lines of memory. They are split as they are read, for a block of
 * pixels at a time, which all channels of a part then use. Depth is [tap][channel].
 *
 * Macros from the plan: those of conv2d_define; DIRECT (the data's own planes serve), PHASE_H
 * PHASE_W (residues), ROWS PITCH PLANE (of a plane: rows, their elements, all and what is behind
 * them), BLOCK (panels of 32 pixels of a task), PARTS (of the channels, a task each), CHUNK (steps
 * of depth that a block is split for at a time), EXPECT (lines of output are asked for ahead).
 */
#define TAPS (KH * KW)
#define K (CI_G * TAPS)
#define CHANNEL_OF(k) ((k) % CI_G)
#define TAP_OF(k) ((k) / CI_G)
#include "kernels/convolution/split/outputs.kernel.h"

#define CHANNEL ((i64)PHASE_H * PHASE_W * PLANE)

/* ---- packing ----------------------------------------------------------------------------- */

#if !DIRECT
/* arg: data, its planes */
void lay_data(void *const *arg)
{
    const DTYPE *data = arg[0];
    DTYPE *planes = arg[1];
    PARALLEL_FOR
    for (i64 c = 0; c < (i64)N * CI; c++)
        for (int phase = 0; phase < PHASE_H * PHASE_W; phase++) {
            DTYPE *to = planes + c * CHANNEL + phase * (i64)PLANE;
            for (i64 i = 0; i < ROWS; i++, to += PITCH) {
                const i64 y = i * SH + phase / PHASE_W - PT;
                if (y >= 0 && y < H)
                    lay_row(to, data + (c * H + y) * W, phase % PHASE_W - PL);
                else
                    for (i64 j = 0; j < PITCH; j++)
                        to[j] = 0;
            }
            for (i64 j = ROWS * PITCH; j < PLANE; j++)
                *to++ = 0;
        }
}
#endif

/* Where depth k of pixel 0 of a group is, whose channels begin at `data`. */
INLINE const DTYPE *depth_at(const DTYPE *data, i64 k)
{
    const i64 tap = TAP_OF(k), y = tap / KW * DH, x = tap % KW * DW;
    return data + CHANNEL_OF(k) * CHANNEL +
           (y % SH % PHASE_H * PHASE_W + x % SW % PHASE_W) * PLANE + y / SH * PITCH + x / SW;
}

/* Half of the 32 pixels from p on at depth k; zeros behind all pixels and all depth. */
INLINE vec pixels_at(const DTYPE *data, i64 k, i64 p)
{
    if (k >= K)
        return (vec){0};
    return split_some(depth_at(data, k) + p, DIRECT ? PIXELS - p : 16);
}

/* A step, from depth k on, of the 32 pixels from p on; gives the least of `least` and their sizes.
 * Where steps divide the channels, a step is channels of one tap. */
INLINE words pack_pixels(u32 *to, const DTYPE *data, i64 k, i64 p, words least)
{
    if (CI_G % 32 == 0 && (!DIRECT || p + 32 <= PIXELS)) {
        const DTYPE *x = depth_at(data, k) + p, *y = x + 16 * CHANNEL;
        for (int j = 0; j < 16; j++, to += 16, x += CHANNEL, y += CHANNEL) {
            least = split_small(to, load(x), load(y), least);
            least = split_small(to + 256, load(x + 16), load(y + 16), least);
        }
        return least;
    }
    for (int j = 0; j < 16; j++, k++, to += 16) {
        least = split_small(to, pixels_at(data, k, p), pixels_at(data, k + 16, p), least);
        least = split_small(to + 256, pixels_at(data, k, p + 16),
                            pixels_at(data, k + 16, p + 16), least);
    }
    return least;
}

/* ---- the product ------------------------------------------------------------------------- */

/* arg: data or its planes, panels of the weight, out, panels of pixels, sums */
void conv2d(void *const *arg)
{
    const DTYPE *data = arg[0];
    const u32 *packed = arg[1];
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * GROUPS * BLOCKS * PARTS; task++) {
        const i64 part = task % PARTS, block = task / PARTS % BLOCKS;
        const i64 image = task / PARTS / BLOCKS; /* batch item and group */
        const i64 q0 = block * COLUMNS / BLOCKS, q1 = (block + 1) * COLUMNS / BLOCKS;
        const i64 p0 = part * PANELS / PARTS, p1 = (part + 1) * PANELS / PARTS;
        const i64 kept = image % GROUPS * PANELS; /* the first panel of the group */
        const DTYPE *from = data + image * CI_G * CHANNEL;
        u32 *mine = (u32 *)arg[3] + (i64)THREAD * BLOCK * CHUNK * STEP_WORDS;
        DTYPE *held = (DTYPE *)arg[4] + (i64)THREAD * BLOCK * PART_PANELS * SUMS;
        DTYPE here[2][SUMS + 16] __attribute__((aligned(64)));
        struct pending pending[2]; /* the last block and this one */
        int turn = 0;
        pending[1].rows = 0;
        words least[BLOCK];
        for (i64 q = q0; q < q1; q++)
            least[q - q0] = (words){0} - 1;
        if (granted)
            tiles_begin(TILE_ROWS);
        for (i64 s0 = 0; s0 < STEPS; s0 += CHUNK) {
            const i64 s1 = MIN(s0 + CHUNK, STEPS);
            for (i64 s = s0; s < s1; s++)
                for (i64 q = q0; q < q1; q++)
                    least[q - q0] = pack_pixels(mine + ((q - q0) * CHUNK + s - s0) * STEP_WORDS,
                                                from, s * 32, q * 32, least[q - q0]);
            for (i64 p = p0; p < p1; p++)
                for (i64 q = q0; q < q1; q++) {
                    struct pending *const w = &pending[turn], *last = 0;
                    w->panel = packed + HEAD + (kept + p) * PANEL_WORDS;
                    w->sums =
                        CHUNK < STEPS ? held + ((p - p0) * BLOCK + q - q0) * SUMS : here[turn];
                    if (s1 == STEPS) {
                        last = &pending[turn ^ 1];
                        w->data = from;
                        w->data_least = split_least(least[q - q0]);
                        pend(w, arg, image, p, q, granted);
                    }
                    if (granted)
                        split_block(w->panel + s0 * STEP_WORDS,
                                    mine + (q - q0) * CHUNK * STEP_WORDS, s1 - s0, w->sums,
                                    s0 == 0, last, MIN(32, CO_G - p * 32), PIXELS - q * 32);
                    else if (last)
                        finish(last, 0, 32);
                    turn ^= s1 == STEPS;
                }
        }
        finish(&pending[turn ^ 1], 0, 32);
        if (granted)
            tiles_end();
    }
}
