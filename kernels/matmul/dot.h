/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of products summed in wider numbers share (16-bit floats in float32, 8-bit integers in
 * int32): which types they take, and the macros of kernels/matmul/dot.kernel.h. Host code only; it
 * owns nothing and allocates nothing.
 */
#ifndef OPTUNE_KERNELS_DOT_H
#define OPTUNE_KERNELS_DOT_H

#include "kernels/matmul/matmul.h"

/* How a step is made: the numbers of DOT in the body. Those before tiles are words of the knob
 * `step`. */
typedef enum dot_step {
    DOT_NONE,
    DOT_WIDE,
    DOT_PAIRS,
    DOT_BF16,
    DOT_I8,
    DOT_TILE_BF16,
    DOT_TILE_I8,
    DOT_TILE_F16
} dot_step;

/* Two operands of `in`, sums as `out`: float16 or bfloat16 to the same or float32, 8-bit integers
 * to int32. */
bool dot_types(optune_dtype in, optune_dtype out, char *why);

/* The fastest step that the device has for operands of this type, the one whose words are fewest,
 * for what takes the time of reading them, and the one that any has. */
dot_step dot_best(const optune_task *task, optune_dtype in);
dot_step dot_shortest(const optune_task *task, optune_dtype in);
dot_step dot_any(optune_dtype in);
dot_step dot_tiles(const optune_task *task, optune_dtype in); /* DOT_NONE: it has no tiles */

/* Numbers in a word of 32 bits, and words of a row of k numbers. */
static inline int64_t dot_word(dot_step step)
{
    return step == DOT_WIDE || step == DOT_TILE_F16 ? 1
           : step == DOT_I8 || step == DOT_TILE_I8  ? 4
                                                    : 2;
}

static inline int64_t dot_row_words(dot_step step, int64_t k)
{
    return host_ceil(k, dot_word(step));
}

/* Whether rows are not words as they lie in memory. */
static inline bool dot_packs_rows(dot_step step, int64_t k)
{
    return dot_word(step) == 1 || step == DOT_PAIRS || k % dot_word(step) != 0;
}

/* How often each row is in memory: words of two halves of a number are there the other way round,
 * too. */
static inline int64_t dot_row_copies(dot_step step)
{
    return step == DOT_TILE_F16 ? 2 : 1;
}

/* Bytes of one panel of `columns`. */
static inline int64_t dot_panel_bytes(dot_step step, int64_t k, int64_t columns)
{
    return (dot_row_words(step, k) + (step == DOT_I8)) * columns * 4;
}

/* The knob `step`: the shortest first, and the one that any device has. */
void dot_knob(const optune_task *task, optune_dtype in, optune_space *space);
void dot_choose(const optune_space *space, optune_config *config, dot_step step);
dot_step dot_chosen(const optune_config *config);

/* The tile of registers, as macros, from the knobs of matmul_tile_knobs. */
void dot_define_tile(optune_plan *plan, int module, const optune_config *config);

/* Tiles of sums: the knobs tile_m and tile_n in tiles of 16 by 16, whether a config's are as many
 * as there are and all have something to do, a good choice, and the macros of
 * kernels/matmul/tiles.kernel.h. */
void dot_tile_knobs(optune_space *space);
bool dot_tiles_fit(const optune_config *config, int64_t rows, int64_t columns, char *why);
void dot_choose_tiles(const optune_space *space, optune_config *config, int64_t rows,
                      int64_t columns);
void dot_define_tiles(optune_plan *plan, int module, const optune_config *config);

/* IN_T BRAIN DTYPE OUT_T OUT_HALF DOT K K_WORDS. */
void dot_define(optune_plan *plan, int module, dot_step step, optune_dtype in, optune_dtype out,
                int64_t k);

#endif
