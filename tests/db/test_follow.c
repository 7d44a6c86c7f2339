/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Others write while a store is made of theirs: a large import, a compaction. Nobody waits for
 * that, and what was written, dropped and forgotten meanwhile is so in the new store.
 */
#include "support/check.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/bulk.h"
#include "db/kv.h"
#include "support/store.h"

static optune_err err;

/* ---- what happens meanwhile -------------------------------------------------------------- */

/* At the first syncs of what is made: nobody may have to wait for its maker then. */
static void (*meanwhile[3])(ot_store *store);
static int n_meanwhile;
static bool in_it;

#define in_place_of_the_systems __attribute__((visibility("default")))

in_place_of_the_systems int fdatasync(int fd)
{
    if (!in_it && n_meanwhile < OT_COUNT(meanwhile) && meanwhile[n_meanwhile]) {
        const double patience = ot_write_patience_s;
        ot_store *store;
        in_it = true;
        ot_write_patience_s = 0;
        check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
        meanwhile[n_meanwhile++](store);
        ot_store_close(store);
        ot_write_patience_s = patience;
        in_it = false;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static int set_up(void **state)
{
    memset(meanwhile, 0, sizeof meanwhile);
    n_meanwhile = 0;
    return store_fresh(state);
}

/* ---- what is stored ---------------------------------------------------------------------- */

static int put(ot_store *store, int from, int to)
{
    int all = 0;
    for (int i = from; i < to; i++) {
        int added;
        const optune_record r = some_record(i);
        check_ok(ot_store_put(store, &r, 1, &added, &err));
        all += added;
    }
    return all;
}

static void drop(ot_store *store, int number, bool forget)
{
    const optune_record r = some_record(number);
    const ot_digest digest = ot_record_digest(&r);
    check_ok(ot_store_drop(store, &digest, 1, forget, &err));
}

static bool has(ot_store *store, int number)
{
    ot_arena arena = {0};
    optune_record *record;
    const optune_record r = some_record(number);
    const ot_question question = ot_record_question(&r);
    const ot_digest digest = ot_record_digest(&r);
    int n;
    bool found = false;
    check_ok(ot_store_find(store, &question, 0, &arena, &record, &n, &err));
    for (int i = 0; i < n; i++) {
        const ot_digest there = ot_record_digest(&record[i]);
        found |= memcmp(&there, &digest, sizeof there) == 0;
    }
    ot_arena_release(&arena);
    return found;
}

static void check_sound(ot_store *store, int records, int forgotten)
{
    ot_care care;
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    assert_int_equal(care.records, records);
    assert_int_equal(care.forgotten, forgotten);
}

static ot_store *open_store(void)
{
    ot_store *store;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    return store;
}

/* There are 0 to 59; what is taken is 60 to 199. */
enum { OLD = 60, ALL = 200 };

static void first_deeds(ot_store *store)
{
    const optune_device device = some_device("meanwhile");
    assert_int_equal(put(store, 500, 520), 20);
    put(store, 100, 101); /* is taken, too */
    drop(store, 3, false);
    drop(store, 5, true);
    drop(store, 110, true); /* only the new store has it, or nobody */
    check_ok(ot_store_put_device(store, &device, &err));
}

static void more_deeds(ot_store *store)
{
    assert_int_equal(put(store, 600, 603), 3);
    drop(store, 500, false);
    drop(store, 601, true);
    assert_int_equal(put(store, 3, 4), 1);
    assert_int_equal(put(store, 5, 6), 0);
}

static void check_deeds(int from, int to)
{
    optune_device device;
    ot_store *store = open_store();
    assert_int_equal(n_meanwhile, 2);
    for (int i = from; i < to; i++)
        assert_int_equal(has(store, i), i != 5 && i != 110);
    for (int i = 500; i < 520; i++)
        assert_int_equal(has(store, i), i != 500);
    for (int i = 600; i < 603; i++)
        assert_int_equal(has(store, i), i != 601);
    check_ok(ot_store_device(store, "meanwhile", &device, &err));
    assert_int_equal(put(store, 110, 111) + put(store, 601, 602) + put(store, 5, 6), 0);
    ot_store_close(store);
}

static void import_of_many(void **state)
{
    (void)state;
    int64_t added;
    bool replaced;
    ot_bulk *bulk;
    store_fill(OLD);
    check_ok(ot_bulk_open(store_dir, NULL, &bulk, &err));
    ot_batch *batch = ot_batch_new(false);
    for (int i = OLD; i < ALL; i++) {
        const optune_record r = some_record(i);
        check_ok(ot_batch_add(batch, &r, NULL, &err));
    }
    check_ok(ot_bulk_take(bulk, batch, &err));
    ot_batch_free(batch);
    meanwhile[0] = first_deeds;
    meanwhile[1] = more_deeds;
    check_ok(ot_bulk_store(bulk, &added, &replaced, &err));
    assert_true(replaced);
    ot_bulk_close(bulk);
    check_deeds(0, ALL);
    ot_store *store = open_store();
    check_sound(store, ALL - 2 + 19 + 2, 3);
    ot_store_close(store);
}

static ino_t counter(void)
{
    char path[4300];
    struct stat info;
    snprintf(path, sizeof path, "%s/store/" OT_COUNTER, store_dir);
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

static void compaction(void **state)
{
    (void)state;
    int64_t before, after;
    store_fill(OLD);
    const ino_t was = counter();
    ot_store *store = open_store();
    meanwhile[0] = first_deeds;
    meanwhile[1] = more_deeds;
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    assert_int_equal(counter(), was); /* also where the new store had one of its own */
    check_deeds(0, OLD);
    store = open_store();
    check_sound(store, OLD - 1 + 1 + 19 + 2, 3); /* 100 was put meanwhile */
    ot_store_close(store);
}

/* More than are followed in one transaction, and than are few. */
static void many_deeds(ot_store *store)
{
    enum { MANY = 17000 };
    ot_batch *batch = ot_batch_new(false);
    int added;
    for (int i = 1000; i < 1000 + MANY; i++) {
        optune_record r = some_record(i % 100);
        r.time = 2e9 + i;
        check_ok(ot_batch_add(batch, &r, NULL, &err));
    }
    check_ok(ot_batch_put(batch, store, &added, &err));
    assert_int_equal(added, MANY);
    ot_batch_free(batch);
}

static void many_meanwhile(void **state)
{
    (void)state;
    int64_t before, after;
    store_fill(OLD);
    ot_store *store = open_store();
    meanwhile[0] = many_deeds;
    meanwhile[1] = first_deeds;
    meanwhile[2] = more_deeds;
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    assert_int_equal(n_meanwhile, 3);
    store = open_store();
    check_sound(store, OLD + 1 - 1 + 19 + 2 + 17000, 3);
    ot_store_close(store);
}

static atomic_bool stop;

static void deeds_and_a_stop(ot_store *store)
{
    first_deeds(store);
    atomic_store(&stop, true);
}

/* Also where only what others did is left to do; what had come before it began stops nothing. */
static void an_interrupt_is_heard(void **state)
{
    (void)state;
    int64_t before, after;
    char work[4200];
    store_fill(OLD);
    ot_store *store = open_store();
    ot_store_stop(store, &stop);
    meanwhile[0] = deeds_and_a_stop;
    assert_int_equal(ot_store_compact(store, &before, &after, &err), OPTUNE_EINTERRUPTED);
    check_contains(err.text, "as it was");
    assert_int_equal(n_meanwhile, 1);
    snprintf(work, sizeof work, "%s/swap", store_dir);
    assert_false(ot_exists(work));
    check_ok(ot_store_compact(store, &before, &after, &err));
    atomic_store(&stop, false);
    ot_store_close(store);
}

/* Another one that replaces waits for the first, and is told who that is. */
static void compact_in_vain(ot_store *store)
{
    int64_t before, after;
    assert_int_equal(ot_store_compact(store, &before, &after, &err), OPTUNE_ETIMEOUT);
    check_contains(err.text, OT_SWAP_LOCK);
    ot_store_stats stats;
    int64_t refused;
    assert_int_equal(ot_store_rebuild(store_dir, NULL, &stats, &refused, &err),
                     OPTUNE_ETIMEOUT);
    check_contains(err.text, OT_SWAP_LOCK);
}

static void one_at_a_time(void **state)
{
    (void)state;
    int64_t before, after;
    store_fill(OLD);
    ot_store *store = open_store();
    meanwhile[0] = compact_in_vain;
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    assert_int_equal(n_meanwhile, 1);
    store = open_store();
    check_sound(store, OLD, 0);
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, set_up, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(import_of_many),        each(compaction),    each(many_meanwhile),
        each(an_interrupt_is_heard), each(one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
