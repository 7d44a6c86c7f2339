/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example of examples/plugin_narrow, built as its header says and used from the command
 * line: its target, its strategy and implementation of conv2d there, its operator, also behind a
 * convolution; and what it leaves as it was.
 */
#include "support/command.h"
#include "support/plugin.h"

#define CONV "conv2d(f32[1,8,9,12], const f32[6,8,3,3], padding=[1])"
#define PLUGIN "--plugin", plugin, "--threads", "1"
static char plugin[512];

static int build(void **state)
{
    if (command_setup(state) < 0)
        return -1;
    snprintf(plugin, sizeof plugin, "%s", command_path("narrow.so"));
    plugin_build(OT_SOURCE_DIR "/examples/plugin_narrow/narrow.c", plugin);
    return 0;
}

static void the_target_is_one_more(void **state)
{
    (void)state;
    outcome o = optune("targets", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "keys: narrow cpu");
    release(&o);
    refused(3, "no target 'narrow'", "select", CONV, "--target", "narrow");
    refused(3, "did you mean 'narrow'", "select", CONV, "--target", "narow", PLUGIN);
}

static void its_strategy_is_used_there_and_nowhere_else(void **state)
{
    (void)state;
    outcome o = optune("impls", "conv2d", "--target", "narrow", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "conv2d_rows.narrow");
    release(&o);
    o = optune("select", CONV, "--target", "narrow", "--explain", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "conv2d_rows.narrow");
    assert_null(strstr(ot_text_str(&o.out), "winograd"));
    release(&o);
    o = optune("select", CONV, "--explain", PLUGIN);
    assert_int_equal(o.code, 0);
    assert_null(strstr(ot_text_str(&o.out), "conv2d_rows.narrow"));
    check_contains(ot_text_str(&o.out), "conv2d_direct.cpu");
    release(&o);
    /* Its specialization: a row of outputs, and a kernel that is no 1x1. */
    o = optune("select", "conv2d(f32[1,8,9,7], const f32[6,8,1,1])", "--target", "narrow",
               "--explain", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "clause 'ow >= 8' is false");
    release(&o);
}

static void a_row_serves_a_family(void **state)
{
    (void)state;
    static const char *const scans[] = {"cumsum(f32[64,512], axis=1)", "cumprod(f32[7])"};
    for (int i = 0; i < OT_COUNT(scans); i++) {
        outcome o = optune("select", scans[i], "--target", "narrow", "--explain", PLUGIN);
        assert_int_equal(o.code, 0);
        check_contains(ot_text_str(&o.out),
                       "strategy of family scan for 'narrow', plugin 'narrow'");
        assert_null(strstr(ot_text_str(&o.out), "_row.cpu"));
        release(&o);
        o = optune("select", scans[i], "--explain", PLUGIN);
        assert_int_equal(o.code, 0);
        check_contains(ot_text_str(&o.out), "strategy of family scan for 'cpu', in tree");
        check_contains(ot_text_str(&o.out), "_row.cpu");
        release(&o);
    }
}

static void it_is_tuned_and_its_records_are_its_own(void **state)
{
    (void)state;
    outcome o = optune("run", "conv2d", CONV, "--target", "narrow", "--impl",
                       "conv2d_rows.narrow", "--trials", "4", "--time", "60", "--json", PLUGIN);
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_true(json_integer_value(json_object_get(json, "new_trials")) > 0);
    assert_int_equal(strncmp(text_at(json, "device"), "narrow-cpu-", 11), 0);
    json_decref(json);
    o = optune("query", CONV, "--target", "narrow", "--json", PLUGIN);
    json = json_of(&o);
    assert_string_equal(text_at(json, "impl"), "conv2d_rows.narrow");
    json_decref(json);
    refused(3, "no current record", "query", CONV, PLUGIN);
}

static void its_operator_has_the_templates_of_its_pattern(void **state)
{
    (void)state;
    outcome o = optune("ops", "hard_swish", PLUGIN);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "elementwise");
    release(&o);
    o = optune("run", "hard_swish", "hard_swish(f32[3,1000])", "--trials", "3", "--time", "60",
               "--json", PLUGIN);
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_true(json_integer_value(json_object_get(json, "new_trials")) > 0);
    json_decref(json);
    refused(3, "no operator 'hard_swish'", "ops", "hard_swish");
}

static void its_operator_fuses_behind_a_convolution(void **state)
{
    (void)state;
    outcome o = optune("run", "conv2d", CONV " -> hard_swish()", "--trials", "4", "--time",
                       "60", "--json", PLUGIN);
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    json_t *workload = json_array_get(json_object_get(json, "workloads"), 0);
    check_contains(text_at(workload, "call"), "-> hard_swish()");
    assert_true(json_is_object(json_object_get(workload, "winner")));
    json_decref(json);
}

static void twice_is_one_too_many(void **state)
{
    (void)state;
    optune_err err;
    ot_text object = {0};
    command_slurp(plugin, &object);
    const char *again = command_path("again.so");
    check_ok(ot_write_file(again, object.s, object.n, &err));
    ot_text_release(&object);
    refused(1, "exists already", "targets", "--plugin", plugin, "--plugin", again);
}

/* It is told of by name, and takes nobody with it. */
static void loading_that_ends_the_process(void **state)
{
    (void)state;
#define FIRST "#include <stdlib.h>\n#include \"optune/define.h\"\n"
#define ONCE "static void __attribute__((constructor)) first(void) "
    static const char *const bad[][2] = {
        {FIRST ONCE "{ __builtin_trap(); }\n"
                    "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"trap\"};\n",
         "loading it ends the process: Illegal instruction"},
        {FIRST ONCE "{ exit(7); }\n"
                    "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"leaves\"};\n",
         "loading it ends the process, with exit status 7"},
        {FIRST "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"far\",\n"
               "    .ops = (const optune_op *const *)8};\n",
         "loading it ends the process: Segmentation fault"},
    };
    for (int i = 0; i < OT_COUNT(bad); i++) {
        char name[32], path[512];
        snprintf(name, sizeof name, "ends%d.so", i);
        snprintf(path, sizeof path, "%s", command_path(name));
        plugin_build_text(bad[i][0], path);
        refused(2, bad[i][1], "targets", "--plugin", path);
    }
}

/* What rows do runs in the process that asks: it is told whose they were. */
static void rows_that_end_the_process(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", command_path("aborts.so"));
    plugin_build_text(
        FIRST "static bool applies(const optune_task *task, char *why)\n"
              "{ (void)why; if (task->call->input[0].type.dim[0].min > 7) abort();\n"
              "return true; }\n"
              "static void plan(const optune_task *t, const optune_config *c, optune_plan *p)\n"
              "{ (void)t; (void)c; (void)p; }\n"
              "static const optune_impl one = {.op = \"relu\", .name = \"relu_aborts.cpu\",\n"
              ".summary = \"aborts\", .applies = applies, .plan = plan,\n"
              ".source = \"void f(void) {}\"};\n"
              "static const optune_strategy rows = {.op = \"relu\", .key = \"cpu\", .rows =\n"
              "(const optune_strategy_row[]){{.impl = \"relu_aborts.cpu\"}, {0}}};\n"
              "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"aborts\",\n"
              ".impls = (const optune_impl *const[]){&one, 0},\n"
              ".strategies = (const optune_strategy *const[]){&rows, 0}};\n",
        path);
    outcome o = optune("select", "relu(f32[8])", "--plugin", path);
    assert_int_not_equal(o.code, 0);
    check_contains(ot_text_str(&o.err), "optune: ended by SIGABRT in '");
    check_contains(ot_text_str(&o.err), "aborts.so'");
    release(&o);
}

/* Rows in C++, of a standard without designated initializers. What throws is told of, and not the
 * runtime that ends the process for it. */
static void rows_in_cxx(void **state)
{
    (void)state;
    static const char text[] =
        "#include \"optune/define.h\"\n"
        "#include <stdexcept>\n"
        "namespace {\n"
        "bool applies(const optune_task *task, char *) {\n"
        "    if (task->call->input[0].type.dim[0].min == 8) throw std::runtime_error(\"8\");\n"
        "    return true; }\n"
        "void plan(const optune_task *task, const optune_config *, optune_plan *plan) {\n"
        "    optune_stage s{}; s.module = optune_plan_module(plan); s.function = \"f\";\n"
        "    s.phase = OPTUNE_TIMED; s.n_args = 3; s.arg[0] = optune_input_arg(0);\n"
        "    s.arg[1] = optune_output_arg(0);\n"
        "    s.arg[2] = optune_int_arg(optune_tensor_elements(&task->call->output[0]));\n"
        "    optune_plan_stage(plan, &s); }\n"
        "const optune_impl one = [] { optune_impl i{}; i.op = \"relu\"; i.name = "
        "\"relu_cxx.cpu\";\n"
        "    i.summary = \"C++\"; i.applies = applies; i.plan = plan;\n"
        "    i.source = \"void f(void *const *arg) { const float *x = arg[0]; float *y = "
        "arg[1];\"\n"
        "        \" for (long i = 0; i < *(const long *)arg[2]; i++) y[i] = x[i] > 0 ? x[i] : "
        "0; }\";\n"
        "    return i; }();\n"
        "const optune_strategy_row row[] = {{\"relu_cxx.cpu\", 0, nullptr, nullptr},\n"
        "                                   {nullptr, 0, nullptr, nullptr}};\n"
        "const optune_strategy rows = [] { optune_strategy s{}; s.op = \"relu\"; s.key = "
        "\"cpu\";\n"
        "    s.rows = row; return s; }();\n"
        "const optune_impl *const impls[] = {&one, nullptr};\n"
        "const optune_strategy *const strategies[] = {&rows, nullptr};\n"
        "}\n"
        "OPTUNE_PLUGIN = {OPTUNE_ABI, \"cxx\", nullptr, strategies, impls, nullptr, "
        "nullptr};\n";
    char source[512], path[512];
    optune_err err = {0};
    ot_text said = {0};
    const bool there = ot_run_program((char *const[]){(char *)"c++", (char *)"--version", NULL},
                                      20, &said, NULL) >= 0;
    ot_text_release(&said);
    if (!there)
        skip();
    snprintf(source, sizeof source, "%s", command_path("rows.cc"));
    snprintf(path, sizeof path, "%s", command_path("cxx.so"));
    check_ok(ot_write_file(source, text, strlen(text), &err));
    plugin_build_with(source, path,
                      (const char *const[]){"-std=c++17", "-Wpedantic", "-lstdc++", NULL});
    outcome o = optune("emit", "relu(f32[9])", "--plugin", path, "-o", command_path("emitted"));
    assert_int_equal(o.code, 0);
    release(&o);
    o = optune("select", "relu(f32[8])", "--plugin", path);
    assert_int_not_equal(o.code, 0);
    check_contains(ot_text_str(&o.err), "optune: ended by SIGABRT in '");
    check_contains(ot_text_str(&o.err), "cxx.so'");
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_is_one_more),
        cmocka_unit_test(its_strategy_is_used_there_and_nowhere_else),
        cmocka_unit_test(a_row_serves_a_family),
        cmocka_unit_test(it_is_tuned_and_its_records_are_its_own),
        cmocka_unit_test(its_operator_has_the_templates_of_its_pattern),
        cmocka_unit_test(its_operator_fuses_behind_a_convolution),
        cmocka_unit_test(twice_is_one_too_many),
        cmocka_unit_test(loading_that_ends_the_process),
        cmocka_unit_test(rows_that_end_the_process),
        cmocka_unit_test(rows_in_cxx),
    };
    return cmocka_run_group_tests(tests, build, command_teardown);
}
