/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work over a range that has no order: threads take pieces of it until none is left. They live no
 * longer than the call, so that a process may fork before and behind it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"

enum { MOST_THREADS = 64, COPY_PIECE = 4 << 20 };

typedef struct work {
    int64_t n, piece;
    void (*part)(void *arg, int64_t from, int64_t to);
    void *arg;
    _Atomic int64_t next;
} work;

static void *take_pieces(void *arg)
{
    work *w = arg;
    int64_t from;
    while ((from = atomic_fetch_add(&w->next, w->piece)) < w->n)
        w->part(w->arg, from, w->n - from < w->piece ? w->n : from + w->piece);
    return NULL;
}

void ot_parallel(int64_t n, int64_t piece, int threads,
                 void (*part)(void *arg, int64_t from, int64_t to), void *arg)
{
    pthread_t thread[MOST_THREADS];
    int started = 0;
    work w = {.n = n, .piece = piece > 0 ? piece : 1, .part = part, .arg = arg};
    const int64_t pieces = n > 0 ? (n - 1) / w.piece + 1 : 0;
    while (started + 1 < threads && started + 1 < pieces && started < MOST_THREADS &&
           pthread_create(&thread[started], NULL, take_pieces, &w) == 0)
        started++;
    take_pieces(&w);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

typedef struct copying {
    char *to;
    const char *from;
} copying;

static void copy_part(void *arg, int64_t from, int64_t to)
{
    const copying *c = arg;
    memcpy(c->to + from, c->from + from, (size_t)(to - from));
}

void ot_parallel_copy(void *to, const void *from, int64_t bytes, int threads)
{
    ot_parallel(bytes, COPY_PIECE, threads, copy_part, &(copying){to, from});
}
