/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU bodies: what the threads of a team hold is combined. Every thread of the block must come
 * here, whatever it holds; teams are powers of two and lie side by side. CUDA combines within
 * warps by shuffles (TEAM_SWAP), so that only what warps leave meets in shared memory; OpenCL 1.2
 * has no such word and builds a tree there.
 */
#ifndef OPTUNE_KERNELS_COMMON_TEAM_H
#define OPTUNE_KERNELS_COMMON_TEAM_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA
#define TEAM_COPY(y, x) auto y = x /* a variable of the same type */
/* y = what the thread whose number differs by `reach` in its bits, of the same warp, has in x */
#define TEAM_SWAP(y, x, reach) (y) = __shfl_xor_sync(~0u, x, reach)
#endif

/* The tree: pool[at] of this thread, number `lane` of `n`, is the place of `x`; members of a
 * team are `step` places apart. */
#define TEAM_TREE(pool, at, lane, n, step, OP, x)                                              \
    do {                                                                                       \
        (pool)[at] = x;                                                                        \
        BARRIER();                                                                             \
        UNROLL_BY(1)                                                                           \
        for (int ot_reach = (n) / 2; ot_reach > 0; ot_reach /= 2) {                            \
            if ((lane) < ot_reach)                                                             \
                (pool)[at] = OP((pool)[at], (pool)[(at) + ot_reach * (step)]);                 \
            BARRIER();                                                                         \
        }                                                                                      \
        x = (pool)[(at) - (lane) * (step)];                                                    \
        BARRIER();                                                                             \
    } while (0)

/* `x` of this thread, number `lane` of the `n` of its team, becomes what OP(a, b) makes of all of
 * them, for every thread. Members are `step` threads apart, thread `at` has place pool[at]. OP's
 * operands may come in any order. */
#ifdef TEAM_SWAP
#define TEAM_COMBINE(pool, at, lane, n, step, OP, x)                                           \
    do {                                                                                       \
        if ((step) == 1) {                                                                     \
            TEAM_COPY(ot_y, x);                                                                \
            UNROLL                                                                             \
            for (int ot_reach = MIN(n, 32) / 2; ot_reach > 0; ot_reach /= 2) {                 \
                TEAM_SWAP(ot_y, x, ot_reach);                                                  \
                x = OP(x, ot_y);                                                               \
            }                                                                                  \
            if ((n) > 32) {                                                                    \
                if ((lane) % 32 == 0)                                                          \
                    (pool)[(at) / 32] = x;                                                     \
                BARRIER();                                                                     \
                x = (pool)[((at) - (lane)) / 32];                                              \
                UNROLL                                                                         \
                for (int ot_w = 1; ot_w < (n) / 32; ot_w++)                                    \
                    x = OP(x, (pool)[((at) - (lane)) / 32 + ot_w]);                            \
                BARRIER();                                                                     \
            }                                                                                  \
        } else {                                                                               \
            TEAM_TREE(pool, at, lane, n, step, OP, x);                                         \
        }                                                                                      \
    } while (0)
#else
#define TEAM_COMBINE TEAM_TREE
#endif

/* `count` sums at once: x[0 .. count) of every thread becomes what all of its team have there,
 * teams being `n` neighbours in a block of `all` threads. Needs TEAM_SUMS_ROOM places of the
 * pool. */
#ifdef TEAM_SWAP
#define TEAM_SUMS_ROOM(all, n, count) ((n) > 32 ? (count) * (all) / 32 : 1)
#define TEAM_SUMS(pool, t, lane, n, all, count, x)                                             \
    do {                                                                                       \
        TEAM_COPY(ot_y, (x)[0]);                                                               \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (count); ot_i++) {                                           \
            UNROLL                                                                             \
            for (int ot_reach = MIN(n, 32) / 2; ot_reach > 0; ot_reach /= 2) {                 \
                TEAM_SWAP(ot_y, (x)[ot_i], ot_reach);                                          \
                (x)[ot_i] += ot_y;                                                             \
            }                                                                                  \
        }                                                                                      \
        if ((n) > 32) {                                                                        \
            UNROLL                                                                             \
            for (int ot_i = 0; ot_i < (count); ot_i++)                                         \
                if ((lane) % 32 == 0)                                                          \
                    (pool)[ot_i * ((all) / 32) + (t) / 32] = (x)[ot_i];                        \
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
