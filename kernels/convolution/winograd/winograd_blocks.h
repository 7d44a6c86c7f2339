/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of tile rows of conv2d_winograd.cpu: what they take, which register tiles cover them well,
 * and which of all are estimated to be the fastest. Arithmetic alone, over sizes; host code only.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_BLOCKS_H
#define OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_BLOCKS_H

#include "kernels/convolution/winograd/winograd_error.h"

enum {
    WINOGRAD_TILES = 4,
    WINOGRAD_MOST_ROWS = 28,
    WINOGRAD_MOST_P = 28,
    WINOGRAD_MOST_CO = 4
};

/* Outputs of a tile in one direction. */
extern const int64_t winograd_tile_sizes[WINOGRAD_TILES];

/* The knobs that decide how much is computed and moved. */
typedef struct winograd_choice {
    int64_t tile_h, tile_w, rows, tile_p, tile_co, chunk;
} winograd_choice;

typedef struct winograd_sizes {
    int64_t lanes, points, weights; /* points of a tile, and of its weights */
    int64_t image_rows, all_rows, cols, in_vectors;
    int64_t blocks, tiles; /* tiles of a block */
    int64_t panels, chunks;
    int64_t v, m, u, band; /* elements; v, m and band of one thread */
    int threads;
    bool split_blocks;
} winograd_sizes;

/* Of these tiles; of blocks of so many rows of them; and of panels and chunks of output channels,
 * each on top of those before. */
winograd_sizes winograd_sizes_of_tile(const optune_task *task, const conv2d_shape *s,
                                      int64_t tile_h, int64_t tile_w);
void winograd_add_block(winograd_sizes *z, const conv2d_shape *s, int64_t tile_h, int64_t rows);
void winograd_add_channels(winograd_sizes *z, const conv2d_shape *s, int64_t tile_co,
                           int64_t chunk);

/* Of all of a choice but `tile_p`. */
winograd_sizes winograd_sizes_of(const optune_task *task, const conv2d_shape *s,
                                 const winograd_choice *c);

/* Weights kept as taps: elements of all; input channels whose points are made at a time, and how
 * many elements these are. */
typedef struct winograd_taps {
    int64_t taps, depth, part;
} winograd_taps;

winograd_taps winograd_taps_of(const optune_task *task, const conv2d_shape *s,
                               const winograd_sizes *z, int64_t tile_co);

/* Whether its scratch is bearable. */
bool winograd_fits(const conv2d_shape *s, const winograd_sizes *z);

/* Tile rows of a block: fractions of all rows, for every height of tile, in rising order; returns
 * how many. */
int winograd_block_rows(const conv2d_shape *s, int64_t rows[WINOGRAD_MOST_ROWS]);

/* Whether a register tile of `p` tiles by `co` vectors of channels covers as many tiles nearly as
 * well as any. */
bool winograd_efficient(const optune_task *task, const conv2d_shape *s, int64_t tiles,
                        int64_t p, int64_t co);

/* The vectors of channels of the best one. */
int64_t winograd_best_co(const optune_task *task, const conv2d_shape *s, int64_t tiles);

/* Tiles of 7 lose digits, the more the fewer products hide them; two tiles of 1 save nothing. */
bool winograd_precise(const conv2d_shape *s, int64_t tile_h, int64_t tile_w);

/* The choice of the least estimate, of those that fit and are precise, with chunks of one panel or
 * of four; where none is, the smallest one. */
winograd_choice winograd_choose(const optune_task *task, const conv2d_shape *s);

#endif
