/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU implementations of injective ops share: every piece of an output is a range of blocks of
 * one launch, and one macro that says how it is moved. Rows only.
 */
#ifndef OPTUNE_KERNELS_MOVES_GPU_H
#define OPTUNE_KERNELS_MOVES_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/move/moves.h"

/* moves_applies, and no more pieces than compilers of kernels take in a moment: the code of each is
 * its own. */
bool moves_gpu_applies(const optune_task *task, char *why);

/* Whether rows of an eighth of the output, or more, do not come in whole vectors of 16 bytes. */
bool moves_gpu_odd(const optune_task *task, char *why);

/* What is moved are bits: the type of so many bytes, and a number in a dtype as them. */
const char *moves_bits(int64_t bytes);
uint64_t moves_fill_bits(optune_dtype dtype, double fill);

/* The longest of all pieces. */
int64_t moves_longest_vector(const optune_task *task, const moves *m);

/* How a launch moves all pieces; tile 0: by rows only. `pack` elements of a tile, at most 8 bytes,
 * are loaded and stored at once, where a piece has them so; 0 counts as 1. */
typedef struct moves_launch {
    int64_t threads, vector, each, tile, pack;
} moves_launch;

/* What a block has of a piece of tiles: `rows` along the input and `cols` along the output, as
 * many elements as a square tile; more along one where the other is short. */
typedef struct moves_tile_size {
    int64_t rows, cols, pack;
} moves_tile_size;

moves_tile_size moves_tile_size_of(const moves_piece *p, const moves_launch *by);

void moves_gpu_plan(const optune_task *task, optune_plan *plan, const moves *m,
                    const moves_launch *by);

double moves_gpu_estimate(const optune_task *task, const moves *m, const moves_launch *by);

bool moves_gpu_fits(const optune_task *task, const moves *m, const moves_launch *by, char *why);

#endif
