/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are stored together, into a new store or into the one there is: it has what putting
 * them would have left, each once, sound in both directions; and what another store in its place
 * does to that is told. What the system refuses in the middle of it, and who asks to end then,
 * leaves a sound store.
 */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/bulk.h"
#include "db/kv.h"
#include "support/store.h"

static optune_err err;

/* ---- what happens in the middle ---------------------------------------------------------- */

typedef enum deed { NOTHING, REFUSE, STOP } deed;
static deed at_mkdir, at_sync; /* of the store that is made, of the one there is */
static atomic_bool stop;

#define in_place_of_the_systems __attribute__((visibility("default")))

in_place_of_the_systems int mkdir(const char *path, mode_t mode)
{
    if (at_mkdir == STOP)
        atomic_store(&stop, true);
    if (at_mkdir == REFUSE) {
        errno = ENOSPC;
        return -1;
    }
    return mkdirat(AT_FDCWD, path, mode);
}

in_place_of_the_systems int fdatasync(int fd)
{
    if (at_sync == STOP)
        atomic_store(&stop, true);
    if (at_sync == REFUSE) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static void as_usual(void)
{
    at_mkdir = at_sync = NOTHING;
    atomic_store(&stop, false);
}

/* ---- what is stored ---------------------------------------------------------------------- */

static ot_store *open_store(void)
{
    ot_store *store;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    return store;
}

/* some_record(from) to some_record(to - 1), each `times` times. */
static void take(ot_bulk *bulk, int from, int to, int times)
{
    ot_batch *batch = ot_batch_new(false);
    for (int i = from; i < to; i++) {
        const optune_record r = some_record(i);
        for (int k = 0; k < times; k++)
            check_ok(ot_batch_add(batch, &r, NULL, &err));
    }
    check_ok(ot_bulk_take(bulk, batch, &err));
    ot_batch_free(batch);
}

static ot_bulk *open_bulk(void)
{
    ot_bulk *bulk;
    check_ok(ot_bulk_open(store_dir, &stop, &bulk, &err));
    return bulk;
}

/* Stores and closes it. */
static int64_t store(ot_bulk *bulk, bool anew)
{
    int64_t added;
    bool replaced;
    check_ok(ot_bulk_store(bulk, &added, &replaced, &err));
    assert_int_equal(replaced, anew);
    ot_bulk_close(bulk);
    return added;
}

static ot_care looked_at(void)
{
    ot_care care;
    ot_store *s = open_store();
    check_ok(ot_store_check(s, &care, &err));
    ot_store_close(s);
    return care;
}

static void check_has(int n)
{
    const ot_care care = looked_at();
    assert_int_equal(care.records, n);
    assert_int_equal(ot_care_faults(&care), 0);
    ot_store *s = open_store();
    for (int i = 0; i < n; i++) {
        const optune_record r = some_record(i);
        assert_true(ot_store_knows(s, &r));
    }
    ot_store_close(s);
}

typedef struct pairs { /* a table, put together */
    ot_text text;
} pairs;

static void read_table(ot_kv_table table, pairs *all)
{
    ot_store *s = open_store();
    ot_snapshot reader;
    ot_bytes key = {0}, value;
    check_ok(ot_snapshot_begin(s, &reader, &err));
    for (int status = ot_snapshot_seek(&reader, table, &key, &value, &err); status == OPTUNE_OK;
         status = ot_snapshot_next(&reader, table, &key, &value, &err)) {
        /* A summary begins with the transaction that made it and ends with a sum of that. */
        const size_t n = table == OT_TABLE_SUMMARY ? 8 : 0;
        ot_text_printf(&all->text, "%zu %zu ", key.n, value.n);
        ot_text_add_n(&all->text, key.data, key.n);
        if (value.n > 2 * n)
            ot_text_add_n(&all->text, (const char *)value.data + n, value.n - 2 * n);
    }
    ot_snapshot_end(&reader);
    ot_store_close(s);
}

/* Bytes of all tables that are made of records. */
static void as_when_put(void **state)
{
    (void)state;
    static const ot_kv_table table[] = {OT_TABLE_RECORD, OT_TABLE_BEST,    OT_TABLE_SHARED,
                                        OT_TABLE_HINT,   OT_TABLE_SUMMARY, OT_TABLE_DEVICE};
    enum { RECORDS = 600 };
    pairs one[OT_COUNT(table)] = {0}, other[OT_COUNT(table)] = {0};
    optune_record *r = ot_alloc(RECORDS * sizeof *r);
    for (int i = 0; i < RECORDS; i++) {
        r[i] = plain_record(i);
        if (i % 3 == 0)
            r[i].digest = ""; /* a hint, if it is good */
    }
    ot_store *s = open_store();
    check_ok(ot_store_put(s, r, RECORDS, NULL, &err));
    ot_store_close(s);
    for (int i = 0; i < OT_COUNT(table); i++)
        read_table(table[i], &one[i]);
    ot_remove_tree(store_dir);
    ot_bulk *bulk = open_bulk();
    for (int part = 0; part < 3; part++) {
        ot_batch *batch = ot_batch_new(false);
        for (int i = part * RECORDS / 3; i < (part + 1) * RECORDS / 3; i++)
            check_ok(ot_batch_add(batch, &r[i], NULL, &err));
        check_ok(ot_bulk_take(bulk, batch, &err));
        ot_batch_free(batch);
    }
    assert_int_equal(store(bulk, true), RECORDS);
    assert_int_equal(access(store_data, F_OK), 0);
    for (int i = 0; i < OT_COUNT(table); i++) {
        read_table(table[i], &other[i]);
        assert_int_equal(one[i].text.n, other[i].text.n);
        if (one[i].text.n)
            assert_memory_equal(one[i].text.s, other[i].text.s, one[i].text.n);
        assert_true(one[i].text.n || table[i] == OT_TABLE_DEVICE);
        ot_text_release(&one[i].text);
        ot_text_release(&other[i].text);
    }
    free(r);
}

static void each_once(void **state)
{
    (void)state;
    ot_bulk *bulk = open_bulk();
    take(bulk, 0, 50, 2);
    take(bulk, 25, 75, 1);
    assert_int_equal(store(bulk, true), 75);
    check_has(75);
    bulk = open_bulk(); /* beside what is there */
    take(bulk, 50, 150, 1);
    assert_int_equal(store(bulk, true), 75);
    check_has(150);
    bulk = open_bulk(); /* few beside it: they go into it */
    take(bulk, 145, 160, 2);
    take(bulk, 158, 162, 1);
    assert_int_equal(store(bulk, false), 12);
    check_has(162);
    bulk = open_bulk();
    assert_int_equal(store(bulk, false), 0);
    check_has(162);
}

static void forgotten_stays_so(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++) {
        ot_remove_tree(store_dir);
        ot_store *s = open_store();
        const optune_record r = some_record(1);
        const ot_digest digest = ot_record_digest(&r);
        check_ok(ot_store_drop(s, &digest, 1, true, &err));
        if (few)
            for (int i = 100; i < 200; i++) {
                const optune_record other = some_record(i);
                check_ok(ot_store_put(s, &other, 1, NULL, &err));
            }
        ot_store_close(s);
        ot_bulk *bulk = open_bulk();
        take(bulk, 0, 10, 1);
        assert_int_equal(store(bulk, !few), 9);
        s = open_store();
        ot_store_stats stats;
        check_ok(ot_store_stats_get(s, &stats, &err));
        assert_int_equal(stats.records, few ? 109 : 9);
        ot_store_close(s);
        const ot_care care = looked_at();
        assert_int_equal(ot_care_faults(&care), 0);
    }
}

static void damage(const optune_record *record)
{
    ot_store *s = open_store();
    ot_writer writer;
    const ot_digest digest = ot_record_digest(record);
    const ot_bytes key = {digest.byte, sizeof digest.byte};
    ot_bytes value;
    ot_text spoilt = {0};
    check_ok(ot_writer_begin(s, &writer, &err));
    check_ok(ot_writer_get(&writer, OT_TABLE_RECORD, key, &value, &err));
    ot_text_add_n(&spoilt, value.data, value.n);
    spoilt.s[spoilt.n - 1] ^= 1;
    check_ok(ot_writer_put(&writer, OT_TABLE_RECORD, key, (ot_bytes){spoilt.s, spoilt.n}, NULL,
                           &err));
    check_ok(ot_writer_commit(&writer, &err));
    ot_text_release(&spoilt);
    ot_store_close(s);
}

static void damaged_is_mended(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++) {
        ot_remove_tree(store_dir);
        const int n = few ? 100 : 10;
        store_fill(n);
        const optune_record r = some_record(3);
        damage(&r);
        assert_int_equal(looked_at().damaged, 1);
        ot_bulk *bulk = open_bulk();
        take(bulk, 0, 10, 1);
        assert_int_equal(store(bulk, !few), 1);
        check_has(n);
    }
}

static void another_store_in_its_place(void **state)
{
    (void)state;
    int64_t before, after, added;
    bool replaced;
    store_fill(3);
    ot_bulk *bulk = open_bulk();
    take(bulk, 10, 20, 1);
    assert_false(ot_bulk_gone(bulk));
    ot_store *s = open_store();
    check_ok(ot_store_compact(s, &before, &after, &err));
    ot_store_close(s);
    assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_ESTORE);
    assert_true(ot_bulk_gone(bulk) && !replaced);
    ot_bulk_close(bulk);
    check_has(3);
}

/* Readers of the old store go on, and see that there is another one. */
static void who_has_it_open(void **state)
{
    (void)state;
    ot_store *s = open_store();
    store_fill(5);
    ot_bulk *bulk = open_bulk();
    take(bulk, 0, 30, 1);
    int n = 0;
    check_ok(ot_store_walk(s, store_count, &n, &err));
    assert_int_equal(n, 5);
    assert_false(ot_store_gone(s));
    assert_int_equal(store(bulk, true), 25);
    check_ok(ot_store_walk(s, store_count, &n, &err));
    assert_int_equal(n, 10);
    assert_true(ot_store_gone(s));
    ot_store_close(s);
    check_has(30);
}

/* The new one is closed while the old one is still open, then opened once more. */
static void closed_in_any_order(void **state)
{
    (void)state;
    for (int newer_first = 0; newer_first < 2; newer_first++) {
        store_fill(5);
        ot_store *old = open_store();
        ot_bulk *bulk = open_bulk();
        take(bulk, 10, 30, 1);
        store(bulk, true);
        ot_store *newer = open_store();
        ot_store_close(newer_first ? newer : old);
        ot_store_close(newer_first ? old : newer);
        const optune_record r = some_record(40);
        ot_store *s = open_store();
        check_ok(ot_store_put(s, &r, 1, NULL, &err));
        ot_store_close(s);
        ot_remove_tree(store_dir);
    }
}

/* ---- in the middle of it ----------------------------------------------------------------- */

/* What records of the second batch share is not stored: they must not be, either. */
static void taken_by_half(void **state)
{
    (void)state;
    int64_t added;
    bool replaced;
    store_fill(3);
    ot_bulk *bulk = open_bulk();
    take(bulk, 10, 20, 1);
    ot_batch *batch = ot_batch_new(false);
    for (int i = 20; i < 60; i++) {
        optune_record r = some_record(i);
        r.device = "cpu:another";
        check_ok(ot_batch_add(batch, &r, NULL, &err));
    }
    at_sync = REFUSE;
    assert_true(ot_bulk_take(bulk, batch, &err) < 0);
    as_usual();
    ot_batch_free(batch);
    assert_true(ot_bulk_gone(bulk));
    batch = ot_batch_new(false);
    assert_int_equal(ot_bulk_take(bulk, batch, &err), OPTUNE_ESTORE);
    ot_batch_free(batch);
    assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_ESTORE);
    check_contains(err.text, "import it again");
    assert_true(!added && !replaced);
    ot_bulk_close(bulk);
    check_has(3);
}

/* Then they go into the one there is. */
static void no_room_for_another_store(void **state)
{
    (void)state;
    store_fill(3);
    ot_bulk *bulk = open_bulk();
    take(bulk, 0, 60, 1);
    at_mkdir = REFUSE;
    const int64_t added = store(bulk, false);
    as_usual();
    assert_int_equal(added, 57);
    check_has(60);
}

static void interrupted_while_another_writes(void **state)
{
    (void)state;
    ot_writer writer;
    int64_t added;
    bool replaced;
    const double patience = ot_write_patience_s;
    for (int few = 0; few < 2; few++) {
        const int n = few ? 100 : 3;
        store_fill(n);
        ot_store *s = open_store();
        ot_bulk *bulk = open_bulk();
        take(bulk, 100, 120, 1);
        ot_batch *batch = ot_batch_new(false);
        check_ok(ot_writer_begin(s, &writer, &err));
        atomic_store(&stop, true);
        ot_write_patience_s = 0.5;
        assert_int_equal(ot_bulk_take(bulk, batch, &err), OPTUNE_EINTERRUPTED);
        assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_EINTERRUPTED);
        as_usual();
        assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_ETIMEOUT);
        ot_write_patience_s = patience;
        ot_writer_abort(&writer);
        ot_batch_free(batch);
        ot_bulk_close(bulk);
        ot_store_close(s);
        check_has(n);
    }
}

/* Who asks before it begins has all stored that was taken. */
static void interrupted_while_it_stores(void **state)
{
    (void)state;
    enum { AT_ONCE = 16384, FEW = AT_ONCE + 100, MANY = 2 * FEW + 1000 };
    int64_t added;
    bool replaced;
    ot_bulk *bulk = open_bulk();
    take(bulk, 0, MANY, 1);
    at_mkdir = STOP;
    assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_EINTERRUPTED);
    assert_false(replaced);
    ot_bulk_close(bulk);
    as_usual();
    assert_int_equal(looked_at().records, 0);
    bulk = open_bulk();
    take(bulk, 0, MANY, 1);
    atomic_store(&stop, true);
    assert_int_equal(store(bulk, true), MANY);
    as_usual();
    bulk = open_bulk(); /* into it, of which one transaction ends */
    take(bulk, MANY, MANY + FEW, 1);
    at_sync = STOP;
    assert_int_equal(ot_bulk_store(bulk, &added, &replaced, &err), OPTUNE_EINTERRUPTED);
    ot_bulk_close(bulk);
    as_usual();
    assert_int_equal(added, AT_ONCE);
    ot_care care = looked_at();
    assert_int_equal(care.records, MANY + AT_ONCE);
    assert_int_equal(ot_care_faults(&care), 0);
    bulk = open_bulk();
    take(bulk, MANY, MANY + FEW, 1);
    assert_int_equal(store(bulk, false), FEW - AT_ONCE);
    care = looked_at();
    assert_int_equal(care.records, MANY + FEW);
    assert_int_equal(ot_care_faults(&care), 0);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(as_when_put),
        each(each_once),
        each(forgotten_stays_so),
        each(damaged_is_mended),
        each(another_store_in_its_place),
        each(who_has_it_open),
        each(closed_in_any_order),
        each(taken_by_half),
        each(no_room_for_another_store),
        each(interrupted_while_another_writes),
        each(interrupted_while_it_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
