/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that writes 3,14 uses the library: numbers are read, printed, compiled and answered
 * as everywhere. The locale is made for this test; where that cannot be done, it is skipped.
 */
#include <locale.h>
#include <math.h>

#include "optune/graph.h"
#include "support/check.h"
#include "support/command.h"
#include "support/tuning.h"

static bool commas;

static int enter(void **state)
{
    if (tuning_setup(state) < 0)
        return -1;
    char folder[1024], path[1100], inputs[] = "de_DE";
    optune_err err = {0};
    ot_text said = {0};
    check_ok(ot_temp_dir(folder, sizeof folder, &err));
    snprintf(path, sizeof path, "%s/de_DE.UTF-8", folder);
    char *const argv[] = {"localedef", "-i", inputs, "-f", "UTF-8", path, NULL};
    ot_run_program(argv, 60, &said, NULL); /* warns, and then says so by its status */
    ot_text_release(&said);
    setenv("LOCPATH", folder, 1);
    commas = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    ot_remove_tree(folder);
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    commas = commas && !strcmp(text, "1,5");
    if (!commas)
        print_message("skipped: no locale with a comma can be made here\n");
    return 0;
}

static void read_and_printed(void **state)
{
    (void)state;
    if (!commas)
        skip();
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse("c = const f32[2] {1,5}\nd = const f64[3] {1.5, -2.5e-3,.25}\n"
                                "output c, clip(d, a_min=-0.5, a_max=1.25)\n",
                                "test", &graph, &err));
    check_contains(optune_graph_text(graph, false), "c = const f32[2] {1, 5}");
    check_contains(optune_graph_text(graph, false), "{1.5, -0.0025000000000000001, 0.25}");
    check_contains(optune_graph_text(graph, false), "clip(d, a_min=-0.5, a_max=1.25)");
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(graph, NULL, NULL, &values, &err));
    assert_true(((const float *)optune_values_data(values, 0))[1] == 5);
    assert_true(((const double *)optune_values_data(values, 1))[0] == 1.25);
    optune_values_free(values);
    optune_graph_close(graph);
    optune_config config;
    ot_text text = {0};
    check_ok(ot_config_parse("[[\"f\",\"ot\",1.5e-3]]", &config, &err));
    ot_config_print(&config, &text);
    assert_string_equal(ot_text_str(&text), "[[\"f\",\"ot\",0.0015]]");
    ot_text_release(&text);
    check_contains(setlocale(LC_ALL, NULL), "de_DE");
}

/* Numbers in the source of kernels. */
static void compiled(void **state)
{
    (void)state;
    if (!commas)
        skip();
    optune *o = tuning_open("commas");
    optune_err err = {0};
    optune_call call;
    optune_function *function = NULL;
    const float in[5] = {-3, -0.5f, 0.1f, 0.8f, 9};
    const float want[5] = {-1.25f, -0.5f, 0.1f, 0.75f, 0.75f};
    float out[5];
    check_ok(optune_call_read(&call, "clip(f32[5], a_min=-1.25, a_max=0.75)", &err));
    check_ok(optune_function_open(o, &call, NULL, &function, &err));
    check_ok(
        optune_function_run(function, (const void *const[]){in}, (void *const[]){out}, &err));
    assert_memory_equal(out, want, sizeof want);
    optune_function_close(function);
    optune_close(o);
}

/* What was measured is stored, found and told with points. */
static void measured(void **state)
{
    (void)state;
    if (!commas)
        skip();
    optune *o = tuning_open("commas");
    optune_err err = {0};
    optune_result *result = NULL;
    const char *const workloads[] = {"clip(f32[4096], a_min=-1.25, a_max=0.75)", NULL};
    const optune_run_options run = {
        .size = sizeof run, .workloads = workloads, .trials = 2, .seconds = 60};
    check_ok(optune_run(o, &run, &result, &err));
    optune_result_free(result);
    optune_found *found = NULL;
    check_ok(optune_query(o, workloads[0], &found, &err));
    check_ok(optune_found_json(found, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    assert_non_null(json);
    const double cost = json_real_value(json_object_get(json, "cost"));
    assert_true(cost > 0 && cost < 1);
    check_contains(found->record.call, "a_min=-1.25, a_max=0.75");
    assert_null(strstr(optune_result_json(result), "1,25"));
    optune_found_free(found);
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_and_printed),
        cmocka_unit_test(compiled),
        cmocka_unit_test(measured),
    };
    return cmocka_run_group_tests(tests, enter, tuning_teardown);
}
