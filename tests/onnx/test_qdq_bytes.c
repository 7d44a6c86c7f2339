/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised operators that take bytes and give bytes: sums and products of two, functions of one,
 * what is joined, the largest and the mean of windows. What they give is worked out here; where
 * com.microsoft's operators round is onnxruntime's.
 */
#include <math.h>
#include <string.h>

#include "support/quant.h"

/* a op b of bytes of one scale and zero, by an operator that says them, as floats: the integer less
 * 1 times `step`, which is the output's scale. */
static optune_graph *said(const char *op, float step, const char *dims, const uint8_t *b)
{
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, dims);
    quant_number(&g, "unit", 1);
    quant_number(&g, "step", step);
    quant_zero(&g, "z0", U8, 0);
    quant_zero(&g, "z1", U8, 1);
    onnx_initializer(&g, "b", U8, dims, b, 4);
    onnx_node(&g, "QuantizeLinear", "in", "x unit z0", "q", NULL);
    onnx_node(&g, op, "two", "q unit z0 b unit z0 step z1", "r", NULL);
    onnx_node(&g, "DequantizeLinear", "out", "r step z1", "y", NULL);
    return quant_read(&g, 17);
}

/* Halves lie between two integers: with the zero, which is odd, they go to the even one, where they
 * would go to the other before it is added. */
static void merged(void **state)
{
    static const float x[] = {1, 2, 3, 5};
    static const uint8_t ones[] = {1, 1, 1, 1}, none[] = {0, 0, 0, 0};
    (void)state;
    optune_graph *g = said("com.microsoft::QLinearMul", 2, "4", ones);
    assert_int_equal(quant_calls(g, "quantized_multiply", 8), 1);
    /* rint(x / 2 + 1) - 1: 0.5, 1, 1.5, 2.5 */
    quant_gives(g, x, 4, (const double[]){2, 2, 2, 6});
    optune_graph_close(g);
    g = said("com.microsoft::QLinearAdd", 2, "4", none);
    assert_int_equal(quant_calls(g, "quantized_add", 8), 1);
    quant_gives(g, x, 4, (const double[]){2, 2, 2, 6});
    optune_graph_close(g);
}

/* Which side is multiplied first is in the last bits: the one that is not repeated along rows. */
static void repeated_side_first(void **state)
{
    static const int64_t dims[] = {5, 6};
    static const float scale[] = {0.0371f, 0.0533f, 0.0291f};
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        ot_text g = {0};
        uint8_t b[5];
        float x[30];
        for (int i = 0; i < 30; i++)
            x[i] = (float)(8 * i + swap);
        for (int i = 0; i < 5; i++)
            b[i] = (uint8_t)(50 * i + 3);
        onnx_input(&g, "x", ONNX_FLOAT, "5,6");
        quant_number(&g, "unit", 1);
        quant_zero(&g, "z0", U8, 0);
        quant_zero(&g, "z7", U8, 7);
        quant_zero(&g, "z9", U8, 99);
        for (int i = 0; i < 3; i++)
            quant_number(&g, i == 0 ? "s0" : i == 1 ? "s1" : "s2", scale[i]);
        onnx_initializer(&g, "b", U8, "5,1", b, sizeof b);
        onnx_node(&g, "QuantizeLinear", "in", "x unit z0", "q", NULL);
        onnx_node(&g, "com.microsoft::QLinearAdd", "two",
                  swap ? "b s0 z7 q s1 z9 s2 z7" : "q s0 z7 b s1 z9 s2 z7", "r", NULL);
        onnx_node(&g, "DequantizeLinear", "out", "r unit z0", "y", NULL);
        optune_graph *graph = quant_read(&g, 17);
        const int node = graph->n;
        bool met = false;
        for (int i = 0; i < node; i++)
            if (graph->node[i].kind == OT_NODE_CALL &&
                !strcmp(graph->node[i].call->op->name, "quantized_add")) {
                const float first = (float)optune_call_attr(graph->node[i].call, "a_scale")->f;
                met = first == scale[swap];
            }
        assert_true(met);
        double want[30];
        const float own = scale[swap] / scale[2], other = scale[!swap] / scale[2];
        const float own_zero = swap ? 99 : 7, other_zero = swap ? 7 : 99;
        const float shift = 7 - fmaf(own, own_zero, other * other_zero);
        for (int i = 0; i < 30; i++) {
            const float sum = fmaf(x[i], own, fmaf(b[i / dims[1]], other, shift));
            want[i] = fmin(fmax(rint((double)sum), 0), 255);
        }
        quant_gives(graph, x, 30, want);
        optune_graph_close(graph);
    }
}

/* A gate: each channel of an image times a number of its own. */
static void gates(void **state)
{
    static const float x[] = {1, -2, 3, 0.5f, 4, -1, 2, 6};
    static const uint8_t by[] = {3, 250};
    ot_text g = {0};
    (void)state;
    quant_begin(&g, "1,2,2,2", I8, -3);
    quant_number(&g, "s", 0.125f);
    quant_zero(&g, "z", U8, 128);
    onnx_initializer(&g, "by", U8, "1,2,1,1", by, sizeof by);
    onnx_node(&g, "DequantizeLinear", "gate", "by s z", "gated", NULL);
    onnx_node(&g, "Mul", "both", "gated d", "m", NULL);
    onnx_node(&g, "QuantizeLinear", "last", "m half middle", "mq", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "mq half middle", "y", NULL);
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "quantized_multiply", 8), 1);
    double want[8];
    for (int i = 0; i < 8; i++) {
        const double m = (double)x[i] * (by[i / 4] - 128) * 0.125;
        want[i] = (fmin(fmax(rint(m / 0.5) - 3, -128), 127) + 3) * 0.5;
    }
    quant_gives(graph, x, 8, want);
    optune_graph_close(graph);
}

/* Functions of one integer, one behind the other, are a table of what floats would give. */
static void curves(void **state)
{
    static const float x[] = {1, -2, 3.5f, 0.5f, -7, 8};
    ot_text g = {0};
    (void)state;
    quant_begin(&g, "2,3", U8, 100);
    quant_number(&g, "two", 2);
    quant_number(&g, "s", 0.03125f);
    quant_zero(&g, "z", I8, -100);
    onnx_node(&g, "Mul", "twice", "d two", "a", NULL);
    onnx_node(&g, "Sigmoid", "curve", "a", "b", NULL);
    onnx_node(&g, "Sub", "less", "b s", "c", NULL);
    onnx_node(&g, "QuantizeLinear", "last", "c s z", "e", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "e s z", "y", NULL);
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "quantized_map", 8), 1);
    assert_int_equal(quant_calls(graph, "sigmoid", 32), 0);
    double want[6];
    for (int i = 0; i < 6; i++) {
        const double v = 1 / (1 + exp(-2 * (double)x[i])) - 0.03125;
        want[i] = rint(v / 0.03125) * 0.03125;
    }
    quant_gives(graph, x, 6, want);
    optune_graph_close(graph);
    /* Two readers: the floats are wanted, too. */
    quant_begin(&g, "2,3", U8, 100);
    onnx_node(&g, "Abs", "curve", "d", "a", NULL);
    onnx_node(&g, "QuantizeLinear", "last", "a half middle", "e", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "e half middle", "f", NULL);
    onnx_node(&g, "Add", "both", "a f", "y", NULL);
    graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "quantized_map", 8), 0);
    quant_gives(graph, x, 6, (const double[]){2, 4, 7, 1, 14, 16});
    optune_graph_close(graph);
}

/* What is joined has the output's scale first; where it has that, nothing is looked up. */
static void joined(void **state)
{
    static const float x[] = {1, -2, 3.5f, 0.5f};
    ot_text g = {0}, attrs = {0};
    (void)state;
    quant_begin(&g, "2,2", U8, 100);
    quant_number(&g, "unit", 1);
    quant_zero(&g, "z", U8, 20);
    onnx_node(&g, "QuantizeLinear", "coarse", "x unit z", "c", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "c unit z", "r", NULL);
    attr_int(&attrs, "axis", 1);
    onnx_node(&g, "Concat", "all", "d r", "both", &attrs);
    onnx_node(&g, "QuantizeLinear", "last", "both half middle", "e", NULL);
    onnx_node(&g, "DequantizeLinear", "out", "e half middle", "y", NULL);
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "concatenate", 8), 1);
    assert_int_equal(quant_calls(graph, "quantized_map", 8), 1);
    quant_gives(graph, x, 8, (const double[]){1, -2, 1, -2, 3.5, 0.5, 4, 0});
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

/* The largest of windows of bytes whose channels lie last. */
static void largest(void **state)
{
    enum { CHANNELS = 16, SIDE = 3 };
    static const int64_t window[] = {2, 2}, pads[] = {1, 1, 0, 0};
    ot_text g = {0}, attrs = {0};
    float x[CHANNELS * SIDE * SIDE];
    double want[CHANNELS * SIDE * SIDE];
    (void)state;
    quant_begin(&g, "1,16,3,3", I8, 5);
    attr_ints(&attrs, "kernel_shape", 2, window);
    attr_ints(&attrs, "pads", 4, pads);
    onnx_node(&g, "MaxPool", "pool", "d", "m", &attrs);
    onnx_node(&g, "QuantizeLinear", "last", "m half middle", "e", NULL);
    onnx_node(&g, "DequantizeLinear", "out", "e half middle", "y", NULL);
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "max_pool2d", 8), 1);
    for (int i = 0; i < CHANNELS * SIDE * SIDE; i++)
        x[i] = (float)(i * 37 % 101) * 0.5f - 25;
    for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
        const int row = i / SIDE % SIDE, column = i % SIDE;
        want[i] = -1000;
        for (int k = 0; k < 4; k++)
            if (row - k / 2 >= 0 && column - k % 2 >= 0)
                want[i] = fmax(want[i], (double)x[i - k / 2 * SIDE - k % 2]);
    }
    quant_gives(graph, x, CHANNELS * SIDE * SIDE, want);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

/* Means by operators that say their scales: a mean of windows is rounded with its zero, one of a
 * whole image before that is added. */
static void means(void **state)
{
    static const float x[] = {1, 2, 2, 2};
    static const int64_t window[] = {1, 2};
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, whole ? "2,1,1,2" : "1,1,2,2");
        quant_number(&g, "unit", 1);
        quant_zero(&g, "z0", U8, 0);
        quant_zero(&g, "z1", U8, 1);
        onnx_node(&g, "QuantizeLinear", "in", "x unit z0", "q", NULL);
        attr_ints(&attrs, "kernel_shape", 2, window);
        onnx_node(&g,
                  whole ? "com.microsoft::QLinearGlobalAveragePool"
                        : "com.microsoft::QLinearAveragePool",
                  "mean", "q unit z0 unit z1", "m", whole ? NULL : &attrs);
        onnx_node(&g, "DequantizeLinear", "out", "m unit z1", "y", NULL);
        optune_graph *graph = quant_read(&g, 17);
        quant_gives(graph, x, 2, whole ? (const double[]){2, 2} : (const double[]){1, 2});
        optune_graph_close(graph);
        ot_text_release(&attrs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged), cmocka_unit_test(repeated_side_first),
        cmocka_unit_test(gates),  cmocka_unit_test(curves),
        cmocka_unit_test(joined), cmocka_unit_test(largest),
        cmocka_unit_test(means),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
