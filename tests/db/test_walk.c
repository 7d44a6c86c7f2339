/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking keys up in a snapshot's pages without LMDB, and going on from there: the same as LMDB
 * finds. A damaged page is refused by whoever meets it, and not before.
 */
#include "support/check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "db/walk.h"
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

static bool has_large = true; /* values, which lie on pages of their own */

static void put(ot_store *store, int from, int to)
{
    ot_writer writer;
    char bytes[64], value[9000];
    check_ok(ot_writer_begin(store, &writer, &err));
    for (int i = from; i < to; i++) {
        const size_t n = i % 500 || !has_large ? (size_t)i % 90 : sizeof value;
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

/* From a key on, a few steps; "" is the first. */
static void compare_steps(ot_snapshot *reader, ot_bytes from)
{
    enum { STEPS = 40 };
    MDB_cursor *cursor;
    MDB_val wanted = value_of(from), got;
    ot_bytes key = from, value;
    assert_int_equal(
        mdb_cursor_open(reader->txn, reader->store->env->table[OT_TABLE_QUARANTINE], &cursor),
        0);
    int right = mdb_cursor_get(cursor, &wanted, &got, from.n ? MDB_SET_RANGE : MDB_FIRST);
    int status = ot_snapshot_seek(reader, OT_TABLE_QUARANTINE, &key, &value, &err);
    for (int i = 0; i < STEPS || !from.n; i++) {
        assert_int_equal(status, right == MDB_NOTFOUND ? 1 : right);
        if (right)
            break;
        assert_ptr_equal(key.data, wanted.mv_data);
        assert_int_equal(key.n, wanted.mv_size);
        assert_ptr_equal(value.data, got.mv_data);
        assert_int_equal(value.n, got.mv_size);
        right = mdb_cursor_get(cursor, &wanted, &got, MDB_NEXT);
        status = ot_snapshot_next(reader, OT_TABLE_QUARANTINE, &key, &value, &err);
    }
    if (status == 1) /* the end stays the end */
        assert_int_equal(ot_snapshot_next(reader, OT_TABLE_QUARANTINE, &key, &value, &err), 1);
    mdb_cursor_close(cursor);
}

/* How many were found. */
static int compare(ot_snapshot *reader, int n)
{
    char bytes[64];
    int walked = 0;
    seen_none = 0;
    compare_steps(reader, (ot_bytes){"", 0});
    compare_steps(reader, (ot_bytes){"\xff\xff\xff\xff\xff", 5});
    for (int i = 0; i < n; i += 37)
        compare_steps(reader, key_of(i, length_of(i / 2), bytes));
    for (int i = 0; i < 2 * n; i++) {
        const ot_bytes key = key_of(i, length_of(i / 2), bytes);
        ot_bytes found = {NULL, 0}, value = {NULL, 0};
        const int status = ot_walk_get(reader, OT_TABLE_QUARANTINE, key, &found, &err);
        const int right = asked(reader, key, &value);
        if (ot_walk_none(reader, OT_TABLE_QUARANTINE, key)) {
            assert_int_equal(right, 1);
            seen_none++;
        }
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
    assert_true(before.walks);
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

/* ---- damage ------------------------------------------------------------------------------ */

/* Flips bytes of the file in place. */
static void flip(size_t at, unsigned char bits)
{
    char byte;
    const int fd = open(store_data, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte = (char)(byte ^ bits);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* In a transaction that is not to be. */
static int write_to(ot_store *store, int number, bool removes)
{
    ot_writer writer;
    char bytes[64];
    check_ok(ot_writer_begin(store, &writer, &err));
    const ot_bytes key = key_of(2 * number, length_of(number), bytes);
    const int status = removes ? ot_writer_delete(&writer, OT_TABLE_QUARANTINE, key, &err)
                               : ot_writer_put(&writer, OT_TABLE_QUARANTINE, key,
                                               (ot_bytes){"x", 1}, NULL, &err);
    ot_writer_abort(&writer);
    return status;
}

/* LMDB is not let at the page of this number, and at others; who removes may be led to any. */
static void check_writers_meet(int number)
{
    ot_store *store;
    ot_writer writer;
    ot_snapshot reader;
    ot_bytes key = {NULL, 0}, value;
    char bytes[64];
    int refused = 0, status;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    for (int k = 0; k < 200; k++) {
        status = write_to(store, k, false);
        assert_true(status == OPTUNE_OK || (status == OPTUNE_EDAMAGED && ++refused));
        assert_true(k != number || status == OPTUNE_EDAMAGED);
    }
    assert_in_range(refused, 1, 20);
    check_contains(err.text, "optune db rebuild");
    assert_int_equal(write_to(store, number + 200, true), OPTUNE_EDAMAGED);
    check_ok(ot_writer_begin(store, &writer, &err));
    assert_int_equal(ot_writer_get(&writer, OT_TABLE_QUARANTINE,
                                   key_of(2 * number, length_of(number), bytes), &value, &err),
                     OPTUNE_EDAMAGED);
    ot_writer_view(&writer, &reader);
    status = ot_snapshot_seek(&reader, OT_TABLE_QUARANTINE, &key, &value, &err);
    while (status == OPTUNE_OK)
        status = ot_snapshot_next(&reader, OT_TABLE_QUARANTINE, &key, &value, &err);
    assert_int_equal(status, OPTUNE_EDAMAGED);
    ot_writer_view_end(&reader);
    ot_writer_abort(&writer);
    ot_store_close(store);
}

/* Of a store that is larger than what is looked at at once: the pages on the way to a key. */
static void a_damaged_page_is_met_when_it_is_needed(void **state)
{
    (void)state;
    ot_store *store = open_store();
    ot_snapshot reader;
    char bytes[64], other[64];
    ot_bytes value;
    has_large = false;
    put(store, 0, 15 * N);
    check_ok(ot_snapshot_begin(store, &reader, &err));
    assert_true(ot_store_bytes_used(store) > OT_SMALL_FILE);
    const ot_bytes key = key_of(2 * 77, length_of(77), bytes);
    check_ok(ot_snapshot_get(&reader, OT_TABLE_QUARANTINE, key, &value, &err));
    const size_t page = ((size_t)((const char *)value.data - store->env->map)) & ~(size_t)4095;
    ot_snapshot_end(&reader);
    ot_store_close(store);
    static const struct {
        size_t at;
        unsigned char bits;
    } rows[] = {
        {0, 1},     /* its number */
        {10, 4},    /* what it is */
        {10, 0x10}, /* LMDB would change it where it lies */
        {11, 0x40}, /* LMDB would never write it */
        {12, 0x80}, /* where its entries end */
        {16, 0xff}, /* where the first one is */
        {17, 0xff},
    };
    for (int i = 0; i < OT_COUNT(rows); i++) {
        flip(page + rows[i].at, rows[i].bits);
        check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
        check_ok(ot_snapshot_begin(store, &reader, &err));
        int refused = 0;
        for (int k = 0; k < 200; k++) {
            const ot_bytes each = key_of(2 * k, length_of(k), other);
            const int status =
                ot_snapshot_get(&reader, OT_TABLE_QUARANTINE, each, &value, &err);
            assert_true(status == OPTUNE_OK || (status == OPTUNE_EDAMAGED && ++refused));
            if (k == 77)
                assert_int_equal(status, OPTUNE_EDAMAGED);
        }
        assert_in_range(refused, 1, 20); /* the others are none the worse */
        check_contains(err.text, "optune db rebuild");
        ot_bytes from = {NULL, 0};
        int n = 0, status = ot_snapshot_seek(&reader, OT_TABLE_QUARANTINE, &from, &value, &err);
        for (; status == OPTUNE_OK; n++)
            status = ot_snapshot_next(&reader, OT_TABLE_QUARANTINE, &from, &value, &err);
        assert_int_equal(status, OPTUNE_EDAMAGED); /* whoever reads all does not get fewer */
        assert_true(n > 0);
        ot_snapshot_end(&reader);
        ot_care care;
        assert_int_equal(ot_store_check(store, &care, &err), OPTUNE_EDAMAGED);
        ot_store_close(store);
        check_writers_meet(77);
        flip(page + rows[i].at, rows[i].bits);
    }
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    ot_store_close(store);
}

/* A branch that leads to another leaf than it should: no page is damaged by itself. */
static void a_page_where_another_belongs_is_refused(void **state)
{
    (void)state;
    ot_store *store = open_store();
    ot_snapshot reader;
    has_large = false;
    put(store, 0, 15 * N);
    check_ok(ot_snapshot_begin(store, &reader, &err));
    const ot_tree *tree = ot_root_of(&reader, OT_TABLE_QUARANTINE);
    assert_in_range(tree->depth, 2, 8);
    const char *branch = ot_tree_page(reader.roots, tree->root, true);
    ot_entry entry[2];
    for (int i = 0; i < 2; i++)
        assert_null(ot_page_entry(branch, 4096, 1 + i, &entry[i]));
    const size_t at = (size_t)(entry[0].key - 8 - store->env->map); /* of the child's number */
    char key[64];
    memcpy(key, entry[0].key, entry[0].key_bytes); /* the least that may be in its child */
    const ot_bytes least = {key, entry[0].key_bytes};
    ot_bytes each = {NULL, 0}, value;
    ot_snapshot_end(&reader);
    ot_store_close(store);
    for (int i = 0; i < 2; i++)
        flip(at + (size_t)i, (unsigned char)((entry[0].child ^ entry[1].child) >> 8 * i));
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
    check_ok(ot_snapshot_begin(store, &reader, &err));
    int status = ot_snapshot_get(&reader, OT_TABLE_QUARANTINE, least, &value, &err);
    assert_int_equal(status, OPTUNE_EDAMAGED);
    check_contains(err.text, "where another belongs");
    status = ot_snapshot_seek(&reader, OT_TABLE_QUARANTINE, &each, &value, &err);
    while (status == OPTUNE_OK)
        status = ot_snapshot_next(&reader, OT_TABLE_QUARANTINE, &each, &value, &err);
    assert_int_equal(status, OPTUNE_EDAMAGED);
    ot_snapshot_end(&reader);
    ot_peek *peek;
    ot_peek_view *view;
    check_ok(ot_peek_open(store_data, &peek, &err));
    check_ok(ot_peek_begin(peek, store->env->vetted, ot_env_tables, &view, &err));
    status = ot_peek_seek(view, OT_TABLE_QUARANTINE, least, false, &each, &value, &err);
    assert_int_equal(status, OPTUNE_EDAMAGED);
    check_contains(err.text, "where another belongs");
    ot_peek_end(view);
    ot_peek_close(peek);
    ot_store_close(store);
    /* Its branches are looked at by who wants to write. */
    assert_int_equal(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err), OPTUNE_EDAMAGED);
}

/* LMDB would write over it. */
static void a_page_in_use_is_not_called_free(void **state)
{
    (void)state;
    ot_store *store = open_store();
    has_large = false;
    put(store, 0, 15 * N);
    put(store, 15 * N, 16 * N);
    assert_true(ot_store_bytes_used(store) > OT_SMALL_FILE);
    ot_store_close(store);
    ot_text data = {0};
    ot_meta each[2], meta;
    ot_entry entry = {0};
    check_ok(ot_read_file(store_data, &data, 64 << 20, &err));
    for (int i = 0; i < 2; i++)
        assert_null(ot_meta_read(data.s + 4096 * i, (uint64_t)i, &each[i]));
    assert_null(ot_meta_newer(each, &meta));
    assert_int_equal(meta.free_depth, 1);
    const char *page = data.s + meta.free_root * 4096;
    assert_null(ot_page_entry(page, 4096, ot_page_entries(page) - 1, &entry));
    const char *list =
        entry.overflow ? data.s + entry.overflow * 4096 + OT_PAGE_HEADER : entry.value;
    uint64_t n, least, used;
    memcpy(&n, list, sizeof n);
    memcpy(&least, list + n * sizeof n, sizeof least);
    /* A leaf in front of the least free page. */
    for (used = least - 1; used > 2; used--)
        if (!ot_page_check(data.s + used * 4096, used, 4096, false))
            break;
    const size_t at = (size_t)(list - data.s) + n * sizeof n;
    for (size_t i = 0; i < sizeof used; i++)
        if ((least ^ used) >> 8 * i & 0xff)
            flip(at + i, (unsigned char)((least ^ used) >> 8 * i));
    ot_text_release(&data);
    assert_int_equal(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "called free");
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(the_same_is_found),
        each(a_writer_is_left_to_lmdb),
        each(what_differs_lies_in_few_pages),
        each(a_damaged_page_is_met_when_it_is_needed),
        each(a_page_where_another_belongs_is_refused),
        each(a_page_in_use_is_not_called_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
