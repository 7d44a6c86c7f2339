/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs whose variables are ranges, as programs: one program computes every size of its inputs,
 * downsampling, joining and adding what was downsampled, and is what the references give at that
 * size; sizes that do not fit are refused, and the program goes on.
 */
#include "support/tuning.h"

#include "answer/graph.h"
#include "graph/graph.h"
#include "support/check.h"
#include "support/tables.h"

#include <math.h>

enum { MOST = 100, GUARD = 64 };

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse(text, "test", &graph, &err));
    check_ok(optune_graph_infer(graph, &err));
    check_ok(optune_graph_fill(graph, 7, &err));
    return graph;
}

/* The i-th input with these dims; `text` has a type for each, a space between two. */
static int read_types(const char *text, optune_tensor *type)
{
    optune_err err = {0};
    int n = 0;
    for (const char *end; *text; text = end + strspn(end, " "))
        check_ok(ot_tensor_parse(text, &type[n++], &end, &err));
    return n;
}

static void run_at(optune_graph *g, optune_program *p, const char *sizes)
{
    optune_err err = {0};
    optune_tensor type[MOST];
    void *in[MOST], *out[MOST];
    optune_values *values = NULL;
    const int n = read_types(sizes, type), n_out = optune_graph_outputs(g);
    for (int i = 0; i < n; i++) {
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&type[i]) + 1);
        ot_fill_input(&type[i], 5, i, in[i]);
    }
    for (int i = 0; i < n_out; i++) {
        const size_t most = (size_t)ot_tensor_most_bytes(optune_graph_output_type(g, i));
        out[i] = ot_alloc(most + GUARD);
        memset(out[i], 0x5A, most + GUARD);
    }
    check_ok(optune_program_resize(p, type, &err));
    check_ok(optune_program_run(p, (const void *const *)in, out, &err));
    check_ok(optune_graph_evaluate(g, (const void *const *)in, type, &values, &err));
    for (int i = 0; i < n_out; i++) {
        const optune_tensor *is = optune_values_type(values, i);
        const float *want = optune_values_data(values, i), *got = out[i];
        const int64_t elements = optune_tensor_elements(is);
        int64_t dims[OPTUNE_MAX_RANK];
        assert_int_equal(optune_program_shape(p, i, dims, &err), is->rank);
        for (int d = 0; d < is->rank; d++)
            assert_int_equal(dims[d], is->dim[d].min);
        for (int64_t k = 0; k < elements; k++)
            if (!(fabs((double)got[k] - (double)want[k]) <= 1e-3))
                fail_msg("%s: output %d[%lld] is %g, not %g", sizes, i, (long long)k,
                         (double)got[k], (double)want[k]);
        for (size_t k = 0; k < GUARD; k++)
            assert_int_equal(((const char *)(got + elements))[k], 0x5A);
    }
    optune_values_free(values);
    for (int i = 0; i < n; i++)
        free(in[i]);
    for (int i = 0; i < n_out; i++)
        free(out[i]);
}

typedef struct opened {
    optune *o;
    optune_graph *g;
    optune_partition *partition;
    optune_program *program;
} opened;

static opened open_graph_on(const char *target, const char *text)
{
    optune_err err = {0};
    opened of = {.o = tuning_open_with("sized", (optune_options){.target = target}),
                 .g = parse(text)};
    check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
    check_ok(optune_program_open(of.partition, &of.program, &err));
    return of;
}

static opened open_graph(const char *text)
{
    return open_graph_on(NULL, text);
}

static void close_graph(opened *of)
{
    optune_program_close(of->program);
    optune_partition_close(of->partition);
    optune_graph_close(of->g);
    optune_close(of->o);
}

static const char residual[] =
    "x = var f32[?b:1..2,3,?height:1..40,?w:5..33]\n"
    "s = relu(conv2d(x, const f32[8,3,3,3], strides=[2,2], padding=[1,1,1,1]))\n"
    "p = max_pool2d(s, pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])\n"
    "a = conv2d(p, const f32[8,8,3,3], strides=[2,2], padding=[1,1,1,1])\n"
    "c = conv2d(p, const f32[8,8,1,1], strides=[2,2])\n"
    "d = relu(add(a, c))\n"
    "f = reshape(d, newshape=[0,8,-1])\n"
    "output f, p\n";

static void test_one_program_for_all_sizes(void **state)
{
    (void)state;
    opened of = open_graph(residual);
    ot_text type = {0};
    ot_tensor_print(optune_graph_output_type(of.g, 0), &type);
    assert_string_equal(ot_text_str(&type), "f32[?b:1..2,8,?((height+7)/8)*((w+7)/8):1..25]");
    ot_text_release(&type);
    static const char *const sizes[] = {"f32[2,3,40,33]", "f32[1,3,1,5]",   "f32[2,3,32,32]",
                                        "f32[1,3,33,8]",  "f32[2,3,17,31]", "f32[1,3,2,33]"};
    for (int i = 0; i < OT_COUNT(sizes); i++)
        run_at(of.g, of.program, sizes[i]);
    close_graph(&of);
}

static void test_equal_by_expression(void **state)
{
    (void)state;
    opened of = open_graph("x = var f32[?n:1..5,4]\n"
                           "y = var f32[?n:1..5,4]\n"
                           "z = var f32[?2*n,3]\n"
                           "s = add(concatenate(x, x), concatenate(y, y))\n"
                           "d = add(dense(s, const f32[3,4]), z)\n"
                           "output d, s\n");
    run_at(of.g, of.program, "f32[5,4] f32[5,4] f32[10,3]");
    run_at(of.g, of.program, "f32[1,4] f32[1,4] f32[2,3]");
    optune_err err = {0};
    optune_tensor type[MOST];
    static const char *const wrong[] = {
        "f32[6,4] f32[6,4] f32[12,3]", "f32[2,4] f32[3,4] f32[4,3]",
        "f32[2,4] f32[2,4] f32[5,3]",  "f32[2,4] f32[2,4] f32[4,4]",
        "f32[2,4] f32[2] f32[4,3]",    "f32[2,4] i8[2,4] f32[4,3]",
        "f32[?,4] f32[2,4] f32[4,3]",
    };
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        read_types(wrong[i], type);
        assert_int_equal(optune_program_resize(of.program, type, &err), OPTUNE_ETYPE);
        check_contains(err.text, "with one size for each name");
    }
    run_at(of.g, of.program, "f32[3,4] f32[3,4] f32[6,3]");
    close_graph(&of);
}

/* More tensors than one call has, each with a size of its own, one of them of a tuple. */
static void join_many(const char *target, int n)
{
    ot_text text = {0}, sizes = {0}, type = {0};
    for (int i = 0; i < n; i++)
        ot_text_printf(&text, "x%d = var f32[?n%d:0..%d,3]\n", i, i, 2 + i % 4);
    ot_text_add(&text, "v = topk(x0, k=3)\nt = tuple(v.0, x1)\nc = concatenate(t");
    for (int i = 2; i < n; i++)
        ot_text_printf(&text, ", x%d", i);
    ot_text_add(&text, ")\nd = relu(c)\noutput c, d\n");
    opened of = open_graph_on(target, ot_text_str(&text));
    int most = 0;
    for (int i = 0; i < n; i++)
        most += 2 + i % 4;
    char bound[32];
    ot_tensor_print(optune_graph_output_type(of.g, 0), &type);
    snprintf(bound, sizeof bound, ":0..%d,3]", most);
    check_contains(ot_text_str(&type), bound);
    for (int turn = 0; turn < 4; turn++) {
        ot_text_clear(&sizes);
        for (int i = 0; i < n; i++)
            ot_text_printf(&sizes, "%sf32[%d,3]", i ? " " : "",
                           turn == 0   ? 2 + i % 4
                           : turn == 1 ? i == n - 1
                                       : (i * turn) % (3 + i % 4));
        run_at(of.g, of.program, ot_text_str(&sizes));
    }
    close_graph(&of);
    ot_text_release(&text);
    ot_text_release(&sizes);
    ot_text_release(&type);
}

static void test_more_inputs_than_a_call_has(void **state)
{
    (void)state;
    static const char *const targets[] = {"cpu -threads=2", "opencl"};
    for (int i = 0; i < OT_COUNT(targets); i++) {
        optune_target target;
        optune_device device;
        optune_err err = {0};
        check_ok(ot_target_parse(targets[i], &target, &err));
        if (ot_target_probe(&target, &device, &err) == OPTUNE_ENODEV)
            continue;
        join_many(targets[i], 25);
        join_many(targets[i], 40);
        join_many(targets[i], 100);
    }
}

/* What only the sizes at hand contradict is refused where it is computed. */
static void test_sizes_that_a_node_refuses(void **state)
{
    (void)state;
    opened of =
        open_graph("x = var f32[1,2,?h:2..12,6]\n"
                   "d = conv2d(x, const f32[4,2,3,3], strides=[2,2], padding=[1,1,1,1])\n"
                   "u = conv2d_transpose(d, const f32[4,3,2,2], strides=[2,2])\n"
                   "j = concatenate(u, x, axis=1)\n"
                   "output j\n");
    optune_err err = {0};
    optune_tensor type;
    static float in[2 * 12 * 6], out[5 * 12 * 6];
    run_at(of.g, of.program, "f32[1,2,8,6]");
    read_types("f32[1,2,7,6]", &type);
    check_ok(optune_program_resize(of.program, &type, &err));
    assert_int_equal(
        optune_program_run(of.program, (const void *const[]){in}, (void *const[]){out}, &err),
        OPTUNE_ETYPE);
    check_contains(err.text, "'j'");
    run_at(of.g, of.program, "f32[1,2,12,6]");
    close_graph(&of);
}

static void test_bounds_are_given_later(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = parse("x = var f32[?n,3]\nc = concatenate(x, x)\noutput c\n");
    optune *o = tuning_open("sized");
    optune_partition *partition = NULL;
    optune_result *result = NULL;
    check_ok(optune_partition_open(o, g, &partition, &err));
    assert_int_equal(optune_partition_execute(partition, 1, &result, &err), OPTUNE_ETYPE);
    check_contains(err.text, "without a bound");
    optune_partition_close(partition);
    check_ok(optune_graph_bound(g, "n", 2, 9, &err));
    assert_int_equal(optune_graph_bound(g, "m", 2, 9, &err), OPTUNE_ENOENT);
    assert_int_equal(optune_graph_bound(g, "n", 12, 19, &err), OPTUNE_ETYPE);
    check_ok(optune_graph_infer(g, &err));
    assert_non_null(strstr(optune_graph_text(g, true), "c : f32[?2*n:4..18,3]"));
    check_ok(optune_partition_open(o, g, &partition, &err));
    assert_int_equal(optune_partition_execute(partition, 1, &result, &err), OPTUNE_OK);
    assert_non_null(strstr(optune_result_text(result), "of f32[?n:2..9,3]"));
    optune_result_free(result);
    optune_partition_close(partition);
    optune_graph_close(g);
    optune_close(o);
}

/* ---- dispatch tables ---------------------------------------------------------------------- */

static const char layers[] = "x = var f32[?n:1..20,24]\n"
                             "w = const f32[20,24]\n"
                             "y = dense(x, w)\n"
                             "output softmax(y), dense(var f32[3,8], const f32[5,8])\n";
static const char joined[] = "x = var f32[?n:1..20,24]\n"
                             "y = dense(concatenate(x, x), const f32[20,24])\n"
                             "output y\n";

/* What a table says is what runs, at each size; so it is told; a stale one is as none. */
static void test_a_table_of_a_group(void **state)
{
    (void)state;
    static const char workload[] = "dense(f32[?n:1..20,24], const f32[20,24])";
    opened of = {.o = tuning_open("tables"), .g = parse(layers)};
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
            run_at(of.g, of.program, sizes);
            assert_string_equal(ot_program_kernel(of.program, i)->impl->name,
                                (turn ? 21 - n : n) <= 8 ? "dense_gemv.cpu" : "dense_gemm.cpu");
        }
    optune_program_close(of.program);
    char path[4096];
    ot_text text = {0};
    check_ok(
        ot_dispatch_path(of.o, &of.partition->groups.group[i].call, path, sizeof path, &err));
    check_ok(ot_read_file(path, &text, 1 << 20, &err));
    char *digest = strstr(text.s, "\"digest\": \"");
    digest[11] = digest[11] == '0' ? '1' : '0';
    check_ok(ot_write_file(path, text.s, text.n, &err));
    ot_text_release(&text);
    check_ok(optune_program_open(of.partition, &of.program, &err));
    assert_null(of.program->rows[i].table);
    run_at(of.g, of.program, "f32[5,24] f32[3,8]");
    close_graph(&of);
}

/* Dims that are computed of others have names of their own in a table. */
static void test_a_table_of_computed_dims(void **state)
{
    (void)state;
    opened of = {.o = tuning_open("tables"), .g = parse(joined)};
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
        run_at(of.g, of.program, sizes);
        assert_string_equal(ot_program_kernel(of.program, last)->impl->name,
                            2 * n <= 8 ? "dense_gemv.cpu" : "dense_gemm.cpu");
    }
    close_graph(&of);
}

/* A run of a graph makes them beside what it measures of constants; its next one measures
 * nothing. */
static void test_a_run_makes_tables(void **state)
{
    (void)state;
    opened of = {.o = tuning_open("run-tables"), .g = parse(layers)};
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
    run_at(of.g, of.program, "f32[1,24] f32[3,8]");
    run_at(of.g, of.program, "f32[20,24] f32[3,8]");
    run_at(of.g, of.program, "f32[13,24] f32[3,8]");
    close_graph(&of);
}

/* Behind the end of its time none is begun, and the run says so. */
static void test_tables_without_time(void **state)
{
    (void)state;
    opened of = {.o = tuning_open("no-time"), .g = parse(layers)};
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
    close_graph(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_of_a_group),
        cmocka_unit_test(test_a_table_of_computed_dims),
        cmocka_unit_test(test_a_run_makes_tables),
        cmocka_unit_test(test_tables_without_time),
        cmocka_unit_test(test_one_program_for_all_sizes),
        cmocka_unit_test(test_equal_by_expression),
        cmocka_unit_test(test_more_inputs_than_a_call_has),
        cmocka_unit_test(test_sizes_that_a_node_refuses),
        cmocka_unit_test(test_bounds_are_given_later),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
