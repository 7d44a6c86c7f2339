/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a winograd tile keeps its error bound, by arithmetic: rows ask it in `valid`. A tile
 * spreads its rounding errors over all its outputs, and the bound of an output grows with the sum
 * of its own absolute products; so an output that sums up few of them may break it.
 *
 * The error of an output is a sum of roundings, near enough to a normal one, whose variance
 * follows from the matrices alone: every rounding is relative to a partial sum, whose variance is
 * the sum of squared entries. The absolute products of factors that are uniform in [-1, 1), as
 * those of trials are, have the Laplace transform phi(s) = Ein(s) / s. Chernoff's bound on
 * "the error exceeds `bound` times the sum of n of them", exp(l^2 / 2) phi(l bound / error)^n at
 * the best l, and the saddle point's factor give a chance for each output; more than
 * WINOGRAD_MOST_WRONG outputs expected beyond the bound are too many. Measured against real
 * roundings, the chance is 2 to 100 times too large. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_WINOGRAD_ERROR_H
#define OPTUNE_KERNELS_CONV2D_WINOGRAD_ERROR_H

#include <math.h>

#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/winograd/winograd_numbers.shared.h"

/* The `error_scale` of all of them, and how many outputs of a call may be expected beyond it. */
#define WINOGRAD_SCALE 4
#define WINOGRAD_MOST_WRONG 0.1

/* What the rows of all of them say alike. */
#define WINOGRAD_IMPL .op = "conv2d", .error_scale = WINOGRAD_SCALE, .fewer_operations = true

enum { WINOGRAD_MOST_TILE = 8, WINOGRAD_MOST_POINTS = 12 };

/* One direction of a tile. For each output: the squared entries that its products meet on their
 * way, the same with every rounding that they have behind them, and what adding up rounds. */
typedef struct winograd_way {
    int tile;
    double weight[WINOGRAD_MOST_TILE], rounded[WINOGRAD_MOST_TILE], added[WINOGRAD_MOST_TILE];
} winograd_way;

/* Taps by interpolation at tile + taps - 1 points: these finite ones and infinity. `all` points
 * are added up, those of other taps among them. */
void winograd_points(winograd_way *w, const double *finite, int taps, int all);

/* Whether few enough outputs are expected beyond the bound. `sums` products are added at a point
 * for each input channel and, where `down` is no transform (NULL), kernel row. */
bool winograd_keeps_bound(const conv2d_shape *s, const winograd_way *down,
                          const winograd_way *along, int sums);

/* Whether 3x3 tiles of so many rows and columns keep the error bound. A thread remembers what it
 * asked of the last shape: who chooses, checks and plans a config asks alike. */
bool winograd_three_precise(const conv2d_shape *s, int64_t tile_h, int64_t tile_w);

#endif
