/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers are kept, and never older than the store: what another process or another handle
 * writes changes the next answer; what did not change is not made again. One run feeds all
 * tests; what it stored goes forged into other databases.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"
#include "support/unsaid.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#define SPACED " dense( f32[16,64],const f32[32,64] )"

static bool good_of(const optune_record *r, const char *impl)
{
    return r->outcome == OPTUNE_OUTCOME_OK && strcmp(r->impl, impl) == 0;
}

static optune_record record_of(const char *impl, double cost)
{
    for (int i = 0; i < forged_run.n; i++)
        if (good_of(&forged_run.record[i], impl)) {
            optune_record r = forged_run.record[i];
            record_cost(&r, cost);
            r.final = true;
            r.time = 1 / cost; /* faster is newer */
            return r;
        }
    fail_msg("no record of %s", impl);
    return (optune_record){0};
}

static void put(const char *db, const optune_record *r)
{
    forged_put(db, r, 1, NULL);
}

/* By text, by another spelling and by call; all must agree. */
static void check_answer(optune *o, const char *impl, double cost)
{
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(FORGED_WORKLOAD, call, &err));
    for (int way = 0; way < 6; way++) {
        optune_selection *s = NULL;
        check_ok(way % 3 == 2 ? optune_select_call(o, call, &s, &err)
                              : optune_select(o, way % 3 ? SPACED : FORGED_WORKLOAD, &s, &err));
        assert_string_equal(optune_selection_impl(s), impl);
        assert_true(optune_selection_cost(s) == cost);
        optune_selection_free(s);
    }
    free(call);
}

static void test_other_handle(void **state)
{
    (void)state;
    optune *o = tuning_open("handles");
    check_answer(o, "dense_gemm.cpu", INFINITY); /* there is no store */
    optune_record r = record_of("dense_pack.x86", 2e-6);
    put("handles", &r);
    check_answer(o, "dense_pack.x86", 2e-6); /* it was made */
    r = record_of("dense_nopack.x86", 1e-6);
    put("handles", &r);
    check_answer(o, "dense_nopack.x86", 1e-6);
    put("handles", &r); /* says nothing new */
    check_answer(o, "dense_nopack.x86", 1e-6);
    optune_close(o);
}

static void test_other_process(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_record r = record_of("dense_pack.x86", 2e-6);
    put("processes", &r);
    optune *o = tuning_open("processes");
    check_answer(o, "dense_pack.x86", 2e-6);
    for (int i = 1; i < 20; i++) {
        const double cost = 1e-6 / i;
        char path[1100], db[1100];
        snprintf(path, sizeof path, "%s%d.log", tuning_path("better"), i);
        snprintf(db, sizeof db, "%s", tuning_path("processes"));
        ot_log *log = NULL;
        r = record_of(i % 2 ? "dense_nopack.x86" : "dense_gemm.cpu", cost);
        check_ok(ot_log_open(path, OT_LOG_FULL, &log, &err));
        check_ok(ot_log_append(log, &r, &err));
        ot_log_close(log);
        char cli[] = OT_CLI, import[] = "import", option[] = "--db";
        char *argv[] = {cli, import, path, option, db, NULL};
        ot_text said = {0};
        check_ok(ot_run_program(argv, 60, &said, &err));
        ot_text_release(&said);
        check_answer(o, i % 2 ? "dense_nopack.x86" : "dense_gemm.cpu", cost);
    }
    optune_close(o);
}

/* An answer outlives the table, and the handle's later answers do not touch it. */
static void test_kept_answer(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_selection *first = NULL;
    optune_record r = record_of("dense_pack.x86", 2e-6);
    put("kept", &r);
    optune *o = tuning_open("kept");
    check_ok(optune_select(o, FORGED_WORKLOAD, &first, &err));
    r = record_of("dense_gemm.cpu", 1e-6);
    put("kept", &r);
    check_answer(o, "dense_gemm.cpu", 1e-6);
    for (int i = 1; i < 3000; i++) { /* more than the table takes */
        char text[80];
        optune_selection *s = NULL;
        snprintf(text, sizeof text, "dense(f32[1,%d], const f32[2,%d])", i, i);
        check_ok(optune_select(o, text, &s, &err));
        optune_selection_free(s);
    }
    check_answer(o, "dense_gemm.cpu", 1e-6);
    optune_close(o);
    assert_string_equal(optune_selection_impl(first), "dense_pack.x86");
    check_contains(optune_selection_text(first, true), "dense_nopack.x86");
    check_contains(optune_selection_json(first), "\"tuned\"");
    optune_selection_free(first);
}

static const ot_answer *answer_of(optune *o)
{
    optune_err err = {0};
    const ot_answer *answer = NULL;
    check_ok(ot_answer_text(o, FORGED_WORKLOAD, &answer, &err));
    return answer;
}

/* A commit about something else changes no answer, and one that says what is known already changes
 * none either. What was chosen for want of records is looked for again. */
static void test_not_made_again(void **state)
{
    (void)state;
    optune_record r = record_of("dense_pack.x86", 2e-6), other = r;
    other.call = "dense(f32[7,64], const f32[32,64])";
    put("again", &other);
    optune *o = tuning_open("again");
    const ot_answer *untuned = answer_of(o);
    other.time += 1;
    put("again", &other);
    const ot_answer *anew = answer_of(o);
    assert_ptr_not_equal(anew, untuned);
    put("again", &r);
    const ot_answer *first = answer_of(o);
    for (int i = 0; i < 5; i++) {
        other.time += 1;
        put("again", &other);
        put("again", &r);
        const ot_answer *same = answer_of(o);
        assert_ptr_equal(same, first);
        ot_answer_drop(same);
    }
    check_answer(o, "dense_pack.x86", 2e-6);
    r = record_of("dense_nopack.x86", 1e-6);
    put("again", &r);
    check_answer(o, "dense_nopack.x86", 1e-6);
    ot_answer_drop(untuned);
    ot_answer_drop(anew);
    ot_answer_drop(first);
    optune_close(o);
}

/* What is kept need not be looked at for ever, as nobody says that word any more. */
static void test_killed_in_front_of_the_word(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_record r = record_of("dense_pack.x86", 2e-6);
    put("unsaid", &r);
    optune *o = tuning_open("unsaid");
    const ot_answer *first = answer_of(o);
    store_unsaid(o->db, 3);
    assert_true(ot_store_snapshot(o->stores->store) < ot_store_last(o->stores->store));
    for (int i = 0; i < 3; i++) {
        const ot_answer *same = answer_of(o);
        assert_ptr_equal(same, first);
        ot_answer_drop(same);
        usleep(60000);
    }
    assert_int_equal(ot_store_snapshot(o->stores->store), ot_store_last(o->stores->store));
    assert_int_equal(atomic_load(&first->commit), ot_store_last(o->stores->store));
    r = record_of("dense_nopack.x86", 1e-6);
    check_ok(ot_context_put(o, &r, 1, NULL, &err));
    check_answer(o, "dense_nopack.x86", 1e-6);
    ot_answer_drop(first);
    optune_close(o);
}

/* ---- threads ----------------------------------------------------------------------------- */

typedef struct asking {
    optune *o;
    atomic_bool *over;
    int rises; /* answers that cost more than an earlier one of this thread */
    double last;
} asking;

static void *ask(void *arg)
{
    asking *a = arg;
    a->last = INFINITY;
    for (bool over = false; !over;) {
        over = atomic_load(a->over); /* one more after the last write */
        optune_selection *s = NULL;
        if (optune_select(a->o, FORGED_WORKLOAD, &s, NULL) < 0)
            return NULL;
        const double cost = optune_selection_cost(s);
        a->rises += cost > a->last;
        a->last = cost;
        optune_selection_free(s);
    }
    return NULL;
}

/* Records only get better, so an answer that is worse than an earlier one is a stale one. */
static void test_threads_and_a_writer(void **state)
{
    (void)state;
    optune_record r = record_of("dense_pack.x86", 1.0);
    put("threads", &r);
    optune *o = tuning_open("threads");
    atomic_bool over = false;
    pthread_t thread[3];
    asking a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = (asking){.o = o, .over = &over};
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &a[i]), 0);
    }
    double cost = 1;
    for (int i = 0; i < 60; i++) {
        cost /= 1.25;
        r = record_of("dense_pack.x86", cost);
        put("threads", &r);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a[i].rises, 0);
        assert_true(a[i].last == cost);
    }
    optune_close(o);
}

static void count(void *arg, optune_log_level level, const char *text)
{
    *(int *)arg += level == OPTUNE_LOG_WARNING && strstr(text, "chosen without records");
}

/* That no record can be read is an error of who asks for one, and a warning of what is chosen all
 * the same: once, though the answer is kept. */
static void test_unreadable_is_said_once(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_selection *s = NULL;
    optune_found *found = NULL;
    int warnings = 0;
    check_ok(ot_make_dirs(tuning_path("nonsense/store"), &err));
    check_ok(ot_write_file(tuning_path("nonsense/store/data.mdb"), "nonsense", 8, &err));
    optune *o = tuning_open_with(
        "nonsense",
        (optune_options){.log = count, .log_arg = &warnings, .log_level = OPTUNE_LOG_WARNING});
    for (int i = 0; i < 2; i++) {
        const int status = optune_query(o, FORGED_WORKLOAD, &found, &err);
        assert_true(ot_context_unreadable(status));
        check_contains(err.text, "damaged");
        assert_int_equal(warnings, 0);
    }
    for (int i = 0; i < 2; i++) {
        check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
        check_contains(optune_selection_json(s), "chosen without records");
        optune_selection_free(s);
        assert_int_equal(warnings, 1);
    }
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_handle),
        cmocka_unit_test(test_other_process),
        cmocka_unit_test(test_kept_answer),
        cmocka_unit_test(test_not_made_again),
        cmocka_unit_test(test_killed_in_front_of_the_word),
        cmocka_unit_test(test_threads_and_a_writer),
        cmocka_unit_test(test_unreadable_is_said_once),
    };
    return cmocka_run_group_tests_name("tuner/answers", tests, forged_setup, forged_teardown);
}
