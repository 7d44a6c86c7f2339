/* SPDX-License-Identifier: Apache-2.0 */
/* Choices and loops of a model, which are over before it runs; and what is bound by the names that
 * the file has for it. */
#include <math.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { N = 4 };
static const float x[N] = {-3, -1, 0.5f, 2};

static int reads(ot_text *graph, const optune_binding *bind, int n, optune_graph **g,
                 optune_err *err)
{
    ot_text model = {0};
    *err = (optune_err){0};
    *g = NULL;
    onnx_model(graph, 17, &model);
    assert_true(ot_write_file(onnx_path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read_bound(onnx_path, bind, n, g, err);
}

static void refused(ot_text *graph, const char *reason)
{
    optune_graph *g;
    optune_err err;
    assert_true(reads(graph, NULL, 0, &g, &err) < 0);
    assert_null(g);
    check_contains(err.text, reason);
}

/* Closes the graph. */
static void gives(optune_graph *g, const void *const *in, int output, int n, const float *want)
{
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, output)), n);
    const float *got = optune_values_data(values, output);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

static void computes(ot_text *graph, const void *const *in, int n, const float *want)
{
    optune_graph *g;
    optune_err err;
    check_ok(reads(graph, NULL, 0, &g, &err));
    gives(g, in, 0, n, want);
}

/* A body of one node. */
static void body(ot_text *to, const char *op, const char *inputs)
{
    onnx_node(to, op, "inside", inputs, "r", NULL);
    onnx_output(to, "r");
}

/* y = If(condition) of two bodies. */
static void choice(ot_text *g, const char *condition, ot_text *then, ot_text *otherwise)
{
    ot_text attrs = {0};
    attr_graph(&attrs, "then_branch", then);
    attr_graph(&attrs, "else_branch", otherwise);
    onnx_node(g, "If", "choice", condition, "y", &attrs);
    onnx_output(g, "y");
}

static void a_known_choice_is_one_branch(void **state)
{
    static const bool yes[] = {true}, no[] = {false};
    static const float minus[N] = {3, 1, -0.5f, -2}, size[N] = {3, 1, 0.5f, 2};
    (void)state;
    for (int side = 0; side < 2; side++) {
        ot_text g = {0}, a = {0}, b = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        onnx_initializer(&g, "c", ONNX_BOOL, "", side ? yes : no, 1);
        body(&a, side ? "Neg" : "NoSuchOperator", "x"); /* the other one is not even read */
        body(&b, side ? "NoSuchOperator" : "Abs", "x");
        choice(&g, "c", &a, &b);
        computes(&g, (const void *const[]){x}, N, side ? minus : size);
    }
}

static void an_unknown_choice_is_made_by_elements(void **state)
{
    static const float minus[N] = {3, 1, -0.5f, -2}, size[N] = {3, 1, 0.5f, 2};
    (void)state;
    for (int side = 0; side < 2; side++) {
        ot_text g = {0}, a = {0}, b = {0};
        const bool is = side;
        onnx_input(&g, "c", ONNX_BOOL, "1");
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        body(&a, "Neg", "x");
        body(&b, "Abs", "x");
        choice(&g, "c", &a, &b);
        computes(&g, (const void *const[]){&is, x}, N, side ? minus : size);
    }
    ot_text g = {0}, a = {0}, b = {0};
    onnx_input(&g, "c", ONNX_BOOL, "");
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    body(&a, "Neg", "x");
    body(&b, "ReduceSum", "x");
    choice(&g, "c", &a, &b);
    refused(&g, "different types");
}

static void a_failure_inside_is_named_once(void **state)
{
    static const bool yes[] = {true};
    ot_text g = {0}, a = {0}, b = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "c", ONNX_BOOL, "", yes, 1);
    body(&a, "NoSuchOperator", "x");
    body(&b, "Abs", "x");
    choice(&g, "c", &a, &b);
    refused(&g, "1 of 2 nodes cannot be read: NoSuchOperator 'inside': this operator is not");
}

/* state, kept = Loop(trips, condition, x): state + i, and each state by itself. */
static void loop(ot_text *g, const char *inputs, const char *stop)
{
    ot_text in = {0}, attrs = {0};
    onnx_input(&in, "i", ONNX_INT64, "");
    onnx_input(&in, "on", ONNX_BOOL, "");
    onnx_input(&in, "s", ONNX_FLOAT, "4");
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(&in, "Cast", "cast", "i", "f", &attrs);
    onnx_node(&in, "Add", "add", "s f", "next", NULL);
    onnx_node(&in, "Less", "less", stop, "more", NULL);
    onnx_node(&in, "Identity", "same", "next", "each", NULL);
    onnx_output(&in, "more");
    onnx_output(&in, "next");
    onnx_output(&in, "each");
    attr_graph(&attrs, "body", &in);
    onnx_node(g, "Loop", "loop", inputs, "y kept", &attrs);
    onnx_output(g, "y");
    onnx_output(g, "kept");
}

static void loops_are_written_out(void **state)
{
    static const int64_t three = 3, two = 2;
    const float want[N] = {0, 2, 3.5f, 5}; /* x + 0 + 1 + 2 */
    const float kept[3 * N] = {-3, -1, 0.5f, 2, -2, 0, 1.5f, 3, 0, 2, 3.5f, 5};
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) { /* by its count, by its condition */
        ot_text g = {0};
        optune_graph *graph;
        optune_err err;
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        onnx_initializer(&g, "n", ONNX_INT64, "", &three, sizeof three);
        onnx_initializer(&g, "m", ONNX_INT64, "", &two, sizeof two);
        loop(&g, stopped ? "- - x" : "n - x", stopped ? "i m" : "i n");
        ot_text again = {0};
        ot_text_add_n(&again, ot_text_str(&g), g.n);
        check_ok(reads(&g, NULL, 0, &graph, &err));
        gives(graph, (const void *const[]){x}, 0, N, want);
        check_ok(reads(&again, NULL, 0, &graph, &err));
        gives(graph, (const void *const[]){x}, 1, 3 * N, kept);
    }
}

/* What its turns would have given is nothing, in the shape that the body tells. */
static void loops_of_no_turn(void **state)
{
    static const int64_t none = 0;
    ot_text g = {0};
    optune_graph *graph;
    optune_err err;
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "none", ONNX_INT64, "", &none, sizeof none);
    loop(&g, "none - x", "i none");
    check_ok(reads(&g, NULL, 0, &graph, &err));
    const optune_tensor *kept = optune_graph_output_type(graph, 1);
    assert_int_equal(kept->rank, 1);
    assert_int_equal(kept->dim[0].max, 0);
    gives(graph, (const void *const[]){x}, 0, N, x);
}

static void loops_without_an_end_in_sight(void **state)
{
    static const int64_t many = (int64_t)1 << 62;
    ot_text g = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_input(&g, "n", ONNX_INT64, "");
    onnx_initializer(&g, "many", ONNX_INT64, "", &many, sizeof many);
    loop(&g, "n - x", "i many");
    refused(&g, "'trip count' depends on what the model is given");
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_input(&g, "n", ONNX_INT64, "");
    loop(&g, "- - x", "i n");
    refused(&g, "only a run knows how many turns it has");
    ot_text in = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "many", ONNX_INT64, "", &many, sizeof many);
    onnx_input(&in, "i", ONNX_INT64, "");
    onnx_input(&in, "on", ONNX_BOOL, "");
    onnx_input(&in, "s", ONNX_FLOAT, "4");
    onnx_node(&in, "Identity", "on", "on", "more", NULL);
    onnx_node(&in, "Identity", "same", "s", "next", NULL);
    onnx_output(&in, "more");
    onnx_output(&in, "next");
    attr_graph(&attrs, "body", &in);
    onnx_node(&g, "Loop", "loop", "many - x", "y", &attrs);
    onnx_output(&g, "y");
    refused(&g, "bodies that are read again and again pass");
}

/* y, sums = Scan(0, x) backwards: running sums, each put in front. */
static void scans_go_both_ways(void **state)
{
    static const float zero = 0;
    static const float sums[N] = {-1.5f, 1.5f, 2.5f, 2};
    static const int64_t back[] = {1};
    ot_text g = {0}, in = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "zero", ONNX_FLOAT, "", &zero, sizeof zero);
    onnx_input(&in, "s", ONNX_FLOAT, "");
    onnx_input(&in, "e", ONNX_FLOAT, "");
    onnx_node(&in, "Add", "add", "s e", "next", NULL);
    onnx_node(&in, "Identity", "same", "next", "each", NULL);
    onnx_output(&in, "next");
    onnx_output(&in, "each");
    attr_graph(&attrs, "body", &in);
    attr_int(&attrs, "num_scan_inputs", 1);
    attr_ints(&attrs, "scan_input_directions", 1, back);
    attr_ints(&attrs, "scan_output_directions", 1, back);
    onnx_node(&g, "Scan", "scan", "zero x", "last y", &attrs);
    onnx_output(&g, "y");
    computes(&g, (const void *const[]){x}, N, sums);
}

/* A body in a body reads what is around both; one name is in each. */
static void bodies_lie_in_bodies(void **state)
{
    static const bool yes[] = {true};
    static const float want[N] = {6, 2, 1, 4};
    ot_text g = {0}, a = {0}, b = {0}, inner = {0}, other = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "c", ONNX_BOOL, "", yes, 1);
    onnx_node(&a, "Abs", "abs", "x", "t", NULL);
    onnx_node(&inner, "Neg", "neg", "x", "u", NULL);
    onnx_node(&inner, "Abs", "abs", "u", "v", NULL);
    onnx_node(&inner, "Add", "add", "v t", "r", NULL);
    onnx_output(&inner, "r");
    body(&other, "Neg", "x");
    attr_graph(&attrs, "then_branch", &inner);
    attr_graph(&attrs, "else_branch", &other);
    onnx_node(&a, "If", "inner", "c", "r", &attrs);
    onnx_output(&a, "r");
    body(&b, "Neg", "x");
    choice(&g, "c", &a, &b);
    computes(&g, (const void *const[]){x}, N, want);
}

/* ---- names of the file -------------------------------------------------------------------- */

static void two_sizes(ot_text *g, const char *dims)
{
    onnx_input(g, "x", ONNX_FLOAT, dims);
    onnx_node(g, "Neg", "neg", "x", "y", NULL);
    onnx_output(g, "y");
}

static void dims_are_bound_by_the_names_of_the_file(void **state)
{
    static const char *const dims = "Dynamic.Dimension.0,Dynamic.Dimension.1";
    static const optune_binding own[] = {{"Dynamic.Dimension.0", 1},
                                         {"Dynamic.Dimension.1", 4}},
                                wrong[] = {{"Dynamic.Dimension.2", 1}},
                                open[] = {{"x_0", 1}, {"x_1", 4}};
    static const float minus[N] = {3, 1, -0.5f, -2};
    ot_text g = {0};
    optune_graph *graph;
    optune_err err;
    (void)state;
    two_sizes(&g, dims);
    check_ok(reads(&g, own, 2, &graph, &err));
    gives(graph, (const void *const[]){x}, 0, N, minus);
    two_sizes(&g, dims);
    assert_true(reads(&g, wrong, 1, &graph, &err) < 0);
    check_contains(err.text, "Dynamic.Dimension.0");
    two_sizes(&g, dims); /* bounded and bound later on */
    check_ok(reads(&g, own, 1, &graph, &err));
    check_ok(optune_graph_bound(graph, "Dynamic.Dimension.1", 2, 9, &err));
    check_contains(optune_graph_text(graph, true), ":2..9");
    check_ok(optune_graph_bind(graph, "Dynamic.Dimension.1", 4, &err));
    gives(graph, (const void *const[]){x}, 0, N, minus);
    two_sizes(&g, "?,?"); /* which names nothing: two dims */
    check_ok(reads(&g, open, 2, &graph, &err));
    gives(graph, (const void *const[]){x}, 0, N, minus);
}

static void an_integer_may_be_bound(void **state)
{
    static const optune_binding rate = {"rate", 8}, data = {"x", 8};
    static const int64_t eight = 8;
    static const float minus[N] = {3, 1, -0.5f, -2};
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        ot_text g = {0}, a = {0}, b = {0};
        optune_graph *graph;
        optune_err err;
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        onnx_input(&g, "rate", ONNX_INT64, "");
        onnx_initializer(&g, "eight", ONNX_INT64, "", &eight, sizeof eight);
        onnx_node(&g, "Equal", "is", "rate eight", "c", NULL);
        body(&a, "Neg", "x");
        body(&b, "NoSuchOperator", "x");
        choice(&g, "c", &a, &b);
        const int status = reads(&g, wrong ? &data : &rate, 1, &graph, &err);
        if (wrong) {
            assert_true(status < 0);
            check_contains(err.text, "it is not one integer");
            continue;
        }
        check_ok(status);
        gives(graph, (const void *const[]){x}, 0, N, minus);
    }
}

static void at_place(ot_text *g, const char *name, int64_t value)
{
    onnx_initializer(g, name, ONNX_INT64, "", &value, sizeof value);
}

/* Of -3 -1 0.5 and 2: the third is put in front of the last, and that in front of both; the length
 * of two is added. */
static void sequences_are_over_before_anything_runs(void **state)
{
    static const float want[] = {2 + 2, 0.5f + 2, 2 + 2};
    ot_text g = {0}, attrs = {0};
    optune_graph *read;
    optune_err err;
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    at_place(&g, "three", 3);
    at_place(&g, "first", 0);
    at_place(&g, "last", -1);
    onnx_node(&g, "SplitToSequence", "split", "x three", "s", NULL); /* -3 -1 0.5, and 2 */
    onnx_node(&g, "SequenceAt", "at", "s last", "two", NULL);
    onnx_node(&g, "SequenceErase", "erase", "s first", "t", NULL);
    onnx_node(&g, "SequenceAt", "at", "s first", "front", NULL);
    onnx_initializer(&g, "at2", ONNX_INT64, "1", &(const int64_t){2}, 8);
    onnx_node(&g, "Gather", "pick", "front at2", "half", NULL);
    onnx_node(&g, "SequenceInsert", "in", "t half last", "u", NULL); /* 0.5, 2 */
    onnx_node(&g, "SequenceLength", "length", "u", "n", NULL);
    onnx_node(&g, "SequenceInsert", "in", "u two first", "v", NULL); /* 2, 0.5, 2 */
    onnx_node(&g, "ConcatFromSequence", "join", "v", "joined",
              (attr_int(&attrs, "axis", 0), &attrs));
    onnx_node(&g, "CastLike", "cast", "n x", "f", NULL);
    onnx_node(&g, "Add", "add", "joined f", "y", NULL);
    onnx_output(&g, "y");
    check_ok(reads(&g, NULL, 0, &read, &err));
    gives(read, (const void *const[]){x}, 0, 3, want);
    /* rows as they are, one behind the other and as columns */
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_node(&g, "SplitToSequence", "split", "x", "s",
              (attr_int(&attrs, "keepdims", 0), &attrs));
    attr_int(&attrs, "axis", -1);
    attr_int(&attrs, "new_axis", 1);
    onnx_node(&g, "ConcatFromSequence", "join", "s", "y", &attrs);
    onnx_output(&g, "y");
    check_ok(reads(&g, NULL, 0, &read, &err));
    gives(read, (const void *const[]){x}, 0, 4, (const float[]){-3, 0.5f, -1, 2});
    static const struct {
        const char *op, *inputs, *why;
    } wrong[] = {
        {"Relu", "s", "Relu 'wrong': input 1 is a sequence"},
        {"SequenceAt", "s two", "position 2 in a sequence with 2 places"},
        {"SequenceAt", "x two", "its input is no sequence"},
        {"SplitToSequence", "x two2", "its parts do not fit into 2"},
        {"Identity", "s", "a sequence is no tensor"},
    };
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "2,2");
        at_place(&g, "two", 2);
        onnx_initializer(&g, "two2", ONNX_INT64, "2", (const int64_t[]){2, 2}, 16);
        onnx_node(&g, "SplitToSequence", "split", "x", "s", NULL);
        onnx_node(&g, wrong[i].op, "wrong", wrong[i].inputs, "y", NULL);
        onnx_output(&g, "y");
        refused(&g, wrong[i].why);
    }
    ot_text_release(&attrs);
}

/* Nodes in front of those that make what they, or their bodies, read, as tools that convert models
 * write them: a chain backwards, whose end a branch reads from inside. */
static void nodes_out_of_order(void **state)
{
    enum { CHAIN = 3000 };
    static const bool yes[] = {true};
    static const float want[N] = {3, 1, 0, 0};
    const void *in[] = {x, yes};
    ot_text g = {0}, a = {0}, b = {0}, from = {0}, to = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_input(&g, "c", ONNX_BOOL, "1");
    body(&a, "Relu", "last");
    body(&b, "Abs", "x");
    choice(&g, "c", &a, &b);
    onnx_node(&g, "Neg", "end", "v0", "last", NULL);
    for (int i = 0; i < CHAIN; i++) {
        ot_text_clear(&from);
        ot_text_clear(&to);
        ot_text_printf(&to, "v%d", i);
        ot_text_printf(&from, "v%d", i + 1);
        onnx_node(&g, "Identity", "step", i + 1 < CHAIN ? ot_text_str(&from) : "x",
                  ot_text_str(&to), NULL);
    }
    computes(&g, in, N, want);
    ot_text_release(&from);
    ot_text_release(&to);
}

/* A body's names are its own: one that is called as its node's output, or as what is made of that
 * further on, is no reader of it. The node stands in front of what its body does read. */
static void names_inside_are_not_those_around(void **state)
{
    static const bool yes[] = {true};
    static const int64_t three[] = {3};
    static const float chosen[N] = {-3, -1, 0, 0}, turned[N] = {3, 1, -0.5f, -2};
    const void *in[] = {x, yes};
    ot_text g = {0}, a = {0}, b = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_input(&g, "c", ONNX_BOOL, "1");
    onnx_node(&a, "Relu", "inside", "last", "t", NULL);
    onnx_node(&a, "Neg", "end", "t", "y", NULL);
    onnx_output(&a, "y");
    body(&b, "Abs", "x");
    choice(&g, "c", &a, &b);
    onnx_node(&g, "Abs", "behind", "y", "t", NULL);
    onnx_node(&g, "Neg", "front", "x", "last", NULL);
    computes(&g, in, N, chosen);
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "n", ONNX_INT64, "", three, sizeof three);
    onnx_input(&a, "i", ONNX_INT64, "");
    onnx_input(&a, "on", ONNX_BOOL, "");
    onnx_input(&a, "t", ONNX_FLOAT, "4");
    onnx_node(&a, "Identity", "same", "on", "go", NULL);
    onnx_node(&a, "Neg", "inside", "t", "y", NULL);
    onnx_output(&a, "go");
    onnx_output(&a, "y");
    attr_graph(&attrs, "body", &a);
    onnx_node(&g, "Loop", "loop", "n - last", "y", &attrs);
    onnx_output(&g, "y");
    onnx_node(&g, "Abs", "behind", "y", "t", NULL);
    onnx_node(&g, "Identity", "front", "x", "last", NULL);
    computes(&g, in, N, turned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_choice_is_one_branch),
        cmocka_unit_test(an_unknown_choice_is_made_by_elements),
        cmocka_unit_test(a_failure_inside_is_named_once),
        cmocka_unit_test(loops_are_written_out),
        cmocka_unit_test(loops_of_no_turn),
        cmocka_unit_test(loops_without_an_end_in_sight),
        cmocka_unit_test(scans_go_both_ways),
        cmocka_unit_test(bodies_lie_in_bodies),
        cmocka_unit_test(sequences_are_over_before_anything_runs),
        cmocka_unit_test(dims_are_bound_by_the_names_of_the_file),
        cmocka_unit_test(an_integer_may_be_bound),
        cmocka_unit_test(nodes_out_of_order),
        cmocka_unit_test(names_inside_are_not_those_around),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
