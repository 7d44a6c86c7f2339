/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that put elements at places, sum by an equation, take norms, count in small integers or
 * follow from a formula: each of x [2,3] and a parameter or two, held against numbers worked out by
 * hand; and uses of them that are refused, with the reason.
 */
#include <math.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* What the rows below may take beside x. */
static void parameters(ot_text *g)
{
    static const int64_t index[] = {2, 0, -1, 1}, at[] = {1, 0, 0, -1}, lengths[] = {3, 1};
    static const int64_t along[] = {2, 1, 2}, shape[] = {2, 3}, five[] = {5};
    static const float updates[] = {10, 20, 30, 40}, two[] = {50, 60}, scale[] = {0.5f, 2};
    static const float one[] = {0.5f}, side[] = {1, 0, 2, 1, 0, 3}, gain[] = {1, 2, 3};
    static const uint8_t zero[] = {128, 3};
    static const int64_t again[4] = {0},
                         rows[2] = {0}; /* places said twice: the last one stays */
    static const float both[] = {7, 8, 9, 2, 1, 0.5f};
    static const int64_t far[] = {2, 1000000000}, wide[] = {0, 500000000, 0, 500000000};
    static const int64_t wider[] = {0, INT64_MAX, 0, INT64_MAX};
    onnx_initializer(g, "far", ONNX_INT64, "2", far, sizeof far);
    onnx_initializer(g, "wide", ONNX_INT64, "4", wide, sizeof wide);
    onnx_initializer(g, "wider", ONNX_INT64, "4", wider, sizeof wider);
    onnx_initializer(g, "index", ONNX_INT64, "2,2", index, sizeof index);
    onnx_initializer(g, "at", ONNX_INT64, "2,2", at, sizeof at);
    onnx_initializer(g, "again", ONNX_INT64, "2,2", again, sizeof again);
    onnx_initializer(g, "rows", ONNX_INT64, "2,1", rows, sizeof rows);
    onnx_initializer(g, "both", ONNX_FLOAT, "2,3", both, sizeof both);
    onnx_initializer(g, "lengths", ONNX_INT64, "2", lengths, sizeof lengths);
    onnx_initializer(g, "steps", ONNX_INT64, "3", along, sizeof along);
    onnx_initializer(g, "shape", ONNX_INT64, "2", shape, sizeof shape);
    onnx_initializer(g, "five", ONNX_INT64, "", five, sizeof five);
    onnx_initializer(g, "updates", ONNX_FLOAT, "2,2", updates, sizeof updates);
    onnx_initializer(g, "two", ONNX_FLOAT, "2", two, sizeof two);
    onnx_initializer(g, "scale", ONNX_FLOAT, "2", scale, sizeof scale);
    onnx_initializer(g, "one", ONNX_FLOAT, "", one, sizeof one);
    onnx_initializer(g, "side", ONNX_FLOAT, "3,2", side, sizeof side);
    onnx_initializer(g, "gain", ONNX_FLOAT, "3", gain, sizeof gain);
    onnx_initializer(g, "zero", 2, "2", zero, sizeof zero);
}

/* `op` of x and parameters, then a cast, so that all results are floats. */
static int read_node(const char *op, const char *inputs, const char *name, const char *text,
                     int64_t number, optune_graph **graph, optune_err *err)
{
    char path[512];
    ot_text g = {0}, model = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,3");
    parameters(&g);
    if (text)
        attr_text(&attrs, name, text);
    else if (name)
        attr_int(&attrs, name, number);
    onnx_node(&g, op, "only", inputs, "r", &attrs);
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(&g, "Cast", "last", "r", "f", &attrs);
    onnx_node(&g, "Identity", "", "x", "unused", NULL);
    onnx_node(&g, "Mul", "", "f f0", "y", NULL);
    static const float one = 1;
    onnx_initializer(&g, "f0", ONNX_FLOAT, "", &one, sizeof one);
    onnx_output(&g, "y");
    onnx_model(&g, 18, &model);
    snprintf(path, sizeof path, "%s/model.onnx", onnx_folder);
    assert_true(ot_write_file(path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read(path, graph, err);
}

typedef struct row {
    const char *op, *inputs, *name, *text;
    int64_t number;
    int n;
    float y[9];
} row;

static void by_hand(void **state)
{
    static const float x[] = {-1, 2, 3, 4, -5, 6};
    const float sinh1 = sinhf(1);
    const row all[] = {
        {"ScatterElements", "x index updates", "axis", NULL, 1, 6, {20, 2, 10, 4, 40, 30}},
        {"Scatter", "x at updates", NULL, NULL, 0, 6, {30, 20, 3, 10, 40, 6}},
        {"ScatterElements", "x at updates", "reduction", "add", 0, 6, {29, 22, 3, 14, 35, 6}},
        {"ScatterElements", "x again updates", NULL, NULL, 0, 6, {30, 40, 3, 4, -5, 6}},
        {"ScatterND", "x at two", NULL, NULL, 0, 6, {-1, 2, 60, 50, -5, 6}},
        {"ScatterND", "x rows both", NULL, NULL, 0, 6, {2, 1, 0.5f, 4, -5, 6}},
        {"ScatterND", "x at two", "reduction", "add", 0, 6, {-1, 2, 63, 54, -5, 6}},
        {"ReverseSequence", "x steps", "", NULL, 0, 6, {4, 2, 6, -1, -5, 3}},
        {"Einsum", "x side", "equation", "ij,jk->ik", 0, 4, {3, 11, -6, 13}},
        {"Einsum", "x side", "equation", "ij , jk", 0, 4, {3, 11, -6, 13}},
        {"Einsum", "x", "equation", "ij->ji", 0, 6, {-1, 4, 2, -5, 3, 6}},
        {"Einsum", "x", "equation", "...j->...", 0, 2, {4, 5}},
        {"Einsum", "x gain", "equation", "ij,j->ij", 0, 6, {-1, 4, 9, 4, -10, 18}},
        {"Einsum", "two gain", "equation", "i,j->ji", 0, 6, {50, 60, 100, 120, 150, 180}},
        {"Einsum", "x side two", "equation", "ij,jk,i->k", 0, 2, {-210, 1330}},
        {"Hardmax", "x", NULL, NULL, 0, 6, {0, 0, 1, 0, 0, 1}},
        {"Hardmax", "x", "axis", NULL, 0, 6, {0, 1, 0, 1, 0, 1}},
        {"LpNormalization",
         "x",
         "p",
         NULL,
         1,
         6,
         {-1.0f / 6, 2.0f / 6, 3.0f / 6, 4.0f / 15, -5.0f / 15, 6.0f / 15}},
        {"LpNormalization",
         "x",
         "axis",
         NULL,
         0,
         6,
         {-0.24253563f, 0.37139068f, 0.44721360f, 0.97014250f, -0.92847669f, 0.89442719f}},
        {"RMSNormalization",
         "x gain",
         NULL,
         NULL,
         0,
         6,
         {-0.46290930f, 1.8516372f, 4.1661837f, 0.78954184f, -1.9738546f, 3.5529383f}},
        {"QuantizeLinear", "x one", NULL, NULL, 0, 6, {0, 4, 6, 8, 0, 12}},
        {"QuantizeLinear", "x scale zero", "axis", NULL, 0, 6, {126, 132, 134, 5, 1, 6}},
        {"DequantizeLinear", "zero scale", "axis", NULL, 0, 2, {64, 6}},
        {"EyeLike", "x", "k", NULL, 1, 6, {0, 1, 0, 0, 0, 1}},
        {"EyeLike", "x", "k", NULL, -1, 6, {0, 0, 0, 1, 0, 0}},
        {"EyeLike", "x", "k", NULL, -9, 6, {0, 0, 0, 0, 0, 0}},
        {"HannWindow", "five", "periodic", NULL, 0, 5, {0, 0.5f, 1, 0.5f, 0}},
        {"HammingWindow",
         "five",
         "periodic",
         NULL,
         0,
         5,
         {0.08695652f, 0.54347826f, 1, 0.54347826f, 0.08695652f}},
        {"BlackmanWindow", "five", "periodic", NULL, 0, 5, {0, 0.34f, 1, 0.34f, 0}},
        {"BitwiseNot", "zero", NULL, NULL, 0, 2, {127, 252}},
        {"BitShift", "zero zero", "direction", "RIGHT", 0, 2, {0, 0}},
        {"Cosh", "one", NULL, NULL, 0, 1, {1.1276260f}},
        {"Sinh",
         "x",
         NULL,
         NULL,
         0,
         6,
         {-sinh1, sinhf(2), sinhf(3), sinhf(4), sinhf(-5), sinhf(6)}},
        {"Asinh",
         "x",
         NULL,
         NULL,
         0,
         6,
         {asinhf(-1), asinhf(2), asinhf(3), asinhf(4), asinhf(-5), asinhf(6)}},
        {"Acosh", "gain", NULL, NULL, 0, 3, {0, acoshf(2), acoshf(3)}},
        {"Atanh", "one", NULL, NULL, 0, 1, {atanhf(0.5f)}},
    };
    const void *in[] = {x};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        const row *r = &all[i];
        optune_graph *g = NULL;
        optune_values *values = NULL;
        optune_err err = {0};
        print_message("%s %s\n", r->op, r->text ? r->text : "");
        const int status = read_node(r->op, r->inputs, r->name && *r->name ? r->name : NULL,
                                     r->text, r->number, &g, &err);
        if (status < 0)
            fail_msg("%s", err.text);
        check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
        assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), r->n);
        const float *got = optune_values_data(values, 0);
        for (int k = 0; k < r->n; k++)
            if (!(fabsf(got[k] - r->y[k]) <= 1e-5f * (1 + fabsf(r->y[k]))))
                fail_msg("element %d is %.9g, not %.9g", k, (double)got[k], (double)r->y[k]);
        optune_values_free(values);
        optune_graph_close(g);
    }
}

/* What loses its digits in a plain formula, and where functions end. */
static void ends_and_small_numbers(void **state)
{
    static const struct {
        const char *op;
        float x[6];
        double (*f)(double);
    } all[] = {
        {"Sinh", {1e-6f, -1e-6f, 0, 88.9f, INFINITY, NAN}, sinh},
        {"Cosh", {1e-6f, -80, 0, 88.9f, -INFINITY, NAN}, cosh},
        {"Asinh", {1e-6f, -1e-6f, 1e30f, -1e30f, -INFINITY, NAN}, asinh},
        {"Acosh", {1, 1.0001f, 1e15f, 0.5f, INFINITY, NAN}, acosh},
        {"Atanh", {1e-6f, -1e-6f, 1, -1, 0.9999f, NAN}, atanh},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        optune_graph *g = NULL;
        optune_values *values = NULL;
        optune_err err = {0};
        const void *in[] = {all[i].x};
        check_ok(read_node(all[i].op, "x", NULL, NULL, 0, &g, &err));
        check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
        const float *got = optune_values_data(values, 0);
        for (int k = 0; k < 6; k++) {
            const double want = all[i].f(all[i].x[k]);
            const bool right = isnan(want) ? isnan(got[k])
                                           : (double)got[k] == want ||
                                                 fabs(got[k] - want) <= 1e-5 * fabs(want);
            if (!right)
                fail_msg("%s of %g is %g, not %g", all[i].op, (double)all[i].x[k],
                         (double)got[k], want);
        }
        optune_values_free(values);
        optune_graph_close(g);
    }
}

static void refused_with_a_reason(void **state)
{
    static const struct {
        const char *op, *inputs, *name, *text, *why;
        int64_t number;
    } all[] = {
        {"ScatterElements", "x index updates", "reduction", "sub", "'sub' is not supported", 0},
        {"ScatterElements", "x lengths two", NULL, NULL, "differ in rank", 0},
        {"ScatterND", "x steps two", NULL, NULL, "places of 3 numbers in 2 dims", 0},
        {"Einsum", "x side", "equation", "ij,jk->il", "a label that no input has", 0},
        {"Einsum", "x side", "equation", "ij->i", "not of 2 inputs", 0},
        {"Einsum", "x side", "equation", "ijk,jk->i", "does not fit", 0},
        {"Einsum", "x side", "equation", "ii,jk->k", "dims of one label differ", 0},
        {"Einsum", "x side", "equation", "ij,jk->ii", "its result has a label twice", 0},
        {"Einsum", "x side", "equation", "ij,ik->jk", "dims of one label differ", 0},
        {"Einsum", "x side", "equation", "i?,jk->k", "is not supported", 0},
        {"Einsum", "x", "equation", "ij-", "is not supported", 0},
        {"Einsum", "x", "equation", "", "does not fit", 0},
        {"QuantizeLinear", "x scale", "axis", NULL, "2 scales for 3 places", 1},
        {"QuantizeLinear", "x one", "output_dtype", NULL, "8 and 16 bits", 7},
        {"QuantizeLinear", "x scale", "block_size", NULL, "in blocks", 2},
        {"QuantizeLinear", "x one", "output_dtype", NULL, "type 99", 99},
        {"EyeLike", "gain", "k", NULL, "not 2", 0},
        {"EyeLike", "x", "dtype", NULL, "type 8 (string)", 8},
        {"BitShift", "zero zero", "direction", "UP", "neither LEFT nor RIGHT", 0},
        {"BitShift", "x x", "direction", "LEFT", "it is for integers", 0},
        {"LpNormalization", "x", "p", NULL, "p is 0", 0},
        {"LpPool", "x", "p", NULL, "over 0 dims", 2},
        {"GlobalLpPool", "x", "p", NULL, "fewer than 3", 2},
        {"ReverseSequence", "x steps", "time_axis", NULL, "first two", 2},
        {"HannWindow", "x", NULL, NULL, "constant", 0},
        {"Hardmax", "x", "axis", NULL, "no axis 7", 7},
        {"Resize", "x - - far", "mode", "linear", "more than 4194304", 0},
        {"Pad", "x wide", "mode", "edge", "axis 1 would become 1000000003", 0},
        {"Pad", "x wider", "mode", "edge", "a pad of", 0},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        optune_graph *g = NULL;
        optune_err err = {0};
        const int status = read_node(all[i].op, all[i].inputs, all[i].name, all[i].text,
                                     all[i].number, &g, &err);
        print_message("%s: %s\n", all[i].op, err.text);
        assert_true(status < 0);
        assert_null(g);
        check_contains(err.text, all[i].why);
    }
}

/* Elements of 1000 put at three places, one of them twice: with places that are constant, and with
 * the input cut off to whole numbers. What is looked up takes five bytes for each of the 1000. */
static void few_bytes_for_each_place(void **state)
{
    enum { PLACES = 1000 };
    static const int64_t at[] = {999, 0, -1, 500};
    static const float where[] = {999, 0, -1, 500}, put[] = {1, 2, 3, 4};
    static float data[PLACES];
    (void)state;
    for (int i = 0; i < PLACES; i++)
        data[i] = (float)-i;
    for (int known = 0; known < 2; known++) {
        ot_text g = {0}, attrs = {0};
        optune_graph *graph = NULL;
        optune_values *values = NULL;
        optune_err err = {0};
        int64_t bytes = 0, wide = 0;
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        onnx_initializer(&g, "d", ONNX_FLOAT, "1000", data, sizeof data);
        onnx_initializer(&g, "u", ONNX_FLOAT, "4", put, sizeof put);
        onnx_initializer(&g, "i", ONNX_INT64, "4", at, sizeof at);
        attr_int(&attrs, "to", ONNX_INT64);
        onnx_node(&g, "Cast", "whole", "x", "c", &attrs);
        onnx_node(&g, "Add", "updates", known ? "x u" : "u u", "v", NULL);
        onnx_node(&g, "ScatterElements", "only", known ? "d i v" : "d c v", "y", NULL);
        check_ok(onnx_read(&g, 18, &graph, &err));
        for (int i = 0; i < graph->n; i++) {
            const optune_tensor *type = ot_graph_type_of(graph, (ot_value){i, 0});
            if (graph->node[i].kind == OT_NODE_CALL || !type->rank ||
                type->dim[0].min != PLACES)
                continue;
            bytes += optune_tensor_bytes(type);
            wide += type->dtype.bits == 64;
        }
        assert_int_equal(bytes, known ? PLACES * (4 + 4 + 1) : PLACES * (4 + 4));
        assert_int_equal(wide, 0);
        check_ok(optune_graph_evaluate(graph, &(const void *){where}, NULL, &values, &err));
        const float *y = optune_values_data(values, 0);
        for (int i = 0; i < PLACES; i++) {
            const int by = i == 0 ? 1 : i == 999 ? 2 : i == 500 ? 3 : -1;
            const float want = by < 0 ? data[i] : put[by] + (known ? where[by] : put[by]);
            if (y[i] != want)
                fail_msg("element %d is %g, not %g", i, (double)y[i], (double)want);
        }
        optune_values_free(values);
        optune_graph_close(graph);
        ot_text_release(&attrs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(ends_and_small_numbers),
        cmocka_unit_test(refused_with_a_reason),
        cmocka_unit_test(few_bytes_for_each_place),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
