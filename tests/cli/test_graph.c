/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that take a graph: what they print, as text and as JSON, and which words they refuse. */
#include "support/command.h"

static const char network[] = "x = var f32[?n:1..64,64]\n"
                              "a = relu(dense(x, const f32[32,64], const f32[32]))\n"
                              "b = dense(a, const f32[32,32])\n"
                              "output b\n";

static const char *write_graph(const char *text)
{
    static char path[512];
    optune_err err = {0};
    snprintf(path, sizeof path, "%s", command_path("test.graph"));
    check_ok(ot_write_file(path, text, strlen(text), &err));
    return path;
}

static void graphs_are_printed(void **state)
{
    (void)state;
    const char *file = write_graph(network);
    outcome o = optune("graph", file);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "b : f32[?n:1..64,32] = dense(a, c_3)");
    release(&o);
    o = optune("graph", file, "--bind", "n=16", "--plain");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "x = var f32[16,64]");
    check_contains(ot_text_str(&o.out), "\nb = dense(a, c_3)\n");
    release(&o);
    o = optune("graph", file, "--bind", "n=16", "--plain", "--precision", "bfloat16");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "x = var f32[16,64]");
    check_contains(ot_text_str(&o.out), "const bf16[32,64]");
    check_contains(ot_text_str(&o.out), "dtype=f32");
    release(&o);
    o = optune("graph", file, "--bind", "n=16", "--groups");
    assert_int_equal(o.code, 0);
    check_contains(
        ot_text_str(&o.out),
        "dense a:\n    dense(f32[16,64], const f32[32,64], const f32[32]) -> relu()\n");
    release(&o);
    o = optune("graph", file, "--bind", "n=16", "--grad");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "ones_like(b)");
    release(&o);
    o = optune("graph", file, "--json");
    json_t *json = json_of(&o);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 7);
    assert_int_equal(json_array_size(json_object_get(json, "outputs")), 1);
    json_decref(json);
}

static void graphs_are_selected_for_and_computed(void **state)
{
    (void)state;
    const char *file = write_graph(network);
    outcome o = optune("select", "--graph", file, "--bind", "n=16", "--log-level=info");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "3 operators in 2 groups, 2 distinct workloads");
    check_contains(ot_text_str(&o.err), "for dense based on highest priority (");
    release(&o);
    o = optune("select", "--graph", file, "--bind", "n=16", "--json");
    json_t *json = json_of(&o);
    const json_t *groups = json_object_get(json, "groups");
    assert_int_equal(json_array_size(groups), 2);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_array_get(groups, 0), "selection"), "tier")),
                        "plevel");
    json_decref(json);
    o = optune("graph", file, "--bind", "n=16", "--execute", "--threads", "1", "--json");
    json = json_of(&o);
    const json_t *output = json_array_get(json_object_get(json, "outputs"), 0);
    assert_true(json_real_value(json_object_get(output, "error")) <
                1e-5 * json_real_value(json_object_get(output, "largest")));
    assert_int_equal(json_integer_value(json_object_get(json, "groups")), 2);
    json_decref(json);
    o = optune("graph", file, "--bind", "n=16", "--profile", "--threads", "1", "--json");
    json = json_of(&o);
    assert_int_equal(json_array_size(json_object_get(json, "groups")), 2);
    json_decref(json);
}

static void what_does_not_run_is_told(void **state)
{
    (void)state;
    const char *file =
        write_graph("x = var f32[4,4]\ny = reshape(x, newshape=[16])\noutput y\n");
    outcome o = optune("graph", file, "--groups");
    assert_string_equal(ot_text_str(&o.out), "y: view\n    reshape(f32[4,4], newshape=[16])\n");
    release(&o);
    o = optune("select", "--graph", file);
    check_contains(ot_text_str(&o.out), "y      view\n");
    release(&o);
    o = optune("select", "--graph", file, "--json");
    json_t *json = json_of(&o);
    const json_t *group = json_array_get(json_object_get(json, "groups"), 0);
    assert_string_equal(json_string_value(json_object_get(group, "place")), "view");
    assert_true(json_is_null(json_object_get(group, "selection")));
    json_decref(json);
    o = optune("graph", file, "--execute", "--threads", "1", "--json");
    json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "groups")), 1);
    assert_int_equal(json_integer_value(json_object_get(json, "run")), 0);
    json_decref(json);
    o = optune("run", "--graph", file, "--time", "1");
    assert_int_equal(o.code, 2);
    check_contains(ot_text_str(&o.err), "nothing of the graph runs");
    release(&o);
}

#define RANGE(k) "x" #k " = var f32[?" #k ":1..2]\n"
#define FOUR(a, b, c, d) RANGE(a) RANGE(b) RANGE(c) RANGE(d)
/* A group that runs and can have no dispatch table is no failure: what it lacks is told. */
static void what_has_no_table_is_told(void **state)
{
    (void)state;
    static const char *const graph[] = {
        "x = var f32[?n:0..4,16]\noutput relu(x)\n",
        FOUR(a, b, c, d) FOUR(e, f, g, h) FOUR(i, j, k, l) FOUR(m, n, o, p)
            RANGE(q) "output concatenate(xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, xl, xm, "
                     "xn, xo, xp, xq)\n",
        "x = var f32[?n:0..4,16]\noutput dense(concatenate(x, x), const f32[8,16])\n",
        "x = var f32[?n:0..4,16]\ny = var f32[4,4]\noutput relu(x), relu(y)\n",
    };
    static const char *const problem[] = {
        "dim 'n' is 0 to 4, tables are of sizes from 1 on: bind n=1..4",
        "17 dims are ranges, tables are of at most 16: bind 'q' or others to numbers",
        "dim '2*n' is 0 to 8, tables are of sizes from 1 on: bind what it is computed of",
        "dim 'n' is 0 to 4, tables are of sizes from 1 on: bind n=1..4",
    };
    for (int i = 0; i < OT_COUNT(graph); i++) {
        const char *file = write_graph(graph[i]);
        outcome o = optune("run", "--graph", file, "--time", "10", "--trials", "1", "--json");
        assert_int_equal(o.code, 0);
        json_t *json = json_of(&o);
        const json_t *table = json_array_get(json_object_get(json, "tables"), i == 2);
        check_contains(json_string_value(json_object_get(table, "problem")), problem[i]);
        assert_non_null(json_object_get(table, "call"));
        assert_int_equal(json_array_size(json_object_get(json, "workloads")), i == 3);
        json_decref(json);
        o = optune("run", "--graph", file, "--time", "100", "--trials", "1");
        assert_int_equal(o.code, 0);
        check_contains(ot_text_str(&o.out), "\n  no table: ");
        check_contains(ot_text_str(&o.out), problem[i]);
        release(&o);
    }
}

#undef FOUR
#undef RANGE

/* For other programs tables are rows beside those of constants. */
static void tables_are_rows(void **state)
{
    (void)state;
    const char *file = write_graph(network);
    outcome o = optune("run", "--graph", file, "--time", "200", "--trials", "1", "--csv");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "workload,winner,time us,");
    check_contains(ot_text_str(&o.out),
                   "\n\"dense(f32[?n:1..64,32], const f32[32,32])\",dense");
    check_contains(ot_text_str(&o.out), "dispatch table, ");
    release(&o);
    o = optune("run", "--graph", file, "--time", "200", "--trials", "1", "--markdown");
    check_contains(ot_text_str(&o.out),
                   "\n| dense(f32[?n:1..64,32], const f32[32,32]) | dense");
    release(&o);
    o = optune("graph", file, "--profile", "--threads", "1");
    check_contains(ot_text_str(&o.out), "f32[64,64]                   of f32[?n:1..64,64]");
    release(&o);
}

static void wrong_graphs_show_their_place(void **state)
{
    (void)state;
    const char *file = write_graph("x = var f32[4,64]\n"
                                   "y = dense(x, const f32[8,63])\n"
                                   "output y\n");
    refused(2, "test.graph:2:14: node 'y': ", "graph", file);
    refused(2, "weight f32[8,63] does not fit data f32[4,64]", "select", "--graph", file);
    refused(2, "\n               ^", "run", "--graph", file);
    file = write_graph("x = var f32[4,64]\ny = desne(x)\noutput y\n");
    refused(3, "did you mean 'dense'", "graph", file);
    refused(3, "cannot open", "graph", command_path("nothing.graph"));
    file = write_graph("x = var f32[1,1,4,4,8]\n"
                       "output conv2d(x, var f32[8,8,1,1], data_layout=NCHW8c)\n");
    refused(1, "the gradient of 'conv2d': it is known for NCHW and one dtype only", "graph",
            file, "--grad");
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    const char *file = write_graph(network);
    refused(2, "needs a graph file", "graph");
    refused(2, "--bind takes DIM=N", "graph", file, "--bind", "m");
    refused(2, "--bind takes DIM=N", "graph", file, "--bind", "n=x");
    refused(3, "no symbolic dim 'k'; there is n", "graph", file, "--bind", "k=3");
    refused(3,
            "no symbolic dim 'a_name_that_no_dim_could_have_here_at_all_as_it_is_too_long'; "
            "there is n",
            "graph", file, "--bind",
            "a_name_that_no_dim_could_have_here_at_all_as_it_is_too_long=3");
    refused(2, "'?n' cannot be 65 and 1..64", "graph", file, "--bind", "n=65");
    refused(2, "exclude each other", "graph", file, "--groups", "--execute");
    refused(2, "exclude each other", "graph", file, "--execute", "--profile");
    refused(2, "exclude each other", "select", "--graph", file, "dense(f32[1,1], f32[1,1])");
    refused(2, "select needs a workload", "select");
    refused(2, "--bind, --precision and --partial go with --graph", "select",
            "dense(f32[1,1], f32[1,1])", "--bind", "n=1");
    refused(2, "bfloat16 or float16, not 'int8'", "graph", file, "--precision", "int8");
    refused(2, "run needs an operator", "run");
    refused(2, "no operator, workload or preset", "run", "dense", "--graph", file);
    refused(2, "dim 'n' is bound to 1 already: bind it once", "graph", file, "--bind", "n=1",
            "--bind", "n=2");
    refused(2, "dim 'n' is bound to 1 already: bind it once", "graph", file, "--bind", "n=1..3",
            "--bind", "n=1");
    file = write_graph("x = var f32[?n,?h:2..40]\noutput reshape(x, newshape=[-1])\n");
    refused(2, "has unknown dims: give them values or ranges with --bind (?n)", "run",
            "--graph", file);
    refused(2, "give them values or ranges with --bind (?n)", "emit", "--graph", file, "-o",
            command_path("emitted"));
    refused(2, "has ranges", "run", "--graph", file, "--bind", "n=1..3", "--compile-only");
    file = write_graph("x = var f32[?n,?m,?k]\noutput relu(x)\n");
    refused(2, "has a value that is too large at the upper ends of its ranges", "run",
            "--graph", file, "--bind", "n=1..99999999", "--bind", "m=1..99999999", "--bind",
            "k=1..99999999");
    refused(2, "give dims smaller ones with --bind (?n, ?m, ?k)", "graph", "--execute", file,
            "--bind", "n=1..99999999", "--bind", "m=1..99999999", "--bind", "k=1..99999999");
    file = write_graph("output relu(var f32[4,64])\n");
    refused(3, "no symbolic dim 'h'; there is none", "graph", file, "--bind", "h=10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_printed),
        cmocka_unit_test(graphs_are_selected_for_and_computed),
        cmocka_unit_test(what_does_not_run_is_told),
        cmocka_unit_test(what_has_no_table_is_told),
        cmocka_unit_test(tables_are_rows),
        cmocka_unit_test(wrong_graphs_show_their_place),
        cmocka_unit_test(wrong_words_are_refused),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
