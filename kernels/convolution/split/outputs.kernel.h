/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies of float32 convolutions by tiles share: weights as panels of rows, output channels
 * of one group, and what becomes of a block's sums. Pixels of an output are counted with the pitch
 * of a padded plane; those between its rows are computed and not stored.
 *
 * A body says before, beside the macros from the plan (those of conv2d_define; PITCH of a plane,
 * BLOCK panels of 32 pixels of a task, PARTS of the channels): K, the depth with what fills it up,
 * TAPS, and of a depth CHANNEL_OF(k), CI_G or more where there is none, and TAP_OF(k).
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_OUTPUTS_H
#define OPTUNE_KERNELS_CONVOLUTION_OUTPUTS_H

#define LANES 16
#include "kernels/convolution/direct/lanes.kernel.h"
#include "kernels/matmul/split.kernel.h"

#define PIXELS ((OH - 1) * PITCH + OW) /* of an output, those that are not stored among them */
#define COLUMNS CEIL_DIV(PIXELS, 32)   /* panels */
#define BLOCKS CEIL_DIV(COLUMNS, BLOCK)
#define PANELS CEIL_DIV(CO_G, 32)
#define PART_PANELS CEIL_DIV(PANELS, PARTS)
#define HEAD (CEIL_DIV(GROUPS * PANELS, 8) * 16)

/* ---- packing ----------------------------------------------------------------------------- */

/* A step of 32 output channels, of which `rows` exist, as split_step takes it. */
INLINE void rows_at(DTYPE *line, const DTYPE *weight, i64 rows, i64 k0)
{
    for (i64 i = 0; i < 32; i++, line += 32)
        for (i64 k = k0; k < k0 + 32; k++)
            line[k - k0] = i < rows && k < K && CHANNEL_OF(k) < CI_G
                               ? weight[(i * CI_G + CHANNEL_OF(k)) * TAPS + TAP_OF(k)]
                               : 0;
}

/* arg: weight [CO][CI_G][KH][KW], its panels behind the head of each */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < GROUPS * PANELS; p++) {
        const i64 first = p % PANELS * 32;
        ((split_head *)packed)[p] =
            split_pack(packed + HEAD + p * PANEL_WORDS, rows_at,
                       weight + (p / PANELS * CO_G + first) * (CI_G * TAPS), CO_G - first);
    }
}

/* ---- planes ------------------------------------------------------------------------------ */

/* One row of a plane: element j is column j * SW + left of the data, or padding. */
static inline __attribute__((always_inline, unused)) void lay_row(DTYPE *to, const DTYPE *row,
                                                                  i64 left)
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

/* ---- outputs ----------------------------------------------------------------------------- */

/* Half of a step's line, the 16 pixels from p on at depth k: the body's. */
INLINE vec pixels_at(const DTYPE *data, i64 k, i64 p);

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

/* Channels p and pixels q are what will be finished; its panel, data, sums and sizes are set. */
INLINE void pend(struct pending *w, void *const *arg, i64 image, i64 p, i64 q, int granted)
{
    const i64 kept = image % GROUPS * PANELS + p;
    w->arg = arg;
    w->rows = MIN(32, CO_G - p * 32);
    w->p = q * 32;
    w->o = (image * CO_G + p * 32) * OH * OW;
    w->head = ((const split_head *)arg[1])[kept];
    w->granted = granted;
    w->n = runs_of(w->runs, q * 32);
    /* None where all of the panel is between rows. */
    for (i64 i = 0; EXPECT && w->n && i < w->rows; i++) {
        const run *end = w->runs + w->n - 1;
        expect((DTYPE *)arg[2], arg, w->o + i * OH * OW + w->runs[0].o,
               end->o + end->n - w->runs[0].o);
    }
}

#endif
