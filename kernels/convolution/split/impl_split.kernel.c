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
#define K (CI_G * KH * KW)
#define LANES 16
#include "kernels/convolution/direct/lanes.kernel.h"
#include "kernels/matmul/split.kernel.h"

#define PIXELS ((OH - 1) * PITCH + OW) /* of an output, those that are not stored among them */
#define COLUMNS CEIL_DIV(PIXELS, 32)   /* panels */
#define BLOCKS CEIL_DIV(COLUMNS, BLOCK)
#define PANELS CEIL_DIV(CO_G, 32)
#define PART_PANELS CEIL_DIV(PANELS, PARTS)
#define HEAD (CEIL_DIV(GROUPS * PANELS, 8) * 16)
#define CHANNEL ((i64)PHASE_H * PHASE_W * PLANE)

/* ---- packing ----------------------------------------------------------------------------- */

/* A step of 32 output channels, of which `rows` exist, as split_step takes it. */
INLINE void rows_at(DTYPE *line, const DTYPE *weight, i64 rows, i64 k0)
{
    for (i64 i = 0; i < 32; i++, line += 32)
        for (i64 k = k0; k < k0 + 32; k++)
            line[k - k0] =
                i < rows && k < K ? weight[(i * CI_G + k % CI_G) * (KH * KW) + k / CI_G] : 0;
}

/* arg: weight [CO][CI_G][KH][KW], its panels behind the head of each */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < GROUPS * PANELS; p++) {
        DTYPE line[SUMS] __attribute__((aligned(64)));
        u32 *to = packed + HEAD + p * PANEL_WORDS;
        const i64 first = p % PANELS * 32;
        const DTYPE *from = weight + (p / PANELS * CO_G + first) * K;
        split_head head = {.form = SPLIT_PARTS};
        for (int form = -1; form != head.form;) {
            split_sizes sizes = SPLIT_NO_SIZES;
            form = head.form;
            for (i64 s = 0; s < STEPS; s++) {
                rows_at(line, from, CO_G - first, s * 32);
                split_step(to + s * STEP_WORDS, line, form, &sizes);
            }
            head = split_head_of(&sizes, form);
        }
        ((split_head *)packed)[p] = head;
    }
}

#if !DIRECT
/* One row of a plane: element j is column j * SW + left of the data, or padding. */
INLINE void lay_row(DTYPE *to, const DTYPE *row, i64 left)
{
    const i64 first = MIN(PITCH, left < 0 ? CEIL_DIV(-left, SW) : 0);
    const i64 last = MAX(first, left < W ? MIN(PITCH, CEIL_DIV(W - left, SW)) : 0);
    i64 j = 0;
    for (; j < first; j++)
        to[j] = 0;
    for (; SW == 1 && j + VLEN <= last; j += VLEN)
        store(to + j, load(row + j + left));
    for (; j < last; j++)
        to[j] = row[j * SW + left];
    for (; j < PITCH; j++)
        to[j] = 0;
}

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
    const i64 tap = k / CI_G, y = tap / KW * DH, x = tap % KW * DW;
    return data + k % CI_G * CHANNEL + (y % SH % PHASE_H * PHASE_W + x % SW % PHASE_W) * PLANE +
           y / SH * PITCH + x / SW;
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

/* The sums of a block from the numbers themselves. */
static __attribute__((noinline)) void exact(const u32 *panel, int form, const DTYPE *data,
                                            i64 p, DTYPE *sums)
{
    DTYPE a[SUMS] __attribute__((aligned(64))), b[SUMS] __attribute__((aligned(64)));
    for (int i = 0; i < SUMS; i++)
        sums[i] = 0;
    for (i64 s = 0; s < STEPS; s++) {
        split_rows_of(a, panel + s * STEP_WORDS, form);
        for (i64 k = 0; k < 32; k++)
            for (int j = 0; j < 32; j += 16)
                store(b + k * 32 + j, pixels_at(data, s * 32 + k, p + j));
        split_exact(a, b, sums);
    }
}

/* Pixels side by side in an output: `n` from lane `at` of a panel on, at `o` of the plane. */
typedef struct run {
    i64 at, n, o;
} run;

/* The runs of the 32 pixels from p on, 16 pixels at most; gives how many there are. */
INLINE int runs_of(run *to, i64 p)
{
    int n = 0;
    for (i64 at = 0; at < 32;) {
        const i64 y = PITCH == OW ? 0 : (p + at) / PITCH,
                  x = PITCH == OW ? p + at : (p + at) % PITCH;
        const i64 end = PITCH == OW ? PIXELS : OW;
        if (y >= OH || (PITCH == OW && x >= end))
            break;
        if (x >= end) {
            at += PITCH - x;
            continue;
        }
        const i64 here = MIN(MIN(16, 32 - at), end - x);
        to[n++] = (run){at, here, y * OW + x};
        at += here;
    }
    return n;
}

struct pending {
    const u32 *panel;  /* of the weight */
    const DTYPE *data; /* of the group */
    DTYPE *sums;
    void *const *arg;
    i64 p, o, rows; /* the first pixel, the first channel's output, channels */
    split_head head;
    u32 data_least;
    int granted, n;
    run runs[32];
};

/* Its sums as float32 has them, whatever tiles made of them. */
INLINE void settle(struct pending *w)
{
    if (!w->granted || split_lost(w->sums, w->head, w->data_least, w->rows, PIXELS - w->p))
        exact(w->panel, w->head.form, w->data, w->p, w->sums);
    else
        split_unscale(w->sums, w->head);
}

static __attribute__((noinline)) void finish(struct pending *w, i64 from, i64 to)
{
    if (w->rows == 0)
        return;
    if (from == 0)
        settle(w);
    DTYPE *out = (DTYPE *)w->arg[2];
    i64 o = w->o + from * OH * OW;
    for (i64 i = from; i < MIN(to, w->rows); i++, o += OH * OW)
        for (int r = 0; r < w->n; r++) {
            const run one = w->runs[r];
            const vec v = load(w->sums + i * 32 + one.at);
            split_put(out + o + one.o, epilogue_some(v, w->arg, o + one.o, one.n), one.n);
        }
}

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
                    w->rows = MIN(32, CO_G - p * 32);
                    if (s1 == STEPS) {
                        last = &pending[turn ^ 1];
                        w->data = from;
                        w->arg = arg;
                        w->p = q * 32;
                        w->o = (image * CO_G + p * 32) * OH * OW;
                        w->head = ((const split_head *)packed)[kept + p];
                        w->granted = granted;
                        w->data_least = split_least(least[q - q0]);
                        w->n = runs_of(w->runs, q * 32);
                        /* None where all of the panel is between rows. */
                        for (i64 i = 0; EXPECT && w->n && i < w->rows; i++) {
                            const run *end = w->runs + w->n - 1;
                            expect((DTYPE *)arg[2], arg, w->o + i * OH * OW + w->runs[0].o,
                                   end->o + end->n - w->runs[0].o);
                        }
                    }
                    if (granted)
                        split_block(w->panel + s0 * STEP_WORDS,
                                    mine + (q - q0) * CHUNK * STEP_WORDS, s1 - s0, w->sums,
                                    s0 == 0, last, w->rows, PIXELS - q * 32);
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
