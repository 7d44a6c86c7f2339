/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word on a graph, over tests/data/plugin_moody.c: what is best in a loop and ten times
 * as slow as another one in a graph is not what the graph is computed with. The moods are waits
 * that a busy machine makes longer for all, never shorter.
 */
#include "answer/graph.h"
#include "optune/graph.h"
#include "support/check.h"
#include "support/plugin.h"
#include "support/tuning.h"

static char plugin[1200];

static int build(void **state)
{
    tuning_setup(state);
    snprintf(plugin, sizeof plugin, "%s", tuning_path("moody.so"));
    plugin_build("plugin_moody.c", plugin);
    return 0;
}

typedef struct model {
    optune *o;
    optune_graph *graph;
    optune_partition *partition;
    const char *const *workloads;
} model;

static model open_model(const char *db, const char *policy)
{
    static const char text[] = "a = dense(var f32[2,16], const f32[12,16])\n"
                               "b = dense(a, const f32[8,12])\n"
                               "output b\n";
    optune_err err = {0};
    const char *const plugins[] = {plugin, NULL};
    model m = {
        .o = tuning_open_with(db, (optune_options){.plugins = plugins, .policy = policy})};
    check_ok(optune_graph_parse(text, "test", &m.graph, &err));
    check_ok(optune_partition_open(m.o, m.graph, &m.partition, &err));
    check_ok(optune_partition_workloads(m.partition, &m.workloads, &err));
    return m;
}

static void close_model(model *m)
{
    optune_partition_close(m->partition);
    optune_graph_close(m->graph);
    optune_close(m->o);
}

static json_t *run(const model *m)
{
    return tuning_run(
        m->o,
        (optune_run_options){.workloads = m->workloads, .graph = m->partition, .trials = 2},
        OPTUNE_OK);
}

/* One of each workload is the one that was chosen, and that counts. */
static int count_in_graph(const char *db, const char *policy)
{
    tuning_records all;
    int n = 0, chosen = 0;
    tuning_read(db, &all);
    for (int i = 0; i < all.n; i++) {
        const optune_record *r = &all.record[i];
        if (strcmp(r->policy, policy))
            continue;
        n++;
        chosen += !strcmp(r->counters ? r->counters : "", "chosen=1\n");
        assert_true(r->final && r->outcome == OPTUNE_OUTCOME_OK && r->n_samples >= 9);
        assert_true(r->low <= r->cost && r->cost <= r->high && r->low >= 4e-4);
    }
    ot_arena_release(&all.arena);
    assert_int_equal(chosen, 2);
    return n;
}

static void what_is_best_in_the_graph_is_chosen_for_it(void **state)
{
    (void)state;
    optune_err err = {0};
    model m = open_model("moody", NULL);
    json_t *json = run(&m);
    const json_t *graph = json_object_get(json, "graph");
    assert_int_equal(tuning_int(graph, "workloads"), 2);
    assert_true(json_is_true(json_object_get(graph, "kept")));
    json_decref(json);
    check_ok(optune_partition_select(m.partition, &err));
    for (int i = 0; i < 2; i++) {
        optune_selection *s = optune_partition_selection(m.partition, i);
        assert_string_equal(optune_selection_impl(s), "steady.cpu");
        assert_string_equal(optune_selection_tier(s), "tuned");
        assert_true(optune_selection_cost(s) >= 6e-4);
    }
    const int n = count_in_graph("moody", m.partition->in_graph);
    assert_true(n >= 2);
    close_model(&m);

    /* Another process knows it, by the graph itself; and there is nothing new to measure. */
    m = open_model("moody", NULL);
    json = run(&m);
    assert_true(json_is_null(json_object_get(json, "graph")));
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    json_decref(json);
    assert_int_equal(count_in_graph("moody", m.partition->in_graph), n);
    optune_result *result = NULL;
    check_ok(optune_partition_execute(m.partition, 1, &result, &err));
    assert_string_equal(optune_selection_impl(optune_partition_selection(m.partition, 0)),
                        "steady.cpu");
    optune_result_free(result);
    close_model(&m);
}

static void one_graph_says_nothing_of_another(void **state)
{
    (void)state;
    optune_err err = {0};
    model m = open_model("moody", NULL);
    optune_graph *renamed = NULL, *other = NULL;
    optune_partition *p = NULL;
    check_ok(optune_graph_parse("x = var f32[2,16]\nfirst = dense(x, const f32[12,16])\n"
                                "output dense(first, const f32[8,12])\n",
                                "test", &renamed, &err));
    check_ok(optune_partition_open(m.o, renamed, &p, &err));
    assert_string_equal(p->in_graph, m.partition->in_graph);
    optune_partition_close(p);
    optune_graph_close(renamed);
    check_ok(optune_graph_parse("x = var f32[2,16]\na = dense(x, const f32[12,16])\n"
                                "b = dense(var f32[2,12], const f32[8,12])\noutput a, b\n",
                                "test", &other, &err));
    check_ok(optune_partition_open(m.o, other, &p, &err));
    assert_string_not_equal(p->in_graph, m.partition->in_graph);
    optune_partition_close(p);
    optune_graph_close(other);
    close_model(&m);
}

static void a_policy_of_a_graph_is_asked_about_only(void **state)
{
    (void)state;
    optune_err err = {0};
    model m = open_model("policies", NULL);
    optune_result *result = NULL;
    const optune_run_options how = {
        .size = sizeof how, .workloads = m.workloads, .policy = m.partition->in_graph};
    assert_int_equal(optune_run(m.o, &how, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, m.partition->in_graph);
    check_contains(err.text, "not measured under");
    close_model(&m);
    m = open_model("policies", "cold"); /* what was asked for is measured, and nothing else */
    json_t *json = run(&m);
    assert_true(json_is_null(json_object_get(json, "graph")));
    json_decref(json);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_best_in_the_graph_is_chosen_for_it),
        cmocka_unit_test(one_graph_says_nothing_of_another),
        cmocka_unit_test(a_policy_of_a_graph_is_asked_about_only),
    };
    return cmocka_run_group_tests(tests, build, tuning_teardown);
}
