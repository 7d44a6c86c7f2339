/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: what is read prints back and reads again, types settle over the whole graph in both
 * directions, names of dims hold everywhere, and every failure shows its place. Calls built from
 * code are the calls that text gives.
 */
#include "support/check.h"

#include "optune/graph.h"

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse(text, "test", &graph, &err));
    return graph;
}

/* Parses and infers; what comes out with its types. */
static void check_types(const char *text, int status, const char *const *parts)
{
    optune_err err = {0};
    optune_graph *graph = parse(text);
    const int got = optune_graph_infer(graph, &err);
    if (got < 0)
        print_error("%s\n", err.text);
    assert_int_equal(got, status);
    char *typed = ot_strdup(optune_graph_text(graph, true));
    for (int i = 0; parts[i]; i++)
        check_contains(typed, parts[i]);
    /* Printed with its types, it is the same graph. */
    optune_graph *again = parse(typed);
    assert_int_equal(optune_graph_infer(again, &err), status);
    assert_string_equal(optune_graph_text(again, true), typed);
    optune_graph_close(again);
    /* Without them, too. */
    char *plain = ot_strdup(optune_graph_text(graph, false));
    again = parse(plain);
    assert_string_equal(optune_graph_text(again, false), plain);
    optune_graph_close(again);
    free(plain);
    free(typed);
    optune_graph_close(graph);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_forward(void **state)
{
    (void)state;
    check_types("data = var f32[1,64,56,56]\n"
                "weight = const f32[64,64,3,3]\n"
                "c = conv2d(data, weight, strides=[1,1], padding=[1])\n"
                "d = conv2d(c, const f32[8,64,1,1])\n"
                "pair = tuple(c, d)\n"
                "output pair.1, c\n",
                OPTUNE_OK,
                PARTS("c : f32[1,64,56,56] = conv2d(data, weight, strides=[1,1], "
                      "padding=[1,1,1,1]",
                      "d : f32[1,8,56,56]", "output pair.1, c"));
}

static void test_backward(void **state)
{
    (void)state;
    check_types("x = var ?\n"
                "y = dense(x, const f32[10,64])\n"
                "z : f32[4,?] = dense(y, var f32[?,?])\n"
                "output z\n",
                1, PARTS("x = var f32[4,64]", "y : f32[4,10]", "x_2 = var f32[?,10]"));
    check_types("x = var ?\n"
                "y = dense(x, const f32[10,64])\n"
                "z : f32[4,7] = dense(y, var ?)\n"
                "output z\n",
                OPTUNE_OK, PARTS("x = var f32[4,64]", "x_2 = var f32[7,10]"));
    /* Through two producers and back down another branch. */
    check_types("x = var ?\n"
                "a = dense(x, const f32[32,64])\n"
                "b = dense(a, const f32[16,?])\n"
                "c : f32[128,16] = dense(x, const f32[16,64])\n"
                "output b, c\n",
                OPTUNE_OK, PARTS("x = var f32[128,64]", "b : f32[128,16]", "const f32[16,32]"));
}

static void test_names(void **state)
{
    (void)state;
    check_types("x = var f32[?m:1..4096,?k]\n"
                "y = dense(x, const f32[768,?k])\n"
                "z = dense(y, const f32[10,?n])\n"
                "u = var f32[?m:16..,8]\n"
                "output z, u\n",
                1,
                PARTS("x = var f32[?m:16..4096,?k]", "y : f32[?m:16..4096,768]",
                      "c_2 = const f32[10,768]", "u = var f32[?m:16..4096,8]"));
    /* A name becomes a number in one place and so in all. */
    check_types("x = var f32[?m,?k]\n"
                "u = var f32[?m,3]\n"
                "y = dense(x, const f32[768,96])\n"
                "z : f32[17,768] = dense(x, const f32[768,?k])\n"
                "output y, z, u\n",
                OPTUNE_OK, PARTS("u = var f32[17,3]", "x = var f32[17,96]"));
    /* Two names that meet are one. */
    optune_err err = {0};
    optune_graph *graph = parse("x = var f32[?a,4]\n"
                                "w = var f32[8,?b]\n"
                                "v = var f32[?b,?a:1..9]\n"
                                "y = batch_matmul(var f32[?b,2,?a], var f32[?b,2,?a])\n"
                                "z = dense(x, w)\n"
                                "output z, v, y\n");
    assert_int_equal(optune_graph_infer(graph, &err), 1);
    check_contains(optune_graph_text(graph, true), "v = var f32[4,?a:1..9]");
    check_ok(optune_graph_bind(graph, "a", 5, &err));
    assert_int_equal(optune_graph_infer(graph, &err), OPTUNE_OK);
    check_contains(optune_graph_text(graph, true), "v = var f32[4,5]");
    assert_int_equal(optune_graph_bind(graph, "a", 5, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "dim 'a' is bound to 5 already: bind it once");
    optune_graph_close(graph);
}

static void test_bind(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *graph = parse("x = var f32[?m:1..64,8]\n"
                                "y = dense(x, const f32[3,8])\n"
                                "output y\n");
    assert_int_equal(optune_graph_infer(graph, &err), 1);
    assert_int_equal(optune_graph_bind(graph, "m", 65, &err), OPTUNE_ETYPE);
    check_contains(err.text, "'?m' cannot be 65 and 1..64");
    assert_int_equal(optune_graph_bind(graph, "mm", 6, &err), OPTUNE_ENOENT);
    assert_int_equal(optune_graph_bind(graph, "m", -1, &err), OPTUNE_ETYPE);
    assert_int_equal(optune_graph_bind(graph, "m", INT64_MAX, &err), OPTUNE_ETYPE);
    check_contains(err.text, "0 to 1099511627776 is possible");
    check_ok(optune_graph_bind(graph, "m", 64, &err));
    assert_int_equal(optune_graph_infer(graph, &err), OPTUNE_OK);
    assert_int_equal(optune_graph_output_type(graph, 0)->dim[0].min, 64);
    optune_graph_close(graph);
}

static void test_misread(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        const char *said;
    } bad[] = {
        {"x = dense(y)\n", OPTUNE_ENOENT, "test:1:11: no value 'y'"},
        {"weight = var f32[2]\ny = dense(weigth)\n", OPTUNE_ENOENT, "did you mean 'weight'?"},
        {"x = var f32[4,5]\ny = dens(x, x)\n", OPTUNE_ENOENT, "did you mean 'dense'"},
        {"x = var f32[4,5]\ny = dense(x)\n", OPTUNE_ESYNTAX, "test:2:5: input 'weight'"},
        {"x = var f32[4,5]\ny = dense(x,x,x,x)\n", OPTUNE_ESYNTAX, "too many inputs"},
        {"x = var f32[4,5]\ny = dense(x,x, out_dtyp=f32)\n", OPTUNE_ESYNTAX,
         "test:2:16: no attribute"},
        {"x = var f32[4,5]\ny = dense(out_dtype=f32, x)\n", OPTUNE_ESYNTAX,
         "test:2:26: inputs"},
        {"x = var f32[4,5\n", OPTUNE_ESYNTAX, "']' is expected"},
        {"x = var f32[4] f32[5]\n", OPTUNE_ESYNTAX, "test:1:16: one statement a line"},
        {"x = var f32[4]\n", OPTUNE_ESYNTAX, "no output"},
        {"x = var f32[4]\nx = var f32[5]\n", OPTUNE_ECONFLICT, "test:2:1: 'x' exists already"},
        {"var = var f32[4]\n", OPTUNE_ESYNTAX, "is a word of the language"},
        {"x = const f32[2] {1,2,3}\n", OPTUNE_ETYPE, "f32[2] has only 2 elements"},
        {"x = const f32[3] {1,2}\n", OPTUNE_ETYPE, "f32[3] has 3 elements, 2 are given"},
        {"x = const f32[?] {1,2}\n", OPTUNE_ETYPE, "need a known type"},
        {"x = var f32[2]\noutput x.0\n", OPTUNE_ETYPE, "is one tensor and no tuple"},
        {"x = tuple(var f32[2])\noutput x.1\n", OPTUNE_ETYPE, "has 1 fields"},
        {"x : f64[2] = var f32[2]\n", OPTUNE_ETYPE, "'x' is f32[2], which is not f64[2]"},
    };
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        optune_graph *graph = NULL;
        const int status = optune_graph_parse(bad[i].text, "test", &graph, &err);
        if (status != bad[i].status)
            print_error("%s: %s\n", bad[i].text, err.text);
        assert_int_equal(status, bad[i].status);
        check_contains(err.text, bad[i].said);
        check_contains(err.text, "^");
        assert_null(graph);
    }
}

/* Reading one call inside another takes stack: deep nesting is refused, at its place. */
static void test_nesting(void **state)
{
    (void)state;
    for (int depth = 100; depth <= 100000; depth *= 10) {
        optune_err err = {0};
        optune_graph *graph = NULL;
        ot_text text = {0};
        ot_text_add(&text, "x = var f32[4]\noutput ");
        for (int i = 0; i < depth; i++)
            ot_text_add(&text, i % 3 ? "relu(" : "tuple(");
        ot_text_add(&text, "x");
        for (int i = 0; i < depth; i++)
            ot_text_add(&text, ")");
        ot_text_add(&text, "\n");
        const int status = optune_graph_parse(ot_text_str(&text), "test", &graph, &err);
        if (depth == 100) {
            assert_int_equal(status, OPTUNE_OK);
        } else {
            assert_int_equal(status, OPTUNE_ELIMIT);
            check_contains(err.text, "test:2:");
            check_contains(err.text, "nested more than 128 deep");
        }
        optune_graph_close(graph);
        ot_text_release(&text);
    }
}

/* By name, tuples can hold one another without a bracket being open. */
static void test_tuples_of_tuples(void **state)
{
    (void)state;
    static const char *const line[] = {"t%d = tuple(t%d)\n", "t%d = tuple(t%d, t%d)\n"};
    for (int wide = 0; wide < 2; wide++) {
        optune_err err = {0};
        optune_graph *graph = NULL;
        ot_text text = {0};
        ot_text_add(&text, "t0 = var f32[4]\n");
        for (int i = 1; i < 2000; i++)
            ot_text_printf(&text, line[wide], i, i - 1, i - 1);
        ot_text_add(&text, "output t1999\n");
        assert_int_equal(optune_graph_parse(ot_text_str(&text), "test", &graph, &err),
                         OPTUNE_ELIMIT);
        check_contains(err.text, "tuples in tuples at most 32 deep");
        ot_text_release(&text);
    }
    optune_graph *graph = parse("a = var f32[4]\nb = var f32[5]\n"
                                "t = tuple(tuple(a, b), tuple(b, tuple(a)))\n"
                                "u = t.1\noutput u.1.0, t.0.1, u\n");
    assert_int_equal(optune_graph_outputs(graph), 4);
    static const int64_t size[] = {4, 5, 5, 4};
    for (int i = 0; i < 4; i++)
        assert_int_equal(optune_graph_output_type(graph, i)->dim[0].min, size[i]);
    optune_graph_close(graph);
}

/* Names, places and types of many nodes: a step each, not one for all the others. The work is
 * counted in nodes that would take minutes if any of it were done for every pair. */
static void test_many_nodes(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *gradient = NULL;
    ot_text text = {0};
    ot_text_add(&text, "v0 = var f32[?n:1..64]\n");
    for (int i = 1; i <= 4000; i++)
        ot_text_printf(&text, "v%d = relu(v%d)\n", i, i - 1);
    ot_text_add(&text, "output v4000\n");
    optune_graph *graph = parse(ot_text_str(&text));
    assert_int_equal(optune_graph_infer(graph, &err), 1);
    check_ok(optune_graph_gradient(graph, NULL, 0, &gradient, &err));
    assert_true(optune_graph_size(gradient) > 8000);
    for (int i = 0; i < optune_graph_size(gradient); i++)
        assert_int_equal(optune_graph_find(gradient, optune_graph_name(gradient, i)), i);
    optune_graph_close(gradient);
    optune_graph_close(graph);
    ot_text_release(&text);
}

/* Elements that no memory holds are an error of the node, not the end of the process. */
static void test_more_than_memory(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_values *values = NULL;
    const float one = 1;
    optune_graph *graph = parse("x = var f32[1]\n"
                                "y = broadcast_to(x, shape=[1073741824,1048576])\n"
                                "output y\n");
    assert_int_equal(
        optune_graph_evaluate(graph, (const void *const[]){&one}, NULL, &values, &err),
        OPTUNE_ENOMEM);
    check_contains(err.text, "test:2:5: node 'y': no memory");
    assert_int_equal(optune_graph_constant(graph, NULL, "f32[1099511627776,1024]", &one, &err),
                     OPTUNE_ENOMEM);
    assert_int_equal(optune_graph_fill(graph, 1, &err), OPTUNE_OK);
    optune_graph_close(graph);
    graph = NULL;
    assert_int_equal(optune_graph_parse("a = const f32[16777216] {0}\nb = const f32[1] {0}\n"
                                        "output b\n",
                                        "test", &graph, &err),
                     OPTUNE_ELIMIT);
    check_contains(err.text, "test:2:17: too many elements");
    graph = parse("a = const f32[1099511627776,1024]\noutput a\n");
    assert_int_equal(optune_graph_fill(graph, 1, &err), OPTUNE_ENOMEM);
    check_contains(err.text, "test:1:5: node 'a': no memory");
    optune_graph_close(graph);
}

static void test_conflict(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *graph = parse("x = var f32[1,32,8,8]\n"
                                "c = conv2d(x, const f32[64,32,3,3],\n"
                                "           padding=[1])\n"
                                "d = conv2d(c, const f32[8,65,1,1])\n"
                                "output d\n");
    assert_int_equal(optune_graph_infer(graph, &err), OPTUNE_ETYPE);
    /* The node, the argument, both types, the line, and a caret under the argument. */
    check_contains(err.text, "test:4:15: node 'd'");
    check_contains(err.text, "argument 2 (weight) f32[8,65,1,1]");
    check_contains(err.text, "f32[1,64,8,8]");
    check_contains(err.text, "\n  d = conv2d(c, const f32[8,65,1,1])\n                ^");
    optune_graph_close(graph);
}

static void test_from_code(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = NULL;
    check_ok(optune_graph_open(&g, &err));
    const int x = optune_graph_variable(g, "x", "?", &err);
    const float half[6] = {0.5f, 1, -2, 3, 0.25f, 7};
    const int w = optune_graph_constant(g, NULL, "f32[2,3]", half, &err);
    const int y = optune_graph_call(g, "y", "dense", (const int[]){x, w}, 2, NULL, &err);
    check_ok(y);
    const int pair = optune_graph_tuple(g, "pair", (const int[]){x, y}, 2, &err);
    const int second = optune_graph_get(g, NULL, pair, 1, &err);
    check_ok(second);
    /* A tuple stands for its fields. */
    const int fields = optune_graph_tuple(g, NULL, (const int[]){second, w}, 2, &err);
    assert_int_equal(
        optune_graph_call(g, NULL, "dense", (const int[]){fields}, 1, "out_dtype=f99", &err),
        OPTUNE_ESYNTAX);
    check_ok(optune_graph_annotate(g, y, "f32[4,?]", &err));
    check_ok(optune_graph_output(g, fields, &err));
    assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
    assert_string_equal(optune_graph_text(g, true),
                        "x = var f32[4,3]\n"
                        "c = const f32[2,3] {0.5, 1, -2, 3, 0.25, 7}\n"
                        "y : f32[4,2] = dense(x, c)\n"
                        "pair = tuple(x, y)\n"
                        "tuple_2 = tuple(pair.1, c)\n"
                        "output tuple_2\n");
    assert_int_equal(optune_graph_outputs(g), 2);
    assert_int_equal(optune_graph_inputs(g), 1);
    assert_int_equal(optune_graph_find(g, "y"), y);
    assert_null(optune_graph_type(g, pair));
    assert_int_equal(optune_graph_output_type(g, 0)->dim[1].min, 2);
    assert_int_equal(optune_graph_call(g, "y", "dense", (const int[]){x, w}, 2, NULL, &err),
                     OPTUNE_ECONFLICT);
    assert_int_equal(optune_graph_call(g, NULL, "dense", (const int[]){x, 77}, 2, NULL, &err),
                     OPTUNE_EUSAGE);
    assert_int_equal(optune_graph_annotate(g, y, "f32[5,2]", &err), OPTUNE_ETYPE);
    optune_graph_close(g);
    optune_graph_close(NULL);
}

static void test_calls(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call, read;
    char text[OPTUNE_TEXT_SIZE], again[OPTUNE_TEXT_SIZE];
    check_ok(optune_call_start(&call, "conv2d", &err));
    check_ok(optune_call_add_input(&call, "f32[1,64,56,56]", &err));
    check_ok(optune_call_add_input(&call, "const f32[64,64,3,3]", &err));
    check_ok(optune_call_set_ints(&call, "padding", 2, (const int64_t[]){1, 1}, &err));
    check_ok(optune_call_set(&call, "strides", "[2,2]", &err));
    check_ok(optune_call_set_int(&call, "groups", 1, &err));
    check_ok(optune_call_settle(&call, &err));
    check_ok(optune_call_write(&call, text, sizeof text, &err));
    assert_string_equal(text, "conv2d(f32[1,64,56,56], const f32[64,64,3,3], strides=[2,2], "
                              "padding=[1,1,1,1], dilation=[1,1], groups=1)");
    check_ok(optune_call_read(&read, text, &err));
    check_ok(optune_call_write(&read, again, sizeof again, &err));
    assert_string_equal(again, text);

    assert_int_equal(optune_call_add_input(&call, "f32[1]", &err), OPTUNE_EUSAGE);
    assert_int_equal(optune_call_set(&call, "stride", "1", &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'strides'?");
    assert_int_equal(optune_call_set_int(&call, "strides", 1, &err), OPTUNE_EUSAGE);
    assert_int_equal(optune_call_set_int(&call, "groups", 0, &err), OPTUNE_ESYNTAX);
    assert_int_equal(optune_call_write(&call, text, 10, &err), OPTUNE_ELIMIT);
    check_ok(optune_call_start(&call, "dense", &err));
    check_ok(optune_call_add_input(&call, "f32[1,2]", &err));
    assert_int_equal(optune_call_settle(&call, &err), OPTUNE_EUSAGE);
    assert_int_equal(optune_call_start(&call, "dens", &err), OPTUNE_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_misread),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_tuples_of_tuples),
        cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_more_than_memory),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_from_code),
        cmocka_unit_test(test_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
