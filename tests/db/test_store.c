/* SPDX-License-Identifier: Apache-2.0 */
/* The store in good weather: order, identity, sharing within and between processes. */
#include "support/check.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "db/format.h"
#include "db/kv.h"
#include "db/peek.h"
#include "support/store.h"

static ot_question question_of(const optune_record *record)
{
    return (ot_question){.device = record->device,
                         .target = record->target,
                         .call = record->call,
                         .policy = record->policy};
}

static void there_is_none(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    assert_int_equal(ot_store_open(store_dir, OT_STORE_READ, &store, &err), OPTUNE_ENOENT);
    check_contains(err.text, store_dir);
    assert_null(store);
    ot_store_close(store);
    assert_int_equal(rmdir(store_dir), 0); /* looking made nothing */
}

static void cheapest_first_failures_last(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    static const double costs[] = {3e-3, 1e-9, INFINITY, 2e5, 1e-3, INFINITY, 5e-9};
    static const double sorted[] = {1e-9, 5e-9, 1e-3, 3e-3, 2e5, INFINITY, INFINITY};
    optune_record record[OT_COUNT(costs)], *found;
    for (int i = 0; i < OT_COUNT(costs); i++) {
        record[i] = some_record(i);
        record_cost(&record[i], isinf(costs[i]) ? 1 : costs[i]);
        if (isinf(costs[i])) {
            record[i].outcome = OPTUNE_OUTCOME_COMPILE;
            record[i].n_samples = 0;
            record[i].cost = INFINITY;
        }
    }
    int added, n;
    ot_arena arena = {0};
    ot_question question = question_of(&record[0]);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 0);
    check_ok(ot_store_put(store, record, OT_COUNT(costs), &added, &err));
    assert_int_equal(added, OT_COUNT(costs));
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, OT_COUNT(costs));
    for (int i = 0; i < n - 2; i++)
        assert_true(found[i].cost == sorted[i]);
    assert_int_equal(found[n - 1].outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(found[n - 2].outcome, OPTUNE_OUTCOME_COMPILE);
    check_same_record(&found[2], &record[4]);
    check_ok(ot_store_find(store, &question, 2, &arena, &found, &n, &err));
    assert_int_equal(n, 2);
    assert_true(found[1].cost == 5e-9);
    ot_store_close(store);
    check_same_record(&found[0], &record[1]); /* outlives the store */
    ot_arena_release(&arena);
}

static void questions_are_kept_apart(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    optune_record record[5], *found;
    for (int i = 0; i < 5; i++)
        record[i] = some_record(i);
    record[0].device = "other device";
    record[1].target = "cpu -threads=1";
    record[2].call = "dense(f32[2,2048], const f32[1000,2048])";
    record[3].policy = "cold";
    record[4].policy = NULL; /* means warm */
    int n;
    ot_arena arena = {0};
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, 5, NULL, &err));
    for (int i = 0; i < 5; i++) {
        ot_question question = question_of(&record[i]);
        check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
        assert_int_equal(n, 1);
        check_same_record(found, &record[i]);
    }
    ot_question warm = question_of(&record[4]);
    warm.policy = "warm";
    check_ok(ot_store_find(store, &warm, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 1);
    ot_store_stats stats;
    check_ok(ot_store_stats_get(store, &stats, &err));
    assert_int_equal(stats.records, 5);
    assert_int_equal(stats.questions, 5);
    assert_int_equal(stats.damaged, 0);
    assert_true(stats.bytes >= 4096);
    ot_store_close(store);
    ot_arena_release(&arena);
}

static void colliding_digests_do_no_harm(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    ot_writer writer;
    optune_record mine = some_record(1), other = some_record(2), *found;
    other.call = "another call";
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, &mine, 1, NULL, &err));
    check_ok(ot_store_put(store, &other, 1, NULL, &err));
    /* As if both questions had one digest: the other's record under my question, and faster. */
    ot_question question = question_of(&mine);
    ot_digest asked = ot_question_digest(&question), digest = ot_record_digest(&other);
    unsigned char key[40] = {0};
    memcpy(key, asked.byte, 16);
    memcpy(key + 24, digest.byte, 16);
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_BEST, (ot_bytes){key, sizeof(key)},
                           (ot_bytes){"", 0}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    int n;
    ot_arena arena = {0};
    check_ok(ot_store_find(store, &question, 1, &arena, &found, &n, &err));
    assert_int_equal(n, 1);
    check_same_record(found, &mine);
    ot_store_close(store);
    ot_arena_release(&arena);
}

static void known_records_are_not_added(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    optune_record record[3] = {some_record(1), some_record(2), some_record(1)};
    int added;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, 3, &added, &err));
    assert_int_equal(added, 2);
    check_ok(ot_store_put(store, record, 3, &added, &err));
    assert_int_equal(added, 0);
    check_ok(ot_store_put(store, NULL, 0, &added, &err));
    ot_store_close(store);
}

static int sum_times(void *arg, const optune_record *record)
{
    *(double *)arg += record->time;
    return 0;
}

static int third(void *arg, const optune_record *record)
{
    (void)record;
    return ++*(int *)arg == 3 ? 17 : 0;
}

static void walking(void **state)
{
    (void)state;
    enum { N = 200 }; /* several batches */
    optune_err err;
    ot_store *store;
    double sum = 0, expected = 0;
    optune_record *record = ot_alloc(N * sizeof *record);
    for (int i = 0; i < N; i++) {
        record[i] = some_record(i);
        record[i].time = i;
        expected += i;
    }
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    assert_int_equal(ot_store_walk(store, sum_times, &sum, &err), 0);
    assert_true(sum == 0);
    check_ok(ot_store_put(store, record, N, NULL, &err));
    assert_int_equal(ot_store_walk(store, sum_times, &sum, &err), 0);
    assert_true(sum == expected);
    int seen = 0;
    assert_int_equal(ot_store_walk(store, third, &seen, &err), 17);
    assert_int_equal(seen, 3);
    ot_store_close(store);
    free(record);
}

static void devices(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    optune_device device = some_device("cpu:b"), got, *all;
    int n;
    ot_arena arena = {0};
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    assert_int_equal(ot_store_device(store, "cpu:b", &got, &err), OPTUNE_ENOENT);
    check_contains(err.text, "none");
    check_ok(ot_store_put_device(store, &device, &err));
    device.cores = 64;
    check_ok(ot_store_put_device(store, &device, &err)); /* replaces */
    device = some_device("cpu:a");
    check_ok(ot_store_put_device(store, &device, &err));
    check_ok(ot_store_devices(store, &arena, &all, &n, &err));
    assert_int_equal(n, 2);
    assert_memory_equal(&all[0], &device, sizeof device);
    check_ok(ot_store_device(store, "cpu:b", &got, &err));
    assert_int_equal(got.cores, 64);
    assert_int_equal(ot_store_device(store, "cpu:c", &got, &err), OPTUNE_ENOENT);
    check_contains(err.text, "'cpu:a', 'cpu:b'");
    ot_store_close(store);
    ot_arena_release(&arena);
}

static void opened_twice_in_one_process(void **state)
{
    (void)state;
    optune_err err;
    ot_store *writer, *reader;
    char again[4200];
    snprintf(again, sizeof again, "%s/.", store_dir); /* another name of the same place */
    optune_record record = some_record(1), *found;
    ot_question question = question_of(&record);
    int n;
    ot_arena arena = {0};
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &writer, &err));
    check_ok(ot_store_open(again, OT_STORE_READ, &reader, &err));
    check_ok(ot_store_put(writer, &record, 1, NULL, &err));
    ot_store_close(writer);
    check_ok(ot_store_find(reader, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 1);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &writer, &err));
    ot_store_close(reader);
    record = some_record(2);
    check_ok(ot_store_put(writer, &record, 1, NULL, &err));
    check_ok(ot_store_find(writer, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 2);
    ot_store_close(writer);
    ot_arena_release(&arena);
}

static void child_of_fork_leaves_the_parents_store_alone(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    optune_record record = some_record(1), *found;
    ot_question question = question_of(&record);
    int n, status;
    ot_arena arena = {0};
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, &record, 1, NULL, &err));
    pid_t child = fork();
    if (child == 0) {
        record = some_record(2);
        bool right = ot_store_put(store, &record, 1, NULL, &err) == OPTUNE_ESTORE;
        ot_store_close(store);
        ot_store *own;
        right = right && ot_store_open(store_dir, OT_STORE_WRITE, &own, &err) == OPTUNE_OK &&
                ot_store_put(own, &record, 1, NULL, &err) == OPTUNE_OK;
        if (right)
            ot_store_close(own);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 2);
    ot_store_close(store);
    ot_arena_release(&arena);
}

/* ---- many at once ------------------------------------------------------------------------ */

typedef struct reading {
    ot_store *store;
    int rounds, least, wrong;
} reading;

static void *read_on(void *arg)
{
    reading *r = arg;
    optune_record record = some_record(0);
    ot_question question = question_of(&record);
    for (int i = 0; i < r->rounds; i++) {
        ot_arena arena = {0};
        optune_record *found;
        int n = 0;
        optune_err err = {.text = "fewer than before"};
        if (ot_store_find(r->store, &question, 0, &arena, &found, &n, &err) < 0 ||
            n < r->least) {
            r->wrong++;
            print_error("reading: %s\n", err.text);
        }
        r->least = n; /* what was seen once stays */
        for (int j = 0; j < n; j++)
            r->wrong += strcmp(found[j].impl, record.impl) != 0;
        ot_arena_release(&arena);
    }
    return NULL;
}

static void threads_read_while_one_writes(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    optune_err err;
    ot_store *store;
    pthread_t thread[THREADS];
    reading r[THREADS];
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    for (int i = 0; i < THREADS; i++) {
        r[i] = (reading){.store = store, .rounds = 200};
        assert_int_equal(pthread_create(&thread[i], NULL, read_on, &r[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        optune_record record = some_record(i);
        check_ok(ot_store_put(store, &record, 1, NULL, &err));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(r[i].wrong, 0);
    }
    ot_store_close(store);
}

/* While others commit, the two meta pages are seen at different times and do not follow one
 * another. That is no store that was cut off: the later one still tells the last commit. */
static void commits_between_two_looks(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    ot_peek *peek;
    char path[4200], head[OT_META_BYTES];
    ot_meta meta[2];
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    optune_record record = some_record(0);
    check_ok(ot_store_put(store, &record, 1, NULL, &err));
    ot_store_close(store);
    snprintf(path, sizeof path, "%s/store/data.mdb", store_dir);
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    for (int i = 0; i < 2; i++) {
        const off_t at = i ? (off_t)meta[0].page_size : 0;
        assert_int_equal(pread(fd, head, sizeof head, at), sizeof head);
        assert_null(ot_meta_read(head, (uint64_t)i, &meta[i]));
    }
    const int newer = meta[1].txn > meta[0].txn;
    const uint64_t later = meta[newer].txn + 2;
    assert_int_equal(
        pwrite(fd, &later, sizeof later,
               newer * (off_t)meta[0].page_size + OT_META_BYTES - (off_t)sizeof later),
        sizeof later);
    close(fd);
    check_ok(ot_peek_open(path, &peek, &err));
    assert_int_equal(ot_peek_last(peek), later);
    ot_peek_close(peek);
}

static void *open_and_close(void *arg)
{
    for (int i = 0; i < 20; i++) {
        ot_store *store;
        if (ot_store_open(store_dir, OT_STORE_WRITE, &store, NULL) < 0)
            ++*(int *)arg;
        else
            ot_store_close(store);
    }
    return NULL;
}

static void threads_open_and_close(void **state)
{
    (void)state;
    pthread_t thread[4];
    int wrong[4] = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_and_close, &wrong[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

static void processes_write_at_once_and_lose_nothing(void **state)
{
    (void)state;
    enum { PROCESSES = 4, EACH = 50 };
    optune_err err;
    pid_t child[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        if (child[p])
            continue;
        ot_store *store; /* all of them may be the one that creates it */
        bool good = ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) == OPTUNE_OK;
        for (int i = 0; good && i < EACH; i++) {
            optune_record record = some_record(p * EACH + i);
            int added;
            good = ot_store_put(store, &record, 1, &added, &err) == OPTUNE_OK && added == 1;
        }
        if (good)
            ot_store_close(store);
        else
            print_error("%s\n", err.text);
        _exit(good ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_int_equal(status, 0);
    }
    ot_store *store;
    optune_record record = some_record(0), *found;
    ot_question question = question_of(&record);
    int n;
    ot_arena arena = {0};
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, PROCESSES * EACH);
    char seen[PROCESSES * EACH] = {0};
    for (int i = 0; i < n; i++)
        seen[found[i].config.index - 1000] = 1;
    assert_null(memchr(seen, 0, sizeof(seen)));
    ot_store_close(store);
    ot_arena_release(&arena);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

/* Records that name no digest are found by call and kind of target alone; they go when they are
 * dropped, and a rebuilt store has them again. */
static void hints(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    optune_record record[4], *found;
    ot_arena arena = {0};
    int n, added;
    for (int i = 0; i < OT_COUNT(record); i++) {
        record[i] = some_record(i);
        record_cost(&record[i], (4 - i) * 1e-6);
        record[i].digest = i < 3 ? "" : record[i].digest;
        record[i].target = i == 1 ? "cpu -threads=64" : i == 2 ? "cuda" : "cpu -threads=1";
        record[i].device = i == 1 ? "autotvm:elsewhere" : "autotvm:here";
    }
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, OT_COUNT(record), &added, &err));
    assert_int_equal(added, OT_COUNT(record));
    check_ok(ot_store_find_hints(store, record[0].call, "cpu", 8, &arena, &found, &n, &err));
    assert_int_equal(n, 2); /* not cuda's, not ours; the cheaper first */
    assert_string_equal(found[0].device, "autotvm:elsewhere");
    assert_string_equal(found[1].device, "autotvm:here");
    check_ok(
        ot_store_find_hints(store, record[0].call, "cpu -arch=x", 1, &arena, &found, &n, &err));
    assert_int_equal(n, 1);
    check_ok(ot_store_find_hints(store, "other()", "cpu", 8, &arena, &found, &n, &err));
    assert_int_equal(n, 0);
    const ot_digest gone = ot_record_digest(&record[1]);
    check_ok(ot_store_drop(store, &gone, 1, false, &err));
    check_ok(ot_store_find_hints(store, record[0].call, "cpu", 8, &arena, &found, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(found[0].device, "autotvm:here");
    ot_care care;
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    ot_store_close(store);
    ot_arena_release(&arena);
}

/* Somebody stores the same, or forgets some of it, between the look at a store and the writing:
 * what is new is counted as it is then, each record once. */
static void settled_before(void **state)
{
    (void)state;
    enum { N = 12, THERE = 4 };
    optune_err err = {0};
    ot_store *store;
    ot_store_stats stats;
    int added;
    for (int between = 0; between < 2; between++) {
        store_fresh(state);
        check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
        ot_batch *batch = ot_batch_new(false);
        for (int i = 0; i < N; i++) {
            const optune_record r = some_record(i), first = some_record(0);
            check_ok(ot_batch_add(batch, &r, NULL, &err));
            check_ok(ot_batch_add(batch, &first, NULL, &err));
        }
        assert_int_equal(ot_batch_settle(batch, store), N);
        const optune_record there[THERE] = {some_record(1), some_record(3), some_record(4),
                                            some_record(11)};
        if (between)
            check_ok(ot_store_put(store, there, THERE, &added, &err));
        check_ok(ot_batch_put(batch, store, &added, &err));
        assert_int_equal(added, between ? N - THERE : N);
        check_ok(ot_store_stats_get(store, &stats, &err));
        assert_int_equal(stats.records, N);
        /* Nothing of it is new to another look, and what is added since is. */
        assert_int_equal(ot_batch_settle(batch, store), 0);
        const optune_record later = some_record(N), gone = some_record(2);
        const ot_digest digest = ot_record_digest(&gone);
        check_ok(ot_batch_add(batch, &later, NULL, &err));
        assert_int_equal(ot_batch_settle(batch, store), 1);
        check_ok(ot_store_drop(store, &digest, 1, true, &err));
        check_ok(ot_batch_put(batch, store, &added, &err));
        assert_int_equal(added, 1);
        check_ok(ot_store_stats_get(store, &stats, &err));
        assert_int_equal(stats.records, N); /* what was forgotten stays so */
        ot_batch_free(batch);
        ot_store_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(settled_before),
        each(there_is_none),
        each(cheapest_first_failures_last),
        each(questions_are_kept_apart),
        each(colliding_digests_do_no_harm),
        each(known_records_are_not_added),
        each(hints),
        each(walking),
        each(devices),
        each(opened_twice_in_one_process),
        each(child_of_fork_leaves_the_parents_store_alone),
        each(threads_read_while_one_writes),
        each(commits_between_two_looks),
        each(threads_open_and_close),
        each(processes_write_at_once_and_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
