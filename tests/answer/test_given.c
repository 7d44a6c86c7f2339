/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may hand to the library by mistake: NULL where a text, a handle or a place for a
 * result is expected, numbers of nodes that there are not, negative counts, structs of garbage.
 * Every public function is here; one that is added to the headers and not to this file fails.
 */
#include <ctype.h>
#include <math.h>

#include "optune/graph.h"
#include "optune/optune.h"
#include "support/check.h"
#include "support/command.h"

enum { MOST = 256 };

static const char *met[MOST];
static int n_met;

static void meet(const char *function)
{
    for (int i = 0; i < n_met; i++)
        if (!strcmp(met[i], function))
            return;
    assert_true(n_met < MOST);
    met[n_met++] = function;
}

/* Fails with EUSAGE, a message, and the same without a place for one. */
#define REFUSED(function, ...)                                                                 \
    do {                                                                                       \
        optune_err said = {0};                                                                 \
        meet(#function);                                                                       \
        const int got = function(__VA_ARGS__, &said);                                          \
        if (got != OPTUNE_EUSAGE || said.status != got || !*said.text)                         \
            fail_msg("%s(%s): %d, '%s'", #function, #__VA_ARGS__, got, said.text);             \
        assert_int_equal(function(__VA_ARGS__, NULL), OPTUNE_EUSAGE);                          \
    } while (0)
/* Any failure with a message. */
#define FAILS(function, ...)                                                                   \
    do {                                                                                       \
        optune_err said = {0};                                                                 \
        meet(#function);                                                                       \
        const int got = function(__VA_ARGS__, &said);                                          \
        if (got >= 0 || said.status != got || !*said.text)                                     \
            fail_msg("%s(%s): %d, '%s'", #function, #__VA_ARGS__, got, said.text);             \
    } while (0)
#define GIVES(want, function, ...)                                                             \
    do {                                                                                       \
        meet(#function);                                                                       \
        assert_true(function(__VA_ARGS__) == (want));                                          \
    } while (0)
#define NOTHING(function, ...)                                                                 \
    do {                                                                                       \
        meet(#function);                                                                       \
        function(__VA_ARGS__);                                                                 \
    } while (0)

static optune *open_handle(void)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {.size = sizeof options, .db = command_path("given")};
    check_ok(optune_open(&options, &o, &err));
    return o;
}

static void calls(void **state)
{
    (void)state;
    optune_call call, garbage, *const none = NULL;
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE];
    const int64_t one = 1;
    optune_call zero = {0};
    memset(&garbage, 0x5a, sizeof garbage);
    REFUSED(optune_call_start, none, "relu");
    REFUSED(optune_call_start, &call, NULL);
    check_ok(optune_call_start(&call, "conv2d", &err));
    garbage.op = call.op;
    optune_call *const bad[] = {none, &zero, &garbage};
    for (int i = 0; i < 3; i++) {
        REFUSED(optune_call_add_input, bad[i], "f32[4]");
        REFUSED(optune_call_set, bad[i], "groups", "1");
        REFUSED(optune_call_set_int, bad[i], "groups", 1);
        REFUSED(optune_call_set_float, bad[i], "groups", 1);
        REFUSED(optune_call_set_ints, bad[i], "strides", 1, &one);
        REFUSED(optune_call_settle, bad[i]);
        REFUSED(optune_call_write, bad[i], text, sizeof text);
    }
    REFUSED(optune_call_add_input, &call, NULL);
    REFUSED(optune_call_set, &call, NULL, "1");
    REFUSED(optune_call_set, &call, "groups", NULL);
    REFUSED(optune_call_set_int, &call, NULL, 1);
    REFUSED(optune_call_set_float, &call, NULL, 1);
    REFUSED(optune_call_set_ints, &call, NULL, 1, &one);
    REFUSED(optune_call_set_ints, &call, "strides", 1, NULL);
    FAILS(optune_call_set_ints, &call, "strides", -1, &one);
    FAILS(optune_call_set_ints, &call, "strides", 1 << 30, &one);
    FAILS(optune_call_set_ints, &call, "strides", 0, NULL);
    REFUSED(optune_call_read, none, "relu(f32[4])");
    REFUSED(optune_call_read, &call, NULL);
    check_ok(optune_call_read(&call, "relu(f32[4])", &err));
    optune_call *opened = &call;
    optune_result *told = NULL;
    REFUSED(optune_call_open, NULL, &opened);
    REFUSED(optune_call_open, "relu(f32[4])", NULL);
    FAILS(optune_call_open, "relu(f32[", &opened);
    assert_null(opened);
    NOTHING(optune_call_close, NULL);
    REFUSED(optune_call_describe, NULL, &told);
    REFUSED(optune_call_describe, &garbage, &told);
    REFUSED(optune_call_describe, &call, NULL);
    REFUSED(optune_call_write, &call, NULL, 10);
    FAILS(optune_call_write, &call, text, 0);
    FAILS(optune_call_write, &call, text, 3);
    call.input[0].type.dim[0].max = call.input[0].type.dim[0].min = -4;
    REFUSED(optune_call_write, &call, text, sizeof text);
}

static void graphs(void **state)
{
    (void)state;
    optune_graph *g = NULL, *other = NULL, *const none = NULL;
    optune_err err = {0};
    optune_values *values = NULL;
    optune_call call;
    const int id[] = {0};
    REFUSED(optune_graph_open, NULL);
    REFUSED(optune_graph_read, NULL, &g);
    REFUSED(optune_graph_read, "x", NULL);
    REFUSED(optune_graph_read_bound, NULL, NULL, 0, &g);
    REFUSED(optune_graph_read_bound, "x", NULL, 0, NULL);
    REFUSED(optune_graph_read_bound, "x", NULL, 1, &g);
    REFUSED(optune_graph_read_partial, NULL, NULL, 0, &g);
    REFUSED(optune_graph_read_partial, "x", NULL, 0, NULL);
    REFUSED(optune_graph_parse, NULL, "name", &g);
    REFUSED(optune_graph_parse, "x", NULL, NULL);
    check_ok(optune_graph_open(&g, &err));
    FAILS(optune_graph_parse, "x", NULL, &other);
    assert_null(other);
    FAILS(optune_graph_parse, "", "", &other);
    FAILS(optune_graph_read, "", &other);
    REFUSED(optune_graph_variable, none, "x", "f32[4]");
    REFUSED(optune_graph_variable, g, "x", NULL);
    REFUSED(optune_graph_constant, none, "x", "f32[4]", NULL);
    REFUSED(optune_graph_constant, g, "x", NULL, NULL);
    assert_int_equal(optune_graph_variable(g, NULL, "f32[4]", &err), 0);
    REFUSED(optune_graph_call, none, NULL, "relu", id, 1, NULL);
    REFUSED(optune_graph_call, g, NULL, NULL, id, 1, NULL);
    REFUSED(optune_graph_call, g, NULL, "relu", NULL, 1, NULL);
    REFUSED(optune_graph_call, g, NULL, "relu", id, -1, NULL);
    FAILS(optune_graph_call, g, NULL, "relu", NULL, 0, NULL);
    FAILS(optune_graph_call, g, NULL, "relu", (const int[]){7}, 1, NULL);
    FAILS(optune_graph_call, g, NULL, "relu", (const int[]){-7}, 1, NULL);
    check_ok(optune_call_start(&call, "relu", &err));
    REFUSED(optune_graph_call_like, none, NULL, &call, id, 1);
    REFUSED(optune_graph_call_like, g, NULL, NULL, id, 1);
    REFUSED(optune_graph_call_like, g, NULL, &call, NULL, 1);
    REFUSED(optune_graph_tuple, none, NULL, id, 1);
    REFUSED(optune_graph_tuple, g, NULL, NULL, 1);
    FAILS(optune_graph_tuple, g, NULL, id, -1);
    FAILS(optune_graph_tuple, g, NULL, id, 0);
    REFUSED(optune_graph_get, none, NULL, 0, 0);
    REFUSED(optune_graph_get, g, NULL, 9, 0);
    REFUSED(optune_graph_output, none, 0);
    REFUSED(optune_graph_output, g, -1);
    REFUSED(optune_graph_annotate, none, 0, "f32[4]");
    REFUSED(optune_graph_annotate, g, 0, NULL);
    REFUSED(optune_graph_annotate, g, 4, "f32[4]");
    REFUSED(optune_graph_infer, none);
    REFUSED(optune_graph_bind, none, "m", 1);
    REFUSED(optune_graph_bind, g, NULL, 1);
    FAILS(optune_graph_bind, g, "m", INT64_MAX);
    FAILS(optune_graph_bind, g, "m", INT64_MIN);
    REFUSED(optune_graph_bound, none, "m", 1, 2);
    REFUSED(optune_graph_bound, g, NULL, 1, 2);
    FAILS(optune_graph_bound, g, "m", INT64_MIN, 2);
    FAILS(optune_graph_bound, g, "m", 1, INT64_MAX);
    FAILS(optune_graph_bound, g, "m", 2, 1);
    REFUSED(optune_graph_gradient, none, NULL, 0, &other);
    REFUSED(optune_graph_gradient, g, NULL, 0, NULL);
    REFUSED(optune_graph_gradient, g, id, -1, &other);
    REFUSED(optune_graph_gradient, g, (const int[]){99}, 1, &other);
    REFUSED(optune_graph_narrow, none, "bf16", &other);
    REFUSED(optune_graph_narrow, g, NULL, &other);
    REFUSED(optune_graph_narrow, g, "bf16", NULL);
    REFUSED(optune_graph_copy, none, false, &other);
    REFUSED(optune_graph_copy, g, false, NULL);
    REFUSED(optune_graph_set_data, none, 0, NULL);
    REFUSED(optune_graph_set_data, g, 9, NULL);
    REFUSED(optune_graph_fill, none, 1);
    REFUSED(optune_graph_evaluate, none, NULL, NULL, &values);
    REFUSED(optune_graph_evaluate, g, NULL, NULL, NULL);
    REFUSED(optune_graph_evaluate, g, NULL, NULL, &values);
    assert_null(values);
    GIVES(0, optune_graph_size, none);
    GIVES(0, optune_graph_inputs, none);
    GIVES(0, optune_graph_outputs, none);
    GIVES(-1, optune_graph_find, none, "x");
    GIVES(-1, optune_graph_find, g, NULL);
    GIVES(-1, optune_graph_input_node, none, 0);
    GIVES(-1, optune_graph_input_node, g, -1);
    GIVES(-1, optune_graph_input_node, g, 1);
    const optune_graph *const both[] = {none, g};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const int node = k ? INT32_MAX : INT32_MIN;
            GIVES(NULL, optune_graph_name, both[i], node);
            GIVES(NULL, optune_graph_type, both[i], node);
            GIVES(NULL, optune_graph_input_type, both[i], node);
            GIVES(NULL, optune_graph_output_type, both[i], node);
        }
    GIVES(NULL, optune_graph_left_out, none);
    GIVES(NULL, optune_graph_text, none, true);
    GIVES(NULL, optune_graph_json, none);
    GIVES(NULL, optune_values_type, NULL, 0);
    GIVES(NULL, optune_values_data, NULL, 0);
    NOTHING(optune_values_free, NULL);
    NOTHING(optune_graph_close, NULL);
    optune_graph_close(g);
}

static void handles(void **state)
{
    (void)state;
    optune *o = NULL, *const none = NULL;
    optune_result *result = NULL;
    optune_selection *selection = NULL;
    optune_dispatch *dispatch = NULL;
    optune_call call, zero = {0};
    optune_err err = {0};
    const optune_run_options run = {.size = sizeof run};
    const optune_dispatch_options how = {.size = sizeof how};
    REFUSED(optune_open, NULL, NULL);
    FAILS(optune_open, (&(const optune_options){.size = 3}), &o);
    FAILS(optune_open, (&(const optune_options){.size = sizeof(optune_options), .target = ""}),
          &o);
    assert_null(o);
    o = open_handle();
    check_ok(optune_call_read(&call, "relu(f32[4])", &err));
    REFUSED(optune_run, none, &run, &result);
    REFUSED(optune_run, o, NULL, &result);
    REFUSED(optune_run, o, &run, NULL);
    const optune_verify_options verify = {.size = sizeof verify};
    REFUSED(optune_verify, none, &verify, &result);
    REFUSED(optune_verify, o, NULL, &result);
    REFUSED(optune_verify, o, &verify, NULL);
    REFUSED(optune_dispatch_tune, none, &how, &result);
    REFUSED(optune_dispatch_tune, o, NULL, &result);
    REFUSED(optune_dispatch_tune, o, &how, NULL);
    REFUSED(optune_dispatch_tune, o, &how, &result);
    optune_result *searches = NULL;
    check_ok(optune_list(o, "searches", NULL, &searches, &err));
    REFUSED(optune_result_table, NULL, "csv", &result);
    REFUSED(optune_result_table, searches, NULL, &result);
    REFUSED(optune_result_table, searches, "csv", NULL);
    optune_run_row row = {.size = sizeof row};
    optune_run_total total = {.size = sizeof total};
    REFUSED(optune_result_row, NULL, 0, &row);
    REFUSED(optune_result_row, searches, 0, NULL);
    GIVES(1, optune_result_row, searches, 0, &row, NULL);
    REFUSED(optune_result_total, NULL, &total);
    REFUSED(optune_result_total, searches, NULL);
    GIVES(1, optune_result_total, searches, &total, NULL);
    optune_result_free(searches);
    const optune_report_options report = {.size = sizeof report, .op = "relu"};
    REFUSED(optune_report, none, &report, &result);
    REFUSED(optune_report, o, NULL, &result);
    REFUSED(optune_report, o, &report, NULL);
    REFUSED(optune_report_write, NULL, "page.html", NULL);
    REFUSED(optune_report_write, "{}", NULL, NULL);
    optune_found *found = NULL;
    const optune_config config = {0};
    char text[8];
    REFUSED(optune_query, none, "relu(f32[4])", &found);
    REFUSED(optune_query, o, NULL, &found);
    REFUSED(optune_query, o, "relu(f32[4])", NULL);
    FAILS(optune_query, o, "relu(f32[4])", &found);
    assert_null(found);
    REFUSED(optune_found_json, NULL, &result);
    REFUSED(optune_config_write, NULL, text, sizeof text);
    REFUSED(optune_config_write, &config, NULL, sizeof text);
    REFUSED(optune_select, none, "relu(f32[4])", &selection);
    REFUSED(optune_select, o, NULL, &selection);
    REFUSED(optune_select, o, "relu(f32[4])", NULL);
    REFUSED(optune_select_call, none, &call, &selection);
    REFUSED(optune_select_call, o, NULL, &selection);
    REFUSED(optune_select_call, o, &zero, &selection);
    REFUSED(optune_select_call, o, &call, NULL);
    REFUSED(optune_dispatch_open, none, "x", &dispatch);
    REFUSED(optune_dispatch_open, o, NULL, &dispatch);
    REFUSED(optune_dispatch_open, o, "x", NULL);
    REFUSED(optune_emit, none, "relu(f32[4])", "/tmp", &result);
    REFUSED(optune_emit, o, NULL, "/tmp", &result);
    REFUSED(optune_emit, o, "relu(f32[4])", NULL, &result);
    REFUSED(optune_emit, o, "relu(f32[4])", "/tmp", NULL);
    REFUSED(optune_export, none, NULL, false, NULL, &result);
    REFUSED(optune_export, o, NULL, false, NULL, NULL);
    const optune_export_options exporting = {.size = sizeof exporting};
    REFUSED(optune_export_records, none, &exporting, &result);
    REFUSED(optune_export_records, o, NULL, &result);
    REFUSED(optune_export_records, o, &exporting, NULL);
    REFUSED(optune_list_tuned, none, &exporting, 0, &result);
    REFUSED(optune_list_tuned, o, NULL, 0, &result);
    REFUSED(optune_list_tuned, o, &exporting, 0, NULL);
    REFUSED(optune_query_tvm, none, "[]", &result);
    REFUSED(optune_query_tvm, o, NULL, &result);
    REFUSED(optune_query_tvm, o, "[]", NULL);
    FAILS(optune_query_tvm, o, "[", &result);
    FAILS(optune_query_tvm, o, "[]", &result);
    char path[64];
    const char *const no_words[] = {NULL}, *const word[] = {"true", NULL};
    optune_command command = {.size = sizeof command}, tiny = {.size = 1};
    REFUSED(optune_declare, NULL, NULL, path, sizeof path);
    REFUSED(optune_declare, NULL, &command, path, sizeof path);
    command.command = no_words;
    REFUSED(optune_declare, NULL, &command, path, sizeof path);
    command.command = word;
    REFUSED(optune_declare, NULL, &command, NULL, sizeof path);
    FAILS(optune_declare, NULL, &tiny, path, sizeof path);
    command.name = "no name";
    REFUSED(optune_declare, NULL, &command, path, sizeof path);
    optune_brought brought = {.size = sizeof brought}, small = {.size = 1};
    REFUSED(optune_bring, NULL, NULL, &brought);
    REFUSED(optune_bring, "x.c", NULL, NULL);
    REFUSED(optune_bring, "x.py", NULL, &brought);
    FAILS(optune_bring, "x.c", NULL, &small);
    FAILS(optune_bring, "/not/there.c", NULL, &brought);
    REFUSED(optune_remember, none, "x.c");
    REFUSED(optune_remember, o, NULL);
    REFUSED(optune_remember, o, "x.c");
    REFUSED(optune_best_config, none, "relu(f32[4])", "csv", &result);
    REFUSED(optune_best_config, o, NULL, "csv", &result);
    REFUSED(optune_best_config, o, "relu(f32[4])", NULL, &result);
    REFUSED(optune_best_config, o, "relu(f32[4])", "csv", NULL);
    FAILS(optune_best_config, o, "relu(f32[4])", "xml", &result);
    const optune_simulate_options nothing = {.size = sizeof nothing};
    REFUSED(optune_simulate, none, &nothing, &result);
    REFUSED(optune_simulate, o, NULL, &result);
    REFUSED(optune_simulate, o, &nothing, &result);
    const optune_database_options deed = {.size = sizeof deed, .what = "check"};
    REFUSED(optune_database, none, &deed, &result);
    REFUSED(optune_database, o, NULL, &result);
    REFUSED(optune_database, o, &deed, NULL);
    const optune_hub_options hub = {.size = sizeof hub, .what = "list"};
    const optune_hub_options no_deed = {.size = sizeof no_deed};
    REFUSED(optune_hub, none, &hub, &result);
    REFUSED(optune_hub, o, NULL, &result);
    REFUSED(optune_hub, o, &hub, NULL);
    REFUSED(optune_hub, o, &no_deed, &result);
    REFUSED(optune_import, none, "x", &result);
    REFUSED(optune_import, o, NULL, &result);
    REFUSED(optune_import, o, "x", NULL);
    optune_listed_op op = {.size = sizeof op};
    optune_listed_input input = {.size = sizeof input};
    optune_listed_attr attr = {.size = sizeof attr};
    optune_listed_preset preset = {.size = sizeof preset};
    optune_listed_impl impl = {.size = sizeof impl};
    optune_listed_strategy strategy = {.size = sizeof strategy};
    optune_listed_target target = {.size = sizeof target};
    optune_listed_search search = {.size = sizeof search};
    optune_listed_device device = {.size = sizeof device};
    optune_devices *devices = NULL;
    REFUSED(optune_list_op, none, NULL, 0, &op);
    REFUSED(optune_list_op, o, NULL, 0, NULL);
    FAILS(optune_list_op, o, "denes", 0, &op);
    REFUSED(optune_list_input, none, "dense", 0, &input);
    REFUSED(optune_list_input, o, NULL, 0, &input);
    REFUSED(optune_list_input, o, "dense", 0, NULL);
    REFUSED(optune_list_attr, none, "dense", 0, &attr);
    REFUSED(optune_list_attr, o, NULL, 0, &attr);
    REFUSED(optune_list_attr, o, "dense", 0, NULL);
    REFUSED(optune_list_preset, none, "dense", 0, &preset);
    REFUSED(optune_list_preset, o, NULL, 0, &preset);
    REFUSED(optune_list_preset, o, "dense", 0, NULL);
    REFUSED(optune_list_impl, none, NULL, 0, &impl);
    REFUSED(optune_list_impl, o, NULL, 0, NULL);
    REFUSED(optune_list_strategy, none, "x", 0, &strategy);
    REFUSED(optune_list_strategy, o, NULL, 0, &strategy);
    REFUSED(optune_list_strategy, o, "x", 0, NULL);
    FAILS(optune_list_strategy, o, "x", 0, &strategy);
    REFUSED(optune_list_target, none, 0, &target);
    REFUSED(optune_list_target, o, 0, NULL);
    REFUSED(optune_list_search, none, 0, &search);
    REFUSED(optune_list_search, o, 0, NULL);
    REFUSED(optune_devices_open, none, &devices);
    REFUSED(optune_devices_open, o, NULL);
    assert_null(devices);
    REFUSED(optune_list_device, NULL, 0, &device);
    NOTHING(optune_devices_close, NULL);
    GIVES(0, optune_call_flops, NULL);
    GIVES(0, optune_call_flops, &zero);
    GIVES(0, optune_call_bytes, NULL);
    GIVES(0, optune_call_bytes, &zero);
    const int outside[] = {-1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        GIVES(1, optune_list_op, o, NULL, outside[i], &op, NULL);
        GIVES(1, optune_list_input, o, "dense", outside[i], &input, NULL);
        GIVES(1, optune_list_attr, o, "dense", outside[i], &attr, NULL);
        GIVES(1, optune_list_preset, o, "dense", outside[i], &preset, NULL);
        GIVES(1, optune_list_impl, o, NULL, outside[i], &impl, NULL);
        GIVES(1, optune_list_strategy, o, "dense_loops.generic", outside[i], &strategy, NULL);
        GIVES(1, optune_list_target, o, outside[i], &target, NULL);
        GIVES(1, optune_list_search, o, outside[i], &search, NULL);
    }
    REFUSED(optune_list, none, "ops", NULL, &result);
    REFUSED(optune_list, o, NULL, NULL, &result);
    REFUSED(optune_list, o, "ops", NULL, NULL);
    REFUSED(optune_list, o, "x", NULL, &result);
    assert_null(result);
    assert_null(selection);
    NOTHING(optune_interrupt, none);
    NOTHING(optune_close, none);
    NOTHING(optune_result_free, NULL);
    NOTHING(optune_selection_free, NULL);
    NOTHING(optune_found_free, NULL);
    NOTHING(optune_dispatch_close, NULL);
    meet("optune_version");
    assert_non_null(optune_version());
    GIVES(NULL, optune_result_text, NULL);
    GIVES(NULL, optune_result_json, NULL);
    GIVES(NULL, optune_selection_impl, NULL);
    GIVES(NULL, optune_selection_tier, NULL);
    GIVES(NULL, optune_selection_config, NULL);
    GIVES(INFINITY, optune_selection_cost, NULL);
    GIVES(NULL, optune_selection_text, NULL, true);
    GIVES(NULL, optune_selection_json, NULL);
    GIVES(-1, optune_dispatch_select, NULL, NULL);
    GIVES(0, optune_dispatch_dims, NULL);
    GIVES(0, optune_dispatch_rows, NULL);
    GIVES(NULL, optune_dispatch_dim, NULL, 0);
    GIVES(NULL, optune_dispatch_impl, NULL, 0);
    GIVES(NULL, optune_dispatch_config, NULL, 0);
    GIVES(NULL, optune_dispatch_text, NULL);
    GIVES(NULL, optune_dispatch_json, NULL);
    GIVES(NULL, optune_nearest, NULL, (const char *const[]){"a"}, 1);
    GIVES(NULL, optune_nearest, "word", NULL, 1);
    GIVES(NULL, optune_nearest, "word", (const char *const[]){"word"}, -1);
    GIVES(NULL, optune_nearest, "word", (const char *const[]){NULL}, 1);
    optune_close(o);
}

static void on_a_machine(void **state)
{
    (void)state;
    optune *o = open_handle(), *const none = NULL;
    optune_graph *g = NULL;
    optune_partition *p = NULL;
    optune_program *program = NULL;
    optune_function *function = NULL;
    optune_result *result = NULL;
    optune_call call, zero = {0};
    optune_err err = {0};
    const char *const *workloads = NULL;
    double time;
    int64_t dims[OPTUNE_MAX_RANK];
    check_ok(optune_graph_parse("x = var f32[4]\noutput relu(x)\n", NULL, &g, &err));
    check_ok(optune_call_read(&call, "relu(f32[4])", &err));
    REFUSED(optune_partition_open, none, g, &p);
    REFUSED(optune_partition_open, o, NULL, &p);
    REFUSED(optune_partition_open, o, g, NULL);
    REFUSED(optune_partition_workloads, NULL, &workloads);
    REFUSED(optune_partition_select, NULL);
    REFUSED(optune_partition_execute, NULL, 1, &result);
    REFUSED(optune_partition_profile, NULL, 1, &result);
    REFUSED(optune_partition_emit, NULL, "x", NULL, false, &result);
    REFUSED(optune_program_open, NULL, &program);
    REFUSED(optune_program_run, NULL, NULL, NULL);
    REFUSED(optune_program_time, NULL, &time, &time, &time);
    REFUSED(optune_program_clone, NULL, &program);
    REFUSED(optune_graph_execute, none, g, NULL, NULL);
    REFUSED(optune_graph_execute, o, NULL, NULL, NULL);
    REFUSED(optune_function_open, none, &call, NULL, &function);
    REFUSED(optune_function_open, o, NULL, NULL, &function);
    REFUSED(optune_function_open, o, &zero, NULL, &function);
    REFUSED(optune_function_open, o, &call, NULL, NULL);
    REFUSED(optune_function_open_text, none, "relu(f32[4])", NULL, &function);
    REFUSED(optune_function_open_text, o, NULL, NULL, &function);
    REFUSED(optune_function_open_text, o, "relu(f32[4])", NULL, NULL);
    FAILS(optune_function_open_text, o, "relu(f32[?])", NULL, &function);
    REFUSED(optune_function_run, NULL, NULL, NULL);
    REFUSED(optune_function_shape, NULL, 0, dims);
    REFUSED(optune_program_shape, NULL, 0, dims);
    REFUSED(optune_program_resize, NULL, &call.output[0]);
    GIVES(NULL, optune_function_impl, NULL);
    NOTHING(optune_function_close, NULL);
    NOTHING(optune_program_close, NULL);
    NOTHING(optune_partition_close, NULL);
    check_ok(optune_partition_open(o, g, &p, &err));
    const optune_partition *const both[] = {NULL, p};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const int group = k ? 1 : -1;
            GIVES(NULL, optune_partition_workload, both[i], group);
            GIVES(NULL, optune_partition_nodes, both[i], group);
            GIVES(NULL, optune_partition_place, both[i], group);
            GIVES(NULL, optune_partition_selection, both[i], group);
        }
    GIVES(0, optune_partition_size, NULL);
    GIVES(NULL, optune_partition_text, NULL, false);
    GIVES(NULL, optune_partition_json, NULL);
    GIVES(NULL, optune_partition_policy, NULL);
    REFUSED(optune_partition_workloads, p, NULL);
    REFUSED(optune_partition_execute, p, 1, NULL);
    REFUSED(optune_partition_profile, p, 1, NULL);
    REFUSED(optune_partition_emit, p, NULL, NULL, false, &result);
    REFUSED(optune_partition_emit, p, "", NULL, false, &result);
    REFUSED(optune_partition_emit, p, command_path("emitted"), "9", false, &result);
    REFUSED(optune_partition_emit, p, command_path("emitted"), NULL, false, NULL);
    REFUSED(optune_program_open, p, NULL);
    check_ok(optune_program_open(p, &program, &err));
    const float in[4] = {0};
    float out[4];
    REFUSED(optune_program_run, program, NULL, (void *const[]){out});
    REFUSED(optune_program_run, program, (const void *const[]){NULL}, (void *const[]){out});
    REFUSED(optune_program_run, program, (const void *const[]){in}, NULL);
    REFUSED(optune_program_run, program, (const void *const[]){in}, (void *const[]){NULL});
    REFUSED(optune_program_time, program, NULL, &time, &time);
    REFUSED(optune_program_time, program, &time, NULL, &time);
    REFUSED(optune_program_time, program, &time, &time, NULL);
    REFUSED(optune_program_clone, program, NULL);
    REFUSED(optune_program_shape, program, 0, NULL);
    REFUSED(optune_program_shape, program, -1, dims);
    REFUSED(optune_program_resize, program, NULL);
    optune_program_close(program);
    check_ok(optune_function_open(o, &call, NULL, &function, &err));
    REFUSED(optune_function_run, function, NULL, (void *const[]){out});
    REFUSED(optune_function_run, function, (const void *const[]){NULL}, (void *const[]){out});
    REFUSED(optune_function_run, function, (const void *const[]){in}, NULL);
    REFUSED(optune_function_run, function, (const void *const[]){in}, (void *const[]){NULL});
    REFUSED(optune_function_shape, function, 0, NULL);
    REFUSED(optune_function_shape, function, 1, dims);
    optune_function_close(function);
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
}

/* Every function of the headers stands above. */
static void all_of_them(void **state)
{
    (void)state;
    static const char *const header[] = {"optune.h", "graph.h"};
    int n = 0;
    for (int i = 0; i < 2; i++) {
        optune_err err = {0};
        ot_text path = {0}, text = {0};
        ot_text_printf(&path, "%s/include/optune/%s", OT_SOURCE_DIR, header[i]);
        check_ok(ot_read_file(ot_text_str(&path), &text, 1 << 20, &err));
        for (const char *p = text.s; (p = strstr(p, "OPTUNE_API"));) {
            p += strlen("OPTUNE_API");
            const char *bracket = strchr(p, '(');
            const char *name = bracket;
            while (name > p && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
                name--;
            char word[OPTUNE_NAME_SIZE];
            snprintf(word, sizeof word, "%.*s", (int)(bracket - name), name);
            bool known = false;
            for (int k = 0; k < n_met; k++)
                known = known || !strcmp(met[k], word);
            if (!known)
                fail_msg("'%s' of %s is not in this test", word, header[i]);
            n++;
        }
        ot_text_release(&path);
        ot_text_release(&text);
    }
    assert_true(n > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),       cmocka_unit_test(graphs),
        cmocka_unit_test(handles),     cmocka_unit_test(on_a_machine),
        cmocka_unit_test(all_of_them),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
