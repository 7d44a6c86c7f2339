/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters leave in files: limits that are the largest integer, nodes that nobody reads,
 * names longer than ours, parameters of another dtype; and files that contradict themselves. */
#include <math.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* Reads the graph, emptied, as a model; the status. */
static int reads(ot_text *graph, const optune_binding *bind, int n, optune_graph **g,
                 optune_err *err)
{
    ot_text model = {0};
    *err = (optune_err){0};
    onnx_model(graph, 17, &model);
    assert_true(ot_write_file(onnx_path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read_bound(onnx_path, bind, n, g, err);
}

static void refused(ot_text *graph, const char *reason)
{
    optune_graph *g = NULL;
    optune_err err;
    assert_true(reads(graph, NULL, 0, &g, &err) < 0);
    assert_null(g);
    check_contains(err.text, reason);
}

/* The only output's elements, n of them with a NaN where NaN is wanted. */
static void computes(ot_text *graph, const void *x, int n, const float *want)
{
    optune_graph *g = NULL;
    optune_err err;
    optune_values *values = NULL;
    check_ok(reads(graph, NULL, 0, &g, &err));
    check_ok(optune_graph_evaluate(g, &x, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(got[i] == want[i] || (isnan(got[i]) && isnan(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

static const float x5[] = {-2, 0, 3, NAN, INFINITY};

static void data(ot_text *graph)
{
    onnx_input(graph, "x", ONNX_FLOAT, "5");
}

static void done(ot_text *graph)
{
    onnx_output(graph, "y");
}

/* x[1:INT64_MAX], the limit by way of operators that are computed while the file is read. */
static void the_largest_integer_stays(void **state)
{
    static const int64_t most = INT64_MAX, zero = 0, one = 1;
    ot_text g = {0}, attrs = {0};
    (void)state;
    data(&g);
    onnx_initializer(&g, "most", ONNX_INT64, "", &most, sizeof most);
    onnx_initializer(&g, "zero", ONNX_INT64, "1", &zero, sizeof zero);
    onnx_initializer(&g, "one", ONNX_INT64, "1", &one, sizeof one);
    onnx_node(&g, "Unsqueeze", "unsqueeze", "most zero", "row", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "concat", "row", "ends", &attrs);
    onnx_node(&g, "Slice", "slice", "x one ends zero", "y", NULL);
    done(&g);
    computes(&g, x5, 4, x5 + 1);
}

static void what_nobody_reads_is_left_out(void **state)
{
    static const float want[] = {2, 0, 3, NAN, INFINITY};
    ot_text g = {0};
    (void)state;
    data(&g);
    onnx_node(&g, "NonZero", "unknown", "x", "where", NULL);
    onnx_node(&g, "Identity", "same", "where", "there", NULL);
    onnx_node(&g, "Abs", "abs", "x", "y", NULL);
    done(&g);
    computes(&g, x5, 5, want);
}

static void nodes_of_mixed_dtypes(void **state)
{
    static const int64_t two = 2;
    static const float high = INFINITY, low = -1;
    static const float power = 2;
    static const float square[] = {4, 0, 9, NAN, INFINITY}, sign[] = {-1, 0, 1, NAN, 1};
    static const float above[] = {-1, 0, 3, NAN, INFINITY};
    ot_text g = {0};
    (void)state;
    data(&g);
    onnx_initializer(&g, "two", ONNX_INT64, "", &two, sizeof two);
    onnx_node(&g, "Pow", "pow", "x two", "y", NULL);
    done(&g);
    computes(&g, x5, 5, square);
    data(&g);
    onnx_initializer(&g, "power", ONNX_FLOAT, "", &power, sizeof power);
    onnx_node(&g, "Pow", "pow", "x power", "y", NULL);
    done(&g);
    computes(&g, x5, 5, square);
    data(&g);
    onnx_node(&g, "Sign", "sign", "x", "y", NULL);
    done(&g);
    computes(&g, x5, 5, sign);
    data(&g);
    onnx_initializer(&g, "low", ONNX_FLOAT, "", &low, sizeof low);
    onnx_initializer(&g, "high", ONNX_FLOAT, "", &high, sizeof high);
    onnx_node(&g, "Clip", "clip", "x low high", "y", NULL);
    done(&g);
    computes(&g, x5, 5, above);
}

/* The graph that it is becomes, as text. */
static void becomes(ot_text *g, const char *part, bool there)
{
    optune_graph *graph = NULL;
    optune_err err;
    done(g);
    check_ok(reads(g, NULL, 0, &graph, &err));
    if (there != !!strstr(optune_graph_text(graph, true), part))
        fail_msg("%s: %s", part, optune_graph_text(graph, true));
    optune_graph_close(graph);
}

/* What is one function of a value is one call, which joins what is in front of it. */
static void activations_are_one_call(void **state)
{
    static const float given[5] = {-2, 0, 2, -3, 0.75f}, half = 0.5f;
    static const float leaky[5] = {-1, 0, 2, -1.5f, 0.75f};
    float silu[5];
    ot_text g = {0}, attrs = {0};
    (void)state;
    data(&g);
    attr_real(&attrs, "alpha", 0.5);
    onnx_node(&g, "LeakyRelu", "leaky", "x", "y", &attrs);
    becomes(&g, "leaky_relu(x, alpha=0.5)", true);
    data(&g);
    onnx_initializer(&g, "slope", ONNX_FLOAT, "1", &half, sizeof half);
    onnx_node(&g, "PRelu", "prelu", "x slope", "y", NULL);
    becomes(&g, "= prelu(", true);
    data(&g);
    onnx_node(&g, "Sigmoid", "gate", "x", "s", NULL);
    onnx_node(&g, "Mul", "swish", "s x", "y", NULL);
    becomes(&g, "y : f32[5] = silu(x)", true);
    data(&g); /* somebody else reads the gate, or it is another value's */
    onnx_node(&g, "Sigmoid", "gate", "x", "s", NULL);
    onnx_node(&g, "Mul", "swish", "s x", "m", NULL);
    onnx_node(&g, "Add", "sum", "m s", "y", NULL);
    becomes(&g, "silu", false);
    data(&g);
    onnx_node(&g, "Relu", "relu", "x", "r", NULL);
    onnx_node(&g, "Sigmoid", "gate", "x", "s", NULL);
    onnx_node(&g, "Mul", "swish", "s r", "y", NULL);
    becomes(&g, "silu", false);
    data(&g);
    onnx_node(&g, "Sigmoid", "gate", "x", "s", NULL);
    onnx_node(&g, "Mul", "swish", "x s", "y", NULL);
    done(&g);
    for (int i = 0; i < 5; i++)
        silu[i] = (float)(given[i] * (1 / (1 + exp(-(double)given[i]))));
    computes(&g, given, 5, silu);
    data(&g);
    attr_real(&attrs, "alpha", 0.5);
    onnx_node(&g, "LeakyRelu", "leaky", "x", "y", &attrs);
    done(&g);
    computes(&g, given, 5, leaky);
}

static void number(ot_text *g, const char *name, float of)
{
    onnx_initializer(g, name, ONNX_FLOAT, "", &of, sizeof of);
}

/* What exporters write in place of an activation: the constants in front or behind, the value on
 * either side, by a power or by products. */
static void spelled_activations_are_one_call(void **state)
{
    static const float given[5] = {-3, -0.5f, 0, 0.75f, 4};
    float want[5];
    ot_text g = {0};
    (void)state;
    for (int computed = 0; computed < 2; computed++) {
        data(&g);
        number(&g, "root", 1.41421356f);
        number(&g, "one", 1);
        number(&g, "half", 0.5f);
        onnx_node(&g, "Div", "div", "x root", "d", NULL);
        onnx_node(&g, "Erf", "erf", "d", "e", NULL);
        onnx_node(&g, "Add", "add", "e one", "s", NULL);
        onnx_node(&g, "Mul", "mul", "x s", "m", NULL);
        onnx_node(&g, "Mul", "scale", "m half", "y", NULL);
        if (!computed)
            becomes(&g, "y : f32[5] = gelu(x)", true);
    }
    done(&g);
    for (int i = 0; i < 5; i++)
        want[i] = (float)(given[i] / 2. * (1 + erf(given[i] / sqrt(2))));
    computes(&g, given, 5, want);
    data(&g); /* as GPT-2 has it, its half in front */
    number(&g, "three", 3);
    number(&g, "bend", 0.044715f);
    number(&g, "steep", 0.7978846f);
    number(&g, "one", 1);
    number(&g, "half", 0.5f);
    onnx_node(&g, "Mul", "scale", "half x", "h", NULL);
    onnx_node(&g, "Pow", "cube", "x three", "c", NULL);
    onnx_node(&g, "Mul", "some", "c bend", "b", NULL);
    onnx_node(&g, "Add", "sum", "x b", "u", NULL);
    onnx_node(&g, "Mul", "by", "u steep", "v", NULL);
    onnx_node(&g, "Tanh", "tanh", "v", "t", NULL);
    onnx_node(&g, "Add", "up", "t one", "w", NULL);
    onnx_node(&g, "Mul", "end", "h w", "y", NULL);
    becomes(&g, "y : f32[5] = gelu_tanh(x)", true);
    data(&g);
    number(&g, "steep", 1.702f);
    onnx_node(&g, "Mul", "by", "x steep", "v", NULL);
    onnx_node(&g, "Sigmoid", "gate", "v", "s", NULL);
    onnx_node(&g, "Mul", "end", "x s", "y", NULL);
    becomes(&g, "y : f32[5] = swish(x, beta=1.70", true);
    data(&g);
    number(&g, "three", 3);
    number(&g, "six", 6);
    number(&g, "zero", 0);
    onnx_node(&g, "Add", "sum", "x three", "u", NULL);
    onnx_node(&g, "Clip", "clip", "u zero six", "c", NULL);
    onnx_node(&g, "Mul", "by", "x c", "m", NULL);
    onnx_node(&g, "Div", "div", "m six", "y", NULL);
    becomes(&g, "y : f32[5] = hardswish(x)", true);
    data(&g);
    onnx_node(&g, "Softplus", "soft", "x", "s", NULL);
    onnx_node(&g, "Tanh", "tanh", "s", "t", NULL);
    onnx_node(&g, "Mul", "by", "x t", "y", NULL);
    becomes(&g, "y : f32[5] = mish(x)", true);
    data(&g); /* another constant, and a part that somebody else reads */
    number(&g, "root", 1.4f);
    number(&g, "one", 1);
    onnx_node(&g, "Div", "div", "x root", "d", NULL);
    onnx_node(&g, "Erf", "erf", "d", "e", NULL);
    onnx_node(&g, "Add", "add", "e one", "s", NULL);
    onnx_node(&g, "Mul", "mul", "x s", "y", NULL);
    becomes(&g, "gelu", false);
    data(&g);
    onnx_node(&g, "Softplus", "soft", "x", "s", NULL);
    onnx_node(&g, "Tanh", "tanh", "s", "t", NULL);
    onnx_node(&g, "Mul", "by", "x t", "m", NULL);
    onnx_node(&g, "Add", "sum", "m t", "y", NULL);
    becomes(&g, "mish", false);
}

/* Limits beyond the usual values, epsilons and factors next to 1 stay: within slack of an
 * activation, they are there for what is behind it. */
static void limits_and_epsilons_stay(void **state)
{
    static const struct {
        const char *op[4], *inputs[4], *never;
        float low, high;
        bool kept; /* it is `never`, all the same */
    } all[] = {
        {{"Sigmoid", "Mul", "Clip"}, {"x", "x a", "b low high"}, "clip(b", -10, 10, true},
        {{"Sigmoid", "Mul", "Clip"}, {"x", "x a", "b low high"}, "clip(b", -400, 400, true},
        {{"Clip", "Softplus"}, {"x - high", "a"}, "softplus(x)", 0, 10, false},
        {{"Clip", "Softplus"}, {"x - high", "a"}, "softplus(x)", 0, 500, false},
        {{"Clip", "Softplus", "Log"}, {"x low", "a", "b"}, "softplus(x)", -20, 0, false},
        {{"Softplus", "Clip", "Log"}, {"x", "a low", "b"}, "clip(", 1e-3f, 0, true},
        {{"Softplus", "Add", "Add", "Log"}, {"x", "a high", "b low", "c"}, "add(", -1, 1, true},
        {{"Add", "Relu", "Softplus"}, {"x low", "a", "b"}, "softplus(x)", 7, 0, false},
        {{"Softplus", "Add", "Log"}, {"x", "a low", "b"}, "add(", 1e-7f, 0, true},
        {{"Exp", "Add", "Add", "Log"},
         {"x", "a high", "b low", "c"},
         "softplus",
         1e-6f,
         1,
         false},
        {{"Exp", "Add", "Add", "Log"},
         {"x", "a high", "b low", "c"},
         "softplus",
         1e-7f,
         1,
         false},
        {{"Exp", "Add", "Log"}, {"x", "a high", "b"}, "= softplus(x)", 0, 1, true},
        {{"Mul", "Sigmoid", "Mul"}, {"x high", "a", "b x"}, "silu", 0, 1.0000001f, false},
        {{"Mul", "Sigmoid", "Mul"}, {"x high", "a", "b x"}, "= silu(x)", 0, 1, true},
        {{"Sigmoid", "Mul", "Mul"}, {"x", "a x", "b high"}, "multiply(", 0, 1.0000001f, true},
    };
    static const char *const made[] = {"a", "b", "c"};
    const uint16_t small = 0x1019; /* 5e-4 */
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0};
        data(&g);
        number(&g, "low", all[i].low);
        number(&g, "high", all[i].high);
        for (int k = 0; k < 4 && all[i].op[k]; k++)
            onnx_node(&g, all[i].op[k], made[k % 3], all[i].inputs[k],
                      k < 3 && all[i].op[k + 1] ? made[k] : "y", NULL);
        print_message("case %d\n", i);
        becomes(&g, all[i].never, all[i].kept);
    }
    ot_text g = {0}, attrs = {0};
    for (int inside = 0; inside < 2; inside++) { /* of what has limits itself: a third one */
        data(&g);
        number(&g, "high", 400);
        attr_real(&attrs, "alpha", 1.f / 6);
        onnx_node(&g, "HardSigmoid", "hard", "x", "b", &attrs);
        onnx_node(&g, "Clip", "clip", inside ? "x - high" : "x", "a", NULL);
        onnx_node(&g, "Mul", "by", "a b", "y", NULL);
        becomes(&g, "hardswish(x)", !inside);
    }
    onnx_input(&g, "x", 10, "5");
    onnx_initializer(&g, "small", 10, "", &small, sizeof small);
    onnx_node(&g, "Softplus", "soft", "x", "a", NULL);
    onnx_node(&g, "Add", "sum", "a small", "y", NULL);
    becomes(&g, "add(", true);
}

/* One side of a product far along: what is looked at is bounded before it is gone into. */
static void far_sides_are_left_alone(void **state)
{
    enum { LENGTH = 30000 };
    char from[16] = "x", to[16], both[24];
    ot_text g = {0};
    (void)state;
    data(&g);
    onnx_node(&g, "Sigmoid", "gate", "x", "s", NULL);
    for (int i = 0; i < LENGTH; i++) {
        snprintf(to, sizeof to, "c%d", i);
        onnx_node(&g, "Neg", to, from, to, NULL);
        memcpy(from, to, sizeof to);
    }
    snprintf(both, sizeof both, "s %s", from);
    onnx_node(&g, "Mul", "by", both, "y", NULL);
    becomes(&g, "silu", false);
}

/* Limits of integers and of doubles are their own. */
static void limits_are_exact(void **state)
{
    static const int64_t whole[] = {INT64_MAX, -5, 7}, low = 0;
    static const double real[] = {1e300, -1e300};
    optune_graph *graph = NULL;
    optune_values *values = NULL;
    optune_err err;
    ot_text g = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_INT64, "3");
    onnx_initializer(&g, "low", ONNX_INT64, "", &low, sizeof low);
    onnx_node(&g, "Clip", "clip", "x low", "y", NULL);
    done(&g);
    check_ok(reads(&g, NULL, 0, &graph, &err));
    check_ok(optune_graph_evaluate(graph, &(const void *){whole}, NULL, &values, &err));
    assert_int_equal(((const int64_t *)optune_values_data(values, 0))[0], INT64_MAX);
    assert_int_equal(((const int64_t *)optune_values_data(values, 0))[1], 0);
    optune_values_free(values);
    optune_graph_close(graph);
    onnx_input(&g, "x", 11, "2");
    onnx_node(&g, "Clip", "clip", "x", "y", NULL);
    done(&g);
    check_ok(reads(&g, NULL, 0, &graph, &err));
    check_ok(optune_graph_evaluate(graph, &(const void *){real}, NULL, &values, &err));
    assert_memory_equal(optune_values_data(values, 0), real, sizeof real);
    optune_values_free(values);
    optune_graph_close(graph);
}

/* Names are cut to what ours hold: two dims stay two, and each can be bound. */
static void long_names_of_dims_differ(void **state)
{
    ot_text g = {0};
    optune_graph *graph = NULL;
    optune_err err;
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        onnx_input(&g, "a", ONNX_FLOAT, "past_sequence_length");
        onnx_input(&g, "b", ONNX_FLOAT, "past_sequence_length_and_one");
        onnx_input(&g, "c", ONNX_FLOAT, "past_sequence_length");
        onnx_node(&g, "Relu", "relu", "a", "y", NULL);
        onnx_node(&g, "Relu", "other", "b", "z", NULL);
        onnx_node(&g, "Relu", "third", "c", "w", NULL);
        onnx_output(&g, "y");
        onnx_output(&g, "z");
        onnx_output(&g, "w");
        static const optune_binding bind[] = {{"past_sequence_l", 3}, {"past_seque_2", 4}};
        check_ok(reads(&g, bind, 2 * bound, &graph, &err));
        char a[OPTUNE_DIM_NAME_SIZE], b[OPTUNE_DIM_NAME_SIZE];
        const optune_dim dim[] = {graph->node[0].out[0].dim[0], graph->node[1].out[0].dim[0],
                                  graph->node[2].out[0].dim[0]};
        memcpy(a, dim[0].name, sizeof a);
        memcpy(b, dim[1].name, sizeof b);
        assert_true(bound || strcmp(a, b) != 0);
        assert_string_equal(dim[2].name, a);
        assert_int_equal(dim[1].min, bound ? 4 : 0);
        assert_int_equal(dim[2].min, bound ? 3 : 0);
        optune_graph_close(graph);
    }
}

static void contradictions_are_refused(void **state)
{
    static const float w[8] = {1};
    static const int64_t kernel[] = {2, 2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    data(&g);
    onnx_initializer(&g, "w", ONNX_FLOAT, "5", w, 20);
    onnx_initializer(&g, "w", ONNX_FLOAT, "5", w, 20);
    onnx_node(&g, "Add", "add", "x w", "y", NULL);
    done(&g);
    refused(&g, "initializer 'w': there are two of this name");
    data(&g);
    data(&g);
    onnx_node(&g, "Abs", "abs", "x", "y", NULL);
    done(&g);
    refused(&g, "input 'x': there are two of this name");
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4,4");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,1,1", w, 4);
    onnx_initializer(&g, "b", ONNX_FLOAT, "5", w, 20);
    onnx_node(&g, "Conv", "conv", "x w b", "y", NULL);
    done(&g);
    refused(&g, "its bias is no list of a number for each of its channels");
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4,4");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,1,1", w, 4);
    attr_ints(&attrs, "kernel_shape", 2, kernel);
    onnx_node(&g, "Conv", "conv", "x w", "y", &attrs);
    done(&g);
    refused(&g, "'kernel_shape' says 2 where its weight has 1");
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4,4");
    onnx_initializer(&g, "p", ONNX_FLOAT, "5", w, 20);
    onnx_node(&g, "BatchNormalization", "norm", "x p p p p", "y", NULL);
    done(&g);
    refused(&g, "its input 2 is no list of a number for each channel");
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4,4"); /* the same behind a convolution */
    onnx_initializer(&g, "w", ONNX_FLOAT, "4,1,1,1", w, 16);
    onnx_initializer(&g, "p", ONNX_FLOAT, "1", w, 4);
    onnx_node(&g, "Conv", "conv", "x w", "c", NULL);
    onnx_node(&g, "BatchNormalization", "norm", "c p p p p", "y", NULL);
    done(&g);
    refused(&g, "its parameters are not as long as it has channels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_integer_stays),
        cmocka_unit_test(what_nobody_reads_is_left_out),
        cmocka_unit_test(nodes_of_mixed_dtypes),
        cmocka_unit_test(activations_are_one_call),
        cmocka_unit_test(spelled_activations_are_one_call),
        cmocka_unit_test(limits_and_epsilons_stay),
        cmocka_unit_test(far_sides_are_left_alone),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(long_names_of_dims_differ),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
