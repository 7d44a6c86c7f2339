/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts over a graph, over tests/data/plugin_layouts.c: where convolutions are four times as fast
 * in blocks the graph is laid out so, and the next one who opens it gets it so; where they are
 * slower it stays as it is. The times are waits that a busy machine makes longer for all alike.
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
    snprintf(plugin, sizeof plugin, "%s", tuning_path("layouts.so"));
    plugin_build("plugin_layouts.c", plugin);
    return 0;
}

typedef struct model {
    optune *o;
    optune_graph *graph;
    optune_partition *partition;
} model;

static model open_model(const char *db, int channels)
{
    optune_err err = {0};
    const char *const plugins[] = {plugin, NULL};
    model m = {.o = tuning_open_with(db, (optune_options){.plugins = plugins})};
    ot_text text = {0};
    ot_text_printf(&text,
                   "a = conv2d(var f32[1,%d,6,6], const f32[%d,%d,1,1])\n"
                   "output conv2d(a, const f32[%d,%d,1,1])\n",
                   channels, channels, channels, channels, channels);
    check_ok(optune_graph_parse(ot_text_str(&text), "test", &m.graph, &err));
    check_ok(optune_partition_open(m.o, m.graph, &m.partition, &err));
    ot_text_release(&text);
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
    optune_err err = {0};
    const char *const *workloads;
    check_ok(optune_partition_workloads(m->partition, &workloads, &err));
    return tuning_run(
        m->o, (optune_run_options){.workloads = workloads, .graph = m->partition, .trials = 1},
        OPTUNE_OK);
}

static json_t *report_of(const model *m)
{
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_report_options options = {.size = sizeof options, .partition = m->partition};
    check_ok(optune_report(m->o, &options, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    assert_non_null(json);
    optune_result_free(result);
    return json;
}

static void blocks_are_used_where_they_are_faster(void **state)
{
    (void)state;
    optune_err err = {0};
    model m = open_model("faster", 16);
    assert_null(m.partition->relaid.graph);
    json_t *json = run(&m);
    const json_t *layouts = json_object_get(json, "layouts");
    assert_true(json_is_true(json_object_get(layouts, "kept")));
    assert_int_equal(tuning_int(layouts, "groups"), 2);
    assert_int_equal(tuning_int(layouts, "in_blocks"), 2);
    assert_int_equal(tuning_int(layouts, "transforms"), 2); /* in and out, none in between */
    const double plain = json_real_value(json_object_get(layouts, "plain"));
    assert_true(plain >= 8e-3);
    assert_true(json_real_value(json_object_get(layouts, "blocked")) < 0.75 * plain);
    assert_int_equal(json_array_size(json_object_get(json, "workloads")), 1); /* the graph's */
    json_decref(json);
    close_model(&m);

    m = open_model("faster", 16);
    assert_non_null(m.partition->relaid.graph);
    check_ok(optune_partition_select(m.partition, &err));
    check_contains(optune_partition_text(m.partition, false), "layouts: 2 of 2 groups in NCHW");
    json_t *report = report_of(&m);
    layouts = json_object_get(json_object_get(report, "graph"), "layouts");
    assert_true(json_is_true(json_object_get(layouts, "kept")));
    assert_int_equal(tuning_int(layouts, "in_blocks"), 2);
    json_decref(report);
    optune_result *result = NULL;
    assert_int_equal(optune_partition_execute(m.partition, 1, &result, &err), OPTUNE_OK);
    optune_result_free(result);
    json = run(&m); /* goes on with the graph in blocks, and stays with it */
    assert_true(json_is_true(json_object_get(json_object_get(json, "layouts"), "kept")));
    json_decref(json);
    close_model(&m);
}

static void they_are_not_where_they_are_slower(void **state)
{
    (void)state;
    model m = open_model("slower", 24);
    json_t *json = run(&m);
    const json_t *layouts = json_object_get(json, "layouts");
    assert_false(json_is_true(json_object_get(layouts, "kept")));
    json_decref(json);
    close_model(&m);
    m = open_model("slower", 24);
    assert_null(m.partition->relaid.graph);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_used_where_they_are_faster),
        cmocka_unit_test(they_are_not_where_they_are_slower),
    };
    return cmocka_run_group_tests(tests, build, tuning_teardown);
}
