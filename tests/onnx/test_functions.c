/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a model: calls mean their bodies, with the names, attributes and defaults of each
 * call; what calls itself or grows without bound is refused. */
#include <math.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* The model with its functions, both emptied. */
static int read_model(ot_text *graph, ot_text *functions, optune_graph **g, optune_err *err)
{
    ot_text model = {0}, import = {0};
    onnx_model(graph, 17, &model);
    wire_text(&import, 1, "my");
    wire_int(&import, 2, 1);
    wire_part(&model, 8, &import);
    ot_text_add_n(&model, ot_text_str(functions), functions->n);
    ot_text_release(functions);
    *err = (optune_err){0};
    assert_true(ot_write_file(onnx_path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read(onnx_path, g, err);
}

/* Adds a function of the domain "my" whose nodes onnx_node wrote, emptied. */
static void add_function(ot_text *to, const char *name, const char *inputs, const char *outputs,
                         ot_text *nodes, const char *overload, ot_text *defaults)
{
    ot_text f = {0};
    const char *at = ot_text_str(nodes);
    wire_text(&f, 1, name);
    wire_words(&f, 4, inputs);
    wire_words(&f, 5, outputs);
    for (size_t i = 0; i < nodes->n;) { /* field 1 of a graph is field 7 of a function */
        size_t n = 0, shift = 0, head = 1;
        do
            n |= (size_t)(at[i + head] & 0x7f) << shift, shift += 7;
        while (at[i + head++] & 0x80);
        wire_bytes(&f, 7, at + i + head, n);
        i += head + n;
    }
    ot_text_release(nodes);
    wire_text(&f, 10, "my");
    if (defaults) { /* attributes of nodes are field 5, of functions 11 */
        const char *from = ot_text_str(defaults);
        wire_bytes(&f, 11, from + 2, defaults->n - 2); /* one, shorter than 128 bytes */
        ot_text_release(defaults);
    }
    if (*overload)
        wire_text(&f, 13, overload);
    wire_part(to, 25, &f);
}

static void attr_of_function(ot_text *attrs, const char *name, const char *whose, int type)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    wire_int(&attr, 20, type);
    wire_text(&attr, 21, whose);
    wire_part(attrs, 5, &attr);
}

/* A node of the domain "my"; the overload's field is 8. */
static void call(ot_text *graph, const char *op, const char *name, const char *inputs,
                 const char *outputs, ot_text *attrs, const char *overload)
{
    ot_text more = {0};
    if (attrs) {
        ot_text_add_n(&more, ot_text_str(attrs), attrs->n);
        ot_text_release(attrs);
    }
    wire_text(&more, 7, "my");
    if (*overload)
        wire_text(&more, 8, overload);
    onnx_node(graph, op, name, inputs, outputs, &more);
}

static void check_output(optune_graph *g, const float *x, int n, const float *want)
{
    optune_values *values = NULL;
    optune_err err = {0};
    const void *const in[] = {x};
    check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i])))) {
            print_error("element %d is %.9g, not %.9g\n", i, got[i], want[i]);
            fail();
        }
    optune_values_free(values);
    optune_graph_close(g);
}

static const float x[] = {-3, -1, 0.5f, 2};

static void ends(ot_text *g)
{
    onnx_input(g, "x", ONNX_FLOAT, "4");
    onnx_output(g, "y");
}

/* act(x) = leaky(x, slope) + k, where k is a constant of the body. */
static void add_act(ot_text *functions, ot_text *defaults)
{
    ot_text nodes = {0}, attrs = {0};
    attr_of_function(&attrs, "alpha", "slope", 1);
    onnx_node(&nodes, "LeakyRelu", "leak", "x", "t", &attrs);
    attr_real(&attrs, "value_float", 0.25f);
    onnx_node(&nodes, "Constant", "k", "", "k", &attrs);
    onnx_node(&nodes, "Add", "plus", "t k", "y", NULL);
    add_function(functions, "act", "x", "y", &nodes, "", defaults);
}

static float act(float v, float slope)
{
    return (v < 0 ? slope * v : v) + 0.25f;
}

static void each_call_has_its_own(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    add_act(&f, NULL);
    ends(&g);
    attr_real(&attrs, "slope", 0.5f);
    call(&g, "act", "first", "x", "t", &attrs, ""); /* `t` is a name of the body, too */
    attr_real(&attrs, "slope", 0.125f);
    call(&g, "act", "second", "t", "u", &attrs, "");
    onnx_node(&g, "Sub", "less", "u x", "y", NULL);
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = act(act(x[i], 0.5f), 0.125f) - x[i];
    check_output(graph, x, 4, want);
}

/* Names outside that look like those which calls give to names inside. */
static void names_do_not_meet(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    add_act(&f, NULL);
    ends(&g);
    onnx_node(&g, "Neg", "n", "x", "f0/t", NULL);
    onnx_node(&g, "Neg", "m", "f0/t", "f_1/t", NULL);
    attr_real(&attrs, "slope", 0.5f);
    call(&g, "act", "only", "f_1/t", "a", &attrs, "");
    onnx_node(&g, "Add", "plus", "a f0/t", "y", NULL);
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = act(x[i], 0.5f) - x[i];
    check_output(graph, x, 4, want);
}

static void functions_call_functions(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, nodes = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    add_act(&f, NULL);
    attr_of_function(&attrs, "slope", "steep", 1);
    call(&nodes, "act", "inner", "x", "t", &attrs, "");
    onnx_node(&nodes, "Neg", "minus", "t", "z", NULL);
    add_function(&f, "both", "x b", "t z", &nodes, "", NULL);
    ends(&g);
    attr_real(&attrs, "steep", 2);
    call(&g, "both", "outer", "x", "p q", &attrs, ""); /* one input less than it could have */
    onnx_node(&g, "Mul", "times", "p q", "y", NULL);
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = -act(x[i], 2) * act(x[i], 2);
    check_output(graph, x, 4, want);
}

static void attributes_have_defaults(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, defaults = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    attr_real(&defaults, "slope", 0.75f);
    add_act(&f, &defaults);
    ends(&g);
    call(&g, "act", "default", "x", "t", NULL, "");
    attr_real(&attrs, "slope", 3);
    call(&g, "act", "own", "t", "y", &attrs, "");
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = act(act(x[i], 0.75f), 3);
    check_output(graph, x, 4, want);
}

static void overloads_are_functions_of_their_own(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, nodes = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    onnx_node(&nodes, "Neg", "n", "x", "y", NULL);
    add_function(&f, "one", "x", "y", &nodes, "minus", NULL);
    onnx_node(&nodes, "Exp", "e", "x", "y", NULL);
    add_function(&f, "one", "x", "y", &nodes, "power", NULL);
    ends(&g);
    call(&g, "one", "a", "x", "t", NULL, "power");
    call(&g, "one", "b", "t", "y", NULL, "minus");
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = -expf(x[i]);
    check_output(graph, x, 4, want);
}

static void an_input_may_be_an_output(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, nodes = {0};
    optune_graph *graph = NULL;
    optune_err err;
    float want[4];
    onnx_node(&nodes, "Neg", "n", "x", "m", NULL);
    add_function(&f, "pair", "x", "m x", &nodes, "", NULL);
    ends(&g);
    call(&g, "pair", "a", "x", "m same", NULL, "");
    onnx_node(&g, "Mul", "t", "m same", "y", NULL);
    check_ok(read_model(&g, &f, &graph, &err));
    for (int i = 0; i < 4; i++)
        want[i] = -x[i] * x[i];
    check_output(graph, x, 4, want);
}

static void refused(ot_text *g, ot_text *f, int status, const char *part, const char *other)
{
    optune_graph *graph = NULL;
    optune_err err;
    const int was = read_model(g, f, &graph, &err);
    if (was != status)
        print_error("status %d, not %d: %s\n", was, status, err.text);
    assert_int_equal(was, status);
    assert_null(graph);
    check_contains(err.text, part);
    check_contains(err.text, other);
}

static void what_cannot_be(void **state)
{
    (void)state;
    ot_text g = {0}, f = {0}, nodes = {0}, attrs = {0};
    call(&nodes, "again", "inner", "x", "y", NULL, "");
    add_function(&f, "again", "x", "y", &nodes, "", NULL);
    ends(&g);
    call(&g, "again", "outer", "x", "y", NULL, "");
    refused(&g, &f, OPTUNE_ELIMIT, "again", "without end");

    onnx_node(&nodes, "Neg", "n", "x", "y", NULL);
    add_function(&f, "f0", "x", "y", &nodes, "", NULL);
    for (int i = 1; i < 30; i++) {
        char name[8], before[8];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(before, sizeof before, "f%d", i - 1);
        call(&nodes, before, "a", "x", "t", NULL, "");
        call(&nodes, before, "b", "t", "y", NULL, "");
        add_function(&f, name, "x", "y", &nodes, "", NULL);
    }
    ends(&g);
    call(&g, "f29", "bomb", "x", "y", NULL, "");
    refused(&g, &f, OPTUNE_ELIMIT, "64 MiB", "written out");

    onnx_node(&nodes, "Neg", "n", "x", "y", NULL);
    add_function(&f, "one", "x", "y", &nodes, "", NULL);
    ends(&g);
    call(&g, "one", "more", "x x", "y", NULL, "");
    refused(&g, &f, OPTUNE_EDAMAGED, "'more'", "more inputs");

    onnx_node(&nodes, "Neg", "n", "elsewhere", "y", NULL);
    add_function(&f, "open", "x", "y", &nodes, "", NULL);
    ends(&g);
    call(&g, "open", "who", "x", "y", NULL, "");
    refused(&g, &f, OPTUNE_EDAMAGED, "who/n", "is missing");

    onnx_node(&nodes, "Strange", "s", "x", "y", NULL);
    add_function(&f, "odd", "x", "y", &nodes, "", NULL);
    ends(&g);
    call(&g, "odd", "who", "x", "y", NULL, "");
    refused(&g, &f, OPTUNE_EUNSUPPORTED, "Strange 'who/s'", "not supported");

    ends(&g);
    attr_of_function(&attrs, "alpha", "slope", 1);
    onnx_node(&g, "LeakyRelu", "loose", "x", "y", &attrs);
    refused(&g, &f, OPTUNE_EUNSUPPORTED, "'loose'", "in none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_has_its_own),
        cmocka_unit_test(names_do_not_meet),
        cmocka_unit_test(functions_call_functions),
        cmocka_unit_test(attributes_have_defaults),
        cmocka_unit_test(overloads_are_functions_of_their_own),
        cmocka_unit_test(an_input_may_be_an_output),
        cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
