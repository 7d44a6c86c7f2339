/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs on small workloads: what they store, that nothing is measured twice, that an
 * interrupted run goes on where it stopped, what is said about words nobody knows, and that
 * planted bad candidates cost only themselves.
 */
#include "support/tuning.h"

#include "support/check.h"
#include "support/plugin.h"
#include "support/stand_in.h"
#include "target/cuda.h"
#include "tuner/tune.h"

#include <pthread.h>
#include <sys/stat.h>

#define WORKLOAD "dense(f32[16,64], const f32[32,64])"
#define IMPOSSIBLE "dense(f32[1000000,200000], f32[1000000,200000])" /* in any memory */

static const char *const one[] = {WORKLOAD, NULL};

static void test_fresh_then_known(void **state)
{
    (void)state;
    optune *o = tuning_open("known");
    json_t *first = tuning_run_one(o, "dense", WORKLOAD, NULL, 8);
    const json_t *w = tuning_workload(first, 0);
    assert_int_equal(tuning_int(first, "new_trials"), 8);
    assert_int_equal(tuning_int(w, "trials"), 8);
    assert_string_equal(tuning_text(w, "call"), WORKLOAD);
    assert_int_equal(tuning_logs("known", NULL, NULL), 1);

    tuning_records stored;
    tuning_read("known", &stored);
    int trials = 0, finals = 0;
    for (int i = 0; i < stored.n; i++) {
        const optune_record *r = &stored.record[i];
        trials += !r->final;
        finals += r->final;
        assert_string_equal(r->call, WORKLOAD);
        assert_string_equal(r->digest, ot_impl_digest(ot_impl_find(r->impl)));
        assert_string_equal(r->target, "cpu -threads=1");
        if (r->outcome == OPTUNE_OUTCOME_OK)
            assert_true(r->low <= r->cost && r->cost <= r->high && r->error <= 1);
    }
    assert_int_equal(trials, 8);
    assert_true(finals >= 2);

    json_t *second = tuning_run_one(o, "dense", WORKLOAD, NULL, 8);
    const json_t *again = tuning_workload(second, 0);
    assert_int_equal(tuning_int(second, "new_trials"), 0);
    assert_int_equal(tuning_int(again, "trials"), 8);
    assert_true(json_equal(json_object_get(w, "winner"), json_object_get(again, "winner")));
    assert_true(json_equal(json_object_get(w, "ties"), json_object_get(again, "ties")));
    tuning_records same;
    tuning_read("known", &same);
    assert_int_equal(same.n, stored.n); /* finals are known, too */

    ot_arena_release(&stored.arena);
    ot_arena_release(&same.arena);
    json_decref(first);
    json_decref(second);
    optune_close(o);
}

static int trials_in(const char *db)
{
    tuning_records all;
    int n = 0;
    tuning_read(db, &all);
    for (int i = 0; i < all.n; i++)
        n += !all.record[i].final;
    ot_arena_release(&all.arena);
    return n;
}

/* What a run found can be walked when its handle is closed. */
static void test_rows(void **state)
{
    (void)state;
    optune *o = tuning_open("rows");
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_run_options how = {
        .size = sizeof how, .op = "dense", .workloads = one, .trials = 6, .seconds = 240};
    check_ok(optune_run(o, &how, &result, &err));
    optune_close(o);
    optune_run_row row = {.size = sizeof row};
    optune_run_total total = {.size = sizeof total};
    check_ok(optune_result_row(result, 0, &row, &err));
    check_ok(optune_result_total(result, &total, &err));
    assert_int_equal(optune_result_row(result, 1, &row, &err), 1);
    assert_string_equal(row.call, WORKLOAD);
    assert_string_equal(total.op, "dense");
    assert_int_equal(total.workloads, 1);
    assert_int_equal(total.new_trials, row.new_trials);
    assert_true(row.flops == 2.0 * 16 * 64 * 32 && !row.moves && row.winner && row.fallback);
    assert_true(row.rate == row.flops / row.winner->cost);
    assert_true(row.known->cost <= row.winner->cost && row.winner->n_samples > 0);
    int ends = 0, failed = 0;
    for (size_t i = 0; i < sizeof row.failures / sizeof row.failures[0]; i++)
        failed += row.failures[i];
    assert_int_equal(row.failures[OPTUNE_OUTCOME_OK], 0);
    assert_true(failed <= row.trials);
    for (int i = 0; i < row.n_ties; i++)
        ends += row.ties[i]->low <= row.winner->high;
    assert_int_equal(ends, row.n_ties);
    optune_result_free(result);
}

static void test_again(void **state)
{
    (void)state;
    optune *o = tuning_open("again");
    json_decref(tuning_run_one(o, "dense", WORKLOAD, "dense_nopack.x86", 4));
    json_t *json = tuning_run(
        o,
        (optune_run_options){.op = "dense",
                             .workloads = one,
                             .impls = (const char *const[]){"dense_nopack.x86", NULL},
                             .trials = 4,
                             .again = true},
        OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 4);
    json_decref(json);
    assert_int_equal(trials_in("again"), 8);
    /* The same four configs: they count once, and two more are measured. */
    json = tuning_run_one(o, "dense", WORKLOAD, "dense_nopack.x86", 6);
    assert_int_equal(tuning_int(json, "new_trials"), 2);
    assert_int_equal(tuning_int(tuning_workload(json, 0), "trials"), 6);
    json_decref(json);
    optune_close(o);
}

/* ---- interrupted ------------------------------------------------------------------------- */

typedef struct stopper {
    optune *o;
    int after, seen, finals;
} stopper;

static void stop_after(void *arg, const optune_progress *p)
{
    stopper *s = arg;
    s->finals += strcmp(p->phase, "finals") == 0;
    s->seen += strcmp(p->phase, "searching") == 0 && p->impl;
    if (s->after && s->seen == s->after)
        optune_interrupt(s->o);
}

static void check_distinct(const char *db)
{
    tuning_records all;
    tuning_read(db, &all);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < i; k++)
            if (all.record[i].final == all.record[k].final &&
                strcmp(all.record[i].impl, all.record[k].impl) == 0)
                assert_false(ot_config_equal(&all.record[i].config, &all.record[k].config));
    ot_arena_release(&all.arena);
}

static void test_interrupted(void **state)
{
    (void)state;
    optune *o = tuning_open("interrupted");
    stopper s = {.o = o, .after = 5};
    optune_run_options options = {.op = "dense",
                                  .workloads = one,
                                  .trials = 12,
                                  .progress = stop_after,
                                  .progress_arg = &s};
    json_t *json = tuning_run(o, options, OPTUNE_EINTERRUPTED);
    assert_true(json_is_true(json_object_get(json, "interrupted")));
    assert_int_equal(tuning_int(json, "new_trials"), 5);
    assert_int_equal(s.finals, 0);
    assert_non_null(json_object_get(tuning_workload(json, 0), "winner"));
    json_decref(json);
    assert_int_equal(trials_in("interrupted"), 5);

    /* The same handle goes on: the interruption was that run's. */
    s = (stopper){.o = o};
    json = tuning_run(o, options, OPTUNE_OK);
    assert_true(json_is_false(json_object_get(json, "interrupted")));
    assert_int_equal(tuning_int(json, "new_trials"), 7);
    assert_int_equal(tuning_int(tuning_workload(json, 0), "trials"), 12);
    assert_int_equal(s.finals, 1);
    json_decref(json);
    check_distinct("interrupted");
    optune_close(o);
}

/* ---- how many are out -------------------------------------------------------------------- */

/* Arms of the run that goes on, by their views, as the core shows them. */
static const optune_search_view *watched[OT_MAX_CANDIDATES];
static int n_watched, most_out;

static void count_out(int asked)
{
    int out = asked;
    for (int i = 0; i < n_watched; i++)
        out += watched[i]->n_pending;
    most_out = out > most_out ? out : most_out;
}

static int watch_start(optune_search_view *view)
{
    assert_true(n_watched < OT_COUNT(watched));
    watched[n_watched++] = view;
    return OPTUNE_OK;
}

static void watch_stop(optune_search_view *view)
{
    for (int i = 0; i < n_watched; i++)
        if (watched[i] == view)
            watched[i] = watched[--n_watched];
}

static int64_t watch_ask(optune_search_view *view)
{
    uint64_t rng = view->seed + (uint64_t)view->n_pending;
    const int64_t index = optune_search_draw(view, &rng);
    count_out(index >= 0);
    return index;
}

static void see_out(void *arg, const optune_progress *p)
{
    (void)arg;
    (void)p;
    count_out(0);
}

/* Over all implementations together; what is asked for early is chosen with less known. */
static void test_out_at_once(void **state)
{
    (void)state;
    static const optune_search watch = {.name = "watch_out",
                                        .summary = "counts what is out",
                                        .start = watch_start,
                                        .ask = watch_ask,
                                        .stop = watch_stop};
    const int depth = ot_queue_depth(0);
    optune_err err = {0};
    check_ok(ot_search_add(&watch, &err));
    optune *o = tuning_open("out");
    json_decref(tuning_run(o,
                           (optune_run_options){.op = "dense",
                                                .workloads = one,
                                                .trials = 3 * depth + 6,
                                                .search = "watch_out",
                                                .no_transfer = true,
                                                .progress = see_out},
                           OPTUNE_OK));
    assert_int_equal(most_out, depth);
    assert_int_equal(n_watched, 0);
    optune_close(o);
    /* And of one implementation alone. */
    most_out = 0;
    o = tuning_open("out-alone");
    json_decref(
        tuning_run(o,
                   (optune_run_options){.op = "dense",
                                        .workloads = one,
                                        .impls = (const char *const[]){"dense_gemm.cpu", NULL},
                                        .trials = 3 * depth,
                                        .search = "watch_out",
                                        .no_transfer = true,
                                        .progress = see_out},
                   OPTUNE_OK));
    assert_int_equal(most_out, depth);
    optune_close(o);
}

/* ---- what is asked for ------------------------------------------------------------------- */

static void test_several_workloads(void **state)
{
    (void)state;
    optune *o = tuning_open("several");
    const char *const both[] = {WORKLOAD, "dense(f32[8,32], f32[16,32])",
                                "dense(f32[16,64],f32[32,64])", NULL};
    json_t *json = tuning_run(
        o, (optune_run_options){.op = "dense", .workloads = both, .trials = 3}, OPTUNE_OK);
    /* The third is the first in other words. */
    assert_int_equal(json_array_size(json_object_get(json, "workloads")), 2);
    assert_int_equal(tuning_int(json, "new_trials"), 6);
    json_decref(json);
    json = tuning_run(o, (optune_run_options){.op = "dense", .preset = "mlp", .trials = 2},
                      OPTUNE_OK);
    assert_int_equal(json_array_size(json_object_get(json, "workloads")), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(json_is_object(json_object_get(tuning_workload(json, i), "winner")));
    json_decref(json);
    optune_close(o);
}

static void test_fused(void **state)
{
    (void)state;
    static const char fused[] =
        "dense(f32[16,64], const f32[32,64]) -> add(const f32[32]) -> relu()";
    optune *o = tuning_open("fused");
    optune_err err = {0};
    optune_result *result = NULL;
    json_decref(tuning_run_one(o, "dense", fused, "dense_gemm.cpu", 3));
    char *answer = tuning_answer(o, fused);
    check_contains(answer, "dense_gemm.cpu");
    check_contains(answer, "tuned");
    free(answer);
    /* and says nothing of the operator alone */
    answer = tuning_answer(o, "dense(f32[16,64], const f32[32,64])");
    check_contains(answer, "plevel");
    free(answer);
    optune_found *found = NULL;
    check_ok(optune_query(o, fused, &found, &err));
    optune_found_free(found);
    /* AutoTVM's part of a log line cannot say what is fused: it must not look like the plain
     * task */
    check_ok(optune_export(o, "dense", false, tuning_path("fused.log"), &result, &err));
    optune_result_free(result);
    optune_close(o);
    o = tuning_open("fused-imported");
    check_ok(optune_import(o, tuning_path("fused.log"), &result, &err));
    optune_result_free(result);
    answer = tuning_answer(o, fused);
    check_contains(answer, "tuned");
    free(answer);
    optune_close(o);
}

static void test_filter(void **state)
{
    (void)state;
    optune *o = tuning_open("filter");
    json_t *json = tuning_run_one(o, "dense", WORKLOAD, "dense_gemm.cpu", 3);
    assert_string_equal(
        tuning_text(json_object_get(tuning_workload(json, 0), "winner"), "impl"),
        "dense_gemm.cpu");
    json_decref(json);
    tuning_records all;
    tuning_read("filter", &all);
    for (int i = 0; i < all.n; i++)
        assert_string_equal(all.record[i].impl, "dense_gemm.cpu");
    ot_arena_release(&all.arena);
    optune_close(o);
}

static void refused(optune *o, optune_run_options options, int status, const char *part)
{
    optune_err err = {0};
    optune_result *result = NULL;
    options.size = sizeof options;
    const int ended = optune_run(o, &options, &result, &err);
    if (ended != status)
        print_error("ended with %d: %s\n", ended, err.text);
    assert_int_equal(ended, status);
    assert_int_equal(err.status, status);
    assert_null(result);
    check_contains(err.text, part);
}

static void test_refused(void **state)
{
    (void)state;
    optune *o = tuning_open("refused");
    const char *const dynamic[] = {"dense(f32[?,64], f32[32,64])", NULL};
    const char *const other[] = {"batch_matmul(f32[2,8,8], f32[2,8,8])", NULL};
    const char *const broken[] = {"dense(f32[16,64]", NULL};
    refused(o, (optune_run_options){.op = "dence"}, OPTUNE_ENOENT, "did you mean 'dense'");
    refused(o, (optune_run_options){.op = "dense", .preset = "bert-bass"}, OPTUNE_ENOENT,
            "did you mean 'bert-base'");
    refused(o, (optune_run_options){.op = "dense", .workloads = one, .search = "genetics"},
            OPTUNE_ENOENT, "did you mean 'genetic'");
    refused(o,
            (optune_run_options){.op = "dense",
                                 .workloads = one,
                                 .impls = (const char *const[]){"dense_pack.x87", NULL}},
            OPTUNE_ENOENT, "did you mean 'dense_pack.x86'");
    refused(o,
            (optune_run_options){.op = "dense",
                                 .workloads = one,
                                 .impls = (const char *const[]){"batch_matmul.x86", NULL}},
            OPTUNE_ENOENT, "no implementation 'batch_matmul.x86'");
    refused(o, (optune_run_options){.op = "dense", .workloads = one, .preset = "mlp"},
            OPTUNE_EUSAGE, "exclude each other");
    refused(o, (optune_run_options){.op = "dense", .workloads = dynamic}, OPTUNE_EUSAGE,
            "unknown dims");
    refused(o, (optune_run_options){.op = "dense", .workloads = other}, OPTUNE_EUSAGE,
            "is not a call of 'dense'");
    refused(o, (optune_run_options){.op = "dense", .workloads = broken}, OPTUNE_ESYNTAX, "^");
    refused(o, (optune_run_options){0}, OPTUNE_EUSAGE, "no operator");
    refused(o,
            (optune_run_options){
                .op = "dense", .workloads = one, .log = tuning_path("missing/x.log")},
            OPTUNE_EIO, "missing/x.log");
    optune_close(o);
}

/* One workload that cannot be is said, and the others are tuned. */
static void test_impossible_workload(void **state)
{
    (void)state;
    optune *o = tuning_open("impossible");
    const char *const both[] = {IMPOSSIBLE, WORKLOAD, NULL};
    json_t *json =
        tuning_run(o, (optune_run_options){.op = "dense", .workloads = both, .trials = 2},
                   OPTUNE_EPARTIAL);
    check_contains(tuning_text(tuning_workload(json, 0), "problem"), "of memory");
    assert_true(json_is_null(json_object_get(tuning_workload(json, 0), "winner")));
    assert_true(json_is_object(json_object_get(tuning_workload(json, 1), "winner")));
    json_decref(json);
    optune_close(o);
}

/* ---- bad candidates ---------------------------------------------------------------------- */

static void test_planted(void **state)
{
    (void)state;
    char plugin[1200];
    snprintf(plugin, sizeof plugin, "%s", tuning_path("plugin_bad.so"));
    plugin_build("plugin_bad.c", plugin);
    optune_options with = {.plugins = (const char *const[]){plugin, NULL}};
    optune *o = tuning_open_with("planted", with);
    /* All but the one that hangs: it takes its whole deadline. */
    static const char *const impls[] = {"dense_pack.x86",  "dense_nopack.x86", "bad_crash.cpu",
                                        "bad_lie.cpu",     "bad_bounds.cpu",   "bad_input.cpu",
                                        "bad_compile.cpu", "bad_exit.cpu",     NULL};
    json_t *json = tuning_run(
        o, (optune_run_options){.op = "dense", .workloads = one, .impls = impls, .trials = 12},
        OPTUNE_OK);
    const json_t *w = tuning_workload(json, 0), *failed = json_object_get(w, "failures");
    const char *winner = tuning_text(json_object_get(w, "winner"), "impl");
    assert_true(strncmp(winner, "dense_", 6) == 0);
    assert_int_equal(tuning_int(failed, "compile"), 1);
    assert_int_equal(tuning_int(failed, "wrong"), 2); /* lie, input */
    assert_int_equal(tuning_int(failed, "crash"), 3); /* crash, bounds, exit */
    assert_int_equal(tuning_int(json, "failures"), 6);
    json_decref(json);
    tuning_records all;
    tuning_read("planted", &all);
    for (int i = 0; i < all.n; i++)
        if (strncmp(all.record[i].impl, "bad_", 4) == 0) {
            assert_int_not_equal(all.record[i].outcome, OPTUNE_OUTCOME_OK);
            assert_true(strlen(all.record[i].message) > 0);
        }
    ot_arena_release(&all.arena);
    /* Failures are facts: they are not tried again. */
    json = tuning_run(
        o, (optune_run_options){.op = "dense", .workloads = one, .impls = impls, .trials = 12},
        OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    json_decref(json);
    optune *second = tuning_open_with("planted", with); /* the plugin is there already */
    optune_close(second);
    optune_close(o);
}

/* ---- the document ------------------------------------------------------------------------ */

static void has_keys(const json_t *object, const char *names)
{
    char copy[512], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (!json_object_get(object, name)) {
            print_error("no key '%s'\n", name);
            fail();
        }
}

static void test_document(void **state)
{
    (void)state;
    optune *o = tuning_open("document");
    const char *const both[] = {WORKLOAD, IMPOSSIBLE, NULL};
    json_t *json = tuning_run(o,
                              (optune_run_options){.op = "dense",
                                                   .workloads = both,
                                                   .trials = 6,
                                                   .search = "random",
                                                   .log = tuning_path("extra.log")},
                              OPTUNE_EPARTIAL);
    has_keys(json, "op target device search new_trials failures interrupted seconds peak_flops "
                   "peak_bandwidth peak_tensor counters_why disturbance workloads");
    for (size_t i = 0; i < 2; i++)
        has_keys(tuning_workload(json, i), "call winner ties default library library_name "
                                           "flops_per_second bytes_per_second share_of_peak "
                                           "effective_share effective cached disturbed "
                                           "trials new_trials space failures problem");
    const json_t *w = tuning_workload(json, 0);
    has_keys(json_object_get(w, "winner"), "impl config cost low high samples final");
    has_keys(json_object_get(w, "default"), "impl config cost low high samples final");
    assert_true(json_is_null(json_object_get(w, "problem")));
    assert_true(json_is_true(json_object_get(json_object_get(w, "winner"), "final")));
    assert_string_equal(tuning_text(json, "search"), "random");
    assert_true(tuning_int(w, "space") > 100);
    assert_true(json_real_value(json_object_get(w, "flops_per_second")) > 0);
    json_decref(json);
    /* --log: every record and the device, in one more file. */
    ot_text log = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("extra.log"), &log, 1 << 24, &err));
    check_contains(log.s, "# optune device");
    int lines = 0;
    for (const char *c = log.s; *c; c++)
        lines += *c == '\n';
    tuning_records all;
    tuning_read("document", &all);
    assert_int_equal(lines, all.n + 1);
    ot_arena_release(&all.arena);
    ot_text_release(&log);
    optune_close(o);
}

/* ---- two at once ------------------------------------------------------------------------- */

static void *run_aside(void *arg)
{
    json_t *json = tuning_run_one(arg, "dense", "dense(f32[8,48], const f32[16,48])", NULL, 6);
    return json;
}

static void test_two_at_once(void **state)
{
    (void)state;
    optune *a = tuning_open("two"), *b = tuning_open("two");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_aside, a), 0);
    json_t *mine = tuning_run_one(b, "dense", WORKLOAD, NULL, 6);
    void *other = NULL;
    pthread_join(thread, &other);
    assert_int_equal(tuning_int(mine, "new_trials"), 6);
    assert_non_null(other);
    assert_int_equal(tuning_int(other, "new_trials"), 6);
    assert_int_equal(trials_in("two"), 12);
    json_decref(mine);
    json_decref(other);
    optune_close(a);
    optune_close(b);
}

/* A library's body takes the system's C compiler: without one it is tried once, not with every
 * config, and the others are measured all the same. Over the stand-in for CUDA's driver. */
static void test_no_compiler_for_libraries(void **state)
{
    (void)state;
    static const char shape[] = "dense(f32[24,12],f32[33,12])";
    char version[OPTUNE_TEXT_SIZE], before[4096];
    if (ot_cuda_ask_version("cublaslt", version, sizeof version, NULL) < 0 ||
        ot_cuda_ask_version(NULL, version, sizeof version, NULL) < 0)
        skip(); /* neither NVRTC nor a library */
    setenv("OPTUNE_CUDA_DRIVER",
           stand_in_build(tuning_dir, "fake_cuda.c", "libfake_cuda.so", NULL), 1);
    setenv("FAKE_CUDA_DENSE", "24,33,12", 1);
    ot_copy(before, sizeof before, getenv("PATH"));
    setenv("PATH", tuning_dir, 1);
    optune *o = tuning_open_with("uncompiled", (optune_options){.target = "cuda"});
    json_t *json = tuning_run_one(o, "dense", shape, NULL, 5);
    assert_true(json_number_value(json_object_get(json, "peak_flops")) > 0);
    assert_true(json_is_real(json_object_get(tuning_workload(json, 0), "share_of_peak")));
    json_decref(json);
    optune_close(o);
    setenv("PATH", before, 1);
    tuning_records stored;
    tuning_read("uncompiled", &stored);
    int refused = 0, measured = 0;
    for (int i = 0; i < stored.n; i++) {
        refused += strcmp(stored.record[i].impl, "dense_cublaslt.cuda") == 0;
        measured += stored.record[i].outcome == OPTUNE_OUTCOME_OK;
    }
    assert_int_equal(refused, 1);
    assert_true(measured > 0);
    ot_arena_release(&stored.arena);
}

static void note_log(void *arg, optune_log_level level, const char *text)
{
    if (level == OPTUNE_LOG_WARNING)
        ot_text_printf(arg, "%s\n", text);
}

/* A compiler that is no gcc, and no gcc beside it: the run says so once, with the remedy. */
static void test_no_gcc(void **state)
{
    (void)state;
    static const char script[] =
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Debian clang version "
        "14.0.6' && exit 0\nexit 1\n";
    char dir[4096], path[4200], before[4096];
    optune_err err = {0};
    ot_text said = {0};
    ot_copy(before, sizeof before, getenv("PATH"));
    ot_copy(dir, sizeof dir, tuning_path("clang"));
    check_ok(ot_make_dirs(dir, &err));
    snprintf(path, sizeof path, "%s/cc", dir);
    check_ok(ot_write_file(path, script, sizeof script - 1, &err));
    assert_int_equal(chmod(path, 0755), 0);
    setenv("PATH", dir, 1);
    optune *o = tuning_open_with("clang-db", (optune_options){.target = "cpu",
                                                              .log = note_log,
                                                              .log_arg = &said,
                                                              .log_level = OPTUNE_LOG_WARNING});
    const char *const two[] = {"relu(f32[64])", "relu(f32[65])", NULL};
    json_decref(tuning_run(o, (optune_run_options){.op = "relu", .workloads = two, .trials = 1},
                           OPTUNE_EPARTIAL));
    optune_close(o);
    setenv("PATH", before, 1);
    static const char warning[] =
        "the C compiler is clang 14.0.6: kernels here are written for "
        "gcc, and most do not compile with another; install it with: "
        "apt-get install gcc\n";
    check_contains(ot_text_str(&said), warning);
    const char *first = strstr(ot_text_str(&said), warning);
    assert_null(strstr(first + 1, warning));
    ot_text_release(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_then_known),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_no_gcc),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_out_at_once),
        cmocka_unit_test(test_several_workloads),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_impossible_workload),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_no_compiler_for_libraries),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
