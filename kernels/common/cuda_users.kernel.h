/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses what a body's `begin` made. A loaded module may be bound several times, by equal calls
 * of a program and by copies for rotating, and the loader gives several machines of a process one
 * module, each with a stream and a thread of its own. So what `begin` makes is kept once for each
 * stream, in a place of its own: made for the first who binds there, destroyed with the last.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUDA_USERS_H
#define OPTUNE_KERNELS_COMMON_CUDA_USERS_H

#include "kernels/common/cuda_library.kernel.h"

enum { MOST_STREAMS = 16 };

static struct {
    const void *stream;
    int n;
} users[MOST_STREAMS];
static char users_lock;

/* Adds `by` (1, 0, -1) to the users of the stream, which are `*n` then. Its place, the one it had
 * before where that is free; -1: it has none. */
static int count_users(const void *stream, int by, int *n)
{
    int place = -1;
    while (__atomic_test_and_set(&users_lock, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < MOST_STREAMS; i++)
        if (users[i].stream == stream && (users[i].n > 0 || by > 0))
            place = i;
    for (int i = 0; i < MOST_STREAMS && by > 0 && place < 0; i++)
        if (users[i].n == 0)
            place = i;
    if (place >= 0) {
        users[place].stream = stream;
        *n = users[place].n += by;
    }
    __atomic_clear(&users_lock, __ATOMIC_RELEASE);
    return place;
}

/* One more user of the stream. The place if it is the first, who makes what is there; else -1. */
static int first_user(const void *stream)
{
    int n = 0;
    const int place = count_users(stream, 1, &n);
    if (place < 0)
        fail("begin", MOST_STREAMS, "too many streams use this library's call at once",
             "close some of the programs or sessions that this process has open");
    return n == 1 ? place : -1;
}

/* The place if the stream has one user, who destroys what is there before it leaves; else -1. */
static int last_user(const void *stream)
{
    int n = 0;
    const int place = count_users(stream, 0, &n);
    return n == 1 ? place : -1;
}

/* One user less; the place is another stream's behind the last. */
static void leave(const void *stream)
{
    int n;
    count_users(stream, -1, &n);
}

/* The place of a stream that has users; -1: it has none. */
static int place_of(const void *stream)
{
    int n;
    return count_users(stream, 0, &n);
}

#endif
