/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of any axis: a thread for a part of one line, EACH elements in flight. */
#include "kernels/scan/body_gpu.kernel.h"

/* Elements from .. end of a line, after `carry`; stored by `scan` only. */
#define WALK(store)                                                                            \
    i64 i = from;                                                                              \
    for (; i + EACH <= end; i += EACH) {                                                       \
        IN x[EACH];                                                                            \
        UNROLL                                                                                 \
        for (int e = 0; e < EACH; e++)                                                         \
            x[e] = in[base + (i + e) * INNER];                                                 \
        UNROLL                                                                                 \
        for (int e = 0; e < EACH; e++) {                                                       \
            const DTYPE next = OP(carry, LOADED(x[e]));                                         \
            store(i + e) carry = next;                                                         \
        }                                                                                      \
    }                                                                                          \
    for (; i < end; i++) {                                                                     \
        const DTYPE next = OP(carry, LOADED(in[base + i * INNER]));                             \
        store(i) carry = next;                                                                 \
    }
#define NOTHING(i)
#define PUT(i) out[base + (i)*INNER] = STORED(EXCLUSIVE ? carry : next);

#if PARTS > 1
KERNEL(THREADS, 1, 1)
amounts(GLOBAL const IN *RESTRICT in, GLOBAL DTYPE *RESTRICT sums)
{
    const i64 line = (i64)GROUP * THREADS + THREAD_X;
    const i64 base = line / INNER * ((i64)N * INNER) + line % INNER;
    const i64 from = PART_FROM(PART), end = PART_FROM(PART + 1);
    if (line < LINES) {
        DTYPE carry = NEUTRAL;
        WALK(NOTHING)
        sums[PART * LINES + line] = carry;
    }
}
#endif

KERNEL(THREADS, 1, 1)
scan(GLOBAL const IN *RESTRICT in, GLOBAL OUT_T *RESTRICT out
#if PARTS > 1
     ,
     GLOBAL const DTYPE *RESTRICT sums
#endif
)
{
    const i64 line = (i64)GROUP * THREADS + THREAD_X;
    const i64 base = line / INNER * ((i64)N * INNER) + line % INNER;
    const i64 from = PART_FROM(PART), end = PART_FROM(PART + 1);
    if (line < LINES) {
        DTYPE carry = NEUTRAL;
#if PARTS > 1
        for (int p = 0; p < PART; p++)
            carry = OP(carry, sums[p * LINES + line]);
#endif
        WALK(PUT)
    }
}
