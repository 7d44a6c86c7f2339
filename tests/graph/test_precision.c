/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in 16 bits: what is computed in them and what is not, that they mean nearly the same, and
 * that they need nothing of the graph they were made of.
 */
#include "tests/support/check.h"

#include <math.h>

#include "base/base.h"
#include "graph/graph.h"
#include "tests/support/graphs.h"

enum { MOST = 4096 };

static optune_graph *narrowed(const optune_graph *g, const char *dtype)
{
    optune_err err = {0};
    optune_graph *made = NULL;
    check_ok(optune_graph_narrow(g, dtype, &made, &err));
    return made;
}

/* The dtype that a node gives. */
static void gives(const optune_graph *g, const char *node, const char *dtype)
{
    char is[16];
    const int id = optune_graph_find(g, node);
    assert_true(id >= 0);
    ot_print_dtype(optune_graph_type(g, id)->dtype, is, sizeof is);
    if (strcmp(is, dtype) != 0)
        print_error("%s gives %s, not %s\n", node, is, dtype);
    assert_string_equal(is, dtype);
}

static int casts(const optune_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        n +=
            g->node[id].kind == OT_NODE_CALL && strcmp(g->node[id].call->op->name, "cast") == 0;
    return n;
}

/* Output 0 for inputs of small numbers, of which each graph that has them gets the same. */
static int64_t output(const optune_graph *g, float *to)
{
    static float in[4][MOST];
    const void *inputs[] = {in[0], in[1], in[2], in[3]};
    optune_err err = {0};
    optune_values *values = NULL;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < MOST; k++)
            in[i][k] = (float)((k * 37 + i * 11) % 101) / 101 - 0.4F;
    check_ok(optune_graph_evaluate(g, inputs, NULL, &values, &err));
    const int64_t n = optune_tensor_elements(optune_values_type(values, 0));
    assert_true(n <= MOST);
    memcpy(to, optune_values_data(values, 0), (size_t)n * sizeof *to);
    optune_values_free(values);
    return n;
}

static void near(const optune_graph *a, const optune_graph *b, double most)
{
    static float x[MOST], y[MOST];
    const int64_t n = output(a, x);
    double largest = 0, apart = 0;
    assert_int_equal(output(b, y), n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(isfinite(y[i]));
        largest = fmax(largest, fabs(x[i]));
        apart = fmax(apart, fabs(x[i] - y[i]));
    }
    assert_true(largest > 0);
    if (!(apart > 0 && apart <= most * largest)) /* 0: nothing was rounded */
        print_error("%g of %g apart\n", apart, largest);
    assert_true(apart > 0 && apart <= most * largest);
}

static void test_network(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[1,3,12,12]\n"
                               "c = conv2d(x, const f32[8,3,3,3], padding=[1])\n"
                               "r = relu(add(c, const f32[8,1,1]))\n"
                               "p = max_pool2d(r, pool_size=[2,2], strides=[2,2])\n"
                               "d = conv2d(p, const f32[8,8,1,1])\n"
                               "s = add(d, p)\n"
                               "m = mean(s, axis=[2,3])\n"
                               "y = dense(m, const f32[10,8])\n"
                               "z = softmax(y)\n"
                               "output z, s\n");
    check_ok(optune_graph_fill(g, 3, &err));
    optune_graph *half[] = {narrowed(g, "bfloat16"), narrowed(g, "f16")};
    for (int i = 0; i < 2; i++) {
        const char *is = i ? "f16" : "bf16";
        static const char *const in_16_bits[] = {"c", "r", "p", "d", "s", "y"};
        for (size_t k = 0; k < sizeof in_16_bits / sizeof *in_16_bits; k++)
            gives(half[i], in_16_bits[k], is);
        gives(half[i], "x", "f32");
        gives(half[i], "m", "f32");
        gives(half[i], "z", "f32");
        assert_int_equal(casts(half[i]), 4); /* x, s once for both that read it, m, y */
        for (int o = 0; o < 2; o++)
            assert_int_equal(optune_graph_output_type(half[i], o)->dtype.bits, 32);
        near(g, half[i], i ? 2e-3 : 2e-2);
    }
    static float x[MOST], y[MOST]; /* nothing of the first graph is needed */
    const int64_t n = output(half[0], x);
    optune_graph_close(g);
    assert_int_equal(output(half[0], y), n);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    for (int i = 0; i < 2; i++)
        optune_graph_close(half[i]);
}

/* A mask of the lowest float is added in float32, for no 16 bits hold it. */
static void test_attention(void **state)
{
    (void)state;
    optune_err err = {0};
    static float mask[4 * 4];
    for (int i = 0; i < 16; i++)
        mask[i] = i % 4 > i / 4 || i < 4 ? -3.402823466e+38F : 0; /* all of the first row */
    optune_graph *g = graph_of("q = var f32[2,4,8]\nk = var f32[2,4,8]\nv = var f32[2,4,8]\n"
                               "far = const f32[4,4]\n"
                               "s = batch_matmul(q, k)\n"
                               "t = multiply(s, const f32[])\n"
                               "a = add(t, far)\n"
                               "p = softmax(a)\n"
                               "o = batch_matmul(p, v, transpose_b=false)\n"
                               "output o\n");
    check_ok(optune_graph_set_data(g, optune_graph_find(g, "far"), mask, &err));
    check_ok(optune_graph_fill(g, 5, &err));
    optune_graph *half[] = {narrowed(g, "bfloat16"), narrowed(g, "float16")};
    for (int i = 0; i < 2; i++) {
        gives(half[i], "t", i ? "f16" : "bf16");
        gives(half[i], "a", "f32");
        gives(half[i], "p", "f32");
        near(g, half[i], 2e-2);
        optune_graph_close(half[i]);
    }
    optune_graph_close(g);
}

/* What is not there for products stays as it is: places, other floats, integers, mixtures. */
static void test_left_alone(void **state)
{
    (void)state;
    optune_graph *g =
        graph_of("x = var f32[1,4,6,6]\nw = var f32[1,6,6,2]\nn = var f32[?m:1..9]\n"
                 "e = var f64[3,4]\n"
                 "c = conv2d(x, const f32[4,4,1,1])\n"
                 "h = grid_sample(c, w, method=linear)\n"
                 "i = add(c, x)\n"
                 "j = exp(n)\n"
                 "f = dense(e, const f64[2,4])\n"
                 "l = concatenate(c, c, axis=1)\n"
                 "k = cast(l, dtype=i32)\n"
                 "output h, i, j, f, k\n");
    optune_graph *half = narrowed(g, "bfloat16");
    static const char *const is[][2] = {{"c", "bf16"}, {"h", "f32"}, {"i", "f32"},
                                        {"j", "f32"},  {"f", "f64"}, {"l", "bf16"},
                                        {"k", "i32"}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        gives(half, is[i][0], is[i][1]);
    for (int i = 0; i < optune_graph_outputs(g); i++)
        assert_true(
            ot_tensor_same(optune_graph_output_type(g, i), optune_graph_output_type(half, i)));
    optune_graph_close(half);
    optune_graph_close(g);
}

static void set(optune_graph *g, const char *node, float value)
{
    optune_err err = {0};
    const int id = optune_graph_find(g, node);
    const int64_t n = optune_tensor_elements(optune_graph_type(g, id));
    float data[64];
    assert_true(n <= 64);
    for (int64_t i = 0; i < n; i++)
        data[i] = value;
    check_ok(optune_graph_set_data(g, id, data, &err));
}

/* A constant that a product reads first is its own number for whoever reads it afterwards. */
static void test_shared_constant(void **state)
{
    (void)state;
    static float y[MOST];
    optune_graph *g = graph_of("x = var f32[4,8]\nw = const f32[8,8]\ny = dense(x, w)\n"
                               "n = multiply(w, w)\noutput w, y, n\n");
    set(g, "w", 1.001F);
    optune_graph *half = narrowed(g, "bfloat16");
    gives(half, "y", "bf16");
    assert_int_equal(output(half, y), 64);
    for (int i = 0; i < 64; i++)
        assert_true(y[i] == 1.001F);
    optune_graph_close(half);
    optune_graph_close(g);
}

/* What 16 bits cannot hold, or would not hold for long. */
static void test_range(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g =
        graph_of("x = var f32[4,8]\nc = const f32[]\ne = const f32[]\n"
                 "y = dense(x, const f32[8,8])\n"
                 "million = divide(y, c)\nguard = add(relu(y), e)\n"
                 "square = multiply(y, y)\nexponent = exp(y)\n"
                 "top = clip(y, a_min=0, a_max=100000)\nfine = multiply(y, guard)\n"
                 "output million, guard, square, exponent, top, fine\n");
    check_ok(optune_graph_fill(g, 3, &err));
    set(g, "c", 1e6F);
    set(g, "e", 1e-9F);
    static const char *const node[] = {"million", "guard", "square", "exponent", "top"};
    optune_graph *half[] = {narrowed(g, "bfloat16"), narrowed(g, "float16")};
    for (size_t i = 0; i < sizeof node / sizeof *node; i++) {
        gives(half[0], node[i], "bf16");
        gives(half[1], node[i], "f32");
    }
    gives(half[1], "fine", "f32"); /* one of two was computed in it */
    for (int i = 0; i < 2; i++)
        optune_graph_close(half[i]);
    optune_graph_close(g);
}

/* Positions as models spell them out, the angles of them, and vectors for elements. */
static void test_places(void **state)
{
    (void)state;
    optune_graph *g = graph_of("at = var i32[1,1,6]\nv = var f32x4[2,4]\nx = var f32[1,4,6]\n"
                               "p = batch_matmul(const f32[1,4,1], cast(at, dtype=f32), "
                               "transpose_b=false)\n"
                               "c = cos(p)\nd = batch_matmul(x, x)\ns = sin(d)\n"
                               "output c, s, relu(v)\n");
    optune_graph *half = narrowed(g, "bfloat16");
    gives(half, "p", "f32");
    gives(half, "c", "f32");
    gives(half, "d", "bf16");
    gives(half, "s", "f32");
    optune_graph_close(half);
    optune_graph_close(g);
}

static int threes(void *from, void *to, size_t bytes, optune_err *err)
{
    (void)from;
    (void)err;
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)to)[i] = (float)(i % 3) + 1e-4F;
    return OPTUNE_OK;
}

static void leave(void *from)
{
    *(bool *)from = true;
}

/* Elements that can be had again are converted when they are needed, whoever is closed first. */
static void test_backed(void **state)
{
    (void)state;
    optune_err err = {0};
    bool left = false;
    optune_graph *g =
        graph_of("x = var f32[2,4]\nw = const f32[3,4]\ny = dense(x, w)\noutput y\n");
    ot_node *node = &g->node[optune_graph_find(g, "w")];
    node->backing = ot_backing_new(3 * 4 * sizeof(float), threes, leave, &left, &err);
    assert_non_null(node->backing);
    node->data = node->backing->data;
    optune_graph *half = narrowed(g, "bf16");
    near(g, half, 1e-2);
    optune_graph_close(g);
    assert_false(left);
    const int w = optune_graph_find(half, "w_bf16");
    const void *data;
    assert_true(w >= 0);
    check_ok(ot_graph_hold(half, w, &data, &err));
    for (int i = 0; i < 12; i++) {
        double value;
        ot_elements(half->node[w].out[0].dtype, data, i, 1, &value);
        assert_true(value == (i % 3 ? i % 3 : 0x1.a4p-14)); /* 1e-4 in eight bits */
    }
    ot_graph_let_go(half, w);
    optune_graph_close(half);
    assert_true(left);
}

static void test_refused(void **state)
{
    (void)state;
    optune_graph *g = graph_of("x = var f32[4]\ny = relu(x)\noutput y\n");
    static const char *const no[] = {"float32", "int8", "f8", "bf16x2", "", "half", "i16"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        optune_err err = {0};
        optune_graph *made = g;
        assert_int_equal(optune_graph_narrow(g, no[i], &made, &err), OPTUNE_EUSAGE);
        assert_null(made);
        assert_non_null(strstr(err.text, "bfloat16 or float16"));
    }
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),    cmocka_unit_test(test_attention),
        cmocka_unit_test(test_left_alone), cmocka_unit_test(test_shared_constant),
        cmocka_unit_test(test_range),      cmocka_unit_test(test_places),
        cmocka_unit_test(test_backed),     cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
