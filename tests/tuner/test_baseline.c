/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries as baselines of whole runs, over stand-ins (tests/data/fake_blas.c): tables and records
 * name what was really loaded, the reference BLAS is never a baseline under another name, and what
 * was measured with one library says nothing about another.
 */
#include "support/check.h"
#include "support/stand_in.h"
#include "support/tuning.h"

static const char workload[] = "dense(f32[8,64], const f32[32,64])";
static const char REFERENCE[] = "reference BLAS 3.11.0";

static const char *built(const char *name, const char *define)
{
    return stand_in_build(tuning_dir, "fake_blas.c", name, define);
}

/* One run with this file as its BLAS: its table, to be released with free, and its document. */
static char *run(const char *db, const char *file, json_t **json)
{
    optune_err err = {0};
    optune_result *result = NULL;
    const char *const list[] = {workload, NULL};
    static const char *const impls[] = {"dense_cblas.x86", "dense_gemm.cpu", NULL};
    const optune_run_options options = {.size = sizeof options,
                                        .op = "dense",
                                        .workloads = list,
                                        .impls = impls,
                                        .trials = 3,
                                        .seconds = 60};
    setenv("OPTUNE_CBLAS", file, 1);
    optune *o = tuning_open(db);
    check_ok(optune_run(o, &options, &result, &err));
    char *text = ot_strdup(optune_result_text(result));
    *json = tuning_parse(optune_result_json(result));
    optune_result_free(result);
    optune_close(o);
    return text;
}

static const char *name_in(const json_t *json)
{
    return tuning_text(tuning_workload(json, 0), "library_name");
}

static void test_named(void **state)
{
    (void)state;
    json_t *json;
    char *text = run("named", built("libcblas.so.3", "-DMKL"), &json);
    assert_string_equal(name_in(json), "MKL 2031.4 AVX2");
    check_contains(text, "over MKL 2031.4 AVX2: ");
    assert_null(strstr(text, "OpenBLAS"));
    assert_null(strstr(text, "reference"));
    free(text);
    json_decref(json);
}

static void test_reference(void **state)
{
    (void)state;
    json_t *json;
    char *text = run("reference", built("libopenblas.so.3.11.0", "-DREFERENCE"), &json);
    assert_string_equal(name_in(json), REFERENCE);
    check_contains(text, "over reference BLAS 3.11.0: ");
    check_contains(text, "is no baseline: OPTUNE_CBLAS names it");
    check_contains(text, "xr "); /* in the row, too */
    assert_null(strstr(text, "OpenBLAS"));
    assert_null(strstr(text, "best library"));
    free(text);
    json_decref(json);

    tuning_records all;
    char value[256];
    int libraries = 0;
    tuning_read("reference", &all);
    for (int i = 0; i < all.n; i++)
        if (strcmp(all.record[i].impl, "dense_cblas.x86") == 0) {
            assert_true(ot_lines_get(all.record[i].depends, "library", value, sizeof value));
            assert_string_equal(value, REFERENCE);
            libraries++;
        }
    assert_true(libraries > 0);
    ot_arena_release(&all.arena);
}

/* With this file as its BLAS, what is in the database "changed" is not selected. */
static void expect_history(const char *file, const char *why)
{
    const optune_options libs = {.target = "cpu -threads=1 -libs=cblas"};
    optune_selection *s = NULL;
    optune_err err = {0};
    setenv("OPTUNE_CBLAS", file, 1);
    optune *o = tuning_open_with("changed", libs);
    check_ok(optune_select(o, workload, &s, &err));
    assert_string_equal(optune_selection_impl(s), "dense_gemm.cpu");
    check_contains(optune_selection_text(s, true), "library was ");
    check_contains(optune_selection_text(s, true), why);
    optune_selection_free(s);
    optune_close(o);
}

/* Another library behind the same call: what the first one did is history, and it says why. */
static void test_changed(void **state)
{
    (void)state;
    json_t *json;
    free(run("changed", built("one.so.3.11.0", "-DREFERENCE"), &json));
    json_decref(json);
    char *text = run("changed", built("two.so", "-DMKL"), &json);
    assert_string_equal(name_in(json), "MKL 2031.4 AVX2");
    free(text);
    json_decref(json);

    expect_history(built("three.so.9.1", "-DATLAS"), "is ATLAS 9.1");
    expect_history("/nosuch/libblas.so", "is nothing"); /* it is gone */
}

static void count_warnings(void *arg, optune_log_level level, const char *text)
{
    if (level == OPTUNE_LOG_WARNING && strstr(text, "dense_cblas.x86 is left out") &&
        strstr(text, "OPTUNE_CBLAS") && strstr(text, "/nosuch/"))
        ++*(int *)arg;
}

/* Nobody names a file in vain: where it cannot be had, that is said, once for all workloads. */
static void test_named_in_vain(void **state)
{
    (void)state;
    int warnings = 0;
    const char *const list[] = {workload, "dense(f32[9,64], const f32[32,64])", NULL};
    static const char *const impls[] = {"dense_cblas.x86", "dense_gemm.cpu", NULL};
    setenv("OPTUNE_CBLAS", "/nosuch/libopenblas.so.0", 1);
    optune *o = tuning_open_with("vain", (optune_options){.target = "cpu -threads=1",
                                                          .log = count_warnings,
                                                          .log_arg = &warnings,
                                                          .log_level = OPTUNE_LOG_WARNING});
    json_decref(tuning_run(
        o, (optune_run_options){.op = "dense", .workloads = list, .impls = impls, .trials = 1},
        OPTUNE_OK));
    optune_close(o);
    assert_int_equal(warnings, 1);
}

/* A file that is none is left out, with its reason, and nothing else is taken for it. */
static void test_left_out(void **state)
{
    (void)state;
    json_t *json;
    char *text = run("none", "/nosuch/libopenblas.so.0", &json);
    assert_true(json_is_null(json_object_get(tuning_workload(json, 0), "library_name")));
    assert_null(strstr(text, "BLAS"));
    free(text);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named),    cmocka_unit_test(test_reference),
        cmocka_unit_test(test_changed),  cmocka_unit_test(test_named_in_vain),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
