/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is chosen untuned, over tests/data/plugin_untuned.c: who refuses its own fallback is passed
 * over and named, in answers and in runs, and a default that computes something else ends
 * `graph --execute` with 1 and the name of its group.
 */
#include "support/command.h"
#include "support/plugin.h"

#define SMALL "dense(f32[3,8], f32[4,8])"
#define PLUGIN "--plugin", plugin, "--threads", "1"
static char plugin[512];

static int build(void **state)
{
    if (command_setup(state) < 0)
        return -1;
    snprintf(plugin, sizeof plugin, "%s", command_path("untuned.so"));
    plugin_build("plugin_untuned.c", plugin);
    return 0;
}

static void the_next_by_plevel_is_chosen_and_a_warning_names_the_row(void **state)
{
    (void)state;
    outcome o = optune("select", SMALL, "--explain", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "dense_gemm.cpu  by plevel 10");
    check_contains(ot_text_str(&o.out), "passed over");
    check_contains(ot_text_str(&o.out), "planted: only 2");
    check_contains(ot_text_str(&o.err), "warning: untuned_refused.cpu (plevel 60)");
    check_contains(ot_text_str(&o.err), "planted: only 2");
    check_contains(ot_text_str(&o.err), "warning: untuned_foreign.cpu (plevel 50)");
    release(&o);
    o = optune("select", SMALL, "--json", PLUGIN);
    json_t *json = json_of(&o);
    assert_string_equal(text_at(json, "impl"), "dense_gemm.cpu");
    const json_t *warnings = json_object_get(json, "warnings");
    assert_int_equal(json_array_size(warnings), 2);
    check_contains(json_string_value(json_array_get(warnings, 0)), "untuned_refused.cpu");
    check_contains(
        text_at(json_array_get(json_object_get(json, "candidates"), 0), "fallback_refused"),
        "planted: only 2");
    json_decref(json);
    o = optune("select", SMALL);
    assert_int_equal(o.code, 0);
    assert_string_equal(ot_text_str(&o.err), "");
    release(&o);
}

/* Other configs of the same row are good ones, and it may win with them. */
static void it_is_tuned_all_the_same(void **state)
{
    (void)state;
    outcome o = optune("run", "dense", SMALL, "--impl", "untuned_refused.cpu", "--trials", "4",
                       "--time", "60", "--json", PLUGIN);
    check_contains(ot_text_str(&o.err), "untuned_refused.cpu refuses its own fallback config");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(json_integer_value(json_object_get(json, "new_trials")), 1);
    json_decref(json);
    o = optune("select", SMALL, "--json", PLUGIN);
    json = json_of(&o);
    assert_string_equal(text_at(json, "impl"), "untuned_refused.cpu");
    assert_int_equal(json_integer_value(json_object_get(json, "index")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "warnings")), 0);
    json_decref(json);
}

/* A row whose space is no space is left out, others run; a knob that no body reads is told. */
static void slips_of_spaces_are_told_and_end_no_run(void **state)
{
    (void)state;
    outcome o = optune("run", "dense", "dense(f32[3,9], f32[4,9])", "--impl",
                       "untuned_spaceless.cpu", "--impl", "untuned_foreign.cpu", "--trials",
                       "1", "--time", "60", "--json", PLUGIN);
    const char *told = ot_text_str(&o.err);
    check_contains(told, "untuned_spaceless.cpu is left out: config space of 'untuned_spac");
    check_contains(told, "knob 'step' is declared twice");
    check_contains(told, "knob 'step' of 'untuned_foreign.cpu' changes nothing that is built");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "new_trials")), 1);
    json_decref(json);
    o = optune("run", "dense", "dense(f32[3,9], f32[4,9])", "--impl", "untuned_spaceless.cpu",
               PLUGIN);
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.err), "no implementation to tune; ");
    check_contains(ot_text_str(&o.err), "; untuned_spaceless.cpu: config space of");
    release(&o);
}

static const char *write_graph(int n)
{
    optune_err err;
    char text[512];
    const char *path = command_path("graph.txt");
    snprintf(text, sizeof text,
             "x = var f32[3,8]\nfirst = dense(x, const f32[%d,8])\n"
             "second = dense(first, const f32[4,%d])\noutput second\n",
             n, n);
    check_ok(ot_write_file(path, text, strlen(text), &err));
    return path;
}

static void a_wrong_group_is_named(void **state)
{
    (void)state;
    const char *graph = write_graph(6);
    outcome o = optune("graph", graph, "--execute", PLUGIN);
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.out), "wrong: group 'first' by untuned_wrong.cpu");
    assert_null(strstr(ot_text_str(&o.out), "group 'second'"));
    check_contains(ot_text_str(&o.err), "not within its error bound");
    release(&o);
    o = optune("graph", graph, "--execute", "--json", PLUGIN);
    assert_int_equal(o.code, 1);
    json_t *json = json_loads(ot_text_str(&o.out), 0, NULL);
    const json_t *wrong = json_object_get(json, "wrong");
    assert_int_equal(json_array_size(wrong), 1);
    assert_string_equal(text_at(json_array_get(wrong, 0), "nodes"), "first");
    json_decref(json);
    release(&o);
    o = optune("graph", graph, "--execute");
    assert_int_equal(o.code, 0);
    assert_null(strstr(ot_text_str(&o.out), "wrong"));
    release(&o);
}

static void an_infinity_is_no_small_difference(void **state)
{
    (void)state;
    outcome o = optune("graph", write_graph(7), "--execute", PLUGIN);
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.out), "wrong: infinite or no number");
    check_contains(ot_text_str(&o.out), "wrong: group 'first' by untuned_wrong.cpu");
    assert_null(strstr(ot_text_str(&o.out), "off by inf"));
    release(&o);
    o = optune("graph", write_graph(7), "--execute", "--json", PLUGIN);
    assert_int_equal(o.code, 1);
    json_t *json = json_loads(ot_text_str(&o.out), 0, NULL);
    const json_t *output = json_array_get(json_object_get(json, "outputs"), 0);
    assert_true(json_is_null(json_object_get(output, "error")));
    json_decref(json);
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_by_plevel_is_chosen_and_a_warning_names_the_row),
        cmocka_unit_test(slips_of_spaces_are_told_and_end_no_run),
        cmocka_unit_test(it_is_tuned_all_the_same),
        cmocka_unit_test(a_wrong_group_is_named),
        cmocka_unit_test(an_infinity_is_no_small_difference),
    };
    return cmocka_run_group_tests(tests, build, command_teardown);
}
