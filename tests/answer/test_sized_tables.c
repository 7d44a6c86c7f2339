/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables of graphs whose variables are ranges: programs and clones compute by them, runs
 * make them, and what ends a run early leaves word of each.
 */
#include "support/tuning.h"

#include "support/check.h"
#include "support/sized.h"
#include "support/tables.h"

/* ---- dispatch tables ---------------------------------------------------------------------- */

static const char layers[] = "x = var f32[?n:1..20,24]\n"
                             "w = const f32[20,24]\n"
                             "y = dense(x, w)\n"
                             "output softmax(y), dense(var f32[3,8], const f32[5,8])\n";
static const char joined[] = "x = var f32[?n:1..20,24]\n"
                             "y = dense(concatenate(x, x), const f32[20,24])\n"
                             "output y\n";

typedef struct warnings {
    int n;
    char last[1024];
} warnings;

static void take_warning(void *arg, optune_log_level level, const char *text)
{
    warnings *all = arg;
    if (level != OPTUNE_LOG_WARNING || !strstr(text, "is not used"))
        return;
    all->n++;
    snprintf(all->last, sizeof all->last, "%s", text);
}

/* What a table says is what runs, at each size, in clones, too; so it is told; a stale one is as
 * none, of which one word is enough. */
static void test_a_table_of_a_group(void **state)
{
    (void)state;
    static const char workload[] = "dense(f32[?n:1..20,24], const f32[20,24])";
    warnings warned = {0};
    sized of = {.o =
                    tuning_open_with("tables", (optune_options){.target = "cpu -threads=1",
                                                                .log_level = OPTUNE_LOG_WARNING,
                                                                .log = take_warning,
                                                                .log_arg = &warned}),
                .g = sized_parse(layers)};
    optune_err err = {0};
    tables_write(of.o, workload, 8, "dense_gemv.cpu", "dense_gemm.cpu");
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    check_ok(optune_partition_select(of.partition, &err));
    check_contains(optune_partition_text(of.partition, false), "a dispatch table");
    check_contains(optune_partition_json(of.partition), "\"dispatch\"");
    check_ok(optune_program_open(of.partition, &of.program, &err));
    int i = 0;
    while (strcmp(of.partition->row[i].text, workload))
        i++;
    for (int turn = 0; turn < 2; turn++)
        for (int n = 1; n <= 20; n += n == 1 ? 7 : 1) {
            char sizes[64];
            snprintf(sizes, sizeof sizes, "f32[%d,24] f32[3,8]", turn ? 21 - n : n);
            sized_run(of.g, of.program, sizes);
            assert_string_equal(ot_program_kernel(of.program, i)->impl->name,
                                (turn ? 21 - n : n) <= 8 ? "dense_gemv.cpu" : "dense_gemm.cpu");
        }
    optune_program *clone = NULL;
    check_ok(optune_program_clone(of.program, &clone, &err));
    optune_program_close(of.program);
    for (int n = 1; n <= 20; n += n == 1 ? 7 : 1) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "f32[%d,24] f32[3,8]", n);
        sized_run(of.g, clone, sizes);
        assert_string_equal(ot_program_kernel(clone, i)->impl->name,
                            n <= 8 ? "dense_gemv.cpu" : "dense_gemm.cpu");
    }
    optune_program_close(clone);
    optune_result *result = NULL;
    check_ok(optune_partition_profile(of.partition, 1, &result, &err));
    check_contains(optune_result_text(result), "y: dense_gemm.cpu");
    optune_result_free(result);
    assert_int_equal(warned.n, 0);
    char path[4096];
    ot_text text = {0};
    check_ok(
        ot_dispatch_path(of.o, of.partition->groups.group[i].call, path, sizeof path, &err));
    check_ok(ot_read_file(path, &text, 1 << 20, &err));
    char *digest = strstr(text.s, "\"digest\": \"");
    digest[11] = digest[11] == '0' ? '1' : '0';
    check_ok(ot_write_file(path, text.s, text.n, &err));
    ot_text_release(&text);
    check_ok(optune_program_open(of.partition, &of.program, &err));
    assert_null(of.program->rows[i].table);
    check_ok(optune_partition_select(of.partition, &err));
    assert_int_equal(warned.n, 1);
    check_contains(warned.last, path);
    sized_run(of.g, of.program, "f32[5,24] f32[3,8]");
    sized_close(&of);
}

/* Dims that are computed of others have names of their own in a table. */
static void test_a_table_of_computed_dims(void **state)
{
    (void)state;
    sized of = {.o = tuning_open("tables"), .g = sized_parse(joined)};
    optune_err err = {0};
    tables_write(of.o, "dense(f32[?d0:2..40,24], const f32[20,24])", 8, "dense_gemv.cpu",
                 "dense_gemm.cpu");
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    check_ok(optune_program_open(of.partition, &of.program, &err));
    const int last = of.partition->groups.n - 1;
    assert_string_equal(of.partition->row[last].text,
                        "dense(f32[?2*n:2..40,24], const f32[20,24])");
    assert_non_null(of.program->rows[last].table);
    for (int n = 1; n <= 20; n += n == 4 ? 1 : n == 1 ? 3 : 15) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "f32[%d,24]", n);
        sized_run(of.g, of.program, sizes);
        assert_string_equal(ot_program_kernel(of.program, last)->impl->name,
                            2 * n <= 8 ? "dense_gemv.cpu" : "dense_gemm.cpu");
    }
    sized_close(&of);
}

/* A run of a graph makes them beside what it measures of constants; its next one measures
 * nothing. */
static void test_a_run_makes_tables(void **state)
{
    (void)state;
    sized of = {.o = tuning_open("run-tables"), .g = sized_parse(layers)};
    optune_err err = {0};
    optune_result *result = NULL;
    const char *const *workloads;
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    check_ok(optune_partition_workloads(of.partition, &workloads, &err));
    assert_string_equal(workloads[0], "dense(f32[3,8], const f32[5,8])");
    assert_null(workloads[1]);
    optune_run_options how = {.size = sizeof how,
                              .workloads = workloads,
                              .trials = 2,
                              .seconds = -1,
                              .policy = optune_partition_policy(of.partition),
                              .graph = of.partition};
    const char *const some[] = {"dense_gemm.cpu", NULL};
    how.impls = some;
    assert_int_equal(optune_run(of.o, &how, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "?n:1..20");
    check_contains(err.text, "--bind");
    how.impls = NULL;
    for (int turn = 0; turn < 2; turn++) {
        check_ok(optune_run(of.o, &how, &result, &err));
        json_t *json = tuning_parse(optune_result_json(result));
        const json_t *tables = json_object_get(json, "tables");
        assert_int_equal(json_array_size(json_object_get(json, "workloads")), 1);
        assert_int_equal(json_array_size(tables), 2);
        assert_true(turn ? tuning_int(json, "new_trials") == 0
                         : tuning_int(json, "new_trials") >= 8);
        for (size_t i = 0; i < 2; i++) {
            const json_t *one = json_array_get(tables, i);
            assert_true(json_array_size(json_object_get(one, "rows")) > 0);
            check_contains(optune_result_text(result),
                           json_string_value(json_object_get(one, "call")));
        }
        json_decref(json);
        optune_result_free(result);
    }
    check_ok(optune_program_open(of.partition, &of.program, &err));
    int tables = 0;
    for (int i = 0; i < of.partition->groups.n; i++)
        tables += of.program->rows[i].table != NULL;
    assert_int_equal(tables, 2);
    sized_run(of.g, of.program, "f32[1,24] f32[3,8]");
    sized_run(of.g, of.program, "f32[20,24] f32[3,8]");
    sized_run(of.g, of.program, "f32[13,24] f32[3,8]");
    sized_close(&of);
}

/* Behind the end of its time none is begun, and the run says so. */
static void test_tables_without_time(void **state)
{
    (void)state;
    sized of = {.o = tuning_open("no-time"), .g = sized_parse(layers)};
    optune_err err = {0};
    optune_result *result = NULL;
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    const optune_run_options how = {.size = sizeof how,
                                    .trials = 1,
                                    .seconds = 1e-9,
                                    .policy = optune_partition_policy(of.partition),
                                    .graph = of.partition};
    assert_int_equal(optune_run(of.o, &how, &result, &err), OPTUNE_EPARTIAL);
    check_contains(err.text, "2 of 2 dispatch tables failed");
    check_contains(err.text, "no time was left");
    check_contains(optune_result_text(result), "no table: no time was left");
    json_t *json = tuning_parse(optune_result_json(result));
    const json_t *tables = json_object_get(json, "tables");
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    assert_int_equal(json_array_size(tables), 2);
    for (size_t i = 0; i < 2; i++)
        check_contains(json_string_value(json_object_get(json_array_get(tables, i), "problem")),
                       "no time was left");
    json_decref(json);
    optune_result_free(result);
    sized_close(&of);
}

/* For other programs both are one table, of the same columns in each row. */
static void test_tables_as_rows(void **state)
{
    (void)state;
    static const char *const graph[] = {
        "x = var f32[?n:1..20,24]\noutput dense(x, const f32[20,24]), relu(var f32[?m:0..4])\n",
        "x = var f32[?n:1..20,24]\noutput dense(x, const f32[20,24]), relu(var f32[?m:0..4]), "
        "relu(var f32[64,64])\n",
    };
    for (int i = 0; i < 2 * OT_COUNT(graph); i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        const char *const *workloads;
        sized of = {.o = tuning_open("as-rows"), .g = sized_parse(graph[i / 2])};
        check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
        check_ok(optune_partition_workloads(of.partition, &workloads, &err));
        optune_run_options how = {.size = sizeof how,
                                  .workloads = workloads,
                                  .trials = 1,
                                  .seconds = -1,
                                  .policy = optune_partition_policy(of.partition),
                                  .graph = of.partition,
                                  .table = i % 2 ? "markdown" : "csv"};
        check_ok(optune_run(of.o, &how, &result, &err));
        const char *text = optune_result_text(result);
        check_contains(text, i % 2 ? "| workload | winner |" : "workload,winner,time us,");
        check_contains(text, "dispatch table, ");
        check_contains(text, "no dispatch table: dim 'm' is 0 to 4");
        json_t *json = tuning_parse(optune_result_json(result));
        const json_t *tables = json_object_get(json, "tables");
        int lines = 0, rows = 1 + (i % 2) + i / 2 + 1; /* head, constants, what has none */
        rows += (int)json_array_size(json_object_get(json_array_get(tables, 0), "rows"));
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            const int n = (int)strcspn(line, "\n");
            if (i % 2 && *line != '|')
                continue;
            int bars = 0, quoted = 0;
            for (int k = 0; k < n; k++) {
                quoted ^= line[k] == '"';
                bars += !quoted && line[k] == (i % 2 ? '|' : ',');
            }
            assert_int_equal(bars, i % 2 ? 13 : 11);
            lines++;
        }
        assert_int_equal(lines, rows);
        json_decref(json);
        optune_result_free(result);
        sized_close(&of);
    }
}

typedef struct stopper {
    optune *o;
    const char *at; /* what the workload begins with */
} stopper;

static void stop(void *arg, const optune_progress *p)
{
    const stopper *s = arg;
    if (p->impl && p->call && !strncmp(p->call, s->at, strlen(s->at)))
        optune_interrupt(s->o);
}

/* Whatever is interrupted, constants or a table, the document has a word of every table. */
static void test_interrupted_runs_tell_of_tables(void **state)
{
    (void)state;
    static const char *const at[] = {"dense", "softmax"};
    for (int i = 0; i < OT_COUNT(at); i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        const char *const *workloads;
        sized of = {.o = tuning_open(i ? "stopped-1" : "stopped-0"),
                    .g = sized_parse("x = var f32[?n:1..20,24]\n"
                                     "output softmax(x), softmax(var f32[?n:1..20,32]), "
                                     "dense(var f32[3,8], const f32[5,8])\n")};
        stopper s = {of.o, at[i]};
        check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
        check_ok(optune_partition_workloads(of.partition, &workloads, &err));
        const optune_run_options how = {.size = sizeof how,
                                        .workloads = workloads,
                                        .trials = 4,
                                        .seconds = -1,
                                        .policy = optune_partition_policy(of.partition),
                                        .graph = of.partition,
                                        .progress = stop,
                                        .progress_arg = &s};
        assert_int_equal(optune_run(of.o, &how, &result, &err), OPTUNE_EINTERRUPTED);
        json_t *json = tuning_parse(optune_result_json(result));
        const json_t *tables = json_object_get(json, "tables");
        assert_true(json_is_true(json_object_get(json, "interrupted")));
        assert_int_equal(json_array_size(tables), 2);
        const json_t *last = json_array_get(tables, 1);
        check_contains(tuning_text(last, "problem"), "not begun: the run was interrupted");
        check_contains(tuning_text(last, "call"), "softmax(f32[?n:1..20,32]");
        check_contains(optune_result_text(result), "no table: not begun");
        json_decref(json);
        optune_result_free(result);
        sized_close(&of);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_of_a_group),
        cmocka_unit_test(test_a_table_of_computed_dims),
        cmocka_unit_test(test_a_run_makes_tables),
        cmocka_unit_test(test_tables_without_time),
        cmocka_unit_test(test_tables_as_rows),
        cmocka_unit_test(test_interrupted_runs_tell_of_tables),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
