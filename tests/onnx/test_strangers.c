/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people's exports have and small networks do not: volumes, windows that hang over, images
 * that shrink smoothly, places that are hit more than once, operators of integers that
 * onnxruntime's quantiser writes, and those of its optimizer. Numbers are worked out by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* 1 to 8 in a cube of 2x2x2. */
static const float cube[] = {1, 2, 3, 4, 5, 6, 7, 8};

/* A kernel of two planes in depth, one of them in a pad. */
static void volumes(void **state)
{
    static const float plane[] = {1, 10}, pair[] = {1, 10, 100, 1000};
    static const int64_t depth[] = {2, 1, 1}, all[] = {2, 2, 2}, front[] = {1, 0, 0, 0, 0, 0};
    static const int64_t second[] = {2, 1, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,2,1,1", plane, sizeof plane);
    attr_ints(&attrs, "pads", 6, front);
    onnx_node(&g, "Conv", "conv", "x w", "y", &attrs);
    onnx_gives(&g, 17, cube, 8, (const float[]){10, 20, 30, 40, 51, 62, 73, 84}, 1e-6f);
    /* two groups of one channel each; every second place in depth */
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,2,1,2");
    onnx_initializer(&g, "w", ONNX_FLOAT, "2,1,2,1,1", pair, sizeof pair);
    attr_int(&attrs, "group", 2);
    attr_ints(&attrs, "strides", 3, second);
    attr_ints(&attrs, "pads", 6, front);
    onnx_node(&g, "Conv", "conv", "x w", "y", &attrs);
    onnx_gives(&g, 17, cube, 4, (const float[]){10, 20, 5000, 6000}, 1e-6f);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2");
    attr_ints(&attrs, "kernel_shape", 3, all);
    onnx_node(&g, "MaxPool", "pool", "x", "y", &attrs);
    onnx_gives(&g, 17, cube, 1, (const float[]){8}, 0);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2"); /* what is padded does not count */
    attr_ints(&attrs, "kernel_shape", 3, depth);
    attr_ints(&attrs, "pads", 6, front);
    onnx_node(&g, "AveragePool", "pool", "x", "y", &attrs);
    onnx_gives(&g, 17, cube, 8, (const float[]){1, 2, 3, 4, 3, 4, 5, 6}, 1e-6f);
}

static void norms_of_windows_that_hang_over(void **state)
{
    static const float x[] = {3, 4, 5, 12, -8};
    static const int64_t two[] = {2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,5");
    attr_ints(&attrs, "kernel_shape", 1, two);
    attr_ints(&attrs, "strides", 1, two);
    attr_int(&attrs, "ceil_mode", 1);
    onnx_node(&g, "LpPool", "pool", "x", "y", &attrs);
    onnx_gives(&g, 18, x, 3, (const float[]){5, 13, 8}, 1e-6f);
    /* 1 + 2 + 5 + 6, 3 + 4 + 7 + 8 */
    static const int64_t columns[] = {2, 1, 2};
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2,2");
    attr_ints(&attrs, "kernel_shape", 3, columns);
    attr_int(&attrs, "p", 1);
    onnx_node(&g, "LpPool", "pool", "x", "y", &attrs);
    onnx_gives(&g, 18, cube, 2, (const float[]){14, 22}, 1e-6f);
}

/* Half as long by triangles of four: an eighth, three eighths, three eighths, an eighth; ends count
 * for what lies beyond them. */
static void shrinks_smoothly(void **state)
{
    static const float x[] = {8, 16, 0, 0, 0, 64};
    static const int64_t sizes[] = {1, 1, 1, 3};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,6");
    onnx_initializer(&g, "sizes", ONNX_INT64, "4", sizes, sizeof sizes);
    attr_text(&attrs, "mode", "linear");
    attr_int(&attrs, "antialias", 1);
    onnx_node(&g, "Resize", "resize", "x - - sizes", "y", &attrs);
    onnx_gives(&g, 18, x, 3, (const float[]){10, 2, 32}, 1e-6f);
}

static void places_that_are_hit_again(void **state)
{
    static const int64_t at[] = {1, 1, -1};
    static const float updates[] = {3, -4, 2}, x[] = {5, 2, 1, 7};
    static const struct {
        const char *how;
        float y[4];
    } all[] = {{"add", {5, 1, 1, 9}},
               {"mul", {5, -24, 1, 14}},
               {"min", {5, -4, 1, 2}},
               {"max", {5, 3, 1, 7}}};
    (void)state;
    for (int nd = 0; nd < 2; nd++)
        for (int i = 0; i < OT_COUNT(all); i++) {
            ot_text g = {0}, attrs = {0};
            print_message("%s\n", all[i].how);
            onnx_input(&g, "x", ONNX_FLOAT, "4");
            onnx_initializer(&g, "at", ONNX_INT64, nd ? "3,1" : "3", at, sizeof at);
            onnx_initializer(&g, "u", ONNX_FLOAT, "3", updates, sizeof updates);
            attr_text(&attrs, "reduction", all[i].how);
            onnx_node(&g, nd ? "ScatterND" : "ScatterElements", "only", "x at u", "y", &attrs);
            onnx_gives(&g, 18, x, 4, all[i].y, 0);
        }
}

/* ---- integers of onnxruntime's --------------------------------------------------------------- */

enum { U8 = 2, I8 = 3, I32 = 6 };

static void number(ot_text *g, const char *name, float value)
{
    onnx_initializer(g, name, ONNX_FLOAT, "", &value, sizeof value);
}

static void zero(ot_text *g, const char *name, uint8_t value)
{
    onnx_initializer(g, name, U8, "", &value, 1);
}

static const float x4[] = {1, -2, 0.5f, 3};

/* x as integers q of steps of a half from 10 on: 12, 6, 11, 16; integers r of quarters. What is
 * made of them is y, of tenths from 100 on. */
static void begin(ot_text *g, const char *dims, const char *weight)
{
    static const uint8_t r[] = {4, 8, 2, 0};
    onnx_input(g, "x", ONNX_FLOAT, dims);
    number(g, "half", 0.5f);
    zero(g, "ten", 10);
    number(g, "quarter", 0.25f);
    zero(g, "none", 0);
    number(g, "tenth", 0.1f);
    zero(g, "hundred", 100);
    onnx_initializer(g, "r", U8, weight, r, sizeof r);
    onnx_node(g, "QuantizeLinear", "in", "x half ten", "q", NULL);
}

static void gives_bytes(ot_text *graph, const char *what, int n, const uint8_t *want)
{
    optune_graph *g = NULL;
    optune_values *values = NULL;
    optune_err err = {0};
    print_message("%s\n", what);
    if (onnx_read(graph, 17, &g, &err) < 0)
        fail_msg("%s", err.text);
    check_ok(optune_graph_evaluate(g, &(const void *){x4}, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(((const uint8_t *)optune_values_data(values, 0))[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

static void integers_one_by_one(void **state)
{
    static const struct {
        const char *op, *inputs;
        int n;
        uint8_t y[8];
    } all[] = {
        {"QLinearAdd", "q half ten r quarter none tenth hundred", 4, {120, 100, 110, 130}},
        {"QLinearMul", "q half ten r quarter none tenth hundred", 4, {110, 60, 102, 100}},
        {"QLinearMul", "q half ten r quarter - tenth hundred", 4, {110, 60, 102, 100}},
        {"QLinearSigmoid", "q half ten tenth hundred", 4, {107, 101, 106, 110}},
        {"QLinearLeakyRelu", "q half ten tenth hundred", 4, {110, 90, 105, 130}},
        {"QLinearGlobalAveragePool", "q half ten tenth hundred", 1, {106}},
        {"QLinearAveragePool", "q half ten tenth hundred", 1, {106}},
        {"QLinearReduceMean", "q half ten tenth hundred", 1, {106}},
        {"QLinearConcat",
         "tenth hundred q half ten r quarter none",
         8,
         {110, 80, 105, 130, 110, 120, 105, 100}},
    };
    static const int64_t plane[] = {2, 2};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        begin(&g, "1,1,2,2", "1,1,2,2");
        if (!strcmp(all[i].op, "QLinearLeakyRelu"))
            attr_real(&attrs, "alpha", 0.5f);
        if (!strcmp(all[i].op, "QLinearAveragePool"))
            attr_ints(&attrs, "kernel_shape", 2, plane);
        onnx_contrib(&g, all[i].op, all[i].inputs, &attrs);
        gives_bytes(&g, all[i].op, all[i].n, all[i].y);
        ot_text_release(&attrs);
    }
}

/* Means of three places, whether they are elements, pads, or hang over. */
static void means_of_whole_windows(void **state)
{
    static const int64_t three[] = {1, 3}, two[] = {1, 2}, behind[] = {0, 0, 0, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    begin(&g, "1,1,1,4", "1,1,2,2");
    attr_ints(&attrs, "kernel_shape", 2, three);
    attr_ints(&attrs, "strides", 2, two);
    attr_ints(&attrs, "pads", 4, behind);
    attr_int(&attrs, "ceil_mode", 1);
    attr_int(&attrs, "count_include_pad", 1);
    onnx_contrib(&g, "QLinearAveragePool", "q half ten tenth hundred", &attrs);
    gives_bytes(&g, "QLinearAveragePool", 2, (const uint8_t[]){98, 112});
    /* three of stride 3: the last one has one element, and two places that are not there */
    begin(&g, "1,1,1,4", "1,1,2,2");
    attr_ints(&attrs, "kernel_shape", 2, three);
    attr_ints(&attrs, "strides", 2, three);
    attr_int(&attrs, "ceil_mode", 1);
    attr_int(&attrs, "count_include_pad", 1);
    onnx_contrib(&g, "QLinearAveragePool", "q half ten tenth hundred", &attrs);
    gives_bytes(&g, "QLinearAveragePool", 2, (const uint8_t[]){98, 110});
    ot_text_release(&attrs);
}

/* Rows of words, places and segments, less their mean over their deviation. */
static void embedded_words(void **state)
{
    static const float word[] = {0, 0, 5, 1}, place[] = {1, 1, 0, 4}, side[] = {0, 0, 2, 0};
    static const float scale[] = {1, 2}, shift[] = {0, 10};
    static const int32_t id[] = {1, 0}, segment[] = {0, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", I32, "1,2");
    onnx_initializer(&g, "segment", I32, "1,2", segment, sizeof segment);
    onnx_initializer(&g, "word", ONNX_FLOAT, "2,2", word, sizeof word);
    onnx_initializer(&g, "place", ONNX_FLOAT, "2,2", place, sizeof place);
    onnx_initializer(&g, "side", ONNX_FLOAT, "2,2", side, sizeof side);
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", scale, sizeof scale);
    onnx_initializer(&g, "shift", ONNX_FLOAT, "2", shift, sizeof shift);
    onnx_contrib(&g, "EmbedLayerNormalization", "x segment word place side scale shift",
                 &attrs); /* 6 2, 2 4 */
    onnx_gives(&g, 17, id, 4, (const float[]){1, 8, -1, 12}, 1e-5f);
    ot_text_release(&attrs);
}

/* One head of one number: values 2 (x - 3) + 0.5, all keys alike. */
static void attention_of_integers(void **state)
{
    static const uint8_t x[] = {5, 7};
    static const int8_t w[] = {0, 0, 1};
    static const float bias[] = {0, 0, 0.5f};
    static const struct {
        int causal;
        float want[2];
    } rows[] = {{0, {6.5f, 6.5f}}, {1, {4.5f, 6.5f}}};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        onnx_input(&g, "x", U8, "1,2,1");
        onnx_initializer(&g, "w", I8, "1,3", w, sizeof w);
        onnx_initializer(&g, "bias", ONNX_FLOAT, "3", bias, sizeof bias);
        number(&g, "two", 2);
        number(&g, "one", 1);
        zero(&g, "three", 3);
        attr_int(&attrs, "num_heads", 1);
        attr_int(&attrs, "unidirectional", rows[i].causal);
        onnx_contrib(&g, "QAttention", "x w bias two one - three", &attrs);
        onnx_gives(&g, 17, x, 2, rows[i].want, 1e-5f);
    }
    ot_text_release(&attrs);
}

/* What is known while the file is read, and has two outputs. */
static void largest_of_what_is_known(void **state)
{
    static const float all[] = {1, 9, 4, 7};
    static const int64_t two[] = {2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "2");
    onnx_initializer(&g, "all", ONNX_FLOAT, "4", all, sizeof all);
    onnx_initializer(&g, "two", ONNX_INT64, "1", two, sizeof two);
    onnx_node(&g, "TopK", "best", "all two", "most at", NULL);
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(&g, "Cast", "real", "at", "where", &attrs);
    onnx_node(&g, "Add", "sum", "most where", "both", NULL);
    onnx_node(&g, "Add", "last", "both x", "y", NULL);
    onnx_gives(&g, 17, x4, 2, (const float[]){11, 8}, 0);
    ot_text_release(&attrs);
}

/* 5 times 0.7 0.9 / 0.7 is 4.5, of which 4 is made, where the scales become one factor first, and
 * more where it is divided by what they make. */
static void rounded_by_one_factor(void **state)
{
    static const uint8_t five[] = {5}, want[] = {104, 91, 100, 114};
    ot_text g = {0};
    (void)state;
    for (int conv = 0; conv < 2; conv++) {
        onnx_input(&g, "x", ONNX_FLOAT, conv ? "1,1,2,2" : "4,1");
        number(&g, "one", 1);
        zero(&g, "ten", 10);
        number(&g, "a", 0.7f);
        number(&g, "b", 0.9f);
        zero(&g, "none", 0);
        zero(&g, "hundred", 100);
        onnx_initializer(&g, "w", U8, conv ? "1,1,1,1" : "1,1", five, 1);
        onnx_node(&g, "QuantizeLinear", "in", "x one ten", "q", NULL);
        onnx_node(&g, conv ? "QLinearConv" : "QLinearMatMul", "only",
                  "q a ten w b none a hundred", "y", NULL);
        gives_bytes(&g, conv ? "QLinearConv" : "QLinearMatMul", 4, want);
    }
}

/* What the optimizer writes for images whose channels come last, here q as 1x2 pixels of two
 * channels; weights keep their own order. */
static void channels_come_last(void **state)
{
    static const int64_t pair[] = {1, 2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    /* 2 4 - 4 8 = -24, 1 4 + 6 8 = 52 eighths, by channel 1: 2 2, 1 2 */
    begin(&g, "1,1,2,2", "2,2,1,1");
    attr_int(&attrs, "channels_last", 1);
    onnx_contrib(&g, "QLinearConv", "q half ten r quarter none tenth hundred", &attrs);
    gives_bytes(&g, "QLinearConv", 4, (const uint8_t[]){70, 105, 165, 102});
    /* SAME of two pads one behind with ten: 2 4 + 1 8 - 4 2, 1 4 + 6 2 */
    begin(&g, "1,1,2,2", "1,2,1,2");
    attr_text(&attrs, "auto_pad", "SAME_UPPER");
    attr_int(&attrs, "channels_last", 1);
    onnx_contrib(&g, "QLinearConv", "q half ten r quarter none tenth hundred", &attrs);
    gives_bytes(&g, "QLinearConv SAME", 2, (const uint8_t[]){110, 120});
    begin(&g, "1,1,2,2", "4");
    attr_ints(&attrs, "kernel_shape", 2, pair);
    onnx_contrib(&g, "NhwcMaxPool", "q", &attrs);
    gives_bytes(&g, "NhwcMaxPool", 2, (const uint8_t[]){12, 16});
    begin(&g, "1,2,2", "4");
    attr_ints(&attrs, "kernel_shape", 1, pair + 1);
    attr_int(&attrs, "channels_last", 1);
    onnx_contrib(&g, "QLinearAveragePool", "q half ten tenth hundred", &attrs);
    gives_bytes(&g, "QLinearAveragePool", 2, (const uint8_t[]){108, 105});
    ot_text_release(&attrs);
}

/* Nothing but zeros is quantised by a scale of 1, as onnxruntime has it. */
static void zeros_have_a_scale(void **state)
{
    static const float none[4] = {0};
    ot_text g = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_node(&g, "DynamicQuantizeLinear", "q", "x", "integers y zero", NULL);
    onnx_gives(&g, 17, none, 1, (const float[]){1}, 0);
}

/* 2 4 - 4 8 + 1 2 + 6 0 = -22, and 2; each an eighth. */
static void integers_in_products(void **state)
{
    static const int32_t bias = 2;
    ot_text g = {0}, attrs = {0};
    (void)state;
    begin(&g, "1,4", "4,1");
    onnx_initializer(&g, "c", I32, "1", &bias, sizeof bias);
    onnx_contrib(&g, "QGemm", "q half ten r quarter none c tenth hundred", &attrs);
    gives_bytes(&g, "QGemm", 1, (const uint8_t[]){75});
    begin(&g, "4,1", "1,4");
    onnx_initializer(&g, "c", I32, "1", &bias, sizeof bias);
    attr_int(&attrs, "transA", 1);
    attr_int(&attrs, "transB", 1);
    attr_real(&attrs, "alpha", 2);
    onnx_contrib(&g, "QGemm", "q half ten r quarter none c", &attrs);
    onnx_gives(&g, 17, x4, 1, (const float[]){-5}, 1e-6f);
    begin(&g, "1,4", "4,1");
    onnx_contrib(&g, "MatMulIntegerToFloat", "q r half quarter ten none quarter", &attrs);
    onnx_gives(&g, 17, x4, 1, (const float[]){-2.5f}, 1e-6f);
    onnx_input(&g, "x", ONNX_FLOAT, "1,4");
    onnx_initializer(&g, "r", U8, "4,1", (const uint8_t[]){4, 8, 2, 0}, 4);
    number(&g, "quarter", 0.25f);
    onnx_contrib(&g, "DynamicQuantizeMatMul", "x r quarter", &attrs);
    onnx_gives(&g, 17, x4, 1, (const float[]){-2.75f}, 1e-2f);
    ot_text_release(&attrs);
}

/* A quarter turn at place 1: pairs lie half a head apart, or side by side; of [1,1,1,4], [1,1,4] or
 * in the order that com.microsoft has. */
static void turned_by_their_place(void **state)
{
    static const float x[] = {1, 2, 3, 4}, apart[] = {-3, 2, 1, 4}, beside[] = {-2, 1, 3, 4};
    static const float cos[] = {9, 9, 0, 1}, sin[] = {9, 9, 1, 0};
    static const int64_t place[] = {1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 6; i++) {
        onnx_input(&g, "x", ONNX_FLOAT, i % 3 ? "1,1,4" : "1,1,1,4");
        onnx_initializer(&g, "cos", ONNX_FLOAT, "2,2", cos, sizeof cos);
        onnx_initializer(&g, "sin", ONNX_FLOAT, "2,2", sin, sizeof sin);
        onnx_initializer(&g, "at", ONNX_INT64, "1,1", place, sizeof place);
        attr_int(&attrs, "interleaved", i / 3);
        attr_int(&attrs, "num_heads", i % 3 != 2); /* 0: as wide as the angles say */
        if (i % 3 == 2)
            onnx_contrib(&g, "RotaryEmbedding", "x at cos sin", &attrs);
        else
            onnx_node(&g, "RotaryEmbedding", "turn", "x cos sin at", "y", &attrs);
        onnx_gives(&g, 23, x, 4, i / 3 ? beside : apart, 1e-6f);
    }
    ot_text_release(&attrs);
}

/* By the root of 12.5, the mean of 9 and 16. */
static void scaled_by_a_root(void **state)
{
    static const float x[] = {1, 2}, skip[] = {2, 2}, sum[] = {3, 4}, scale[] = {1, 2},
                       want[] = {0.848528137f, 2.26274170f};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2");
    onnx_initializer(&g, "skip", ONNX_FLOAT, "1,1,2", skip, sizeof skip);
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", scale, sizeof scale);
    onnx_contrib(&g, "SkipSimplifiedLayerNormalization", "x skip scale", &attrs);
    onnx_gives(&g, 17, x, 2, want, 1e-5f);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2");
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", scale, sizeof scale);
    onnx_node(&g, "SimplifiedLayerNormalization", "norm", "x scale", "y", NULL);
    onnx_gives(&g, 17, sum, 2, want, 1e-5f);
    ot_text_release(&attrs);
}

/* Queries of 0, so that all keys that are seen count alike: with biases and scores that are
 * added; each key's own past; behind a cache of one. */
static void heads_of_a_fused_attention(void **state)
{
    static const float none[] = {0, 0}, v[] = {2, 4}, bias[] = {0, 0, 10},
                       scores[] = {0, -1e9f};
    static const float past[] = {9}, all[] = {13, 13}, first[] = {12, 12}, own[] = {2, 3},
                       cached[] = {5.5f, 5}, one[] = {2, 2};
    static const int32_t padded[] = {1, 0};
    static const struct {
        const char *inputs;
        int causal;
        const float *want;
    } rows[] = {{"x k v bias", 0, all},
                {"x k v bias - scores", 0, first},
                {"x k v", 1, own},
                {"x k v - - - past past", 1, cached},
                {"x k v - padded", 0, one},
                {"x k v - ends", 0, one},
                {"x k v - padded scores", 0, one}};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,2,1");
        onnx_initializer(&g, "k", ONNX_FLOAT, "1,2,1", v, sizeof v);
        onnx_initializer(&g, "v", ONNX_FLOAT, "1,2,1", v, sizeof v);
        onnx_initializer(&g, "bias", ONNX_FLOAT, "3", bias, sizeof bias);
        onnx_initializer(&g, "scores", ONNX_FLOAT, "1,1,1,2", scores, sizeof scores);
        onnx_initializer(&g, "past", ONNX_FLOAT, "1,1,1,1", past, sizeof past);
        onnx_initializer(&g, "padded", I32, "1,2", padded, sizeof padded);
        onnx_initializer(&g, "ends", I32, "1", padded, sizeof *padded);
        attr_int(&attrs, "num_heads", 1);
        attr_int(&attrs, "unidirectional", rows[i].causal);
        onnx_contrib(&g, "MultiHeadAttention", rows[i].inputs, &attrs);
        onnx_gives(&g, 17, none, 2, rows[i].want, 1e-5f);
    }
    optune_graph *read = NULL;
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,1");
    onnx_initializer(&g, "k", ONNX_FLOAT, "1,2,1", v, sizeof v);
    onnx_initializer(&g, "bias", ONNX_FLOAT, "2", bias, 2 * sizeof *bias);
    attr_int(&attrs, "num_heads", 1);
    onnx_contrib(&g, "MultiHeadAttention", "x k k bias", &attrs);
    assert_int_equal(onnx_read(&g, 17, &read, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "its bias is no list of 3 numbers");
    ot_text_release(&attrs);
}

/* All sides out of one product, or in one value: the mean of what is seen of 3, 6; of 2, 4. */
static void heads_that_are_packed(void **state)
{
    static const float x[] = {1, 2}, weight[] = {0, 0, 3}, past[] = {0, 12};
    static const float packed[] = {0, 0, 2, 0, 0, 4}, three[] = {3, 3};
    static const int32_t mask[] = {0, 1, 1}, ends = 1;
    static const struct {
        const char *inputs;
        int causal;
        float want[2];
    } rows[] = {{"x w", 0, {4.5f, 4.5f}},
                {"x w", 1, {3, 4.5f}},
                {"x w - ends", 0, {3, 3}},
                {"x w - - past", 1, {7.5f, 7}},
                {"x w - mask past", 0, {4.5f, 4.5f}}};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,2,1");
        onnx_initializer(&g, "w", ONNX_FLOAT, "1,3", weight, sizeof weight);
        onnx_initializer(&g, "ends", I32, "1", &ends, sizeof ends);
        onnx_initializer(&g, "mask", I32, "1,3", mask, sizeof mask);
        onnx_initializer(&g, "past", ONNX_FLOAT, "2,1,1,1,1", past, sizeof past);
        attr_int(&attrs, "num_heads", 1);
        attr_int(&attrs, "unidirectional", rows[i].causal);
        onnx_contrib(&g, "Attention", rows[i].inputs, &attrs);
        onnx_gives(&g, 17, x, 2, rows[i].want, 1e-5f);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,1,3,1");
    attr_int(&attrs, "num_heads", 1);
    onnx_contrib(&g, "MultiHeadAttention", "x", &attrs);
    onnx_gives(&g, 17, packed, 2, three, 1e-5f);
    ot_text_release(&attrs);
}

/* How much each cache holds is an input: two and one of two, and a new value of 6 behind it. */
static void caches_of_their_own_lengths(void **state)
{
    static const float none[2] = {0}, kept[] = {2, 4, 10, 99}, fresh[] = {6, 6}, sink[] = {0};
    static const int32_t last[] = {2, 1}, total = 3;
    static const struct {
        const char *inputs;
        int window;
        float want[2];
    } rows[] = {{"q k v past past x total", -1, {4, 8}},
                {"q k v past past x total", 2, {5, 8}},
                {"q k v past past x total - - - - sink", -1, {3, 16.0f / 3}}};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        onnx_input(&g, "x", I32, "2");
        onnx_initializer(&g, "q", ONNX_FLOAT, "2,1,1", none, sizeof none);
        onnx_initializer(&g, "k", ONNX_FLOAT, "2,1,1", none, sizeof none);
        onnx_initializer(&g, "v", ONNX_FLOAT, "2,1,1", fresh, sizeof fresh);
        onnx_initializer(&g, "past", ONNX_FLOAT, "2,1,2,1", kept, sizeof kept);
        onnx_initializer(&g, "total", I32, "", &total, sizeof total);
        onnx_initializer(&g, "sink", ONNX_FLOAT, "1", sink, sizeof sink);
        attr_int(&attrs, "num_heads", 1);
        attr_int(&attrs, "kv_num_heads", 1);
        attr_int(&attrs, "local_window_size", rows[i].window);
        onnx_contrib(&g, "GroupQueryAttention", rows[i].inputs, &attrs);
        onnx_gives(&g, 17, last, 2, rows[i].want, 1e-5f);
    }
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes),
        cmocka_unit_test(norms_of_windows_that_hang_over),
        cmocka_unit_test(shrinks_smoothly),
        cmocka_unit_test(places_that_are_hit_again),
        cmocka_unit_test(integers_one_by_one),
        cmocka_unit_test(means_of_whole_windows),
        cmocka_unit_test(embedded_words),
        cmocka_unit_test(attention_of_integers),
        cmocka_unit_test(largest_of_what_is_known),
        cmocka_unit_test(channels_come_last),
        cmocka_unit_test(rounded_by_one_factor),
        cmocka_unit_test(zeros_have_a_scale),
        cmocka_unit_test(integers_in_products),
        cmocka_unit_test(turned_by_their_place),
        cmocka_unit_test(scaled_by_a_root),
        cmocka_unit_test(heads_of_a_fused_attention),
        cmocka_unit_test(heads_that_are_packed),
        cmocka_unit_test(caches_of_their_own_lengths),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
