/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries of questions are what the index says, whatever comes and goes; they are believed only
 * where all who wrote have made them and their bytes are whole, and a seal is equal as long as
 * nothing of its question changed. While a snapshot is held, all is read from it.
 */
#include "support/check.h"

#include <math.h>

#include "db/deciding.h"
#include "db/env.h"
#include "support/store.h"

enum { QUESTIONS = 3, TRIALS = 60 };

static optune_err err;
static uint64_t rng = 15;

static int64_t below(int64_t n)
{
    return optune_random_below(&rng, n);
}

/* Of question q; those of one number are equal. */
static optune_record trial(int q, int number)
{
    static const char *const call[] = {"a(f32[1])", "b(f32[1])", "c(f32[1])",
                                       "d(f32[1])" /* nobody has one of it */};
    optune_record r = some_record(number);
    r.call = call[q];
    r.final = number % 7 == 0;
    r.config.entity[0].v[0] = 1 + number % 350; /* some are tried again */
    record_cost(&r, 1e-6 * (1 + number * 31 % 97));
    if (number % 9 == 0) {
        r.outcome = OPTUNE_OUTCOME_CRASH;
        r.n_samples = 0;
        r.cost = r.low = r.high = INFINITY;
    }
    return r;
}

static ot_question question_of(int q)
{
    const optune_record r = trial(q, 1);
    return (ot_question){
        .device = r.device, .target = r.target, .call = r.call, .policy = r.policy};
}

static ot_digest asked(int q)
{
    const ot_question question = question_of(q);
    return ot_question_digest(&question);
}

static ot_store *open_store(int mode)
{
    ot_store *store;
    check_ok(ot_store_open(store_dir, mode, &store, &err));
    return store;
}

static void put(ot_store *store, int q, int from, int to)
{
    optune_record *r = ot_alloc((size_t)(to - from) * sizeof *r);
    for (int i = from; i < to; i++)
        r[i - from] = trial(q, i);
    check_ok(ot_store_put(store, r, to - from, NULL, &err));
    free(r);
}

static void drop(ot_store *store, int q, int number)
{
    const optune_record r = trial(q, number);
    const ot_digest digest = ot_record_digest(&r);
    check_ok(ot_store_drop(store, &digest, 1, false, &err));
}

/* 1: there is a list, and it is the one that all entries give; 0: there is none. */
static int listed(ot_store *store, int q)
{
    const ot_digest digest = asked(q);
    ot_snapshot reader;
    ot_briefs list = {0}, all = {0};
    check_ok(ot_snapshot_begin(store, &reader, &err));
    const int there = ot_summary_read(&reader, &digest, &list) == OPTUNE_OK;
    check_ok(ot_briefs_read(&reader, &digest, &all, &err));
    ot_deciding(all.at, all.n);
    int at = 0;
    for (int i = 0; there && i < all.n; i++) {
        if (!all.at[i].keep)
            continue;
        assert_true(at < list.n);
        assert_memory_equal(list.at[at].digest.byte, all.at[i].digest.byte, 16);
        assert_memory_equal(list.at[at].cost, all.at[i].cost, 8);
        assert_int_equal(list.at[at].tells, all.at[i].tells);
        assert_int_equal(list.at[at].spare, all.at[i].spare);
        assert_int_equal(list.at[at++].alike, all.at[i].alike);
    }
    assert_int_equal(at, list.n);
    ot_snapshot_end(&reader);
    free(list.at);
    free(all.at);
    return there;
}

static int64_t faults(ot_store *store)
{
    ot_care care;
    check_ok(ot_store_check(store, &care, &err));
    return ot_care_faults(&care);
}

static void whatever_comes_and_goes(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    int lists = 0;
    for (int i = 0; i < 40; i++) {
        const int q = (int)below(QUESTIONS), from = (int)below(400);
        if (below(4))
            put(store, q, from, from + 1 + (int)below(TRIALS));
        else
            drop(store, q, (int)below(400));
        for (int k = 0; k < QUESTIONS; k++)
            lists += listed(store, k);
    }
    assert_true(lists > 20);
    assert_int_equal(faults(store), 0);
    ot_store_close(store);
}

static bool same_seal(const ot_stamp *a, const ot_stamp *b)
{
    return a->epoch == b->epoch && a->serial == b->serial;
}

static ot_stamp seal_of(ot_store *store, int q)
{
    const ot_question question = question_of(q);
    ot_stamp seal;
    int64_t snapshot;
    assert_true(ot_store_stamp(store, &question, &seal, &snapshot));
    assert_int_equal(snapshot, ot_store_snapshot(store));
    return seal;
}

static void a_seal_breaks_with_its_question(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 0, 40);
    const ot_stamp nothing = seal_of(store, 1), first = seal_of(store, 0);
    put(store, 1, 0, 1);
    const ot_stamp one = seal_of(store, 1);
    assert_false(same_seal(&one, &nothing));
    const ot_stamp still = seal_of(store, 0);
    assert_true(same_seal(&still, &first));
    put(store, 0, 0, 40); /* says nothing new */
    const ot_stamp same = seal_of(store, 0);
    assert_true(same_seal(&same, &first));
    drop(store, 0, 3);
    const ot_stamp less = seal_of(store, 0);
    assert_false(same_seal(&less, &first));
    put(store, 0, 3, 4);
    const ot_stamp again = seal_of(store, 0);
    assert_false(same_seal(&again, &less) || same_seal(&again, &first));
    ot_store_close(store);
}

static void no_summary(ot_store *store, int q)
{
    const ot_digest digest = asked(q);
    ot_writer writer;
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_delete(&writer, OT_TABLE_SUMMARY,
                              (ot_bytes){digest.byte, sizeof digest.byte}, &err));
    check_ok(ot_writer_commit(&writer, &err));
}

/* As a version does that knows of no summaries. */
static void write_as_before(ot_store *store, int q, int number)
{
    env *e = store->env;
    const optune_record r = trial(q, number);
    const ot_digest digest = ot_record_digest(&r);
    ot_index_entry entry;
    ot_index_entry_of(&r, &digest, &entry);
    MDB_txn *txn;
    MDB_val key = {sizeof entry.key, entry.key}, value = {sizeof entry.value, entry.value};
    assert_int_equal(mdb_txn_begin(e->mdb, NULL, 0, &txn), 0);
    assert_int_equal(mdb_put(txn, e->table[OT_TABLE_BEST], &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
}

static void another_version_wrote(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    const ot_question question = question_of(0);
    ot_stamp seal;
    int64_t snapshot;
    put(store, 0, 0, 60);
    put(store, 1, 0, 60);
    const ot_stamp before = seal_of(store, 1), nothing = seal_of(store, 2);
    assert_true(listed(store, 0));
    write_as_before(store, 0, 1000);
    assert_false(ot_store_stamp(store, &question, &seal, &snapshot));
    assert_false(listed(store, 0));
    put(store, 1, 60, 61); /* begins anew, and makes them of all */
    assert_true(listed(store, 1) && listed(store, 0));
    const ot_stamp after = seal_of(store, 1), later = seal_of(store, 2);
    assert_false(same_seal(&after, &before));
    assert_false(same_seal(&later, &nothing)); /* it may have been that one */
    ot_store_close(store);
}

/* Where every question has one, who has none was never asked: the index is not looked at. */
static void who_has_none_has_no_entries(void **state)
{
    (void)state;
    int64_t before, after;
    ot_care care;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 0, 60);
    assert_true(listed(store, 2));
    no_summary(store, 0); /* which nobody would look for any more */
    assert_int_equal(faults(store), 1);
    check_ok(ot_store_mend(store, &care, &err));
    assert_int_equal(faults(store), 0);
    assert_true(listed(store, 0) && listed(store, 2));
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    store = open_store(OT_STORE_WRITE);
    assert_true(listed(store, 0) && listed(store, 2));
    write_as_before(store, 1, 5);
    assert_false(listed(store, 0) || listed(store, 2));
    check_ok(ot_store_compact(store, &before, &after, &err)); /* which makes all of them */
    ot_store_close(store);
    store = open_store(OT_STORE_READ);
    assert_true(listed(store, 0) && listed(store, 2));
    assert_false(listed(store, 1)); /* of one entry no list is needed */
    const ot_stamp one = seal_of(store, 1), none = seal_of(store, 2);
    assert_false(same_seal(&one, &none));
    ot_store_close(store);
}

/* As a version did that knows none: of question i, whose digest is made up, for each i below n so
 * many entries. */
static void index_as_before(ot_store *store, int n, int each)
{
    env *e = store->env;
    const optune_record r = trial(0, 5);
    const ot_digest digest = ot_record_digest(&r);
    ot_index_entry entry;
    ot_index_entry_of(&r, &digest, &entry);
    MDB_txn *txn;
    assert_int_equal(mdb_txn_begin(e->mdb, NULL, 0, &txn), 0);
    for (int i = 0; i < n; i++) {
        const uint64_t hash = ot_hash64(&i, sizeof i);
        memcpy(entry.key, &hash, sizeof hash);
        for (int k = 0; k < each; k++) {
            memcpy(entry.key + sizeof entry.key - sizeof k, &k, sizeof k);
            MDB_val key = {sizeof entry.key, entry.key};
            MDB_val value = {sizeof entry.value, entry.value};
            assert_int_equal(mdb_put(txn, e->table[OT_TABLE_BEST], &key, &value, 0), 0);
        }
    }
    assert_int_equal(mdb_txn_commit(txn), 0);
}

static bool has_all(ot_store *store)
{
    ot_snapshot reader;
    uint64_t epoch;
    check_ok(ot_snapshot_begin(store, &reader, &err));
    const bool all = ot_snapshot_epoch(&reader, &epoch) && ot_summary_has_all(&reader);
    ot_snapshot_end(&reader);
    return all;
}

static int64_t summaries_missing(ot_store *store)
{
    ot_care care;
    check_ok(ot_store_check(store, &care, &err));
    return care.summaries;
}

/* Of many questions each write makes some, so that no write takes long, and goes on where the one
 * before it ended, unless another version wrote in between. */
static void what_is_missing_is_made(void **state)
{
    (void)state;
    enum { MANY = 1100 };
    ot_store *store = open_store(OT_STORE_WRITE);
    index_as_before(store, MANY, 1);
    put(store, 2, 0, 30);
    assert_false(has_all(store));
    put(store, 2, 30, 31);
    assert_false(has_all(store));
    write_as_before(store, 0, 1000);
    for (int i = 0; i < 3; i++) { /* from the start */
        assert_false(has_all(store) || listed(store, 3));
        put(store, 2, 31 + i, 32 + i);
    }
    assert_true(has_all(store) && listed(store, 2) && listed(store, 3));
    assert_int_equal(summaries_missing(store), 0);
    put(store, 3, 0, 40); /* who is new has one, too */
    assert_true(listed(store, 3));
    assert_int_equal(summaries_missing(store), 0);
    ot_store_close(store);
}

/* What an older version wrote last has its summaries made anew when it is copied. */
static void what_is_not_believed_is_made(void **state)
{
    (void)state;
    int64_t before, after;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 0, 60);
    put(store, 2, 0, 30);
    write_as_before(store, 1, 5);
    assert_false(listed(store, 0) || listed(store, 3));
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    store = open_store(OT_STORE_WRITE);
    assert_true(listed(store, 0) && listed(store, 2) && listed(store, 3));
    assert_int_equal(faults(store), 1); /* the entry without a record */
    put(store, 2, 30, 31);              /* and goes on from there */
    assert_true(listed(store, 0) && listed(store, 2) && listed(store, 3));
    assert_int_equal(faults(store), 1);
    ot_store_close(store);
}

/* Nor does it where questions are large: those of a write are bounded by bytes, too. */
static void a_few_large_ones_are_made(void **state)
{
    (void)state;
    enum { LARGE = 24, ENTRIES = 1500, WRITES = 12 };
    int writes = 0;
    ot_store *store = open_store(OT_STORE_WRITE);
    index_as_before(store, LARGE, ENTRIES);
    while (writes < WRITES && !has_all(store))
        put(store, 2, writes, writes + 1), writes++;
    assert_in_range(writes, 3, WRITES - 1);
    assert_int_equal(summaries_missing(store), 0);
    ot_store_close(store);
}

static bool lacks(ot_store *store, int q)
{
    const ot_digest digest = asked(q);
    int64_t snapshot;
    const bool lacking = ot_store_lacks(store, &digest, &snapshot);
    assert_true(!lacking || snapshot == ot_store_snapshot(store));
    return lacking;
}

/* Who was asked often enough says of what nobody answered that it is not there. */
static void what_nobody_answered_is_known(void **state)
{
    (void)state;
    enum { OFTEN = 40 };
    ot_store *store = open_store(OT_STORE_WRITE), *other = open_store(OT_STORE_READ);
    put(store, 0, 0, 20);
    assert_false(lacks(other, 2)); /* not at once */
    for (int i = 0; i < OFTEN; i++)
        assert_false(lacks(other, 0));
    assert_true(lacks(other, 1) && lacks(other, 2));
    put(store, 1, 0, 1);
    assert_false(lacks(other, 1) || lacks(other, 2)); /* it is another store now */
    for (int i = 0; i < OFTEN; i++)
        assert_false(lacks(other, 1));
    assert_true(lacks(other, 2));
    write_as_before(store, 2, 1000); /* and does not count */
    ot_store_touch(store);
    for (int i = 0; i < 2 * OFTEN; i++)
        assert_false(lacks(other, 2));
    ot_store_close(store);
    ot_store_close(other);
}

static void a_hint_is_looked_for(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    optune_record r = trial(0, 1);
    r.digest = "";
    check_ok(ot_store_put(store, &r, 1, NULL, &err));
    for (int i = 0; i < 100; i++)
        assert_false(lacks(store, 2));
    ot_store_close(store);
}

static void flip(ot_store *store, int q, size_t at)
{
    const ot_digest digest = asked(q);
    ot_writer writer;
    ot_bytes value;
    ot_text text = {0};
    const ot_bytes key = {digest.byte, sizeof digest.byte};
    check_ok(ot_writer_begin(store, &writer, &err));
    assert_int_equal(ot_writer_get(&writer, OT_TABLE_SUMMARY, key, &value, &err), 0);
    ot_text_add_n(&text, value.data, value.n);
    text.s[at % text.n] ^= (char)(1 << at % 8);
    check_ok(
        ot_writer_put(&writer, OT_TABLE_SUMMARY, key, (ot_bytes){text.s, text.n}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    ot_text_release(&text);
}

static void damage_is_told_and_mended(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    const ot_question question = question_of(0);
    put(store, 0, 0, 80);
    for (size_t at = 0; at < 40; at++) {
        ot_stamp seal;
        int64_t snapshot;
        ot_care care;
        flip(store, 0, at * 5);
        assert_false(ot_store_stamp(store, &question, &seal, &snapshot));
        assert_false(listed(store, 0));
        assert_int_equal(faults(store), 1);
        check_ok(ot_store_mend(store, &care, &err));
        assert_int_equal(care.summaries, 1);
        assert_int_equal(faults(store), 0);
        assert_true(listed(store, 0));
    }
    ot_store_close(store);
}

static void sum_as_before(ot_store *store, int q)
{
    const ot_digest digest = asked(q);
    const uint64_t serial = 1;
    const uint32_t none = 0;
    char bytes[20];
    ot_writer writer;
    memcpy(bytes, &serial, 8);
    memcpy(bytes + 8, &none, 4);
    const uint64_t sum =
        ot_hash64(bytes, 12) * 0x9e3779b97f4a7c15u + ot_hash64(digest.byte, sizeof digest.byte);
    memcpy(bytes + 12, &sum, 8);
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_SUMMARY,
                           (ot_bytes){digest.byte, sizeof digest.byte},
                           (ot_bytes){bytes, sizeof bytes}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
}

/* Of a few, too, those that decide are listed, which versions before did of many only. */
static void few_are_listed(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 1, 7);
    put(store, 1, 1, 2);
    put(store, 2, 0, 200);
    assert_true(listed(store, 0));
    assert_false(listed(store, 1)); /* it is all there is */
    sum_as_before(store, 0);
    assert_false(listed(store, 0));
    assert_int_equal(faults(store), 0);
    sum_as_before(store, 2);
    assert_int_equal(faults(store), 1);
    ot_store_close(store);
}

/* The text of the question that is asked is not looked up among those that records share: what has
 * that name there may be anything, as a record that it does not make whole is read without. */
static void what_was_asked_is_not_looked_up(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    const ot_question question = question_of(0);
    const uint32_t id = (uint32_t)ot_hash64(question.call, strlen(question.call));
    ot_arena arena = {0};
    ot_finds found;
    ot_writer writer;
    put(store, 0, 1, 7);
    ot_store_close(store);
    store = open_store(OT_STORE_WRITE); /* nothing is known of it */
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_SHARED, (ot_bytes){&id, sizeof id},
                           (ot_bytes){"something else", 14}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    check_ok(ot_store_find_which(store, &question, OT_DECIDING, &arena, &found, &err));
    assert_true(found.n > 0);
    for (int i = 0; i < found.n; i++)
        assert_string_equal(found.record[i].call, question.call);
    ot_arena_release(&arena);
    ot_store_close(store);
}

static void a_copy_has_them(void **state)
{
    (void)state;
    int64_t before, after;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 0, 80);
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    store = open_store(OT_STORE_WRITE);
    assert_true(listed(store, 0));
    assert_int_equal(faults(store), 0);
    put(store, 1, 0, 80);
    assert_true(listed(store, 0) && listed(store, 1));
    ot_store_close(store);
}

/* A copy counts its transactions anew: what an answer was kept under before one of them is not what
 * it is behind it. */
static void no_seal_of_a_copy_comes_again(void **state)
{
    (void)state;
    int64_t before, after;
    ot_store *store = open_store(OT_STORE_WRITE);
    for (int i = 0; i < 20; i++)
        put(store, 1, i, i + 1);
    put(store, 0, 0, 10);
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    store = open_store(OT_STORE_WRITE);
    const ot_stamp copied = seal_of(store, 0);
    for (int i = 10; i < 60; i++) {
        put(store, 0, i, i + 1);
        const ot_stamp now = seal_of(store, 0);
        assert_false(same_seal(&now, &copied));
    }
    assert_int_equal(faults(store), 0);
    ot_store_close(store);
}

/* Without LMDB, as who may not write reads. */
static void who_may_only_read(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE);
    put(store, 0, 0, 80);
    store->env->twin = true;
    const ot_stamp seal = seal_of(store, 0);
    assert_true(listed(store, 0));
    store->env->twin = false;
    const ot_stamp own = seal_of(store, 0);
    assert_true(same_seal(&own, &seal));
    ot_store_close(store);
}

static int found(ot_store *store, int q)
{
    const ot_question question = question_of(q);
    ot_arena arena = {0};
    optune_record *record;
    int n;
    check_ok(ot_store_find(store, &question, 0, &arena, &record, &n, &err));
    ot_arena_release(&arena);
    return n;
}

static void what_is_held_stays(void **state)
{
    (void)state;
    ot_store *store = open_store(OT_STORE_WRITE), *reader = open_store(OT_STORE_READ);
    const ot_question question = question_of(1);
    ot_stamp before, held, after;
    int64_t commit, own;
    put(store, 2, 1, 3);
    put(store, 1, 1, 2);
    assert_true(ot_store_stamp(reader, &question, &before, &commit));
    ot_store_hold(reader);
    ot_store_hold(reader); /* it is */
    put(store, 1, 2, 5);
    assert_true(ot_store_stamp(reader, &question, &held, &own));
    assert_memory_equal(&held, &before, sizeof held);
    assert_int_equal(own, commit);
    assert_int_equal(ot_store_snapshot(reader), commit);
    assert_int_equal(found(reader, 1), 1);
    assert_int_equal(listed(reader, 1), 0);
    /* Of another question, and of one that nobody answered, it says what these are. */
    const ot_question other = question_of(2), none = question_of(0);
    ot_stamp of_other, of_none, again;
    assert_true(ot_store_stamp(reader, &other, &of_other, &own));
    assert_true(ot_store_stamp(reader, &none, &of_none, &own));
    assert_true(of_other.serial && of_other.serial < held.serial && of_none.serial == 0);
    assert_true(ot_store_stamp(reader, &question, &again, &own));
    assert_memory_equal(&held, &again, sizeof held);
    assert_true(ot_store_stamp(reader, &other, &again, &own));
    assert_memory_equal(&of_other, &again, sizeof again);
    ot_store_let_go(reader);
    ot_store_let_go(reader);
    assert_true(ot_store_stamp(reader, &question, &after, &own));
    assert_true(own > commit && after.serial > before.serial);
    assert_int_equal(found(reader, 1), 4);
    /* Two at once are two. */
    ot_snapshot one, two;
    ot_store_hold(reader);
    check_ok(ot_snapshot_begin(reader, &one, &err));
    check_ok(ot_snapshot_begin(reader, &two, &err));
    assert_ptr_not_equal(one.txn, two.txn);
    ot_snapshot_end(&one);
    ot_snapshot_end(&two);
    ot_store_let_go(reader);
    ot_store_close(reader);
    ot_store_close(store);
}

int main(void)
{
#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)
    const struct CMUnitTest tests[] = {
        each(whatever_comes_and_goes),
        each(a_seal_breaks_with_its_question),
        each(another_version_wrote),
        each(damage_is_told_and_mended),
        each(few_are_listed),
        each(what_was_asked_is_not_looked_up),
        each(a_copy_has_them),
        each(who_may_only_read),
        each(what_is_held_stays),
        each(no_seal_of_a_copy_comes_again),
        each(who_has_none_has_no_entries),
        each(what_nobody_answered_is_known),
        each(a_hint_is_looked_for),
        each(what_is_not_believed_is_made),
        each(what_is_missing_is_made),
        each(a_few_large_ones_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
