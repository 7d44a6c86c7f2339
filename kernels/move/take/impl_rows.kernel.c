/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of INNER elements out of [OUTER][N][INNER], COUNT for each outer one: numbers, or made of
 * dims that are arguments. Macros: ELEMENT, INDEX (their types), AHEAD (how many slices ahead are
 * fetched).
 */
#include "kernels/common/cpu.kernel.h"

typedef unsigned char u8;
typedef unsigned short u16;

INLINE i64 slice(INDEX index, const i64 n)
{
    const i64 at = index < 0 ? (i64)index + n : (i64)index;
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* arg: data, indices, out, dims */
void take(void *const *arg)
{
    const ELEMENT *data = arg[0];
    const INDEX *indices = arg[1];
    ELEMENT *out = arg[2];
    const i64 count = COUNT, n = N, inner = INNER, rows = (i64)OUTER * count;
    PARALLEL_FOR
    for (i64 row = 0; row < rows; row++) {
        const i64 k = row % count;
        const ELEMENT *from = data + row / count * (n * inner);
        if (n == 0) { /* a length that is known at run time */
            __builtin_memset(out + row * inner, 0, (usize)inner * sizeof *out);
            continue;
        }
#if AHEAD > 0
        if (k + AHEAD < count)
            __builtin_prefetch(from + slice(indices[k + AHEAD], n) * inner);
#endif
        from += slice(indices[k], n) * inner;
        __builtin_memcpy(out + row * inner, from, (usize)inner * sizeof *out);
    }
}
