/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that are written by a thread of their own while the next one is filled: all of them, in
 * their order, one at a time; what failed is told once, and signals stay the caller's.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "db/db.h"
#include "support/check.h"
#include "support/records.h"

typedef struct writing {
    sem_t may_end; /* one for each batch that a thread of its own writes */
    bool waits;
    pthread_t caller;
    atomic_int at_work;
    int n, records[8];
    bool own_thread[8], blocked[8];
    int fails_at; /* which of them; -1: none */
} writing;

static int write_batch(void *arg, ot_batch *batch, optune_err *err)
{
    writing *w = arg;
    sigset_t blocked;
    const bool own = !pthread_equal(pthread_self(), w->caller);
    assert_int_equal(atomic_fetch_add(&w->at_work, 1), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (own && w->waits) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        /* The caller goes on only if this is not its own thread's work. */
        assert_int_equal(sem_timedwait(&w->may_end, &until), 0);
    }
    w->records[w->n] = ot_batch_count(batch);
    w->own_thread[w->n] = own;
    w->blocked[w->n] = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) &&
                       !sigismember(&blocked, SIGBUS);
    const bool fails = w->n++ == w->fails_at;
    atomic_fetch_sub(&w->at_work, 1);
    return fails ? optune_fail(err, OPTUNE_EIO, "no room for batch %d", w->n - 1) : OPTUNE_OK;
}

static ot_intake *begin(writing *w, int fails_at)
{
    *w = (writing){.caller = pthread_self(), .fails_at = fails_at};
    sem_init(&w->may_end, 0, 0);
    return ot_intake_open(true, write_batch, w);
}

static void add(ot_intake *in, int n)
{
    optune_err err = {0};
    for (int i = 0; i < n; i++) {
        const optune_record r = some_record(i + 1);
        check_ok(ot_batch_add(ot_intake_batch(in), &r, NULL, &err));
    }
}

static void in_turns(void **state)
{
    (void)state;
    writing w;
    optune_err err = {0};
    ot_intake *in = begin(&w, -1);
    w.waits = true;
    add(in, 3);
    check_ok(ot_intake_full(in, &err)); /* it is not written before the next line says so */
    assert_int_equal(ot_batch_count(ot_intake_batch(in)), 0);
    add(in, 5);
    sem_post(&w.may_end);
    check_ok(ot_intake_full(in, &err));
    add(in, 2);
    assert_int_equal(ot_batch_count(ot_intake_batch(in)), 2);
    sem_post(&w.may_end);
    check_ok(ot_intake_wait(in, &err));
    assert_int_equal(w.n, 2);
    check_ok(ot_intake_flush(in, &err));
    static const int expected[] = {3, 5, 2};
    assert_int_equal(w.n, OT_COUNT(expected));
    for (int i = 0; i < OT_COUNT(expected); i++) {
        assert_int_equal(w.records[i], expected[i]);
        assert_int_equal(w.own_thread[i], i < 2);
        assert_int_equal(w.blocked[i], i < 2);
    }
    assert_int_equal(ot_batch_count(ot_intake_batch(in)), 0);
    ot_intake_close(in);
}

/* Closing waits for what is being written, and drops what is not full. */
static void closed_early(void **state)
{
    (void)state;
    writing w;
    optune_err err = {0};
    ot_intake *in = begin(&w, -1);
    add(in, 4);
    check_ok(ot_intake_full(in, &err));
    add(in, 1);
    ot_intake_close(in);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.records[0], 4);
    ot_intake_close(begin(&w, -1));
    ot_intake_close(NULL);
}

static void failing(void **state)
{
    (void)state;
    writing w;
    optune_err err = {0};
    ot_intake *in = begin(&w, 0);
    add(in, 1);
    check_ok(ot_intake_full(in, &err));
    add(in, 2);
    assert_int_equal(ot_intake_full(in, &err), OPTUNE_EIO);
    assert_string_equal(err.text, "no room for batch 0");
    assert_int_equal(w.n, 1);
    check_ok(ot_intake_wait(in, &err)); /* it was told */
    assert_int_equal(ot_batch_count(ot_intake_batch(in)), 2);
    w.fails_at = 1;
    assert_int_equal(ot_intake_flush(in, &err), OPTUNE_EIO);
    assert_string_equal(err.text, "no room for batch 1");
    ot_intake_close(in);
}

/* More than a batch, read from a log into a store, which then has it all, as a handful of lines
 * has. */
static void a_long_log(void **state)
{
    (void)state;
    enum { LINES = 40000 }; /* batches are of 16384 */
    char dir[4096], path[4200];
    optune_err err = {0};
    ot_log *log;
    ot_store *store;
    ot_store_stats stats;
    int64_t added = 0, refused = 0;
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(path, sizeof path, "%s/in.log", dir);
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    for (int i = 0; i < LINES; i++) {
        optune_record r = some_record(1);
        r.time += i;
        check_ok(ot_log_append(log, &r, &err));
    }
    ot_log_close(log);
    check_ok(ot_store_open(dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_read_log(store, path, false, &added, &refused, &err));
    assert_int_equal(added, LINES);
    assert_int_equal(refused, 0);
    /* So many make another store, which stands in the place of this one. */
    assert_true(ot_store_gone(store));
    ot_store_close(store);
    check_ok(ot_store_open(dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_read_log(store, path, false, &added, &refused, &err));
    assert_int_equal(added, LINES);
    assert_false(ot_store_gone(store));
    check_ok(ot_store_stats_get(store, &stats, &err));
    assert_int_equal(stats.records, LINES);
    ot_store_close(store);
    ot_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_turns),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(failing),
        cmocka_unit_test(a_long_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
