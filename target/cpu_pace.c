/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the core at hand is now: a loop that is always the same, timed. Its sums wait for nobody
 * and load from the nearest cache, so it is slow where the clock is, and also where the other
 * thread of the core, often of somebody else's machine, takes half of its units. A chain of
 * operations that wait for each other would see the clock alone.
 */
#include <stdlib.h>

#include "target/target.h"

enum { WORDS = 64, TURNS = 3000, ROUNDS = 3 };

static void work(const uint64_t *word)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;
    for (int i = 0; i < TURNS; i++) {
        a += word[i % WORDS];
        b += word[(i + 17) % WORDS];
        c += 7;
        d += 11;
        e ^= 13;
        /* Nobody needs the sums, which the compiler is not to know. */
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
    }
}

double ot_cpu_pace(void)
{
    static const uint64_t word[WORDS] = {1};
    double seconds[ROUNDS];
    work(word); /* its code and words come to the caches */
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start = ot_now_ns();
        work(word);
        seconds[i] = (double)(ot_now_ns() - start) * 1e-9;
    }
    return ot_median_interval(seconds, ROUNDS).median; /* a round may meet an interrupt */
}
