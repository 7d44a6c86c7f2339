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

static int seen_none; /* of the last comparison, by their neighbours */

/* How many were found without LMDB. */
static int compare(ot_snapshot *reader, int n)
{
    char bytes[64];
    int walked = 0;
    seen_none = 0;
    for (int i = 0; i < 2 * n; i++) {
        const ot_bytes key = key_of(i, length_of(i / 2), bytes);
        ot_bytes found = {NULL, 0}, value = {NULL, 0};
        const int status = ot_walk_get(reader, OT_TABLE_QUARANTINE, key, &found);
        const int right = asked(reader, key, &value);
        if (ot_walk_none(reader, OT_TABLE_QUARANTINE, key)) {
            assert_int_equal(right, 1);
            seen_none++;
        }
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
    assert_true(seen_none > N / 4);
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

static void put_one(ot_store *store, int number, ot_bytes value)
{
    ot_writer writer;
    char bytes[64];
    check_ok(ot_writer_begin(store, &writer, &err));
    const ot_bytes key = key_of(2 * number, length_of(number), bytes);
    if (value.data)
        check_ok(ot_writer_put(&writer, OT_TABLE_QUARANTINE, key, value, NULL, &err));
    else
        check_ok(ot_writer_delete(&writer, OT_TABLE_QUARANTINE, key, &err));
    check_ok(ot_writer_commit(&writer, &err));
}

/* One side of a comparison, entry by entry: of all there are, or of some pages. */
typedef struct side {
    ot_snapshot *of;
    ot_leaves *leaves;
    bool begun;
    ot_bytes key, value;
} side;

static bool step(side *s)
{
    int status;
    if (s->leaves)
        status = ot_leaves_next(s->leaves, &s->key, &s->value);
    else if (s->begun)
        status = ot_snapshot_next(s->of, OT_TABLE_QUARANTINE, &s->key, &s->value, &err);
    else
        status = ot_snapshot_seek(s->of, OT_TABLE_QUARANTINE, &s->key, &s->value, &err);
    s->begun = true;
    assert_true(status == OPTUNE_OK || status == 1);
    return status == OPTUNE_OK;
}

/* How many entries differ, and a digest of which these are. */
static int differences(side a, side b, uint64_t *digest)
{
    int n = 0;
    bool more_a = step(&a), more_b = step(&b);
    *digest = 0;
    while (more_a || more_b) {
        const int turn = !more_a ? 1 : !more_b ? -1 : ot_bytes_order(&a.key, &b.key);
        const ot_bytes *key = turn > 0 ? &b.key : &a.key;
        if (turn || ot_bytes_order(&a.value, &b.value)) {
            *digest = *digest * 31 + ot_hash64(key->data, key->n);
            n++;
        }
        more_a = turn <= 0 ? step(&a) : more_a;
        more_b = turn >= 0 ? step(&b) : more_b;
    }
    return n;
}

/* At least so many differ. Returns in how many pages that lies. */
static int check_apart(ot_snapshot *a, ot_snapshot *b, int least)
{
    ot_leaves only_a, only_b;
    uint64_t all, some;
    assert_true(ot_leaves_apart(a, b, OT_TABLE_QUARANTINE, &only_a, &only_b));
    const int pages = only_a.n + only_b.n;
    const int n = differences((side){.of = a}, (side){.of = b}, &all);
    assert_in_range(n, least, INT32_MAX);
    assert_int_equal(differences((side){.leaves = &only_a}, (side){.leaves = &only_b}, &some),
                     n);
    assert_true(all == some);
    ot_leaves_release(&only_a);
    ot_leaves_release(&only_b);
    return pages;
}

static void what_differs_lies_in_few_pages(void **state)
{
    (void)state;
    static char large[9000];
    ot_store *store = open_store();
    ot_snapshot empty, before, now;
    check_ok(ot_snapshot_begin(store, &empty, &err));
    put(store, 100, N);
    check_ok(ot_snapshot_begin(store, &before, &err));
    const int n = (int)ot_snapshot_count(&before, OT_TABLE_QUARANTINE);
    const int all = check_apart(&empty, &before, n);
    assert_true(all > 50);
    check_apart(&before, &empty, n);
    check_ok(ot_snapshot_begin(store, &now, &err));
    assert_int_equal(check_apart(&before, &now, 0), 0);
    ot_snapshot_end(&now);
    put_one(store, 151, (ot_bytes){NULL, 0});
    put_one(store, 152, (ot_bytes){large, sizeof large});
    put_one(store, 30, (ot_bytes){"new", 3}); /* its key is a long one */
    check_ok(ot_snapshot_begin(store, &now, &err));
    assert_in_range(check_apart(&before, &now, 3), 2, 12);
    ot_snapshot_end(&now);
    /* Another height, and pages that were merged. */
    put(store, N, 20 * N);
    check_ok(ot_snapshot_begin(store, &now, &err));
    check_apart(&before, &now, 10 * N); /* short keys are those of several */
    ot_snapshot_end(&now);
    ot_snapshot_end(&before);
    ot_snapshot_end(&empty);
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(the_same_is_found),
        each(a_writer_is_left_to_lmdb),
        each(what_differs_lies_in_few_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
