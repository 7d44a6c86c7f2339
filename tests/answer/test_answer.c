/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What select and query answer: from plevel when nothing is known, from the tied set once it
 * is; never from a stale record, whose reason is named. One run feeds all tests; what it stored
 * goes forged into other databases.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"
#include "support/schema.h"

#include <math.h>
#include <pthread.h>

static void check_schema(const char *heading, const json_t *json)
{
    char why[512] = "";
    json_t *schema = schema_of_docs(heading);
    if (!schema_accepts(schema, json, why, sizeof why))
        fail_msg("%s", why);
    json_decref(schema);
}

static const char *query_refused(const char *db)
{
    static optune_err err;
    optune_found *found = NULL;
    optune *o = tuning_open(db);
    err = (optune_err){0};
    assert_int_equal(optune_query(o, FORGED_WORKLOAD, &found, &err), OPTUNE_ENOENT);
    assert_int_equal(err.status, OPTUNE_ENOENT);
    assert_null(found);
    optune_close(o);
    return err.text;
}

/* ---- nothing known ----------------------------------------------------------------------- */

static void test_empty(void **state)
{
    (void)state;
    optune *o = tuning_open("empty");
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    /* Its 11 is the highest plevel of those that apply. */
    assert_string_equal(optune_selection_impl(s), "dense_gemm.cpu");
    assert_true(isinf(optune_selection_cost(s)));
    json_t *config = tuning_parse(optune_selection_config(s));
    assert_true(json_is_array(config));
    json_decref(config);
    json_t *json = tuning_parse(optune_selection_json(s));
    assert_true(json_is_object(json));
    json_decref(json);
    check_contains(optune_selection_text(s, true), "dense_pack.x86");
    optune_selection_free(s);
    optune_close(o);
    check_contains(query_refused("empty"), "never tuned");
    assert_false(ot_exists(tuning_path("empty"))); /* asking makes nothing */
}

static void test_bad_words(void **state)
{
    (void)state;
    optune *o = tuning_open("tuned");
    optune_selection *s = NULL;
    optune_err err = {0};
    assert_int_equal(optune_select(o, "dence(f32[1,2], f32[3,2])", &s, &err), OPTUNE_ENOENT);
    check_contains(err.text, "dense");
    assert_null(s);
    assert_int_equal(optune_select(o, "dense(f32[1,2], f32[3,4])", &s, &err), OPTUNE_ETYPE);
    assert_null(s);
    /* What no fast one takes has a generic answer. */
    check_ok(optune_select(o, "dense(i16[4,8], i16[4,8])", &s, &err));
    assert_string_equal(optune_selection_impl(s), "dense_loops.generic");
    check_contains(optune_selection_text(s, true), "dense_gemm.cpu");
    optune_selection_free(s);
    optune_close(o);
}

/* ---- tuned ------------------------------------------------------------------------------- */

static const optune_record *best_of(const char *impl)
{
    const optune_record *best = NULL;
    for (int i = 0; i < forged_run.n; i++) {
        const optune_record *r = &forged_run.record[i];
        if (r->outcome == OPTUNE_OUTCOME_OK && strcmp(r->impl, impl) == 0 &&
            (!best || r->final > best->final ||
             (r->final == best->final && r->cost < best->cost)))
            best = r;
    }
    return best;
}

static void test_tuned(void **state)
{
    (void)state;
    static const char *const impls[] = {"dense_nopack.x86", "dense_pack.x86", "dense_gemm.cpu"};
    const optune_record *fastest = NULL;
    for (int i = 0; i < OT_COUNT(impls); i++) {
        const optune_record *r = best_of(impls[i]);
        assert_non_null(r);
        fastest = !fastest || r->cost < fastest->cost ? r : fastest;
    }
    optune *o = tuning_open("tuned");
    optune_selection *s = NULL;
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, "dense(f32[16,64],f32[32,64])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "tuned");
    const optune_record *winner = best_of(optune_selection_impl(s));
    assert_non_null(winner);
    assert_true(winner->cost == optune_selection_cost(s));
    assert_true(winner->low <= fastest->high && winner->high >= fastest->low);
    ot_text config = {0};
    ot_config_print(&winner->config, &config);
    assert_string_equal(optune_selection_config(s), config.s);
    optune_found *found = NULL;
    check_ok(optune_query(o, FORGED_WORKLOAD, &found, &err));
    assert_string_equal(found->tier, "tuned");
    assert_null(found->doubt);
    assert_true(found->flops == 2. * 16 * 32 * 64);
    assert_true(ot_config_equal(&found->record.config, &winner->config));
    assert_int_equal(found->record.n_samples, winner->n_samples);
    for (int i = 0; i < winner->n_samples; i++)
        assert_true(found->record.sample[i] == winner->sample[i]);
    char text[16384];
    config.n = 0;
    ot_config_print_short(&winner->config, &config);
    check_ok(optune_config_write(&found->record.config, text, sizeof text, &err));
    assert_string_equal(text, config.s);
    assert_int_equal(optune_config_write(&found->record.config, text, config.n, &err),
                     OPTUNE_ELIMIT);
    check_ok(optune_found_json(found, &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_string_equal(tuning_text(json, "impl"), winner->impl);
    assert_string_equal(tuning_text(json, "tier"), "tuned");
    assert_string_equal(
        tuning_text(json_object_get(json_object_get(json, "record"), "optune"), "digest"),
        winner->digest);
    check_contains(found->record.impl, winner->impl);
    check_schema("## JSON of `optune query --json`", json);
    json_decref(json);
    optune_result_free(result);
    ot_text_release(&config);
    optune_selection_free(s);
    optune_close(o);
    assert_string_equal(found->record.impl, winner->impl); /* it outlives the handle */
    optune_found_free(found);
}

typedef struct asking {
    optune *o;
    char *first;
    int different;
} asking;

static void *ask_often(void *arg)
{
    asking *a = arg;
    for (int i = 0; i < 100; i++) {
        char *answer = tuning_answer(a->o, FORGED_WORKLOAD);
        if (!a->first)
            a->first = answer;
        else {
            a->different += strcmp(answer, a->first) != 0;
            free(answer);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    optune *o = tuning_open("tuned");
    pthread_t thread[4];
    asking a[4];
    for (int i = 0; i < 4; i++) {
        a[i] = (asking){.o = o};
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, &a[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a[i].different, 0);
        assert_string_equal(a[i].first, a[0].first);
        check_contains(a[i].first, " tuned ");
    }
    for (int i = 0; i < 4; i++)
        free(a[i].first);
    optune_close(o);
}

/* ---- stale ------------------------------------------------------------------------------- */

static void other_digest(optune_record *r)
{
    r->digest = "00000000000000000000000000000000";
}

static void other_compiler(optune_record *r)
{
    r->depends = "compiler=gcc 1.2.3\nlibrary=OpenBLAS 0.0.1\n";
}

static void no_depends(optune_record *r)
{
    r->depends = "";
}

static void other_space(optune_record *r)
{
    for (int k = 0; k < r->config.n; k++)
        snprintf(r->config.entity[k].name, sizeof r->config.entity[k].name, "old_%d", k);
}

static void all_failed(optune_record *r)
{
    r->outcome = OPTUNE_OUTCOME_WRONG;
    r->message = "output 0[0,0]: got 1, want 2";
    r->cost = INFINITY;
}

/* Of the others only failures are left, under a name that nobody asks for. */
static void only_pack(optune_record *r)
{
    if (strcmp(r->impl, "dense_pack.x86") != 0)
        r->policy = "another";
}

static void check_plevel(const char *db)
{
    optune *o = tuning_open(db);
    char *answer = tuning_answer(o, FORGED_WORKLOAD);
    check_contains(answer, " plevel ");
    free(answer);
    optune_close(o);
}

static void test_stale(void **state)
{
    (void)state;
    forged_db("digest", other_digest, NULL);
    check_contains(query_refused("digest"), "has changed: digest was 00000000, is ");
    check_plevel("digest");
    forged_db("compiler", other_compiler, NULL);
    check_contains(query_refused("compiler"), "compiler was gcc 1.2.3, is ");
    check_plevel("compiler");
    /* What was not known then cannot be called the same now. */
    forged_db("no-depends", no_depends, NULL);
    check_contains(query_refused("no-depends"), "compiler was nothing, is ");
    check_plevel("no-depends");
    forged_db("space", other_space, NULL);
    check_contains(query_refused("space"), "not in the present space");
    check_plevel("space");
    forged_db("failed", all_failed, NULL);
    check_contains(query_refused("failed"), "no trial");
    check_plevel("failed");
}

/* ---- behind which flush ------------------------------------------------------------------ */

static const optune_target_row washed_row = {
    .name = "washed", .like = "cpu", .worker = {.flush_by = "washing"}};

/* As `washed` measured it: cold behind its flush, behind another one, warm. */
static void put_washed(const char *db, const char *policy, const char *flush)
{
    optune_record *r = ot_alloc((size_t)forged_run.n * sizeof *r);
    ot_arena arena = {0};
    for (int i = 0; i < forged_run.n; i++) {
        r[i] = forged_run.record[i];
        r[i].policy = policy;
        r[i].target = ot_arena_printf(&arena, "washed%s", r[i].target + strlen("cpu"));
        r[i].depends = ot_arena_printf(&arena, "%s%s", r[i].depends, flush);
    }
    forged_put(db, r, forged_run.n, NULL);
    free(r);
    ot_arena_release(&arena);
}

/* Whether a handle of `own` policy has an answer of this one. */
static bool is_answered(const char *db, const char *own, const char *policy)
{
    optune *o =
        tuning_open_with(db, (optune_options){.target = "washed -threads=1", .policy = own});
    const optune_export_options best = {.size = sizeof best, .best = true, .policy = policy};
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_export_records(o, &best, &result, &err));
    const bool answered = strchr(optune_result_text(result), '{') != NULL;
    optune_result_free(result);
    optune_close(o);
    return answered;
}

static void test_stale_flush(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_found *found = NULL;
    check_ok(ot_target_add(&washed_row, &err));
    put_washed("washed", "cold", "flush=washing\n");
    assert_true(is_answered("washed", "cold", "cold"));
    assert_true(is_answered("washed", "warm", "cold"));
    put_washed("wiped", "cold", "flush=wiping\n");
    assert_false(is_answered("wiped", "cold", "cold"));
    assert_false(is_answered("wiped", "warm", "cold"));
    put_washed("unwashed", "cold", "");
    optune *o = tuning_open_with(
        "unwashed", (optune_options){.target = "washed -threads=1", .policy = "cold"});
    assert_int_equal(optune_query(o, FORGED_WORKLOAD, &found, &err), OPTUNE_ENOENT);
    check_contains(err.text, "flush was nothing, is washing");
    optune_close(o);
    put_washed("warm", "warm", ""); /* no time of these is behind one */
    assert_true(is_answered("warm", "warm", "warm"));
    assert_true(is_answered("warm", "cold", "warm"));
}

static void explained(const char *db, const char *part)
{
    optune *o = tuning_open(db);
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    check_contains(optune_selection_text(s, true), part);
    optune_selection_free(s);
    optune_close(o);
}

static void test_explain_stale(void **state)
{
    (void)state;
    forged_db("explain", other_digest, NULL);
    explained("explain", "has changed");
}

/* A fast config that failed when it was verified with another seed is not an answer. */
static void refuted_pack(optune_record *r)
{
    if (strcmp(r->impl, "dense_pack.x86") == 0 && r->final) {
        r->outcome = OPTUNE_OUTCOME_WRONG;
        r->message = "output 0[15,31]: got 1, want 2";
        r->cost = INFINITY;
    } else {
        if (strcmp(r->impl, "dense_pack.x86") == 0 && r->outcome == OPTUNE_OUTCOME_OK)
            record_cost(r, 1e-9);
        r->final = false;
    }
}

static void test_refuted(void **state)
{
    (void)state;
    const optune_record *final = best_of("dense_pack.x86");
    assert_true(final->final);
    forged_db("refuted", refuted_pack, NULL);
    explained("refuted", "failed when verified again: output 0[15,31]");
    optune *o = tuning_open("refuted");
    tuning_records all;
    tuning_read("refuted", &all);
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    if (strcmp(optune_selection_impl(s), "dense_pack.x86") == 0) {
        /* Another of its configs, then. */
        optune_config config;
        check_ok(ot_config_parse(optune_selection_config(s), &config, &err));
        for (int i = 0; i < all.n; i++)
            if (all.record[i].outcome != OPTUNE_OUTCOME_OK)
                assert_false(ot_config_equal(&config, &all.record[i].config));
    }
    ot_arena_release(&all.arena);
    optune_selection_free(s);
    optune_close(o);
}

/* ---- as documents ------------------------------------------------------------------------ */

static json_t *selected(const char *db, const char *workload, optune_options options)
{
    optune *o = tuning_open_with(db, options);
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, workload, &s, &err));
    json_t *json = tuning_parse(optune_selection_json(s));
    optune_selection_free(s);
    optune_close(o);
    return json;
}

static void far_and_bare(optune_record *r)
{
    r->device = "far:json";
    r->target = "cpu -threads=4";
    r->source = NULL;
    r->tool = NULL;
    r->low = r->high = 0;
}

static void test_json_schema(void **state)
{
    (void)state;
    json_t *schema = schema_of_docs("## JSON of `optune select --json`");
    optune_device device = some_device("far:json");
    forged_db("json-digest", other_digest, NULL);
    forged_db("json-space", other_space, NULL);
    forged_db("json-failed", all_failed, NULL);
    forged_db("json-refuted", refuted_pack, NULL);
    forged_db("json-far", far_and_bare, &device);
    const optune_options plain = {.target = "cpu -threads=1"};
    const optune_options cblas = {.target = "cpu -threads=1 -libs=cblas"};
    const optune_options far = {.target = "cpu", .device = "far:json"};
    const char *const symbolic = "dense(f32[?m:1..64,64], const f32[32,64])";
    json_t *all[] = {
        selected("nothing", FORGED_WORKLOAD, plain),
        selected("tuned", FORGED_WORKLOAD, plain),
        selected("tuned", FORGED_WORKLOAD, cblas),
        selected("json-digest", FORGED_WORKLOAD, plain),
        selected("json-space", FORGED_WORKLOAD, plain),
        selected("json-failed", FORGED_WORKLOAD, plain),
        selected("json-refuted", FORGED_WORKLOAD, plain),
        selected("json-far", FORGED_WORKLOAD, far),
        selected("tuned", symbolic, plain),
    };
    static const char *const tier[] = {"plevel", "tuned", "tuned",      "plevel", "plevel",
                                       "plevel", "tuned", "unverified", "plevel"};
    char why[256];
    for (int i = 0; i < OT_COUNT(all); i++) {
        assert_string_equal(tuning_text(all[i], "tier"), tier[i]);
        if (!schema_accepts(schema, all[i], why, sizeof why))
            fail_msg("document %d: %s", i, why);
    }
    /* It would notice. */
    json_t *first = json_array_get(json_object_get(all[1], "candidates"), 0);
    json_object_set_new(first, "standing", json_string("somehow"));
    assert_false(schema_accepts(schema, all[1], why, sizeof why));
    check_contains(why, "somehow");
    json_object_del(all[2], "runner_up");
    assert_false(schema_accepts(schema, all[2], why, sizeof why));
    check_contains(why, "runner_up");
    json_object_set_new(all[3], "extra", json_null());
    assert_false(schema_accepts(schema, all[3], why, sizeof why));
    json_object_set_new(all[4], "plevel", json_string("high"));
    assert_false(schema_accepts(schema, all[4], why, sizeof why));
    for (int i = 0; i < OT_COUNT(all); i++)
        json_decref(all[i]);
    json_decref(schema);
}

/* All that a person may ask: clause, cost and interval, samples, age, source, margin, who was
 * never measured, and what would be chosen without records. */
static void test_explanation(void **state)
{
    (void)state;
    explained("tuned", "clause 'm <= 8' is false (m=16)");
    explained("tuned", " samples, just now, from run");
    explained("tuned", "measured among the finalists");
    explained("tuned", "runner-up dense_");
    explained("tuned", "by plevel alone: dense_gemm.cpu (11)");
    forged_db("explain-one", only_pack, NULL);
    explained("explain-one", "dense_gemm.cpu was not compared: never measured");
    explained("explain", "stale: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),       cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_tuned),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_stale),       cmocka_unit_test(test_explain_stale),
        cmocka_unit_test(test_refuted),     cmocka_unit_test(test_json_schema),
        cmocka_unit_test(test_explanation), cmocka_unit_test(test_stale_flush),
    };
    return cmocka_run_group_tests(tests, forged_setup, forged_teardown);
}
