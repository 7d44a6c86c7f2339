/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a range: each once, none outside, by the threads that were asked for. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/check.h"

enum { MOST = 1000 };

typedef struct seen {
    _Atomic int times[MOST];
    _Atomic int longest;
    _Atomic int strangers; /* pieces that another thread took */
    pthread_t self;
} seen;

static void mark(void *arg, int64_t from, int64_t to)
{
    seen *s = arg;
    assert_true(from >= 0 && from < to && to <= MOST);
    for (int64_t i = from; i < to; i++)
        s->times[i]++;
    int longest = s->longest;
    while (to - from > longest &&
           !atomic_compare_exchange_weak(&s->longest, &longest, (int)(to - from)))
        continue;
    s->strangers += !pthread_equal(pthread_self(), s->self);
}

static void test_each_once(void **state)
{
    (void)state;
    static const int n[] = {0, 1, 7, 64, 999, 1000}, piece[] = {1, 7, 64, 5000},
                     threads[] = {0, 1, 3, 100};
    for (int a = 0; a < OT_COUNT(n); a++)
        for (int b = 0; b < OT_COUNT(piece); b++)
            for (int c = 0; c < OT_COUNT(threads); c++) {
                static seen s;
                memset(&s, 0, sizeof s);
                s.self = pthread_self();
                ot_parallel(n[a], piece[b], threads[c], mark, &s);
                for (int i = 0; i < MOST; i++)
                    assert_int_equal(s.times[i], i < n[a]);
                assert_true(s.longest <= piece[b]);
                if (threads[c] < 2 || n[a] <= piece[b])
                    assert_int_equal(s.strangers, 0);
            }
}

/* Three threads meet: each waits in its piece until all are there. */
static void meet(void *arg, int64_t from, int64_t to)
{
    (void)from;
    (void)to;
    pthread_barrier_wait(arg);
}

static void test_at_once(void **state)
{
    (void)state;
    pthread_barrier_t all;
    pthread_barrier_init(&all, NULL, 3);
    ot_parallel(3, 1, 3, meet, &all);
    pthread_barrier_destroy(&all);
}

static void test_copy(void **state)
{
    (void)state;
    const size_t n = (9 << 20) + 13;
    char *from = ot_alloc(n), *to = ot_alloc(n + 1);
    for (size_t i = 0; i < n; i++)
        from[i] = (char)(i * 7 + (i >> 11));
    ot_parallel_copy(to, from, (int64_t)n, 3);
    assert_memory_equal(to, from, n);
    assert_int_equal(to[n], 0);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
