/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention as exporters write it is one call for whoever wants it so, in each of its spellings;
 * opset 23's own operator; and convolutions of small integers. Numbers are worked out by hand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/attend.h"
#include "support/onnx_file.h"

enum { ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_INT32 = 6 };

/* The graph, emptied, as a model that is read; negative: it was refused. */
static int reads(ot_text *graph, int64_t opset, optune_graph **g, optune_err *err)
{
    ot_text model = {0};
    *err = (optune_err){0};
    onnx_output(graph, "y");
    onnx_model(graph, opset, &model);
    assert_true(ot_write_file(onnx_path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read(onnx_path, g, err);
}

static void gives(ot_text *graph, int64_t opset, const void *const *in, int n,
                  const float *want)
{
    optune_values *values = NULL;
    optune_graph *g = NULL;
    optune_err err;
    check_ok(reads(graph, opset, &g, &err));
    check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

/* ---- spelled out ------------------------------------------------------------------------- */

static void list(ot_text *g, const char *name, int n, const int64_t *value)
{
    char dims[8];
    snprintf(dims, sizeof dims, "%d", n);
    onnx_initializer(g, name, ONNX_INT64, dims, value, (size_t)n * sizeof *value);
}

static void number(ot_text *g, const char *name, float value)
{
    onnx_initializer(g, name, ONNX_FLOAT, "", &value, sizeof value);
}

static void turned(ot_text *g, const char *from, const char *to, const int64_t *axes)
{
    ot_text attrs = {0};
    attr_ints(&attrs, "perm", 4, axes);
    onnx_node(g, "Transpose", to, from, to, &attrs);
    ot_text_release(&attrs);
}

/* x [1,5,8] as queries, keys (turned over) and values of two heads of four. */
static void split(ot_text *g)
{
    static const int64_t shape[] = {1, 5, 2, 4}, back[] = {1, 5, 8};
    onnx_input(g, "x", ONNX_FLOAT, "1,5,8");
    list(g, "shape", 4, shape);
    list(g, "back", 3, back);
    number(g, "two", 2);
    number(g, "half", 0.5f);
    number(g, "low", -3.4028234663852886e38f);
    onnx_node(g, "Reshape", "r", "x shape", "heads", NULL);
    turned(g, "heads", "q", (const int64_t[]){0, 2, 1, 3});
    turned(g, "heads", "k", (const int64_t[]){0, 2, 3, 1});
    turned(g, "heads", "v", (const int64_t[]){0, 2, 1, 3});
}

/* Behind the weights p. */
static void join(ot_text *g)
{
    onnx_node(g, "MatMul", "mixed", "p v", "mixed", NULL);
    turned(g, "mixed", "rows", (const int64_t[]){0, 2, 1, 3});
    onnx_node(g, "Reshape", "y", "rows back", "y", NULL);
}

static void finds(ot_text *g, const char *call)
{
    optune_graph *graph = NULL;
    optune_err err;
    ot_attend *sites = NULL;
    ot_text text = {0};
    check_ok(reads(g, 17, &graph, &err));
    const int n = ot_graph_attends(graph, &sites);
    assert_int_equal(n, call != NULL);
    if (n) {
        optune_call *made = ot_alloc(sizeof *made);
        check_ok(ot_attend_call(&sites[0], made, &err));
        ot_call_print(made, &text);
        assert_string_equal(ot_text_str(&text), call);
        free(made);
    }
    ot_text_release(&text);
    free(sites);
    optune_graph_close(graph);
}

static const char plain[] = "attention(f32[1,2,5,4], f32[1,2,5,4], f32[1,2,5,4], causal=false)";
static const char causal[] = "attention(f32[1,2,5,4], f32[1,2,5,4], f32[1,2,5,4], causal=true)";

static void as_bert_has_it(void **state)
{
    ot_text g = {0};
    (void)state;
    split(&g);
    onnx_input(&g, "mask", ONNX_FLOAT, "1,1,1,5");
    onnx_node(&g, "MatMul", "s", "q k", "s", NULL);
    onnx_node(&g, "Div", "t", "s two", "t", NULL);
    onnx_node(&g, "Add", "u", "t mask", "u", NULL);
    onnx_node(&g, "Softmax", "p", "u", "p", NULL);
    join(&g);
    finds(&g, "attention(f32[1,2,5,4], f32[1,2,5,4], f32[1,2,5,4], f32[1,1,1,5], "
              "causal=false, nan=true)");
    ot_text_release(&g);
}

static void as_gpt_has_it(void **state)
{
    ot_text g = {0};
    bool seen[25];
    (void)state;
    for (int i = 0; i < 25; i++)
        seen[i] = i % 5 <= i / 5;
    split(&g);
    onnx_initializer(&g, "seen", ONNX_BOOL, "1,1,5,5", seen, sizeof seen);
    onnx_node(&g, "MatMul", "s", "q k", "s", NULL);
    onnx_node(&g, "Mul", "t", "s half", "t", NULL);
    onnx_node(&g, "Where", "u", "seen t low", "u", NULL);
    onnx_node(&g, "Softmax", "p", "u", "p", NULL);
    join(&g);
    finds(&g, causal);
    ot_text_release(&g);
}

/* scaled_dot_product_attention: both sides are scaled by the root of the factor. */
static void as_torch_has_it(void **state)
{
    ot_text g = {0};
    (void)state;
    split(&g);
    number(&g, "root", 0.70710678f);
    onnx_node(&g, "Mul", "qs", "q root", "qs", NULL);
    onnx_node(&g, "Mul", "ks", "k root", "ks", NULL);
    onnx_node(&g, "MatMul", "s", "qs ks", "s", NULL);
    onnx_node(&g, "Softmax", "p", "s", "p", NULL);
    join(&g);
    finds(&g, plain);
    ot_text_release(&g);
}

/* Keys and values of one head for two of queries, and weights that are 0 for who sees nothing. */
static void as_llama_has_it(void **state)
{
    static const int64_t place = 2, five[] = {1, 1, 2, 5, 4}, four[] = {1, 2, 5, 4};
    ot_text g = {0};
    (void)state;
    split(&g);
    onnx_input(&g, "kv", ONNX_FLOAT, "1,1,5,4");
    onnx_input(&g, "mask", ONNX_FLOAT, "1,1,5,5");
    onnx_initializer(&g, "place", ONNX_INT64, "1", &place, sizeof place);
    list(&g, "five", 5, five);
    list(&g, "four", 4, four);
    number(&g, "zero", 0);
    onnx_node(&g, "Unsqueeze", "e", "kv place", "e", NULL);
    onnx_node(&g, "Expand", "f", "e five", "f", NULL);
    onnx_node(&g, "Reshape", "each", "f four", "each", NULL);
    turned(&g, "each", "kt", (const int64_t[]){0, 1, 3, 2});
    onnx_node(&g, "MatMul", "s", "q kt", "s", NULL);
    onnx_node(&g, "Mul", "t", "s half", "t", NULL);
    onnx_node(&g, "Add", "u", "t mask", "u", NULL);
    onnx_node(&g, "Softmax", "w", "u", "w", NULL);
    onnx_node(&g, "IsNaN", "n", "w", "n", NULL);
    onnx_node(&g, "Where", "p", "n zero w", "p", NULL);
    onnx_node(&g, "MatMul", "y", "p each", "y", NULL);
    finds(&g, "attention(f32[1,2,5,4], f32[1,1,5,4], f32[1,1,5,4], f32[1,1,5,5], "
              "causal=false)");
    ot_text_release(&g);
}

static void weights_that_are_given_too(void **state)
{
    ot_text g = {0};
    (void)state;
    split(&g);
    onnx_node(&g, "MatMul", "s", "q k", "s", NULL);
    onnx_node(&g, "Softmax", "p", "s", "p", NULL);
    join(&g);
    onnx_output(&g, "p");
    finds(&g, NULL);
    ot_text_release(&g);
}

/* ---- opset 23 ---------------------------------------------------------------------------- */

/* Queries of 0 see all keys alike: means of the values. */
static void the_operator(void **state)
{
    static const float q[4] = {0}, k[4] = {1, 2, 3, 4}, v[4] = {1, 2, 3, 6};
    static const float all[] = {2, 4, 2, 4}, first[] = {1, 2, 2, 4};
    const void *const in[] = {q, k, v, k, v};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int form = 0; form < 3; form++) {
        onnx_input(&g, "q", ONNX_FLOAT, "1,2,2");
        onnx_input(&g, "k", ONNX_FLOAT, "1,2,2");
        onnx_input(&g, "v", ONNX_FLOAT, "1,2,2");
        if (form == 2) {
            onnx_input(&g, "pk", ONNX_FLOAT, "1,1,2,2");
            onnx_input(&g, "pv", ONNX_FLOAT, "1,1,2,2");
        }
        attr_int(&attrs, "q_num_heads", 1);
        attr_int(&attrs, "kv_num_heads", 1);
        attr_int(&attrs, "is_causal", form > 0);
        onnx_node(&g, "Attention", "a", form == 2 ? "q k v - pk pv" : "q k v", "y", &attrs);
        /* Behind a cache the first query sees (1,2), (3,6), (1,2). */
        const float mixed[] = {5.0f / 3, 10.0f / 3, 2, 4};
        gives(&g, 23, in, 4, form == 0 ? all : form == 1 ? first : mixed);
    }
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* More queries than keys: the triangle starts at the first of both. */
static void a_triangle_of_its_own(void **state)
{
    static const float q[3] = {0}, k[2] = {1, 2}, v[2] = {1, 3}, want[] = {1, 2, 2};
    const void *const in[] = {q, k, v};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "q", ONNX_FLOAT, "1,1,3,1");
    onnx_input(&g, "k", ONNX_FLOAT, "1,1,2,1");
    onnx_input(&g, "v", ONNX_FLOAT, "1,1,2,1");
    attr_int(&attrs, "is_causal", 1);
    onnx_node(&g, "Attention", "a", "q k v", "y", &attrs);
    gives(&g, 23, in, 3, want);
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* Scores that are bent: tanh(100) is 1 beside tanh(0). */
static void scores_within_a_cap(void **state)
{
    static const float q[1] = {1}, k[2] = {0, 100}, v[2] = {0, 1};
    static const struct {
        int given; /* the output that is asked for */
        int64_t mode;
        float want[2];
    } rows[] = {{0, 0, {0.73105858f}},
                {3, 0, {0, 100}},
                {3, 1, {0, 1}},
                {3, 2, {0, 1}},
                {3, 3, {0.26894142f, 0.73105858f}}};
    const void *const in[] = {q, k, v};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        onnx_input(&g, "q", ONNX_FLOAT, "1,1,1,1");
        onnx_input(&g, "k", ONNX_FLOAT, "1,1,2,1");
        onnx_input(&g, "v", ONNX_FLOAT, "1,1,2,1");
        attr_real(&attrs, "softcap", 1);
        attr_int(&attrs, "qk_matmul_output_mode", rows[i].mode);
        onnx_node(&g, "Attention", "a", "q k v", rows[i].given ? "z - - y" : "y", &attrs);
        gives(&g, 23, in, rows[i].given ? 2 : 1, rows[i].want);
    }
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* Queries of 0 give the mean of what they see, with one call and with scores that are bent. */
static void windows_and_lengths(void **state)
{
    static const float q[6] = {0}, k[3] = {1, 2, 3}, v[3] = {1, 2, 6}, open[2] = {0};
    static const int64_t two = 2;
    static const struct {
        int causal, left, right;
        const char *inputs;
        float want[3];
    } rows[] = {{0, 1, -1, "q k v", {3, 3, 4}},
                {1, 1, -1, "q k v", {1, 1.5f, 4}},
                {0, -1, 1, "q k v", {1.5f, 3, 3}},
                {0, 0, 0, "q k v", {1, 2, 6}},
                {0, -1, -1, "q k v open", {1.5f, 1.5f, 1.5f}},
                {0, -1, -1, "q k v - - - two", {1.5f, 1.5f, 1.5f}},
                {1, -1, -1, "q k v - - - two", {0, 1, 1.5f}}};
    const void *const in[] = {q, k, v};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 2 * OT_COUNT(rows); i++) {
        const bool spelled = i % 2;
        const float *want = rows[i / 2].want;
        const float twice[] = {want[0], want[1], want[2], want[0], want[1], want[2]};
        onnx_input(&g, "q", ONNX_FLOAT, "1,2,3,1");
        onnx_input(&g, "k", ONNX_FLOAT, "1,1,3,1");
        onnx_input(&g, "v", ONNX_FLOAT, "1,1,3,1");
        onnx_initializer(&g, "open", ONNX_FLOAT, "1,2", open, sizeof open);
        onnx_initializer(&g, "two", ONNX_INT64, "1", &two, sizeof two);
        attr_int(&attrs, "is_causal", rows[i / 2].causal);
        attr_int(&attrs, "left_window_size", rows[i / 2].left);
        attr_int(&attrs, "right_window_size", rows[i / 2].right);
        attr_real(&attrs, "softcap", spelled ? 9 : 0);
        onnx_node(&g, "Attention", "a", rows[i / 2].inputs, "y", &attrs);
        gives(&g, 25, in, 6, twice);
    }
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* ---- small integers ---------------------------------------------------------------------- */

static const uint8_t nine[] = {2, 3, 4, 5, 6, 7, 8, 9, 10}, ones[] = {1, 1, 1, 1}, one = 1,
                     ten = 10;

static void integers(ot_text *g)
{
    onnx_input(g, "x", ONNX_UINT8, "1,1,3,3");
    onnx_initializer(g, "w", ONNX_UINT8, "1,1,2,2", ones, sizeof ones);
    onnx_initializer(g, "zero", ONNX_UINT8, "", &one, 1);
    onnx_initializer(g, "ten", ONNX_UINT8, "", &ten, 1);
    number(g, "one", 1);
    number(g, "three", 3);
}

static void as_floats(ot_text *g)
{
    ot_text attrs = {0};
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(g, "Cast", "cast", "i", "y", &attrs);
    ot_text_release(&attrs);
}

/* Sums of x - 1 over windows of four; what is padded is 1, so counts nothing. */
static void integer_sums(void **state)
{
    static const float want[] = {12, 16, 24, 28},
                       more[] = {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9};
    const void *const in[] = {nine};
    ot_text g = {0}, attrs = {0};
    (void)state;
    integers(&g);
    onnx_node(&g, "ConvInteger", "c", "x w zero", "i", NULL);
    as_floats(&g);
    gives(&g, 17, in, 4, want);
    integers(&g);
    attr_ints(&attrs, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    onnx_node(&g, "ConvInteger", "c", "x w zero", "i", &attrs);
    as_floats(&g);
    gives(&g, 17, in, 16, more);
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* round((sum + 2) / 3) + 10 */
static void linear_sums(void **state)
{
    static const float want[] = {15, 16, 19, 20};
    static const int32_t bias = 2;
    const void *const in[] = {nine};
    ot_text g = {0};
    (void)state;
    integers(&g);
    onnx_initializer(&g, "b", ONNX_INT32, "1", &bias, sizeof bias);
    onnx_initializer(&g, "none", ONNX_UINT8, "", "", 1);
    onnx_node(&g, "QLinearConv", "c", "x one zero w one none three ten b", "i", NULL);
    as_floats(&g);
    gives(&g, 17, in, 4, want);
    ot_text_release(&g);
}

/* A sum of `terms` products of 255 and the weight, and the kernel of whose floats it is: one below
 * 2^24, an odd one beyond it, one that 32 bits wrap. */
static void sums_that_floats_have(void **state)
{
    enum { MOST = 40000 };
    static const struct {
        int terms;
        uint8_t weight;
        const char *dims[2], *call;
    } rows[] = {{101, 255, {"1,101", "101,1"}, "f32[1,1] = dense("},
                {301, 255, {"1,301", "301,1"}, "f64[1,1] = dense("},
                {MOST, 255, {"1,40000", "40000,1"}, "i32[1,1] = dense("},
                {MOST, 1, {"1,40000", "40000,1"}, "i32[1,1] = dense("}};
    uint8_t *x = malloc(MOST), *w = malloc(MOST);
    ot_text g = {0};
    (void)state;
    memset(x, 255, MOST);
    for (int i = 0; i < OT_COUNT(rows); i++) {
        const int64_t sum = (int64_t)255 * rows[i].terms * rows[i].weight;
        const int32_t known = (int32_t)(uint32_t)(sum - 1); /* one less */
        static const float want[] = {1};
        optune_graph *graph = NULL;
        optune_err err;
        memset(w, rows[i].weight, MOST);
        for (int again = 0; again < 2; again++) {
            onnx_input(&g, "x", ONNX_UINT8, rows[i].dims[0]);
            onnx_initializer(&g, "w", ONNX_UINT8, rows[i].dims[1], w, (size_t)rows[i].terms);
            onnx_initializer(&g, "known", ONNX_INT32, "", &known, sizeof known);
            onnx_node(&g, "MatMulInteger", "m", "x w", "all", NULL);
            onnx_node(&g, "Sub", "s", "all known", "i", NULL);
            as_floats(&g);
            if (again)
                gives(&g, 17, (const void *const[]){x}, 1, want);
            else
                check_ok(reads(&g, 17, &graph, &err));
        }
        check_contains(optune_graph_text(graph, true), rows[i].call);
        optune_graph_close(graph);
    }
    ot_text_release(&g);
    free(x);
    free(w);
}

/* Numbers of 8 bits without a sign, their zero not 0, times a constant with one: windows beyond the
 * image, and a product whose zero is told with the run. */
static void bytes_by_bytes(void **state)
{
    enum { C = 9, H = 4, W = 5, CO = 2, OH = 2, OW = 5, K = 70, N = 3 };
    static uint8_t x[C * H * W], a[2 * K], zero = 200;
    static int8_t w[CO * C * 9], b[K * N];
    static float want[CO * OH * OW], more[2 * N];
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < C * H * W; i++)
        x[i] = (uint8_t)(i * 37);
    for (int i = 0; i < CO * C * 9; i++)
        w[i] = (int8_t)(i * 53);
    for (int o = 0; o < CO; o++)
        for (int y = 0; y < OH; y++)
            for (int z = 0; z < OW; z++)
                for (int c = 0; c < C; c++)
                    for (int k = 0; k < 9; k++) {
                        const int r = 2 * y + k / 3 - 1, s = z + k % 3 - 1;
                        if (r >= 0 && r < H && s >= 0 && s < W)
                            want[(o * OH + y) * OW + z] +=
                                (float)((x[(c * H + r) * W + s] - zero) *
                                        w[(o * C + c) * 9 + k]);
                    }
    onnx_input(&g, "x", ONNX_UINT8, "1,9,4,5");
    onnx_initializer(&g, "w", ONNX_INT8, "2,9,3,3", w, sizeof w);
    onnx_initializer(&g, "zero", ONNX_UINT8, "", &zero, 1);
    attr_ints(&attrs, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    attr_ints(&attrs, "strides", 2, (const int64_t[]){2, 1});
    onnx_node(&g, "ConvInteger", "c", "x w zero", "i", &attrs);
    as_floats(&g);
    gives(&g, 17, (const void *const[]){x}, CO * OH * OW, want);
    for (int i = 0; i < 2 * K; i++)
        a[i] = (uint8_t)(i * 29);
    for (int i = 0; i < K * N; i++)
        b[i] = (int8_t)(i * 31);
    for (int i = 0; i < 2 * N; i++)
        for (int k = 0; k < K; k++)
            more[i] += (float)((a[i / N * K + k] - zero) * b[k * N + i % N]);
    onnx_input(&g, "x", ONNX_UINT8, "2,1,70");
    onnx_input(&g, "zero", ONNX_UINT8, "");
    onnx_initializer(&g, "b", ONNX_INT8, "70,3", b, sizeof b);
    onnx_node(&g, "MatMulInteger", "m", "x b zero", "i", NULL);
    as_floats(&g);
    gives(&g, 17, (const void *const[]){a, &zero}, 2 * N, more);
    ot_text_release(&g);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_bert_has_it),      cmocka_unit_test(as_gpt_has_it),
        cmocka_unit_test(as_torch_has_it),     cmocka_unit_test(weights_that_are_given_too),
        cmocka_unit_test(the_operator),        cmocka_unit_test(a_triangle_of_its_own),
        cmocka_unit_test(scores_within_a_cap), cmocka_unit_test(windows_and_lengths),
        cmocka_unit_test(integer_sums),        cmocka_unit_test(linear_sums),
        cmocka_unit_test(as_llama_has_it),     cmocka_unit_test(sums_that_floats_have),
        cmocka_unit_test(bytes_by_bytes),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
