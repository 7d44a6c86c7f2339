/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export: a log that another database takes to the same answers, one op's or all, the best of
 * each question only, and clear words when it cannot be written.
 */
#include "support/tuning.h"

#include "support/check.h"

#define DENSE "dense(f32[16,64], const f32[32,64])"
#define OTHER "dense(f32[8,32], const f32[16,32])"
#define BATCH "batch_matmul(f32[2,16,24], f32[2,32,24])"

static int setup(void **state)
{
    tuning_setup(state);
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", DENSE, NULL, 8));
    json_decref(tuning_run_one(o, "dense", OTHER, "dense_gemm.cpu", 3));
    json_decref(tuning_run_one(o, "batch_matmul", BATCH, NULL, 4));
    optune_close(o);
    return 0;
}

static int records_in(const char *db)
{
    tuning_records all;
    tuning_read(db, &all);
    const int n = all.n;
    ot_arena_release(&all.arena);
    return n;
}

/* Exports into tuning_dir/NAME; returns how many records it says it wrote. */
static int export_to(const char *op, bool best, const char *name)
{
    optune *o = tuning_open("from");
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_export(o, op, best, tuning_path(name), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    const int n = (int)tuning_int(json, "records");
    assert_string_equal(tuning_text(json, "file"), tuning_path(name));
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    return n;
}

static void take(const char *db, const char *name, int expected)
{
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_import(o, tuning_path(name), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_int_equal(tuning_int(json, "taken"), expected);
    assert_int_equal(tuning_int(json, "new"), expected);
    assert_int_equal(tuning_int(json, "refused"), 0);
    assert_int_equal(tuning_int(json, "devices"), 1);
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
}

static void same_answer(const char *db, const char *workload)
{
    optune *from = tuning_open("from"), *to = tuning_open(db);
    char *a = tuning_answer(from, workload), *b = tuning_answer(to, workload);
    assert_string_equal(a, b);
    check_contains(a, " tuned ");
    free(a);
    free(b);
    optune_close(from);
    optune_close(to);
}

static void test_all(void **state)
{
    (void)state;
    const int n = export_to(NULL, false, "all.log");
    assert_int_equal(n, records_in("from"));
    take("all", "all.log", n);
    assert_int_equal(records_in("all"), n);
    same_answer("all", DENSE);
    same_answer("all", OTHER);
    same_answer("all", BATCH);
    /* What it took, it gives again. */
    ot_text a = {0}, b = {0};
    optune_err err = {0};
    optune *o = tuning_open("all");
    optune_result *result = NULL;
    check_ok(optune_export(o, NULL, false, NULL, &result, &err));
    check_ok(ot_read_file(tuning_path("all.log"), &a, 1 << 26, &err));
    assert_string_equal(optune_result_text(result), a.s);
    optune_result_free(result);
    optune_close(o);
    ot_text_release(&a);
    ot_text_release(&b);
}

static void test_one_op(void **state)
{
    (void)state;
    const int n = export_to("batch_matmul", false, "batch.log");
    assert_true(n >= 4 && n < records_in("from"));
    take("batch", "batch.log", n);
    same_answer("batch", BATCH);
    tuning_records all;
    tuning_read("batch", &all);
    for (int i = 0; i < all.n; i++)
        assert_string_equal(all.record[i].op, "batch_matmul");
    ot_arena_release(&all.arena);
}

static void test_best(void **state)
{
    (void)state;
    assert_int_equal(export_to(NULL, true, "best.log"), 3);
    assert_int_equal(export_to("dense", true, "best-dense.log"), 2);
    take("best", "best.log", 3);
    tuning_records best;
    tuning_read("best", &best);
    optune *o = tuning_open("from");
    for (int i = 0; i < best.n; i++) {
        optune_selection *s = NULL;
        optune_err err = {0};
        assert_int_equal(best.record[i].outcome, OPTUNE_OUTCOME_OK);
        check_ok(optune_select(o, best.record[i].call, &s, &err));
        assert_string_equal(best.record[i].impl, optune_selection_impl(s));
        assert_true(best.record[i].cost == optune_selection_cost(s));
        optune_selection_free(s);
    }
    optune_close(o);
    ot_arena_release(&best.arena);
}

/* AutoTVM reads it: the five keys of its format, and a task of three tensors' worth of args. */
static void test_readable_by_tvm(void **state)
{
    (void)state;
    export_to("dense", true, "tvm.log");
    ot_text log = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("tvm.log"), &log, 1 << 26, &err));
    int records = 0;
    char *rest = NULL;
    for (char *line = strtok_r(log.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#')
            continue;
        records++;
        json_t *json = tuning_parse(line);
        const json_t *input = json_object_get(json, "input");
        assert_int_equal(json_array_size(input), 4);
        assert_int_equal(json_array_size(json_object_get(json, "result")), 4);
        assert_true(json_real_value(json_object_get(json, "version")) == 0.2);
        const json_t *args = json_array_get(input, 2);
        assert_string_equal(json_string_value(json_array_get(json_array_get(args, 0), 0)),
                            "TENSOR");
        assert_true(json_is_integer(json_object_get(json_object_get(json, "config"), "index")));
        json_decref(json);
    }
    assert_int_equal(records, 2);
    ot_text_release(&log);
}

static void test_refused(void **state)
{
    (void)state;
    optune *o = tuning_open("from");
    optune_result *result = NULL;
    optune_err err = {0};
    assert_int_equal(
        optune_export(o, NULL, false, tuning_path("missing/out.log"), &result, &err),
        OPTUNE_EIO);
    check_contains(err.text, "missing/out.log");
    assert_null(result);
    assert_int_equal(optune_export(o, "dence", false, NULL, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'dense'");
    optune_close(o);
    o = tuning_open("nothing");
    assert_int_equal(optune_export(o, NULL, false, NULL, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "nothing");
    assert_null(result);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),     cmocka_unit_test(test_one_op),
        cmocka_unit_test(test_best),    cmocka_unit_test(test_readable_by_tvm),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, tuning_teardown);
}
