/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU bodies: rows of COUNT elements of IN_T that lie one behind the other, OUTPUTS of them, are
 * folded each to one value. A block stages THREADS / ROW_TEAM rows as one run, then ROW_TEAM
 * threads walk a row in shared memory.
 */
#ifndef OPTUNE_KERNELS_COMMON_STAGED_ROWS_H
#define OPTUNE_KERNELS_COMMON_STAGED_ROWS_H

#define STAGED_T IN_T
#include "kernels/common/staged.kernel.h"

#define STAGED_ROWS (THREADS / ROW_TEAM)
#define STAGED_POOL STAGED_ROOM(STAGED_ROWS *COUNT)
/* The bytes of the stage: the rows, and a place of each thread. */
#define STAGED_ROWS_ROOM (STAGED_POOL + THREADS * (int)sizeof(SCALAR))

/* The rows of this block are in shared memory; of this thread's, `x` becomes OP(x, MAP(element))
 * over every ROW_TEAM-th element. Threads that walk rows of an even number of words alone begin
 * one element apart, for else they would meet in one bank. */
#define STAGED_FOLD(pool, in, t, OP, MAP, x)                                                   \
    do {                                                                                       \
        const INDEX ot_k = (INDEX)BLOCK_X * STAGED_ROWS;                                       \
        const int ot_rows = (int)MIN((INDEX)STAGED_ROWS, (INDEX)OUTPUTS - ot_k);               \
        const int ot_skip = STAGED_SKIP(ot_k * COUNT);                                         \
        stage(pool, (in) + ot_k * COUNT, ot_skip, ot_rows * COUNT, t);                         \
        BARRIER();                                                                             \
        if ((t) / ROW_TEAM < ot_rows) {                                                        \
            LOCAL const IN_T *const ot_row = (pool) + ot_skip + (t) / ROW_TEAM * COUNT;        \
            int ot_i = ROW_TEAM > 1 ? (t) % ROW_TEAM : COUNT % 2 == 0 ? (t) % COUNT : 0;       \
            UNROLL_BY(8)                                                                       \
            for (int ot_n = (t) % ROW_TEAM; ot_n < COUNT; ot_n += ROW_TEAM) {                  \
                x = OP(x, MAP((SCALAR)IN_OF(ot_row[ot_i])));                                   \
                ot_i += ROW_TEAM;                                                              \
                if (ROW_TEAM == 1 && COUNT % 2 == 0 && ot_i == COUNT)                          \
                    ot_i = 0;                                                                  \
            }                                                                                  \
        }                                                                                      \
    } while (0)

#endif
