/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that order one line after another: a line's items are taken to scratch, `arrange`,
 * which the body defines, brings the first K into order, and they are given to the outputs.
 * Macros beside kernels/order/keys.kernel.h: BLOCK (neighbouring lines taken together, so that
 * every cache line of a strided axis is read once), MORE (bytes of scratch for arrange, a
 * multiple of 64), SHARE (threads share each line instead of taking lines of their own).
 *
 * Scratch of a thread: BLOCK lines, a line, MORE.
 */
#ifndef OPTUNE_KERNELS_SORT_LINES_H
#define OPTUNE_KERNELS_SORT_LINES_H

#include "kernels/order/keys.kernel.h"

enum { SLACK = 64 }; /* bytes that vector stores may write beyond a line */
#define LINE_BYTES (((i64)N * (i64)sizeof(item) + SLACK + 63) / 64 * 64)
#define THREAD_BYTES ((BLOCK + 1) * LINE_BYTES + MORE)
#define GROUPS CEIL_DIV((i64)INNER, BLOCK)

#if SHARE
#define TASK_FOR
#define LINE_FOR PARALLEL_FOR
#else
#define TASK_FOR PARALLEL_FOR
#define LINE_FOR
#endif

/* Orders the first K of the N items at `a`; `b` is room for a line. Returns where they are. */
static item *arrange(item *a, item *b, void *more);

INLINE void take(const SRC *from, char *to, const int n)
{
    LINE_FOR
    for (i64 i = 0; i < N; i++)
        for (int l = 0; l < n; l++)
            ((item *)(to + l * LINE_BYTES))[i] = item_of(from[i * INNER + l], i);
}

/* arg: data, outputs, scratch */
void order(void *const *arg)
{
    const SRC *data = ARG_DATA;
    SRC *values = ARG_VALUES;
    INDEX *indices = ARG_INDICES;
    TASK_FOR
    for (i64 task = 0; task < OUTER * GROUPS; task++) {
        char *own = ARG_SCRATCH + (SHARE ? 0 : THREAD) * THREAD_BYTES;
        char *room = own + BLOCK * LINE_BYTES;
        const i64 o = task / GROUPS, c = task % GROUPS * BLOCK;
        const SRC *from = data + o * N * INNER + c;
        const int n = (int)MIN(BLOCK, INNER - c);
        if (n == BLOCK)
            take(from, own, BLOCK);
        else
            take(from, own, n);
        for (int l = 0; l < n; l++) {
            const item *done =
                arrange((item *)(own + l * LINE_BYTES), (item *)room, room + LINE_BYTES);
            const i64 to = o * K * INNER + c + l;
            LINE_FOR
            for (i64 i = 0; i < K; i++)
                put_item(done[i], from + l, values, indices, to + i * INNER);
        }
    }
}

#endif
