/* SPDX-License-Identifier: Apache-2.0 */
/* Into how many pieces what threads share is cut, for bodies and for who plans them. */
#ifndef OPTUNE_KERNELS_SHARES_H
#define OPTUNE_KERNELS_SHARES_H

/* Pieces of an axis of which a loop that `threads` share has `turns`: of `pieces` or some more, at
 * most `most`, the fewest that leave least to the thread with most. */
static inline __INT64_TYPE__ even_pieces(__INT64_TYPE__ threads, __INT64_TYPE__ turns,
                                         __INT64_TYPE__ pieces, __INT64_TYPE__ most)
{
    const __INT64_TYPE__ enough = 64 * threads; /* for whatever shares */
    __INT64_TYPE__ best = pieces, best_tasks = 0;
    if (threads == 1 || pieces < 1 || pieces >= enough || turns < 1 || turns >= enough)
        return pieces;
    for (__INT64_TYPE__ n = pieces; n == pieces || (n < pieces + threads && n <= most); n++) {
        const __INT64_TYPE__ tasks = (turns * n + threads - 1) / threads;
        if (n == pieces || tasks * best < best_tasks * n) {
            best = n;
            best_tasks = tasks;
        }
    }
    return best;
}

#endif
