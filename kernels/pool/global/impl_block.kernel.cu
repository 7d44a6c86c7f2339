/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planes of PIXELS of BLOCK channels: ALONG threads along the channels, ACROSS along the pixels,
 * in vectors of V where there is one channel, for each of ABREAST planes of a block.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define TILES CEIL_DIV(BLOCK, ALONG)

VECTOR(vec, IN_T, V);

KERNEL(ALONG, ACROSS, ABREAST)
means(GLOBAL const IN_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, ALONG * ACROSS * ABREAST * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int x = THREAD_X, y = THREAD_Y, z = THREAD_Z, at = (z * ACROSS + y) * ALONG + x;
    const int c = BLOCK_X % TILES * ALONG + x;
    const INDEX plane = (INDEX)(BLOCK_X / TILES) * ABREAST + z;
    SCALAR sum = 0;
    if (c < BLOCK && plane < PLANES) {
        GLOBAL const IN_T *const from = in + plane * ((INDEX)PIXELS * BLOCK) + c;
        UNROLL_BY(4)
        for (int i = y; i < PIXELS / V; i += ACROSS) {
            const vec v = *(GLOBAL const vec *)(from + (INDEX)i * (V * BLOCK));
            UNROLL
            for (int l = 0; l < V; l++)
                sum += (SCALAR)IN_OF(v.v[l]);
        }
    }
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, PLUS, sum);
    if (c < BLOCK && plane < PLANES && y == 0)
        out[plane * BLOCK + c] = RESULT(sum / (SCALAR)PIXELS);
}
