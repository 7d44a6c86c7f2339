/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging for the register tile where an operand lies in memory as the tile wants it, depth
 * first and in whole tiles: BK rows of `width` elements, `pitch` elements apart, travel through
 * registers in vectors of TILE_V. No edges: who packs an operand pads it.
 */
#ifndef OPTUNE_KERNELS_COMMON_TILE_STAGE_GPU_H
#define OPTUNE_KERNELS_COMMON_TILE_STAGE_GPU_H

#include "kernels/matmul/gpu/tile_gpu.kernel.h"

#define TILE_V (16 / (int)sizeof(DTYPE))
#define TILE_VECS(width) CEIL_DIV(BK *(width) / TILE_V, THREADS) /* of a thread */

VECTOR(tile_vec, DTYPE, 16 / sizeof(DTYPE));

/* `from` is the tile's first element; nothing is fetched unless `on`. */
INLINE void tile_fetch(GLOBAL const DTYPE *from, i64 pitch, const int width, int thread,
                       tile_vec *next, bool on)
{
    const int each = THREADS * TILE_V; /* elements of all threads */
    GLOBAL const DTYPE *first =
        from + thread * TILE_V / width * pitch + thread * TILE_V % width;
    OPAQUE_POINTER(first);
    UNROLL
    for (int i = 0; i < TILE_VECS(width); i++) {
        const int e = (thread + i * THREADS) * TILE_V;
        if (on && (BK * width / TILE_V % THREADS == 0 || e < BK * width))
            next[i] = *(GLOBAL const tile_vec *)(each % width == 0
                                                     ? first + i * each / width * pitch
                                                     : from + e / width * pitch + e % width);
    }
}

INLINE void tile_store(LOCAL DTYPE *tile, const int width, int thread, const tile_vec *next)
{
    UNROLL
    for (int i = 0; i < TILE_VECS(width); i++) {
        const int e = (thread + i * THREADS) * TILE_V;
        if (BK * width / TILE_V % THREADS == 0 || e < BK * width)
            *(LOCAL tile_vec *)(tile + e) = next[i];
    }
}

#endif
