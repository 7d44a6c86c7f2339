/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs on this machine: groups and their distinct workloads, selection for each, a run that
 * tunes each distinct workload once, and what is said when that cannot be.
 */
#include "support/tuning.h"

#include <math.h>

#include "optune/graph.h"
#include "support/check.h"

static const char two_ops[] = "x = var f32[16,64]\n"
                              "w = const f32[64,64]\n"
                              "a = dense(x, w)\n"
                              "b = dense(a, const f32[64,64])\n"
                              "p = batch_matmul(var f32[2,8,16], var f32[2,8,16])\n"
                              "output b, p\n";

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse(text, "test", &graph, &err));
    return graph;
}

static void test_workloads(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("workloads");
    optune_graph *graph = parse(two_ops);
    optune_partition *p = NULL;
    check_ok(optune_partition_open(o, graph, &p, &err));
    assert_int_equal(optune_partition_size(p), 3);
    const char *const *workloads;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    assert_string_equal(workloads[0], "dense(f32[16,64], const f32[64,64])");
    assert_string_equal(workloads[1], "batch_matmul(f32[2,8,16], f32[2,8,16])");
    assert_null(workloads[2]);
    assert_string_equal(optune_partition_nodes(p, 1), "b");
    assert_string_equal(optune_partition_workload(p, 1), workloads[0]);
    optune_partition_close(p);
    optune_graph_close(graph);

    graph = parse("x = var f32[?m,64]\ny = dense(x, const f32[8,64])\noutput y\n");
    check_ok(optune_partition_open(o, graph, &p, &err));
    assert_int_equal(optune_partition_workloads(p, &workloads, &err), OPTUNE_ETYPE);
    check_contains(err.text, "test:2:5: node 'y'");
    check_contains(err.text, "--bind");
    optune_partition_close(p);
    optune_graph_close(graph);
    optune_close(o);
}

static void count_lines(void *arg, optune_log_level level, const char *text)
{
    (void)level;
    int *n = arg;
    n[0] += strstr(text, "based on highest priority") != NULL;
    n[1] += strstr(text, "based on lowest cost") != NULL;
}

static void test_run_and_select(void **state)
{
    (void)state;
    optune_err err = {0};
    int lines[2] = {0};
    optune *o = tuning_open_with("run", (optune_options){.target = "cpu -threads=1",
                                                         .log_level = OPTUNE_LOG_INFO,
                                                         .log = count_lines,
                                                         .log_arg = lines});
    optune_graph *graph = parse(two_ops);
    optune_partition *p = NULL;
    check_ok(optune_partition_open(o, graph, &p, &err));
    assert_null(optune_partition_selection(p, 0));
    check_ok(optune_partition_select(p, &err));
    for (int i = 0; i < 3; i++)
        assert_string_equal(optune_selection_tier(optune_partition_selection(p, i)), "plevel");
    assert_int_equal(lines[0], 3); /* each operator, as Relay's debug logger says it */
    check_contains(optune_partition_text(p, false),
                   "3 operators in 3 groups, 2 distinct workloads; 0 of 3 measured");

    const char *const *workloads;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    json_t *run = tuning_run(o, (optune_run_options){.workloads = workloads, .trials = 4}, 0);
    assert_true(json_is_null(json_object_get(run, "op")));
    assert_int_equal(json_array_size(json_object_get(run, "workloads")), 2);
    assert_int_equal(tuning_int(run, "new_trials"), 8);
    json_decref(run);

    check_ok(optune_partition_select(p, &err));
    for (int i = 0; i < 3; i++)
        assert_string_equal(optune_selection_tier(optune_partition_selection(p, i)), "tuned");
    assert_int_equal(lines[1], 3);
    check_contains(optune_partition_text(p, false), "2 distinct workloads; together ");
    const char *explained = optune_partition_text(p, true);
    check_contains(explained, "a, b:\ndense(f32[16,64], const f32[64,64])");
    json_t *json = tuning_parse(optune_partition_json(p));
    assert_int_equal(json_array_size(json_object_get(json, "groups")), 3);
    assert_int_equal(json_array_size(json_object_get(json, "workloads")), 2);
    const json_t *first = json_array_get(json_object_get(json, "groups"), 0);
    assert_string_equal(tuning_text(first, "workload"), workloads[0]);
    assert_string_equal(tuning_text(json_object_get(first, "selection"), "tier"), "tuned");
    json_decref(json);
    optune_partition_close(p);
    optune_graph_close(graph);
    optune_close(o);
}

/* A model is measured as it is used, and falls back to what was measured warm. */
static void test_policy_of_a_model(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("model");
    optune_partition *p = NULL;
    optune_graph *graph = parse(two_ops);
    check_ok(optune_partition_open(o, graph, &p, &err));
    assert_string_equal(optune_partition_policy(p), "warm"); /* it fits into any cache */
    optune_partition_close(p);
    optune_graph_close(graph);
    graph = parse("a = dense(var f32[4,512], const f32[512,512])\n"
                  "b = dense(a, const f32[512,512])\n"
                  "output b\n");
    check_ok(optune_partition_open(o, graph, &p, &err));
    assert_string_equal(optune_partition_policy(p), "model-2M");
    const char *const *workloads;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    const char *const impls[] = {"dense_nopack.x86", "dense_pack.x86", NULL};
    optune_run_options how = {.workloads = workloads, .impls = impls, .trials = 2};
    for (int i = 0; i < 2; i++) {
        how.policy = i ? optune_partition_policy(p) : NULL;
        json_t *run = tuning_run(o, how, 0);
        assert_int_equal(tuning_int(run, "new_trials"), 2);
        json_decref(run);
        check_ok(optune_partition_select(p, &err));
        json_t *json = tuning_parse(optune_partition_json(p));
        const json_t *first = json_array_get(json_object_get(json, "groups"), 0);
        assert_string_equal(tuning_text(json_object_get(first, "selection"), "tier"), "tuned");
        json_decref(json);
    }
    int n[2] = {0};
    tuning_records all;
    tuning_read("model", &all);
    for (int i = 0; i < all.n; i++)
        n[!strcmp(all.record[i].policy, "model-2M")] +=
            all.record[i].outcome == OPTUNE_OUTCOME_OK && !all.record[i].final;
    assert_int_equal(n[0], 2);
    assert_int_equal(n[1], 2);
    ot_arena_release(&all.arena);
    optune_selection *by_model = NULL, *warm = NULL;
    check_ok(optune_select(o, workloads[0], &warm, &err));
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(workloads[0], call, &err));
    check_ok(ot_selection_of(o, call, (const char *const[]){"model-2M", NULL}, &by_model, &err));
    assert_true(optune_selection_cost(warm) != optune_selection_cost(by_model));
    assert_true(optune_selection_cost(optune_partition_selection(p, 0)) ==
                optune_selection_cost(by_model));
    free(call);
    optune_selection_free(warm);
    optune_selection_free(by_model);
    how.policy = "tepid";
    how.size = sizeof how;
    optune_result *result = NULL;
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "no measuring policy 'tepid'");
    optune_partition_close(p);
    optune_graph_close(graph);
    optune_close(o);
}

static void test_words(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("words");
    optune_result *result = NULL;
    optune_run_options how = {.size = sizeof how};
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_EUSAGE);
    how.workloads = (const char *const[]){"dense(f32[4,4], f32[4,4])", NULL};
    how.impls = (const char *const[]){"conv2d_1x1.cpu", NULL};
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_ENOENT);
    assert_null(result);
    how.trials = -5;
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "trials is -5");
    how.trials = 0;
    how.seconds = NAN;
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "seconds is no number");
    assert_null(result);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_run_and_select),
        cmocka_unit_test(test_policy_of_a_model),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
