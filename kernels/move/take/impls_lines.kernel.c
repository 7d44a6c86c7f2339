/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather and, where it ADDS, scatter_add: data is [OUTER][N][INNER], indices (and updates) are
 * [OUTER][COUNT][INNER]. A task is WIDTH lines that are next to each other, so that no two tasks
 * meet in one element.
 */
#include "kernels/common/cpu.kernel.h"

/* An index below 0 counts from the end; what is outside is the first or the last slice. */
INLINE i64 slice(i64 index)
{
    const i64 at = index < 0 ? index + N : index;
    return at < 0 ? 0 : at >= N ? N - 1 : at;
}

void lines(void *const *arg)
{
    const ELEMENT *data = arg[0];
    const INDEX *index = arg[1];
    const i64 blocks = CEIL_DIV((i64)INNER, WIDTH);
    PARALLEL_FOR
    for (i64 task = 0; task < OUTER * blocks; task++) {
        const i64 outer = task / blocks, from = task % blocks * WIDTH;
        const i64 width = MIN((i64)WIDTH, INNER - from);
        const i64 whole = outer * N * INNER + from, each = outer * COUNT * INNER + from;
#if ADDS
        const ELEMENT *update = arg[2];
        ELEMENT *out = arg[3];
        for (i64 row = 0; row < N; row++)
            for (i64 i = 0; i < width; i++)
                out[whole + row * INNER + i] = data[whole + row * INNER + i];
        for (i64 row = 0; row < COUNT; row++)
            for (i64 i = 0; i < width; i++)
                out[whole + slice(index[each + row * INNER + i]) * INNER + i] +=
                    update[each + row * INNER + i];
#else
        ELEMENT *out = arg[2];
        for (i64 row = 0; row < COUNT; row++)
            for (i64 i = 0; i < width; i++)
                out[each + row * INNER + i] =
                    data[whole + slice(index[each + row * INNER + i]) * INNER + i];
#endif
    }
}
