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

/* `count` sums at once: x[0 .. count) of every thread becomes what all of its team have there, teams
 * being `n` neighbours in a block of `all` threads. CUDA adds within warps by shuffles, so that only
 * what warps leave meets in the pool: TEAM_SUMS_ROOM places, the same number that the row asks for. */
#ifdef OT_CUDA
#define TEAM_SUMS_ROOM(all, n, count) ((n) > 32 ? (count) * (all) / 32 : 1)
#define TEAM_SUMS(pool, t, lane, n, all, count, x)                                             \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (count); ot_i++) {                                           \
            UNROLL                                                                             \
            for (int ot_reach = ((n) < 32 ? (n) : 32) / 2; ot_reach > 0; ot_reach /= 2)        \
                (x)[ot_i] += __shfl_xor_sync(~0u, (x)[ot_i], ot_reach);                        \
        }                                                                                      \
        if ((n) > 32) {                                                                        \
            UNROLL                                                                             \
            for (int ot_i = 0; ot_i < (count) && (lane) % 32 == 0; ot_i++)                     \
                (pool)[ot_i * ((all) / 32) + (t) / 32] = (x)[ot_i];                            \
            BARRIER();                                                                         \
            UNROLL                                                                             \
            for (int ot_i = 0; ot_i < (count); ot_i++) {                                       \
                (x)[ot_i] = 0;                                                                 \
                UNROLL                                                                         \
                for (int ot_w = 0; ot_w < (n) / 32; ot_w++)                                    \
                    (x)[ot_i] += (pool)[ot_i * ((all) / 32) + ((t) - (lane)) / 32 + ot_w];     \
            }                                                                                  \
            BARRIER();                                                                         \
        }                                                                                      \
    } while (0)
#else
#define TEAM_SUMS_ROOM(all, n, count) ((count) * (all))
#define TEAM_SUMS(pool, t, lane, n, all, count, x)                                             \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (count); ot_i++)                                             \
            (pool)[ot_i * (all) + (t)] = (x)[ot_i];                                            \
        BARRIER();                                                                             \
        UNROLL_BY(1)                                                                           \
        for (int ot_reach = (n) / 2; ot_reach > 0; ot_reach /= 2) {                            \
            if ((lane) < ot_reach) {                                                           \
                UNROLL                                                                         \
                for (int ot_i = 0; ot_i < (count); ot_i++)                                     \
                    (pool)[ot_i * (all) + (t)] += (pool)[ot_i * (all) + (t) + ot_reach];       \
            }                                                                                  \
            BARRIER();                                                                         \
        }                                                                                      \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (count); ot_i++)                                             \
            (x)[ot_i] = (pool)[ot_i * (all) + (t) - (lane)];                                   \
        BARRIER();                                                                             \
    } while (0)
#endif

#endif
