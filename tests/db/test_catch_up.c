/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer that is killed between its commit's last page and the word of it to readers: they see
 * that there is a commit and read the one before, until somebody says that word.
 */
#include <unistd.h>

#include "db/kv.h"
#include "support/check.h"
#include "support/store.h"
#include "support/unsaid.h"

enum { A_WHILE_US = 60000 };

static bool knows(ot_store *store, int number)
{
    const optune_record r = some_record(number);
    return ot_store_knows(store, &r);
}

static void the_word_is_said(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_store *reader;
    ot_write_lock *lock;
    store_fill(3);
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &reader, &err));
    store_unsaid(store_dir, 3);
    const int64_t last = ot_store_last(reader);
    assert_int_equal(ot_store_snapshot(reader), last - 1);
    assert_true(knows(reader, 3) && !knows(reader, 4));
    ot_store_catch_up(reader); /* it may be about to be said */
    assert_int_equal(ot_store_snapshot(reader), last - 1);

    check_ok(ot_write_lock_open(store_dir, OT_WRITE_LOCK, &lock, &err));
    /* Who writes will say it. */
    check_ok(ot_write_lock_take(lock, NULL, &err));
    usleep(A_WHILE_US);
    ot_store_catch_up(reader);
    assert_int_equal(ot_store_snapshot(reader), last - 1);
    ot_write_lock_give(lock);
    ot_write_lock_close(lock);

    usleep(A_WHILE_US);
    ot_store_catch_up(reader);
    assert_int_equal(ot_store_snapshot(reader), last);
    assert_int_equal(ot_store_last(reader), last);
    assert_true(knows(reader, 4));
    usleep(A_WHILE_US);
    ot_store_catch_up(reader); /* nothing is left to say */
    assert_int_equal(ot_store_last(reader), last);
    ot_store_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_word_is_said, store_fresh, store_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
