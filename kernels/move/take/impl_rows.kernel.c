/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of INNER elements out of [OUTER][N][INNER], COUNT for each outer one. Macros: ELEMENT,
 * INDEX (their types), AHEAD (how many slices ahead are fetched).
 */
#include "kernels/common/cpu.kernel.h"

typedef unsigned char u8;
typedef unsigned short u16;

INLINE i64 slice(INDEX index)
{
    const i64 at = index < 0 ? (i64)index + N : (i64)index;
    return at < 0 ? 0 : at >= N ? N - 1 : at;
}

/* arg: data, indices, out */
void take(void *const *arg)
{
    const ELEMENT *data = arg[0];
    const INDEX *indices = arg[1];
    ELEMENT *out = arg[2];
    PARALLEL_FOR
    for (i64 row = 0; row < (i64)OUTER * COUNT; row++) {
        const i64 k = row % COUNT;
        const ELEMENT *from = data + row / COUNT * ((i64)N * INNER);
#if AHEAD > 0
        if (k + AHEAD < COUNT)
            __builtin_prefetch(from + slice(indices[k + AHEAD]) * INNER);
#endif
        from += slice(indices[k]) * INNER;
        __builtin_memcpy(out + row * INNER, from, (usize)INNER * sizeof *out);
    }
}
