/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU bodies: what the threads of a team hold is combined by a tree in shared memory. Every thread of
 * the block must come here, whatever it holds; teams are powers of two and lie side by side.
 */
#ifndef OPTUNE_KERNELS_COMMON_TEAM_H
#define OPTUNE_KERNELS_COMMON_TEAM_H

#include "kernels/common/gpu.h"

/* pool[at] of this thread, number `lane` of `n`, is the place of `x`; members of a team are `step`
 * places apart. `x` becomes what OP(a, b) makes of all of them, for every thread. */
#define TEAM_COMBINE(pool, at, lane, n, step, OP, x)                                           \
    do {                                                                                       \
        pool[at] = x;                                                                          \
        BARRIER();                                                                             \
        UNROLL_BY(1)                                                                           \
        for (int ot_reach = (n) / 2; ot_reach > 0; ot_reach /= 2) {                            \
            if ((lane) < ot_reach)                                                             \
                pool[at] = OP(pool[at], pool[(at) + ot_reach * (step)]);                       \
            BARRIER();                                                                         \
        }                                                                                      \
        x = pool[(at) - (lane) * (step)];                                                      \
        BARRIER();                                                                             \
    } while (0)

#endif
