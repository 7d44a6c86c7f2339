/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process and one database: several ask one handle, while records are imported
 * through that handle and through another one, the store is compacted and looked through, and two
 * pull from a hub. Answers only get better and end with the best. What races and does no harm
 * here is found by a build with OPTUNE_SANITIZE_THREADS (scripts/threads).
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "answer/answer.h"

enum { ASKERS = 3, IMPORTS = 12 };

static optune_record record_of(double cost)
{
    for (int i = 0; i < forged_run.n; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(forged_run.record[i].impl, "dense_pack.x86")) {
            optune_record r = forged_run.record[i];
            record_cost(&r, cost);
            r.final = true;
            r.time = 1 / cost; /* faster is newer */
            return r;
        }
    fail_msg("no record of dense_pack.x86");
    return (optune_record){0};
}

/* What goes wrong in a thread is told by the one that waits for it. */
typedef struct working {
    optune *o;
    const char *name; /* of the files that are imported */
    atomic_bool *over;
    double first, last; /* costs */
    int wrong;
    const char *what; /* went wrong first */
    optune_err err;
} working;

static void note(working *w, const char *what, int status)
{
    if (status < 0 && !w->wrong++)
        w->what = what;
}

static void *ask(void *arg)
{
    working *w = arg;
    optune_call *call = ot_alloc(sizeof *call);
    note(w, "parse", ot_call_parse(FORGED_WORKLOAD, call, &w->err));
    for (int i = 0; !w->wrong; i++) {
        const bool last = atomic_load(w->over); /* one more behind the last write */
        optune_selection *s = NULL;
        optune_found *found = NULL;
        double cost = INFINITY;
        const int status = i % 3 == 0   ? optune_query(w->o, FORGED_WORKLOAD, &found, &w->err)
                           : i % 3 == 1 ? optune_select(w->o, FORGED_WORKLOAD, &s, &w->err)
                                        : optune_select_call(w->o, call, &s, &w->err);
        note(w, "ask", status);
        if (status >= 0)
            cost = s ? optune_selection_cost(s) : found->record.cost;
        if (status >= 0 && cost > w->last) {
            snprintf(w->err.text, sizeof w->err.text, "%g behind %g", cost, w->last);
            note(w, "an answer", OPTUNE_EDAMAGED);
        }
        w->last = cost;
        optune_selection_free(s);
        optune_found_free(found);
        if (last)
            break;
    }
    free(call);
    return NULL;
}

static void *import(void *arg)
{
    working *w = arg;
    double cost = w->first;
    for (int i = 0; i < IMPORTS && !w->wrong; i++) {
        char path[1300];
        ot_log *log = NULL;
        optune_result *result = NULL;
        const optune_record r = record_of(cost *= 0.75);
        snprintf(path, sizeof path, "%s/%s%d.log", tuning_dir, w->name, i);
        note(w, "log", ot_log_open(path, OT_LOG_FULL, &log, &w->err));
        note(w, "append", log ? ot_log_append(log, &r, &w->err) : OPTUNE_OK);
        ot_log_close(log);
        note(w, "import", optune_import(w->o, path, &result, &w->err));
        optune_result_free(result);
    }
    w->last = cost;
    return NULL;
}

static void *tend(void *arg)
{
    static const char *const deeds[] = {"compact", "check", "stat", "prune"};
    working *w = arg;
    for (int i = 0; !atomic_load(w->over) && !w->wrong; i++) {
        const optune_database_options options = {
            .size = sizeof options, .what = deeds[i % OT_COUNT(deeds)], .history = 1000};
        optune_result *result = NULL;
        note(w, options.what, optune_database(w->o, &options, &result, &w->err));
        optune_result_free(result);
        usleep(5000);
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*of)(void *), working *w)
{
    assert_int_equal(pthread_create(thread, NULL, of, w), 0);
}

static void end(pthread_t thread, const working *w)
{
    pthread_join(thread, NULL);
    if (w->wrong)
        fail_msg("%s: %s", w->what, w->err.text);
}

static void test_ask_import_compact(void **state)
{
    (void)state;
    const optune_record r = record_of(1e-3);
    forged_put("shared", &r, 1, NULL);
    optune *own = tuning_open("shared"), *other = tuning_open("shared"),
           *third = tuning_open("shared");
    atomic_bool over = false;
    pthread_t thread[ASKERS + 3];
    working w[ASKERS + 3];
    for (int i = 0; i < ASKERS; i++) {
        w[i] = (working){.o = own, .over = &over, .last = INFINITY};
        start(&thread[i], ask, &w[i]);
    }
    working *mine = &w[ASKERS], *others = mine + 1, *care = mine + 2;
    *mine = (working){.o = own, .name = "mine", .first = 9e-4};
    *others = (working){.o = other, .name = "others", .first = 8e-4};
    *care = (working){.o = third, .over = &over};
    start(&thread[ASKERS], import, mine);
    start(&thread[ASKERS + 1], import, others);
    start(&thread[ASKERS + 2], tend, care);
    end(thread[ASKERS], mine);
    end(thread[ASKERS + 1], others);
    atomic_store(&over, true);
    end(thread[ASKERS + 2], care);
    for (int i = 0; i < ASKERS; i++) {
        end(thread[i], &w[i]);
        if (w[i].last != fmin(mine->last, others->last))
            fail_msg("%g in the end, not %g or %g", w[i].last, mine->last, others->last);
    }
    optune_close(own);
    optune_close(other);
    optune_close(third);
}

static void *compact(void *arg)
{
    working *w = arg;
    for (int i = 0; i < 60 && !w->wrong; i++) {
        const optune_database_options options = {.size = sizeof options, .what = "compact"};
        optune_result *result = NULL;
        note(w, "compact", optune_database(w->o, &options, &result, &w->err));
        optune_result_free(result);
    }
    return NULL;
}

/* Who asks in the middle of that is answered from the records, and no worse. */
static void test_replaced_again_and_again(void **state)
{
    (void)state;
    const optune_record r = record_of(1e-3);
    forged_put("replaced", &r, 1, NULL);
    optune *own = tuning_open("replaced"), *other = tuning_open("replaced");
    atomic_bool over = false;
    pthread_t thread[ASKERS + 1];
    working w[ASKERS + 1];
    for (int i = 0; i < ASKERS; i++) {
        w[i] = (working){.o = own, .over = &over, .last = r.cost};
        start(&thread[i], ask, &w[i]);
    }
    w[ASKERS] = (working){.o = other};
    start(&thread[ASKERS], compact, &w[ASKERS]);
    end(thread[ASKERS], &w[ASKERS]);
    atomic_store(&over, true);
    for (int i = 0; i < ASKERS; i++)
        end(thread[i], &w[i]);
    optune_close(own);
    optune_close(other);
}

static void compact_once(optune *o)
{
    const optune_database_options options = {.size = sizeof options, .what = "compact"};
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_database(o, &options, &result, &err));
    optune_result_free(result);
}

static int count_one(void *arg, const optune_record *record)
{
    (void)record;
    ++*(int *)arg;
    return OPTUNE_OK;
}

typedef struct swapping {
    optune *own, *other;
    int n; /* records read so far */
    bool done;
} swapping;

/* What is read stays open however often another thread opens the next one. */
static void *swap_often(void *arg)
{
    enum { SWAPS = 40 };
    swapping *s = arg;
    optune_err err = {0};
    for (int i = 0; i < SWAPS; i++) {
        compact_once(s->other);
        check_ok(ot_context_store(s->own, OT_STORE_READ, &err));
    }
    return NULL;
}

static int swap_in_the_middle(void *arg, const optune_record *record)
{
    swapping *s = arg;
    pthread_t thread;
    (void)record;
    s->n++;
    if (!s->done) {
        assert_int_equal(pthread_create(&thread, NULL, swap_often, s), 0);
        pthread_join(thread, NULL);
        s->done = true;
    }
    return OPTUNE_OK;
}

static void test_reads_through_swaps(void **state)
{
    (void)state;
    enum { RECORDS = 3 };
    optune_record r[RECORDS];
    optune_err err = {0};
    for (int i = 0; i < RECORDS; i++)
        r[i] = record_of(1e-3 / (i + 1));
    forged_put("swapped", r, RECORDS, NULL);
    swapping s = {.own = tuning_open("swapped"), .other = tuning_open("swapped")};
    ot_store *store, *later;
    int n = 0;
    const unsigned turn = ot_context_enter(s.own);
    check_ok(ot_context_reader(s.own, &store, NULL, &err));
    check_ok(ot_store_walk(store, swap_in_the_middle, &s, &err));
    assert_int_equal(s.n, RECORDS);
    assert_true(s.done);
    check_ok(ot_context_reader(s.own, &later, NULL, &err));
    assert_ptr_not_equal(later, store);
    /* What is gone says so, which it can as it is open still. */
    assert_int_equal(ot_store_walk(store, count_one, &n, &err), OPTUNE_ESTORE);
    check_ok(ot_store_walk(later, count_one, &n, &err));
    assert_int_equal(n, RECORDS);
    assert_true(atomic_load(&s.own->stores->n_retired) > 0);
    ot_context_leave(s.own, turn);
    assert_int_equal(atomic_load(&s.own->stores->n_retired), 0);
    /* A reader who is late keeps what he has, and no more than he must is kept for him. */
    const unsigned before = ot_context_enter(s.own);
    swap_often(&s);
    const unsigned after = ot_context_enter(s.own);
    ot_context_leave(s.own, before);
    ot_context_leave(s.own, after);
    assert_int_equal(atomic_load(&s.own->stores->n_retired), 0);
    optune_close(s.own);
    optune_close(s.other);
}

/* ---- a hub ------------------------------------------------------------------------------- */

static char key_file[1200];

static void hub(working *w, const char *what, const char *const *words, const char *const *keys)
{
    const optune_hub_options options = {.size = sizeof options,
                                        .what = what,
                                        .words = words,
                                        .keys = keys,
                                        .key_file = key_file};
    optune_result *result = NULL;
    note(w, what, optune_hub(w->o, &options, &result, &w->err));
    optune_result_free(result);
}

/* Whatever is known so far, something is selected. */
static void *select_on(void *arg)
{
    working *w = arg;
    while (!atomic_load(w->over) && !w->wrong) {
        optune_selection *s = NULL;
        note(w, "select", optune_select(w->o, FORGED_WORKLOAD, &s, &w->err));
        optune_selection_free(s);
    }
    return NULL;
}

static void *pull(void *arg)
{
    working *w = arg;
    for (int i = 0; i < 4 && !w->wrong; i++)
        hub(w, "pull", (const char *const[]){"h", NULL}, NULL);
    return NULL;
}

static void test_pulls(void **state)
{
    (void)state;
    char url[1200], key[65];
    optune_err err = {0};
    optune_result *result = NULL;
    snprintf(key_file, sizeof key_file, "%s/key", tuning_dir);
    snprintf(url, sizeof url, "file://%s/hub", tuning_dir);
    working giver = {.o = tuning_open("tuned")};
    const optune_hub_options options = {
        .size = sizeof options, .what = "key", .key_file = key_file};
    check_ok(optune_hub(giver.o, &options, &result, &err));
    snprintf(key, sizeof key, "%.64s", optune_result_text(result));
    optune_result_free(result);
    const char *const add[] = {"h", url, NULL}, *const keys[] = {key, NULL};
    hub(&giver, "add", add, keys);
    hub(&giver, "push", (const char *const[]){"h", NULL}, NULL);
    optune_close(giver.o);
    if (giver.wrong)
        fail_msg("%s", giver.err.text);
    optune *one = tuning_open("taker"), *two = tuning_open("taker");
    atomic_bool over = false;
    pthread_t thread[3];
    working w[3] = {{.o = one}, {.o = two}, {.o = one, .over = &over, .last = INFINITY}};
    hub(&w[0], "add", add, keys);
    start(&thread[0], pull, &w[0]);
    start(&thread[1], pull, &w[1]);
    start(&thread[2], select_on, &w[2]);
    end(thread[0], &w[0]);
    end(thread[1], &w[1]);
    atomic_store(&over, true);
    end(thread[2], &w[2]);
    optune *last = tuning_open("taker");
    char *answer = tuning_answer(last, FORGED_WORKLOAD);
    assert_non_null(strstr(answer, "tuned"));
    free(answer);
    optune_close(last);
    optune_close(one);
    optune_close(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ask_import_compact),
        cmocka_unit_test(test_replaced_again_and_again),
        cmocka_unit_test(test_reads_through_swaps),
        cmocka_unit_test(test_pulls),
    };
    return cmocka_run_group_tests(tests, forged_setup, forged_teardown);
}
