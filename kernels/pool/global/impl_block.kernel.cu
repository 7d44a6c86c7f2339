/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of PIXELS of BLOCK channels: ALONG threads along the channels, ACROSS along the
 * pixels. */
#include "kernels/common/team.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define TILES CEIL_DIV(BLOCK, ALONG)

KERNEL(ALONG, ACROSS, 1)
means(GLOBAL const DTYPE *RESTRICT in, GLOBAL DTYPE *RESTRICT out)
{
    SHARED(shared, ALONG * ACROSS * sizeof(DTYPE));
    LOCAL DTYPE *const pool = (LOCAL DTYPE *)shared;
    const int x = THREAD_X, y = THREAD_Y, at = y * ALONG + x;
    const int c = BLOCK_X % TILES * ALONG + x;
    const INDEX plane = (INDEX)(BLOCK_X / TILES);
    DTYPE sum = 0;
    if (c < BLOCK)
        for (INDEX i = y; i < PIXELS; i += ACROSS)
            sum += in[(plane * PIXELS + i) * BLOCK + c];
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, PLUS, sum);
    if (c < BLOCK && y == 0)
        out[plane * BLOCK + c] = sum / (DTYPE)PIXELS;
}
