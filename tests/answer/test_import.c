/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import: the logs of a database rebuild its store to the same answers; twice is once; what
 * cannot be taken is said with its line; AutoTVM's own logs become hints, and hints come first.
 */
#include "support/tuning.h"

#include "support/check.h"

#include <math.h>
#include <unistd.h>

#define WORKLOAD "dense(f32[16,64], const f32[32,64])"
#define CONV "conv2d(f32[1,8,10,10], const f32[16,8,3,3], padding=[1,1,1,1])"
#define CONV_OTHER "conv2d(f32[1,8,12,12], const f32[16,8,3,3], padding=[1,1,1,1])"

static int setup(void **state)
{
    tuning_setup(state);
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", WORKLOAD, NULL, 8));
    optune_close(o);
    return 0;
}

static json_t *import_of(optune *o, const char *path)
{
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_import(o, path, &result, &err));
    check_contains(optune_result_text(result), path);
    json_t *json = tuning_parse(optune_result_json(result));
    optune_result_free(result);
    return json;
}

static json_t *import_into(const char *db, const char *path)
{
    optune *o = tuning_open(db);
    json_t *json = import_of(o, path);
    optune_close(o);
    return json;
}

static char *answer_of(const char *db)
{
    optune *o = tuning_open(db);
    char *answer = tuning_answer(o, WORKLOAD);
    optune_close(o);
    return answer;
}

static int records_in(const char *db)
{
    tuning_records all;
    tuning_read(db, &all);
    const int n = all.n;
    ot_arena_release(&all.arena);
    return n;
}

static void write_file(const char *name, const char *text, size_t n)
{
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path(name), text, n, &err));
}

static void read_file(const char *path, ot_text *text)
{
    optune_err err = {0};
    check_ok(ot_read_file(path, text, 1 << 26, &err));
}

static void keep_path(void *arg, const char *path)
{
    snprintf(arg, 4096, "%s", path);
}

static void the_log(const char *db, char path[4096])
{
    assert_int_equal(tuning_logs(db, keep_path, path), 1);
}

/* ---- ours -------------------------------------------------------------------------------- */

static void import_one(void *arg, const char *path)
{
    json_decref(import_of(arg, path));
}

static void test_store_rebuilt(void **state)
{
    (void)state;
    char *before = answer_of("from"), log[4096];
    check_contains(before, " tuned ");
    const int records = records_in("from");
    ot_remove_tree(tuning_path("from/store"));
    char *without = answer_of("from");
    check_contains(without, " plevel ");
    optune *o = tuning_open("from");
    assert_int_equal(tuning_logs("from", import_one, o), 1);
    optune_close(o);
    char *after = answer_of("from");
    assert_string_equal(before, after);
    assert_int_equal(records_in("from"), records);
    the_log("from", log); /* its own log was not written once more */
    free(before);
    free(without);
    free(after);
}

static int lines_of(const ot_text *text)
{
    int n = 0;
    for (size_t i = 0; i < text->n; i++)
        n += text->s[i] == '\n';
    return n;
}

static void test_twice_is_once(void **state)
{
    (void)state;
    char log[4096];
    the_log("from", log);
    json_t *first = import_into("to", log), *second = import_into("to", log);
    assert_int_equal(tuning_int(first, "taken"), records_in("from"));
    assert_int_equal(tuning_int(first, "new"), records_in("from"));
    assert_int_equal(tuning_int(second, "taken"), records_in("from"));
    assert_int_equal(tuning_int(second, "new"), 0);
    assert_int_equal(records_in("to"), records_in("from"));
    assert_int_equal(tuning_logs("to", NULL, NULL), 1);
    ot_text once = {0}, log_text = {0};
    read_file(log, &log_text);
    the_log("to", log);
    read_file(log, &once);
    const int lines = lines_of(&log_text);
    assert_int_equal(lines_of(&once), lines); /* nothing is written twice */
    /* Nor is what one file has twice. */
    ot_text_add_n(&once, log_text.s, log_text.n);
    write_file("double.log", once.s, once.n);
    json_decref(import_into("doubled", tuning_path("double.log")));
    the_log("doubled", log);
    ot_text_clear(&once);
    read_file(log, &once);
    assert_int_equal(lines_of(&once), lines);
    ot_text_release(&once);
    ot_text_release(&log_text);
    json_decref(first);
    json_decref(second);
    char *a = answer_of("from"), *b = answer_of("to");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* What an import brought, devices included, comes back from the logs alone. */
static void test_imported_is_in_the_logs(void **state)
{
    (void)state;
    char log[4096], key[256];
    the_log("from", log);
    json_decref(import_into("carried", log));
    ot_remove_tree(tuning_path("carried/store"));
    optune *o = tuning_open("carried");
    assert_int_equal(tuning_logs("carried", import_one, o), 1);
    char *a = answer_of("from"), *b = tuning_answer(o, WORKLOAD);
    assert_string_equal(a, b);
    snprintf(key, sizeof key, "%s", o->device.key);
    optune_close(o);
    free(a);
    free(b);
    o = tuning_open_with("carried", (optune_options){.device = key});
    a = tuning_answer(o, WORKLOAD);
    check_contains(a, " unverified ");
    free(a);
    optune_close(o);
}

/* More than a batch (16384 records): read while others are written, and all of it is there. */
static void test_many(void **state)
{
    (void)state;
    enum { LINES = 40000 };
    tuning_records from;
    optune_err err = {0};
    ot_log *log;
    char path[4096];
    tuning_read("from", &from);
    snprintf(path, sizeof path, "%s", tuning_path("many.log"));
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    for (int i = 0; i < LINES; i++) {
        optune_record r = from.record[i % from.n];
        r.time -= 1 + i;
        check_ok(ot_log_append(log, &r, &err));
    }
    ot_log_close(log);
    json_t *json = import_into("many", path);
    assert_int_equal(tuning_int(json, "taken"), LINES);
    assert_int_equal(tuning_int(json, "new"), LINES);
    json_decref(json);
    ot_store_stats stats;
    int64_t refused;
    check_ok(ot_store_rebuild(tuning_path("many"), NULL, &stats, &refused, &err));
    assert_int_equal(stats.records, LINES); /* the logs have it all, too */
    assert_int_equal(refused, 0);
    json = import_into("many", path);
    assert_int_equal(tuning_int(json, "new"), 0);
    json_decref(json);
    ot_arena_release(&from.arena);
}

static void problem(const json_t *json, size_t i, int line)
{
    const json_t *item = json_array_get(json_object_get(json, "problems"), i);
    assert_int_equal(tuning_int(item, "line"), line);
    assert_true(strlen(tuning_text(item, "problem")) > 0);
}

/* The next trial of a log behind its device and comments, with the heads in front of it. */
static const char *next_trial(const char *at, const char **heads, int *n_heads)
{
    while (*at == '#' && strncmp(at, "# optune head", 13) != 0)
        at = strchr(at, '\n') + 1;
    *heads = at;
    for (*n_heads = 0; *at == '#'; ++*n_heads)
        at = strchr(at, '\n') + 1;
    return at;
}

static void test_damaged_lines(void **state)
{
    (void)state;
    char path[4096];
    const char *heads[2];
    int n_heads[2];
    ot_text log = {0}, broken = {0};
    the_log("from", path);
    read_file(path, &log);
    const char *one = next_trial(log.s, &heads[0], &n_heads[0]),
               *behind = strchr(one, '\n') + 1;
    const char *two = next_trial(behind, &heads[1], &n_heads[1]), *newline = strchr(two, '\n');
    ot_text_add_n(&broken, log.s, (size_t)(behind - log.s)); /* lines 1, 2, with a head */
    ot_text_add(&broken, "what is this?\n\xff\xfe\x80 and this\n{}\n[1,2\n\n"); /* 3 4 5 6 7 */
    ot_text_add_n(&broken, two, (size_t)(newline - two) / 2);                   /* 8: half */
    ot_text_add(&broken, "\n");
    ot_text_add_n(&broken, heads[1], (size_t)(newline - heads[1]) + 1); /* 9, and its head */
    ot_text_add_n(&broken, one, (size_t)(behind - one) / 3 * 2); /* 10: half, no newline */
    write_file("broken.log", broken.s, broken.n);
    json_t *json = import_into("broken", tuning_path("broken.log"));
    assert_int_equal(tuning_int(json, "taken"), 2);
    assert_int_equal(tuning_int(json, "new"), 2);
    assert_int_equal(tuning_int(json, "devices"), 1);
    assert_int_equal(tuning_int(json, "refused"), 6);
    static const int lines[] = {3, 4, 5, 6, 8, 10};
    assert_int_equal(json_array_size(json_object_get(json, "problems")), OT_COUNT(lines));
    for (int i = 0; i < OT_COUNT(lines); i++)
        problem(json, (size_t)i, lines[i] + n_heads[0] + (lines[i] > 8 ? n_heads[1] : 0));
    assert_int_equal(records_in("broken"), 2);
    json_decref(json);
    ot_text_release(&log);
    ot_text_release(&broken);
}

static void test_no_log(void **state)
{
    (void)state;
    optune *o = tuning_open("none");
    optune_result *result = NULL;
    optune_err err = {0};
    assert_true(optune_import(o, "/nonexistent/x.log", &result, &err) < 0);
    check_contains(err.text, "/nonexistent/x.log");
    assert_null(result);
    assert_true(optune_import(o, "http://127.0.0.1:1/x.log", &result, &err) < 0);
    check_contains(err.text, "https");
    optune_close(o);
    assert_int_equal(tuning_logs("none", NULL, NULL), 0); /* no empty log is left */
}

/* ---- AutoTVM's --------------------------------------------------------------------------- */

#define TVM_LINE(target, task, channels, entity)                                               \
    "{\"input\": [\"" target "\", \"" task "\", [[\"TENSOR\", [1, 8, 10, 10], \"float32\"], "  \
    "[\"TENSOR\", [16, " channels ", 3, 3], \"float32\"], [1, 1], [1, 1, 1, 1], [1, 1], "      \
    "\"NCHW\", \"NCHW\", \"float32\"], {}], \"config\": {\"index\": 0, \"code_hash\": null, "  \
    "\"entity\": " entity "}, \"result\": [[1e-05], 0, 1.5, 1540000000.0], \"version\": 0.2, " \
    "\"tvm_version\": \"0.7.dev0\"}\n"
#define ENTITY_OF(ic, ow)                                                                      \
    "[[\"tile_ic\", \"sp\", [" ic "]], [\"tile_oc\", \"sp\", [2, 8]], "                        \
    "[\"tile_ow\", \"sp\", [" ow "]], [\"unroll_kw\", \"ot\", false]]"
#define ENTITY(ic) ENTITY_OF(ic, "1, 10")

/* Single pixels where ten at a time are known to go: the best of few trials elsewhere. */
static void test_poor_hint(void **state)
{
    (void)state;
    static const char log[] =
        TVM_LINE("llvm", "conv2d_NCHWc.x86", "8", ENTITY_OF("2, 4", "10, 1"));
    write_file("poor.log", log, sizeof log - 1);
    optune *o = tuning_open("poor");
    json_t *json = import_of(o, tuning_path("poor.log"));
    assert_int_equal(tuning_int(json, "taken"), 1);
    json_decref(json);
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, CONV, &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    check_contains(optune_selection_text(s, true), "poor.log");
    check_contains(optune_selection_text(s, true), "is estimated to take");
    optune_selection_free(s);
    optune_close(o);
}

static void test_foreign(void **state)
{
    (void)state;
    static const char log[] = "# a comment of TVM\n" TVM_LINE(
        "llvm -mcpu=core-avx2", "conv2d_NCHWc.x86", "8", ENTITY("2, 4"))
        TVM_LINE("llvm", "conv2d_gone.x86", "8", ENTITY("2, 4"))
            TVM_LINE("llvm", "conv2d_NCHWc.x86", "8", ENTITY("3, 4"))
                TVM_LINE("martian", "conv2d_NCHWc.x86", "8", ENTITY("2, 4"))
                    TVM_LINE("llvm", "conv2d_NCHWc.x86", "7", ENTITY("2, 4"));
    write_file("tvm.log", log, sizeof log - 1);
    optune *o = tuning_open("tvm");
    json_t *json = import_of(o, tuning_path("tvm.log"));
    assert_int_equal(tuning_int(json, "taken"), 1);
    assert_int_equal(tuning_int(json, "refused"), 4);
    assert_int_equal(tuning_int(json, "index_mismatches"), 1); /* 0 is another config */
    static const int lines[] = {2, 3, 4, 5, 6};
    for (int i = 0; i < OT_COUNT(lines); i++)
        problem(json, (size_t)i, lines[i]);
    const json_t *problems = json_object_get(json, "problems");
    check_contains(tuning_text(json_array_get(problems, 1), "problem"), "conv2d_gone.x86");
    check_contains(tuning_text(json_array_get(problems, 2), "problem"), "tile_ic");
    check_contains(tuning_text(json_array_get(problems, 3), "problem"), "martian");
    json_decref(json);
    /* A hint is no measurement, but chosen where there is none, also with something fused
     * behind, and its source is told; elsewhere it says nothing ... */
    optune_selection *s = NULL;
    optune_found *found = NULL;
    optune_err err = {0};
    optune_config hint, chosen;
    check_ok(ot_config_parse(ENTITY("2, 4"), &hint, &err));
    static const char *const asked[] = {CONV, CONV " -> relu()", CONV_OTHER};
    for (int i = 0; i < OT_COUNT(asked); i++) {
        const bool hinted = i < 2;
        check_ok(optune_select(o, asked[i], &s, &err));
        assert_string_equal(optune_selection_tier(s), hinted ? "hinted" : "plevel");
        assert_true(isinf(optune_selection_cost(s)));
        check_ok(ot_config_parse(optune_selection_config(s), &chosen, &err));
        assert_int_equal(ot_config_equal(&hint, &chosen), hinted);
        if (hinted) {
            assert_string_equal(optune_selection_impl(s), "conv2d_NCHWc.x86");
            check_contains(optune_selection_text(s, false), "tvm.log");
            check_contains(optune_selection_text(s, true), "autotvm:llvm -mcpu=core-avx2");
        }
        optune_selection_free(s);
        assert_int_equal(optune_query(o, asked[i], &found, &err), OPTUNE_ENOENT);
    }
    /* Nor is it a fact about this machine: a run that measured nothing has nothing, and there
     * is nothing to report. */
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    int n = -1;
    check_ok(ot_call_parse(CONV, call, &err));
    const optune_task task = {call, &o->target, &o->device};
    check_ok(ot_context_choose(o, &task, NULL, &arena, &fact, &n, choice, &err));
    assert_int_equal(choice->tier, OT_TIER_HINTED);
    assert_int_equal(n, 0);
    ot_choice_free(choice);
    ot_arena_release(&arena);
    free(call);
    static const char *const only[] = {CONV, NULL};
    optune_result *result = NULL;
    const optune_report_options of = {.size = sizeof of, .workloads = only};
    assert_int_equal(optune_report(o, &of, &result, &err), OPTUNE_ENOENT);
    optune *more = tuning_open_with("tvm", (optune_options){.target = "cpu -threads=2"});
    check_ok(optune_select(more, CONV, &s, &err)); /* a hint is of no device and no threads */
    assert_string_equal(optune_selection_tier(s), "hinted");
    optune_selection_free(s);
    optune_close(more);
    /* ... and it is what a run tries right after the fallback. */
    json_decref(tuning_run_one(o, "conv2d", CONV, "conv2d_NCHWc.x86", 2));
    tuning_records all;
    tuning_read("tvm", &all);
    int tried = 0;
    for (int i = 0; i < all.n; i++)
        tried += ot_config_equal(&all.record[i].config, &hint) && !all.record[i].final &&
                 strcmp(all.record[i].device, o->device.key) == 0;
    assert_int_equal(tried, 1);
    ot_arena_release(&all.arena);
    /* Now there is something better. */
    check_ok(optune_select(o, CONV, &s, &err));
    assert_string_equal(optune_selection_tier(s), "tuned");
    optune_selection_free(s);
    optune_close(o);
}

static void test_tophub(void **state)
{
    (void)state;
    const char *shared = getenv("OPTUNE_SHARED");
    char path[4096];
    snprintf(path, sizeof path, "%s/data/tophub/llvm_v0.04.log",
             shared ? shared : OT_SOURCE_DIR "/../shared");
    if (!ot_exists(path))
        skip();
    json_t *json = import_into("tophub", path);
    assert_int_equal(tuning_int(json, "taken"), 35);
    assert_int_equal(tuning_int(json, "new"), 35);
    assert_int_equal(tuning_int(json, "refused"), 0);
    /* Written before TVM let tile_ow have a tail: other indices, the same configs. */
    const json_t *problems = json_object_get(json, "problems");
    const size_t moved = (size_t)tuning_int(json, "index_mismatches");
    assert_int_equal(json_array_size(problems), moved);
    assert_true(moved > 0 && moved < 35);
    check_contains(tuning_text(json_array_get(problems, 0), "problem"), "entity is trusted");
    json_decref(json);
    tuning_records all;
    tuning_read("tophub", &all);
    assert_int_equal(all.n, 35);
    for (int i = 0; i < all.n; i++) {
        assert_string_equal(all.record[i].impl, "conv2d_NCHWc.x86");
        assert_string_equal(all.record[i].digest, "");
        check_contains(all.record[i].device, "autotvm:llvm -mcpu=skylake-avx512");
    }
    ot_arena_release(&all.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_rebuilt),
        cmocka_unit_test(test_twice_is_once),
        cmocka_unit_test(test_imported_is_in_the_logs),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_damaged_lines),
        cmocka_unit_test(test_no_log),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_poor_hint),
        cmocka_unit_test(test_tophub),
    };
    return cmocka_run_group_tests(tests, setup, tuning_teardown);
}
