/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as they lie in a store: what goes in comes out, byte for byte; what was damaged, also
 * where it is shared with others, is told and mended; stores of the layout before are read and
 * written on.
 */
#include "support/check.h"

#include <math.h>
#include <unistd.h>

#include "db/kv.h"
#include "db/line.h"
#include "support/records.h"
#include "support/store.h"

static optune_err err;
static uint64_t rng = 7;

static ot_store *open_store(void)
{
    ot_store *store;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    return store;
}

static optune_record varied(int number)
{
    optune_record r = some_record(number);
    r.message = number % 3 ? NULL : "a message, that is its own";
    r.depends = number % 4 ? r.depends : NULL;
    r.host = number % 2 ? "kernel=6.1\nmicrocode=0x1\n" : NULL;
    r.policy = number % 5 ? "warm" : "";
    r.config.index = number % 2 ? -1 : (int64_t)1 << (number % 63);
    r.config.n -= number % 6;
    r.inner = number % 7 ? 1 : INT64_MAX;
    r.seed = number % 2 ? 0 : UINT64_MAX;
    if (number % 11 == 5) {
        r.outcome = OPTUNE_OUTCOME_WRONG;
        r.n_samples = 0;
        r.cost = r.low = r.high = INFINITY;
    }
    return r;
}

/* What is stored of it, in memory of exactly its size. */
static char *stored(ot_snapshot *reader, const optune_record *record, size_t *n)
{
    const ot_digest digest = ot_record_digest(record);
    ot_bytes value;
    assert_int_equal(
        ot_snapshot_get(reader, OT_TABLE_RECORD, (ot_bytes){digest.byte, 16}, &value, &err),
        OPTUNE_OK);
    char *copy = malloc(value.n);
    memcpy(copy, value.data, value.n);
    *n = value.n;
    return copy;
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    enum { N = 60 };
    ot_store *store = open_store();
    ot_snapshot reader;
    ot_arena arena = {0};
    size_t whole = 0, squeezed = 0;
    for (int i = 0; i < N; i++) {
        const optune_record record = varied(i);
        check_ok(ot_store_put(store, &record, 1, NULL, &err));
    }
    check_ok(ot_snapshot_begin(store, &reader, &err));
    ot_parts parts = {.reader = &reader};
    for (int i = 0; i < N; i++) {
        const optune_record record = varied(i);
        optune_record back;
        ot_text bytes = {0}, again = {0};
        size_t n;
        char *value = stored(&reader, &record, &n);
        check_ok(ot_stored_decode(&parts, (ot_bytes){value, n}, &arena, &back, &err));
        check_same_record(&record, &back);
        check_ok(ot_record_encode(&record, &bytes, &err));
        check_ok(ot_record_encode(&back, &again, &err));
        assert_int_equal(bytes.n, again.n);
        assert_memory_equal(bytes.s, again.s, bytes.n);
        whole += bytes.n;
        squeezed += n;
        free(value);
        ot_text_release(&bytes);
        ot_text_release(&again);
    }
    assert_true(squeezed * 2 < whole);
    ot_parts_release(&parts);
    ot_snapshot_end(&reader);
    ot_store_close(store);
    ot_arena_release(&arena);
}

/* A flipped, missing or added byte is told, or changes nothing; none is read beyond the value. */
static void damage_is_told(void **state)
{
    (void)state;
    ot_store *store = open_store();
    ot_snapshot reader;
    const optune_record record = varied(8);
    check_ok(ot_store_put(store, &record, 1, NULL, &err));
    check_ok(ot_snapshot_begin(store, &reader, &err));
    size_t n;
    char *value = stored(&reader, &record, &n);
    int told = 0;
    for (int i = 0; i < 4000; i++) {
        ot_parts parts = {.reader = &reader};
        ot_arena arena = {0};
        optune_record back;
        const size_t kept = i % 3 == 1 ? (size_t)optune_random_below(&rng, (int64_t)n) : n;
        const size_t size = kept + (i % 3 == 2);
        char *spoilt = malloc(size ? size : 1);
        memcpy(spoilt, value, kept);
        if (size > kept)
            spoilt[kept] = (char)optune_random_below(&rng, 256);
        if (i % 3 == 0)
            spoilt[optune_random_below(&rng, (int64_t)n)] ^=
                (char)(1 << optune_random_below(&rng, 8));
        const int status =
            ot_stored_decode(&parts, (ot_bytes){spoilt, size}, &arena, &back, &err);
        if (status == OPTUNE_OK) /* a bit of a number that says nothing */
            check_same_record(&record, &back);
        else
            assert_int_equal(status, OPTUNE_EDAMAGED);
        told += status != OPTUNE_OK;
        free(spoilt);
        ot_parts_release(&parts);
        ot_arena_release(&arena);
    }
    assert_true(told > 3900);
    free(value);
    ot_snapshot_end(&reader);
    ot_store_close(store);
}

static void log_records_of(int n)
{
    ot_text path = {0};
    ot_log *log;
    ot_text_printf(&path, "%s/logs", store_dir);
    check_ok(ot_make_dirs(path.s, &err));
    ot_text_add(&path, "/a.log");
    check_ok(ot_log_open(path.s, OT_LOG_SHORT, &log, &err));
    for (int i = 0; i < n; i++) {
        const optune_record record = varied(i);
        check_ok(ot_log_append(log, &record, &err));
    }
    ot_log_close(log);
    ot_text_release(&path);
}

static void a_damaged_part_is_mended(void **state)
{
    (void)state;
    enum { N = 20 };
    ot_store *store = open_store();
    ot_snapshot reader;
    ot_writer writer;
    ot_care care;
    ot_bytes key = {0}, value;
    uint32_t id[2] = {0};
    log_records_of(N);
    for (int i = 0; i < N; i++) {
        const optune_record record = varied(i);
        check_ok(ot_store_put(store, &record, 1, NULL, &err));
    }
    check_ok(ot_snapshot_begin(store, &reader, &err));
    check_ok(ot_snapshot_seek(&reader, OT_TABLE_SHARED, &key, &value, &err));
    memcpy(&id[0], key.data, sizeof id[0]);
    check_ok(ot_snapshot_next(&reader, OT_TABLE_SHARED, &key, &value, &err));
    memcpy(&id[1], key.data, sizeof id[1]);
    ot_snapshot_end(&reader);
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_delete(&writer, OT_TABLE_SHARED, (ot_bytes){&id[0], 4}, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_SHARED, (ot_bytes){&id[1], 4},
                           (ot_bytes){"another", 7}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_true(care.damaged > 0);
    check_ok(ot_store_mend(store, &care, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    assert_int_equal(care.records, N);
    ot_store_close(store);
}

/* As layout 1 had it: whole values, entries that say nothing, no shared parts. */
static void the_layout_before_is_gone_on_with(void **state)
{
    (void)state;
    enum { N = 12 };
    ot_store *store = open_store();
    ot_writer writer;
    ot_care care;
    ot_arena arena = {0};
    uint32_t schema = 1;
    check_ok(ot_writer_begin(store, &writer, &err));
    for (int i = 0; i < N; i++) {
        const optune_record record = varied(i);
        const ot_digest digest = ot_record_digest(&record);
        ot_index_entry entry;
        ot_text bytes = {0};
        check_ok(ot_record_encode(&record, &bytes, &err));
        ot_index_entry_of(&record, &digest, &entry);
        check_ok(ot_writer_put(&writer, OT_TABLE_RECORD, (ot_bytes){digest.byte, 16},
                               (ot_bytes){bytes.s, bytes.n}, NULL, &err));
        check_ok(ot_writer_put(&writer, OT_TABLE_BEST, (ot_bytes){entry.key, OT_BEST_KEY},
                               (ot_bytes){"", 0}, NULL, &err));
        ot_text_release(&bytes);
    }
    check_ok(ot_writer_put(&writer, OT_TABLE_META, (ot_bytes){"schema", 6},
                           (ot_bytes){&schema, sizeof schema}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    ot_store_close(store);
    store = open_store();
    int added = 0;
    for (int i = 0; i < 2 * N; i++) {
        const optune_record record = varied(i);
        int one = 0;
        check_ok(ot_store_put(store, &record, 1, &one, &err));
        added += one;
    }
    assert_int_equal(added, N);
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    assert_int_equal(care.records, 2 * N);
    const optune_record asked = varied(1);
    const ot_question question = {.device = asked.device,
                                  .target = asked.target,
                                  .call = asked.call,
                                  .policy = asked.policy};
    optune_record *found;
    int n;
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_true(n > N);
    ot_arena_release(&arena);
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

/* What a reader remembers of shared parts is believed as far as a checksum says so. */
static void a_part_that_means_something_else_is_read_anew(void **state)
{
    (void)state;
    ot_store *store = open_store();
    const optune_record r = varied(1);
    const ot_question question = {
        .device = r.device, .target = r.target, .call = r.call, .policy = r.policy};
    ot_snapshot reader;
    ot_writer writer;
    ot_arena arena = {0};
    ot_bytes key = {0}, value;
    ot_finds found;
    ot_text parts = {0};
    uint32_t id;
    check_ok(ot_store_put(store, &r, 1, NULL, &err));
    /* The first part becomes another one, which a reader remembers, and then itself again. */
    check_ok(ot_snapshot_begin(store, &reader, &err));
    check_ok(ot_snapshot_seek(&reader, OT_TABLE_SHARED, &key, &value, &err));
    memcpy(&id, key.data, sizeof id);
    ot_text_add_n(&parts, value.data, value.n);
    ot_snapshot_end(&reader);
    parts.s[0] ^= 1;
    for (int turn = 0; turn < 2; turn++) {
        check_ok(ot_writer_begin(store, &writer, &err));
        check_ok(ot_writer_put(&writer, OT_TABLE_SHARED, (ot_bytes){&id, sizeof id},
                               (ot_bytes){parts.s, parts.n}, NULL, &err));
        check_ok(ot_writer_commit(&writer, &err));
        check_ok(ot_store_find_which(store, &question, OT_DECIDING, &arena, &found, &err));
        assert_int_equal(found.n, turn);
        parts.s[0] ^= 1;
    }
    assert_string_equal(found.record->call, r.call);
    ot_text_release(&parts);
    ot_arena_release(&arena);
    ot_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(what_goes_in_comes_out),
        each(damage_is_told),
        each(a_damaged_part_is_mended),
        each(the_layout_before_is_gone_on_with),
        each(a_part_that_means_something_else_is_read_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
