/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX files mean: the elements of a file are those that are computed with, whatever way they
 * take into the graph; constants are folded, normalisation goes into weights, dims are bound. */
#include <math.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

static const char *stored(const char *name, const void *data, size_t n)
{
    static char path[512];
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", onnx_folder, name);
    check_ok(ot_write_file(path, data, n, &err));
    return path;
}

static optune_graph *read_model(ot_text *model, const optune_binding *bind, int n)
{
    optune_graph *g = NULL;
    optune_err err = {0};
    const char *path = stored("model.onnx", ot_text_str(model), model->n);
    check_ok(optune_graph_read_bound(path, bind, n, &g, &err));
    ot_text_release(model);
    return g;
}

static void check_output(optune_graph *g, const void *x, int n, const float *want)
{
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(g, &x, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i])))) {
            print_error("element %d is %.9g, not %.9g\n", i, got[i], want[i]);
            fail();
        }
    optune_values_free(values);
}

/* The same network, computed here in the order in which the file has it. */
static void small_by_hand(const float x[2][9], float y[2])
{
    static const double w[2][2] = {{1, 2}, {-1, 0.5}}, b[] = {0.5, -0.5};
    static const double gamma[] = {2, 1}, beta[] = {1, 0}, mean[] = {0.5, 1}, var[] = {4, 1};
    static const double dense[3][2] = {{0.25, 1}, {1, -1}, {0.5, 0}};
    double d[2] = {b[0], b[1]};
    for (int p = 0; p < 3; p++) { /* other rows of the product are zeros */
        const double c = w[0][0] * x[0][p] + w[0][1] * x[1][p] + b[0];
        const double n = (c - mean[0]) / sqrt(var[0] + 1e-5) * gamma[0] + beta[0];
        for (int k = 0; k < 2; k++)
            d[k] += (n > 0 ? n : 0) * dense[p][k];
    }
    const double sum = exp(d[0]) + exp(d[1]);
    y[0] = (float)(exp(d[0]) / sum);
    y[1] = (float)(exp(d[1]) / sum);
}

static int count(const optune_graph *g, const char *op)
{
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->node[i].kind == OT_NODE_CALL && !strcmp(g->node[i].call->op->name, op);
    return n;
}

static void a_network_is_computed(void **state)
{
    (void)state;
    ot_text model = {0};
    onnx_small(&model);
    optune_graph *g = read_model(&model, &(const optune_binding){"batch", 1}, 1);
    float x[2][9], y[2];
    for (int i = 0; i < 18; i++)
        x[i / 9][i % 9] = (float)(i * 7 % 5) - 1.5f;
    small_by_hand(x, y);
    check_output(g, x, 2, y);
    assert_int_equal(count(g, "conv2d"), 1);
    assert_int_equal(count(g, "multiply"), 0);  /* the normalisation is in the weights */
    assert_int_equal(count(g, "transpose"), 0); /* a constant is transposed while it is read */
    for (int i = 0; i < g->n; i++)              /* nothing that was folded away is left */
        assert_true(g->node[i].kind != OT_NODE_CONST || g->node[i].data);
    optune_graph_close(g);
}

static void dims_are_bound(void **state)
{
    (void)state;
    ot_text model = {0};
    optune_graph *g = NULL;
    optune_err err = {0};
    onnx_small(&model);
    const char *path = stored("model.onnx", ot_text_str(&model), model.n);
    assert_true(optune_graph_read_bound(path, &(const optune_binding){"bach", 3}, 1, &g, &err) <
                0);
    check_contains(err.text, "did you mean 'batch'?");
    const optune_binding twice[] = {{"batch", 3}, {"batch", 4}};
    assert_int_equal(optune_graph_read_bound(path, twice, 2, &g, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "dim 'batch' is bound to 3 already: bind it once");
    g = read_model(&model, &(const optune_binding){"batch", 3}, 1);
    assert_int_equal(optune_graph_output_type(g, 0)->dim[0].min, 3);
    assert_int_equal(optune_graph_bound(g, "batch", 1, 8, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "dim 'batch' is bound to 3 already: bind it once");
    optune_graph_close(g);
}

/* Without a shape that is computed, a dim may stay open and be bound later. */
static void dims_stay_symbolic(void **state)
{
    (void)state;
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "sequence length,4");
    onnx_node(&g, "Relu", "", "x", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 17, &model);
    const optune_binding both[] = {{"sequence length", 3}, {"sequence_length", 4}};
    const char *path = stored("model.onnx", ot_text_str(&model), model.n);
    optune_graph *graph = NULL;
    assert_int_equal(optune_graph_read_bound(path, both, 2, &graph, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "dim 'sequence_length' is bound to 3 already");
    graph = read_model(&model, NULL, 0);
    assert_false(optune_dim_known(&optune_graph_output_type(graph, 0)->dim[0]));
    check_ok(optune_graph_bind(graph, "sequence_length", 5, &err));
    check_ok(optune_graph_infer(graph, &err));
    assert_int_equal(optune_graph_output_type(graph, 0)->dim[0].min, 5);
    optune_graph_close(graph);
}

/* A number is asked for where it can be given: of the model's own dims. */
static void what_is_computed_is_asked_for_by_its_parts(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "rows,of it,2");
    attr_int(&attrs, "axis", 2);
    onnx_node(&g, "Flatten", "flat", "x", "f", &attrs);
    onnx_node(&g, "EyeLike", "eye", "f", "y", NULL);
    onnx_output(&g, "y");
    assert_true(onnx_read(&g, 17, &graph, &err) < 0);
    check_contains(err.text, "it needs the value of dim 0 of its input, which is ");
    check_contains(err.text, "bind 'of it', 'rows' to numbers, with --bind DIM=N");
}

/* y = x + w over 4 elements. */
static void add_model(ot_text *model, void (*weight)(ot_text *graph))
{
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    weight(&g);
    onnx_node(&g, "Add", "sum", "x w", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, model);
}

static const float own[] = {1, -2, 3.5f, 4}, x4[] = {10, 20, 30, 40};
static const float sum4[] = {11, 18, 33.5f, 44};

static void raw(ot_text *graph)
{
    onnx_initializer(graph, "w", ONNX_FLOAT, "4", own, sizeof own);
}

static void in_fields(ot_text *graph)
{
    ot_text tensor = {0};
    wire_int(&tensor, 1, 4);
    wire_int(&tensor, 2, ONNX_FLOAT);
    wire_bytes(&tensor, 4, own, sizeof own); /* packed */
    wire_text(&tensor, 8, "w");
    wire_part(graph, 5, &tensor);
}

static void in_a_file(ot_text *graph)
{
    onnx_external(graph, "w", "4", "data/weights.bin", "8");
}

static void in_a_file_from_here(ot_text *graph)
{
    onnx_external(graph, "w", "4", "./data/weights.bin", "8");
}

/* Words that nothing reads stand beside it. */
static void beside_words(ot_text *graph)
{
    raw(graph);
    onnx_initializer(graph, "words", 8, "1", NULL, 0);
}

static void elements_are_where_files_keep_them(void **state)
{
    (void)state;
    void (*const ways[])(ot_text *) = {raw, in_fields, in_a_file, in_a_file_from_here,
                                       beside_words};
    char path[512], data[8 + sizeof own] = {0};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/data", onnx_folder);
    check_ok(ot_make_dirs(path, &err));
    memcpy(data + 8, own, sizeof own);
    stored("data/weights.bin", data, sizeof data);
    for (int i = 0; i < OT_COUNT(ways); i++) {
        ot_text model = {0};
        add_model(&model, ways[i]);
        optune_graph *g = read_model(&model, NULL, 0);
        check_output(g, x4, 4, sum4);
        optune_graph_close(g);
    }
}

/* One node of x [2,3] and, where the row has one, a parameter; its result by hand. */
typedef struct single {
    const char *op, *inputs, *attr;
    int64_t value[4];
    int n, n_out;
    float out[12];
} single;

static void nodes_mean_what_onnx_says(void **state)
{
    static const float x[] = {-1, 2, 3, 4, -5, 6};
    static const single all[] = {
        {"LeakyRelu", "x", NULL, {0}, 0, 6, {-0.01f, 2, 3, 4, -0.05f, 6}},
        {"HardSwish", "x", NULL, {0}, 0, 6, {-1.0f / 3, 5.0f / 3, 3, 4, 0, 6}},
        {"ReduceMax", "x", "axes", {1}, 1, 2, {3, 6}},
        {"ReduceL1", "x", "axes", {0}, 1, 3, {5, 7, 9}},
        {"Transpose", "x", NULL, {0}, 0, 6, {-1, 4, 2, -5, 3, 6}},
        {"Flatten", "x", NULL, {0}, 0, 6, {-1, 2, 3, 4, -5, 6}},
        {"Tile", "x two", NULL, {0}, 0, 12, {-1, 2, 3, 4, -5, 6, -1, 2, 3, 4, -5, 6}},
        {"Slice", "x from to last step", NULL, {0}, 0, 4, {3, 2, 6, -5}},
        {"Pad", "x pads", NULL, {0}, 0, 8, {0, -1, 2, 3, 0, 4, -5, 6}},
        {"Clip", "x low high", NULL, {0}, 0, 6, {-0.5f, 2, 2.5f, 2.5f, -0.5f, 2.5f}},
        {"MatMul", "x vector", NULL, {0}, 0, 2, {6, 0}},
        {"Gemm", "x square", NULL, {0}, 0, 6, {-1, 2, 6, 4, -5, 12}},
        {"Expand", "x shape", NULL, {0}, 0, 6, {-1, 2, 3, 4, -5, 6}},
        {"Sum", "x x x", NULL, {0}, 0, 6, {-3, 6, 9, 12, -15, 18}},
        {"Selu",
         "x",
         NULL,
         {0},
         0,
         6,
         {-1.1113307f, 2.1014020f, 3.1521030f, 4.2028041f, -1.7462534f, 6.3042061f}},
    };
    (void)state;
    static const int64_t two[] = {2, 1}, from[] = {2}, to[] = {0}, last[] = {1}, step[] = {-1};
    static const int64_t pads[] = {0, 1, 0, 0}, shape[] = {1, 1};
    static const float low = -0.5f, high = 2.5f, vector[] = {1, 2, 1},
                       square[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 2}};
    for (int i = 0; i < OT_COUNT(all); i++) {
        const single *s = &all[i];
        ot_text g = {0}, model = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2,3");
        onnx_initializer(&g, "two", ONNX_INT64, "2", two, sizeof two);
        onnx_initializer(&g, "from", ONNX_INT64, "1", from, sizeof from);
        onnx_initializer(&g, "to", ONNX_INT64, "1", to, sizeof to);
        onnx_initializer(&g, "last", ONNX_INT64, "1", last, sizeof last);
        onnx_initializer(&g, "step", ONNX_INT64, "1", step, sizeof step);
        onnx_initializer(&g, "pads", ONNX_INT64, "4", pads, sizeof pads);
        onnx_initializer(&g, "shape", ONNX_INT64, "2", shape, sizeof shape);
        onnx_initializer(&g, "low", ONNX_FLOAT, "", &low, sizeof low);
        onnx_initializer(&g, "high", ONNX_FLOAT, "", &high, sizeof high);
        onnx_initializer(&g, "vector", ONNX_FLOAT, "3", vector, sizeof vector);
        onnx_initializer(&g, "square", ONNX_FLOAT, "3,3", square, sizeof square);
        if (s->attr)
            attr_ints(&attrs, s->attr, s->n, s->value);
        onnx_node(&g, s->op, "only", s->inputs, "y", &attrs);
        onnx_output(&g, "y");
        onnx_model(&g, 13, &model);
        optune_graph *graph = read_model(&model, NULL, 0);
        print_message("%s\n", s->op);
        check_output(graph, x, s->n_out, s->out);
        optune_graph_close(graph);
    }
}

/* [1,6,1,1] with every value 100: windows of 3 channels hold 2 at the ends, 3 elsewhere. */
static void neighbours_of_a_channel(void **state)
{
    static const double betas[] = {0.75, 0.5, 0.6};
    (void)state;
    for (size_t i = 0; i < sizeof betas / sizeof betas[0]; i++) {
        ot_text g = {0}, model = {0}, attrs = {0};
        float x[6], y[6];
        onnx_input(&g, "x", ONNX_FLOAT, "1,6,1,1");
        attr_int(&attrs, "size", 3);
        attr_real(&attrs, "beta", (float)betas[i]);
        onnx_node(&g, "LRN", "lrn", "x", "y", &attrs);
        onnx_output(&g, "y");
        onnx_model(&g, 13, &model);
        for (int c = 0; c < 6; c++) {
            x[c] = 100;
            const double sum = (c == 0 || c == 5 ? 2 : 3) * 1e4;
            y[c] = (float)(100 / pow(1 + 1e-4 / 3 * sum, betas[i]));
        }
        optune_graph *graph = read_model(&model, NULL, 0);
        check_output(graph, x, 6, y);
        optune_graph_close(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_computed),
        cmocka_unit_test(dims_are_bound),
        cmocka_unit_test(dims_stay_symbolic),
        cmocka_unit_test(what_is_computed_is_asked_for_by_its_parts),
        cmocka_unit_test(elements_are_where_files_keep_them),
        cmocka_unit_test(nodes_mean_what_onnx_says),
        cmocka_unit_test(neighbours_of_a_channel),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
