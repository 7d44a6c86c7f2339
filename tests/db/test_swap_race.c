/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores are opened while others put another store in their place, all the time: every open
 * succeeds and sees all records, also where that takes two steps, and after a kill between them.
 */
#include "support/check.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/kv.h"
#include "support/store.h"

enum { OPENERS = 6, RECORDS = 3 };

static void fail_child(const char *who, const optune_err *err)
{
    fprintf(stderr, "%s: %s\n", who, err->text);
    _exit(1);
}

static void open_on(int mode, double until)
{
    optune_err err = {0};
    const optune_record record = some_record(0);
    const ot_question question = {.device = record.device,
                                  .target = record.target,
                                  .call = record.call,
                                  .policy = record.policy};
    while (ot_now() < until) {
        ot_store *store;
        ot_arena arena = {0};
        optune_record *found;
        int n = 0;
        if (ot_store_open(store_dir, mode, &store, &err) < 0)
            fail_child("opening", &err);
        if (ot_store_find(store, &question, 0, &arena, &found, &n, &err) < 0) {
            if (!ot_store_gone(store))
                fail_child("reading", &err);
        } else if (n != RECORDS) {
            snprintf(err.text, sizeof err.text, "%d records", n);
            fail_child("reading", &err);
        }
        ot_arena_release(&arena);
        ot_store_close(store);
    }
    _exit(0);
}

static void compact_on(double until)
{
    optune_err err = {0};
    while (ot_now() < until) {
        ot_store *store;
        int64_t before, after;
        if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
            fail_child("opening to compact", &err);
        if (ot_store_compact(store, &before, &after, &err) < 0 && !ot_store_gone(store))
            fail_child("compacting", &err);
        ot_store_close(store);
    }
    _exit(0);
}

static void open_while_swapped(double seconds)
{
    const double until = ot_now() + seconds;
    int status, wrong = 0;
    store_fill(RECORDS);
    for (int i = 0; i < OPENERS + 2; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (i < 2)
                compact_on(until);
            open_on(i % 2 ? OT_STORE_READ : OT_STORE_WRITE, until);
        }
    }
    while (wait(&status) > 0)
        wrong += status != 0;
    assert_int_equal(wrong, 0);
}

static void opened_while_swapped(void **state)
{
    (void)state;
    open_while_swapped(2);
}

static void opened_while_swapped_in_two_steps(void **state)
{
    (void)state;
    ot_swap_in_two_steps = true;
    open_while_swapped(2);
    ot_swap_in_two_steps = false;
}

static void rename_below(const char *from, const char *to)
{
    char source[4200], target[4200];
    snprintf(source, sizeof source, "%s/%s", store_dir, from);
    snprintf(target, sizeof target, "%s/%s", store_dir, to);
    assert_int_equal(rename(source, target), 0);
}

/* As a compaction that was killed between its two steps leaves it: who comes next, reader or
 * writer, finds all records, and the folder goes with the next compaction. */
static void killed_between_the_steps(void **state)
{
    (void)state;
    for (int mode = OT_STORE_READ; mode <= OT_STORE_WRITE; mode++) {
        optune_err err;
        ot_store *store;
        ot_snapshot from;
        char work[4200];
        int n = 0;
        int64_t before, after;
        snprintf(work, sizeof work, "%s/swap", store_dir);
        if (mode == OT_STORE_READ)
            store_fill(RECORDS);
        check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
        assert_int_equal(mkdir(work, 0777), 0);
        strcat(work, "/store");
        assert_int_equal(mkdir(work, 0777), 0);
        check_ok(ot_snapshot_begin(store, &from, &err));
        check_ok(ot_store_copy(&from, work, NULL, &err));
        ot_snapshot_end(&from);
        ot_store_close(store);
        rename_below("store", "swap/store.old");
        check_ok(ot_store_open(store_dir, mode, &store, &err));
        check_ok(ot_store_walk(store, store_count, &n, &err));
        assert_int_equal(n, RECORDS);
        ot_store_close(store);
        check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
        check_ok(ot_store_compact(store, &before, &after, &err));
        ot_store_close(store);
        *strrchr(work, '/') = 0;
        assert_false(ot_exists(work));
    }
}

/* Who still has the store that another has replaced cannot put it back over what came since. */
static void what_was_replaced_stays_away(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store, *now;
    int64_t before, after;
    int status, n = 0;
    store_fill(RECORDS);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    const pid_t child = fork();
    if (child == 0) {
        const optune_record late = some_record(RECORDS);
        ot_store *own;
        if (ot_store_open(store_dir, OT_STORE_WRITE, &own, &err) < 0 ||
            ot_store_compact(own, &before, &after, &err) < 0)
            fail_child("compacting", &err);
        ot_store_close(own);
        if (ot_store_open(store_dir, OT_STORE_WRITE, &own, &err) < 0 ||
            ot_store_put(own, &late, 1, NULL, &err) < 0)
            fail_child("writing", &err);
        ot_store_close(own);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ot_store_compact(store, &before, &after, &err), OPTUNE_ESTORE);
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &now, &err));
    check_ok(ot_store_walk(now, store_count, &n, &err));
    assert_int_equal(n, RECORDS + 1);
    ot_store_close(now);
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(opened_while_swapped),
        each(opened_while_swapped_in_two_steps),
        each(killed_between_the_steps),
        each(what_was_replaced_stays_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
