/* SPDX-License-Identifier: Apache-2.0 */
/* Looking keys up in a snapshot's pages without LMDB: the same as LMDB finds, or left to it. */
#include "support/check.h"

#include <string.h>

#include "db/env.h"
#include "support/records.h"
#include "support/store.h"

enum { N = 3000 };

static optune_err err;

static ot_store *open_store(void)
{
    ot_store *store;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    return store;
}

/* Of the given length, from number `i`; half of the numbers are in the table. */
static ot_bytes key_of(int i, size_t n, char to[64])
{
    const ot_digest digest = ot_digest_of(&i, sizeof i);
    for (size_t k = 0; k < n; k++)
        to[k] = (char)digest.byte[k % 16];
    return (ot_bytes){to, n};
}

static size_t length_of(int i)
{
    return 1 + (size_t)i % 40;
}

static void put(ot_store *store, int from, int to)
{
    ot_writer writer;
    char bytes[64], value[9000];
    check_ok(ot_writer_begin(store, &writer, &err));
    for (int i = from; i < to; i++) {
        const size_t n =
            i % 500 ? (size_t)i % 90 : sizeof value; /* some on pages of their own */
        memset(value, i, n);
        check_ok(ot_writer_put(&writer, OT_TABLE_QUARANTINE, key_of(2 * i, length_of(i), bytes),
                               (ot_bytes){value, n}, NULL, &err));
    }
    check_ok(ot_writer_commit(&writer, &err));
}

/* What LMDB says of a key: 1: it has none. */
static int asked(const ot_snapshot *reader, ot_bytes key, ot_bytes *value)
{
    MDB_val wanted = value_of(key), got;
    const int told =
        mdb_get(reader->txn, reader->store->env->table[OT_TABLE_QUARANTINE], &wanted, &got);
    *value = told ? *value : bytes_of(got);
    return told == MDB_NOTFOUND ? 1 : told;
}

/* How many were found without LMDB. */
static int compare(ot_snapshot *reader, int n)
{
    char bytes[64];
    int walked = 0;
    for (int i = 0; i < 2 * n; i++) {
        const ot_bytes key = key_of(i, length_of(i / 2), bytes);
        ot_bytes found = {NULL, 0}, value = {NULL, 0};
        const int status = ot_walk_get(reader, OT_TABLE_QUARANTINE, key, &found);
        const int right = asked(reader, key, &value);
        assert_int_equal(ot_walk_none(reader, OT_TABLE_QUARANTINE, key) && right == 0, false);
        if (status < 0)
            continue;
        assert_int_equal(status, right);
        assert_ptr_equal(found.data, value.data);
        assert_int_equal(found.n, value.n);
        walked += status == OPTUNE_OK;
    }
    return walked;
}

static void the_same_is_found(void **state)
{
    (void)state;
    ot_store *store = open_store();
    ot_snapshot before, now;
    char bytes[64];
    check_ok(ot_snapshot_begin(store, &before, &err));
    assert_int_equal(
        ot_walk_get(&before, OT_TABLE_QUARANTINE, key_of(0, 16, bytes), &(ot_bytes){NULL, 0}),
        1);
    assert_true(ot_walk_none(&before, OT_TABLE_QUARANTINE, key_of(0, 16, bytes)));
    put(store, 0, N);
    check_ok(ot_snapshot_begin(store, &now, &err));
    assert_true(compare(&now, N) > N / 2); /* short keys are those of several */
    /* A snapshot stays what it was; the next one of its transaction is another. */
    assert_int_equal(compare(&before, N), 0);
    ot_snapshot_end(&now);
    put(store, N, 2 * N);
    check_ok(ot_snapshot_begin(store, &now, &err));
    assert_true(compare(&now, 2 * N) > N);
    ot_snapshot_end(&now);
    ot_snapshot_end(&before);
    ot_store_close(store);
}

/* A transaction that writes has pages that are in no file yet. */
static void a_writer_is_left_to_lmdb(void **state)
{
    (void)state;
    ot_store *store = open_store();
    ot_snapshot reader;
    ot_writer writer;
    char bytes[64];
    ot_bytes value;
    put(store, 0, N);
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_QUARANTINE, key_of(-1, 16, bytes),
                           (ot_bytes){"x", 1}, NULL, &err));
    ot_writer_view(&writer, &reader);
    assert_int_equal(ot_walk_get(&reader, OT_TABLE_QUARANTINE, key_of(-1, 16, bytes), &value),
                     -1);
    assert_false(ot_walk_none(&reader, OT_TABLE_QUARANTINE, key_of(-2, 16, bytes)));
    check_ok(
        ot_snapshot_get(&reader, OT_TABLE_QUARANTINE, key_of(-1, 16, bytes), &value, &err));
    assert_int_equal(value.n, 1);
    ot_writer_view_end(&reader);
    ot_writer_abort(&writer);
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(the_same_is_found),
        each(a_writer_is_left_to_lmdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
