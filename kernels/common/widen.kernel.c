/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16-bit floats as float32 and back, by the rules of half.kernel.h: the stages in front of and
 * behind what computes in float32 though its call has 16-bit floats.
 */
#define DTYPE float
#include "kernels/common/half_lanes.kernel.h"

#define CHUNK ((i64)1 << 14) /* elements of one task */

/* arg: from, to, then four numbers whose product is the elements */
#define ELEMENTS                                                                               \
    (*(const i64 *)arg[2] * *(const i64 *)arg[3] * *(const i64 *)arg[4] * *(const i64 *)arg[5])

#define CONVERT(name, from_t, to_t, load_t, store_t, lanes, one)                               \
    void name(void *const *arg)                                                                \
    {                                                                                          \
        const from_t *from = arg[0];                                                           \
        to_t *to = arg[1];                                                                     \
        const i64 n = ELEMENTS;                                                                \
        PARALLEL_FOR                                                                           \
        for (i64 c = 0; c < CEIL_DIV(n, CHUNK); c++) {                                         \
            const i64 end = MIN((c + 1) * CHUNK, n);                                           \
            i64 i = c * CHUNK;                                                                 \
            for (; i + VLEN <= end; i += VLEN)                                                 \
                *(store_t *)(to + i) = lanes(*(const load_t *)(from + i));                     \
            for (; i < end; i++)                                                               \
                to[i] = one(from[i]);                                                          \
        }                                                                                      \
    }

CONVERT(widen_half, unsigned short, float, halves_at, vecu, floats_of_halves, float_of_half)
CONVERT(widen_bfloat, unsigned short, float, halves_at, vecu, floats_of_bfloats,
        float_of_bfloat)
CONVERT(narrow_half, float, unsigned short, vecu, halves_at, halves_of_floats, half_of_float)
CONVERT(narrow_bfloat, float, unsigned short, vecu, halves_at, bfloats_of_floats,
        bfloat_of_float)
