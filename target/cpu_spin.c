/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often an idle thread of libgomp, or of a team of ours, looks for new work before it
 * sleeps. GOMP_SPINCOUNT counts looks, and what one takes (a `pause`) differs by a factor of five
 * among processors: as long as is meant is a number of looks only here.
 */
#include "target/target.h"

enum { LOOKS = 1000, REPEATS = 5, FEWEST = 1000, MOST = 1000000 };

/* As libgomp waits: a load, a comparison, a pause. */
static void look_in_vain(const int *at, int64_t n)
{
    for (int64_t i = 0; i < n && __atomic_load_n(at, __ATOMIC_RELAXED) == 0; i++)
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        __asm__ volatile("" ::: "memory");
#endif
}

int64_t ot_cpu_spins_of(double seconds, double each)
{
    const double n = each > 0 ? seconds / each : MOST;
    return n < FEWEST ? FEWEST : n > MOST ? MOST : (int64_t)n;
}

int64_t ot_cpu_spins(double seconds)
{
    static _Atomic int64_t known; /* picoseconds of one look */
    const int nothing = 0;
    int64_t least = known;
    for (int i = 0; i < REPEATS && !known; i++) { /* the quickest met no other process */
        const int64_t start = ot_now_ns();
        look_in_vain(&nothing, LOOKS);
        const int64_t took = ot_now_ns() - start;
        least = i == 0 || took < least ? took : least;
    }
    known = least;
    return ot_cpu_spins_of(seconds, (double)least * 1e-9 / LOOKS);
}
