/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row's side of impl_direct.kernel.c: the numbers of one direct convolution, whether they
 * fit the shape and the device, their plan, and the arithmetic that picks a register tile
 * untuned. Included by rows whose body that is; it never looks at a config.
 */
#ifndef OPTUNE_KERNELS_CONV2D_TILE_PLAN_H
#define OPTUNE_KERNELS_CONV2D_TILE_PLAN_H

#include "kernels/convolution/conv2d.h"

typedef struct conv2d_tile {
    int64_t vec_bytes, ov; /* vectors of output channels, and their width */
    int64_t th, tw;        /* rows and columns of output pixels */
    int64_t ici;           /* input channels in the innermost block of the packed weight */
    int64_t ic_chunk;      /* input channels added in one pass */
    int64_t ot_chunk;      /* channel tiles that one block of rows serves */
    int64_t oh_block;      /* output rows of a block */
    int64_t unroll_ic, unroll_kw;
    int64_t prefetch; /* steps of the reduction that weights are fetched ahead; 0: none */
    bool copy;        /* copy the input rows with their padding */
    bool gather;      /* a 1x1 convolution over gathered pixels */
} conv2d_tile;

static inline int64_t conv2d_gcd(int64_t a, int64_t b)
{
    return b ? conv2d_gcd(b, a % b) : a;
}

/* The largest divisor of n that is at most limit. */
int64_t conv2d_divisor(int64_t n, int64_t limit);

/* Input channels of one group that lie side by side, for the innermost loop. */
static inline int64_t conv2d_tile_ici(const conv2d_shape *s)
{
    return s->data_block ? conv2d_gcd(s->data_block, s->ci_g) : conv2d_divisor(s->ci_g, 16);
}

/* The same where so many input channels are added in one pass: all of them side by side are one
 * loop of a 1x1 kernel, which starts anew for each block. */
static inline int64_t conv2d_tile_ici_of(const conv2d_shape *s, int64_t ic_chunk)
{
    return s->kh * s->kw == 1 && !s->data_block && ic_chunk >= s->ci_g ? s->ci_g
                                                                       : conv2d_tile_ici(s);
}

/* The innermost loops are long enough as they are; more code only takes longer to compile. */
static inline int64_t conv2d_tile_unroll_ic(const conv2d_shape *s)
{
    return s->kh * s->kw == 1 && conv2d_tile_ici(s) % 4 == 0 ? 4 : 1;
}

static inline int64_t conv2d_tile_unroll_kw(const conv2d_shape *s)
{
    return s->kw <= 3 ? s->kw : 1;
}

/* Clipping knows edges at compile time, so only the first and the last tile may touch one. */
bool conv2d_clips(const conv2d_shape *s, int64_t th, int64_t tw);

/* In 1 GiB, or in what a single row takes: some config must compute what is that large. */
bool conv2d_tile_scratch_fits(const optune_task *task, const conv2d_shape *s,
                              const conv2d_tile *t);

bool conv2d_tile_valid(const optune_task *task, const conv2d_shape *s, const conv2d_tile *t,
                       char *why);

/* Adds v to n distinct ascending values, if it is one; how many there are then. */
int conv2d_add_value(int64_t *list, int n, int64_t v);

/* Adds the pieces of `unit`s that give each of some threads as many of n: what untuned configs
 * choose, beside powers of two. */
int conv2d_add_shares(const optune_task *task, int64_t *list, int count, int64_t n,
                      int64_t unit);

/* Widths worth trying: those that cover a row with tiles of nearly equal size. */
static inline bool conv2d_even_width(const conv2d_shape *s, int64_t tw)
{
    return host_ceil(s->ow, host_ceil(s->ow, tw)) == tw;
}

/* Estimated time of a register tile over the whole output, in cycles of one step of the
 * reduction: two multiply-adds and two loads a cycle, and as long as ten sums take where there
 * are fewer: a latency of four cycles needs eight, and loads that are late need more. */
double conv2d_tile_cost(const conv2d_shape *s, int64_t lanes, int64_t ov, int64_t th,
                        int64_t tw);

/* A sensible register tile for any shape and device; the rest of *t is filled in to match. */
void conv2d_tile_choose(const optune_task *task, const conv2d_shape *s, conv2d_tile *t);

/* Cuts channel tiles and blocks of rows so that all threads have as much to do, in the way that
 * reads least: each block of rows reads all weights, each part of the channels all pixels. Gives
 * the time that this takes, 1 where nobody waits, and a twentieth of what is read. */
double conv2d_tile_share(const optune_task *task, const conv2d_shape *s, conv2d_tile *t);

/* The input of a 1x1 convolution: with strides, a scratch that a stage of its own fills with the
 * pixels that are read. Defines GATHER, and what it needs of the shape as it was. */
optune_arg conv2d_gather_plan(const optune_task *task, optune_plan *plan, int module);

void conv2d_tile_plan(const optune_task *task, const conv2d_shape *s, const conv2d_tile *t,
                      optune_plan *plan);

#endif
