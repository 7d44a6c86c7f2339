/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients against central differences in double precision, operator by operator and through
 * small networks; which nodes get one; and what is said of an operator without a rule.
 */
#include "support/check.h"

#include "graph/graph.h"

#include <math.h>

enum { MOST = 16, PROBES = 24 };

typedef struct leaves {
    int n;
    double *data[MOST];
    int64_t elements[MOST];
} leaves;

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    check_ok(optune_graph_parse(text, "test", &g, &err));
    const int status = optune_graph_infer(g, &err);
    if (status)
        print_error("%s: %s\n", text, err.text);
    assert_int_equal(status, OPTUNE_OK);
    return g;
}

/* Values in (0.3, 1.3) and, unless `positive`, of either sign: kinks at 0 are far. */
static leaves fill(const optune_graph *g, bool positive)
{
    leaves l = {.n = optune_graph_inputs(g)};
    uint64_t rng = 42;
    for (int i = 0; i < l.n; i++) {
        l.elements[i] = optune_tensor_elements(optune_graph_input_type(g, i));
        l.data[i] = ot_alloc((size_t)l.elements[i] * sizeof(double) + 1);
        for (int64_t k = 0; k < l.elements[i]; k++) {
            const double size = 0.3 + optune_random_unit(&rng);
            l.data[i][k] = positive || optune_random_below(&rng, 2) ? size : -size;
        }
    }
    return l;
}

static void release(leaves *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->data[i]);
}

static optune_values *evaluate(const optune_graph *g, const leaves *l)
{
    optune_err err = {0};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const *)l->data, NULL, &values, &err));
    return values;
}

/* The sum of all elements of all outputs of a graph of f64. */
static double total(const optune_graph *g, const leaves *l)
{
    optune_values *values = evaluate(g, l);
    double sum = 0;
    for (int i = 0; i < optune_graph_outputs(g); i++) {
        const double *value = optune_values_data(values, i);
        const int64_t n = optune_tensor_elements(optune_values_type(values, i));
        for (int64_t k = 0; k < n; k++)
            sum += value[k];
    }
    optune_values_free(values);
    return sum;
}

static void check_one(const char *text, const optune_graph *g, const leaves *l, int leaf,
                      const double *gradient)
{
    const double step = 1e-5;
    uint64_t rng = 7;
    const int64_t n = l->elements[leaf];
    for (int probe = 0; probe < PROBES && probe < n; probe++) {
        const int64_t k = n <= PROBES ? probe : optune_random_below(&rng, n);
        double *at = &l->data[leaf][k], was = *at;
        *at = was + step;
        const double above = total(g, l);
        *at = was - step;
        const double below = total(g, l);
        *at = was;
        const double want = (above - below) / (2 * step);
        if (!(fabs(gradient[k] - want) <= 2e-5 * fmax(1, fabs(want)))) {
            print_error("%s\ninput %d, element %lld: gradient %.9g, difference %.9g\n", text,
                        leaf, (long long)k, gradient[k], want);
            fail();
        }
    }
}

static void check_values(const char *text, bool positive)
{
    optune_err err = {0};
    optune_graph *narrow = parse(text), *g = NULL, *with = NULL;
    check_ok(optune_graph_copy(narrow, true, &g, &err));
    assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
    int wrt[MOST];
    leaves l = fill(g, positive);
    for (int i = 0; i < l.n; i++)
        wrt[i] = optune_graph_input_node(g, i);
    const int status = optune_graph_gradient(g, wrt, l.n, &with, &err);
    if (status < 0)
        print_error("%s\n%s\n", text, err.text);
    assert_int_equal(status, OPTUNE_OK);
    const int outputs = optune_graph_outputs(g);
    assert_int_equal(optune_graph_outputs(with), outputs + l.n);
    optune_values *values = evaluate(with, &l);
    for (int i = 0; i < l.n; i++) {
        assert_int_equal(optune_tensor_elements(optune_values_type(values, outputs + i)),
                         l.elements[i]);
        check_one(text, g, &l, i, optune_values_data(values, outputs + i));
    }
    optune_values_free(values);
    release(&l);
    optune_graph_close(with);
    optune_graph_close(g);
    optune_graph_close(narrow);
}

/* The output is weighed, so that no gradient is 1 or 0 by symmetry. */
#define WEIGHED "\nz = multiply(y, multiply(y, w))\noutput z\n"

static void test_arithmetic(void **state)
{
    (void)state;
    static const char *const binary[] = {"add",     "subtract", "multiply", "divide",
                                         "maximum", "minimum",  "power"};
    static const char *const unary[] = {"negative", "exp", "sigmoid", "relu", "tanh", "erf",
                                        "floor",    "abs", "copy",    "log",  "sqrt"};
    char text[512];
    for (int i = 0; i < OT_COUNT(binary); i++) {
        snprintf(text, sizeof text,
                 "a = var f32[2,3,4]\nb = var f32[3,1]\ny = %s(a, b)\nw = var f32[4]" WEIGHED,
                 binary[i]);
        check_values(text, !strcmp(binary[i], "power") || !strcmp(binary[i], "divide"));
        snprintf(text, sizeof text, "b = var f32[5]\ny = %s(b, b)\nw = var f32[5]" WEIGHED,
                 binary[i]);
        if (strcmp(binary[i], "maximum") && strcmp(binary[i], "minimum"))
            check_values(text, true);
    }
    for (int i = 0; i < OT_COUNT(unary); i++) {
        snprintf(text, sizeof text, "a = var f32[3,5]\ny = %s(a)\nw = var f32[5]" WEIGHED,
                 unary[i]);
        check_values(text, !strcmp(unary[i], "log") || !strcmp(unary[i], "sqrt"));
    }
    check_values("a = var f32[9]\ny = clip(a, a_min=-0.6, a_max=0.5)\nw = var f32[]" WEIGHED,
                 false);
    check_values("a = var f32[2,5]\nb = var f32[5]\n"
                 "y = where(greater(a, b), a, multiply(b, b))\nw = var f32[2,1]" WEIGHED,
                 false);
}

static void test_reductions(void **state)
{
    (void)state;
    static const char *const op[] = {"sum", "mean", "max", "min"};
    static const char *const attrs[] = {"axis=[1], keepdims=true",
                                        "axis=[0,-1], keepdims=true",
                                        "keepdims=true",
                                        "axis=[1], exclude=true, keepdims=true",
                                        "axis=[1]",
                                        "axis=[0,2]",
                                        ""};
    char text[512];
    for (int i = 0; i < OT_COUNT(op); i++)
        for (int k = 0; k < OT_COUNT(attrs); k++) {
            snprintf(text, sizeof text,
                     "a = var f32[2,3,4]\ny = %s(a%s%s)\nw = var f32[]" WEIGHED, op[i],
                     *attrs[k] ? ", " : "", attrs[k]);
            check_values(text, false);
        }
    check_values("a = var f32[2,3,4]\nb = var f32[3,1]\ny = collapse_sum_like(a, b)\n"
                 "w = var f32[3,1]" WEIGHED,
                 false);
    check_values("a = var f32[3,1]\nb = var f32[2,3,4]\ny = broadcast_to_like(a, b)\n"
                 "w = var f32[4]" WEIGHED,
                 false);
    check_values("a = var f32[2,5]\ny = softmax(a)\nw = var f32[5]" WEIGHED, false);
    check_values("a = var f32[2,5,3]\ny = softmax(a, axis=1)\nw = var f32[3]" WEIGHED, false);
}

static void test_products(void **state)
{
    (void)state;
    check_values("x = var f32[2,3,4]\nv = var f32[2,5,4]\ny = batch_matmul(x, v)\n"
                 "w = var f32[5]" WEIGHED,
                 false);
    check_values("x = var f32[2,3,4]\nv = var f32[2,4,5]\n"
                 "y = batch_matmul(x, v, transpose_b=false)\nw = var f32[5]" WEIGHED,
                 false);
    check_values("x = var f32[2,4,3]\nv = var f32[2,4,5]\n"
                 "y = batch_matmul(x, v, transpose_a=true, transpose_b=false)\n"
                 "w = var f32[5]" WEIGHED,
                 false);
    check_values("x = var f32[1,4,3]\nv = var f32[3,5,4]\n"
                 "y = batch_matmul(x, v, transpose_a=true)\nw = var f32[5]" WEIGHED,
                 false);
    check_values("x = var f32[3,4]\nv = var f32[5,4]\nb = var f32[5]\ny = dense(x, v, b)\n"
                 "w = var f32[5]" WEIGHED,
                 false);
    check_values(
        "x = var f32[3,4]\nv = var f32[5,4]\ny = dense(x, v)\nw = var f32[3,1]" WEIGHED, false);
}

static void test_images(void **state)
{
    (void)state;
    static const char *const attrs[] = {"padding=[1]", "strides=[2,2], padding=[1]",
                                        "strides=[2,3], padding=[1,0,2,1]",
                                        "groups=2, padding=[1]", "dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(attrs); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,4,6,7]\nv = var f32[6,%d,3,3]\ny = conv2d(x, v, %s)\n"
                 "w = var f32[6,1,1]" WEIGHED,
                 strstr(attrs[i], "groups") ? 2 : 4, attrs[i]);
        check_values(text, false);
    }
    static const char *const pools[] = {"pool_size=[2,2], strides=[2,2]",
                                        "pool_size=[3,3], strides=[2,2], padding=[1]",
                                        "pool_size=[3,2], padding=[1,0,1,1], ceil_mode=true"};
    for (int i = 0; i < OT_COUNT(pools); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[1,2,6,7]\ny = max_pool2d(x, %s)\nw = var f32[2,1,1]" WEIGHED,
                 pools[i]);
        check_values(text, false);
        snprintf(text, sizeof text,
                 "x = var f32[1,2,6,7]\ny = avg_pool2d(x, %s)\nw = var f32[2,1,1]" WEIGHED,
                 pools[i]);
        check_values(text, false);
    }
    check_values("x = var f32[1,2,6,7]\n"
                 "y = avg_pool2d(x, pool_size=[3,3], padding=[1], count_include_pad=true)\n"
                 "w = var f32[2,1,1]" WEIGHED,
                 false);
}

/* A gradient is a graph of operators that have rules: it can be differentiated again. */
static void test_images_backwards(void **state)
{
    (void)state;
    static const char *const attrs[] = {"padding=[1]", "strides=[2,3], padding=[1,0,2,1]",
                                        "groups=2, padding=[1]", "dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(attrs); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,4,5,6]\nv = var f32[4,3,3,3]\ny = conv2d_transpose(x, v, %s)\n"
                 "w = var f32[]" WEIGHED,
                 attrs[i]);
        check_values(text, false);
        snprintf(text, sizeof text,
                 "x = var f32[2,4,7,8]\nc = conv2d(x, var f32[6,%d,3,3], %s)\n"
                 "g = multiply(c, const f32[] {0.5})\nh = add(g, var f32[6,1,1])\n"
                 "y = conv2d_backward_weight(h, x, kernel_size=[3,3], %s)\n"
                 "w = var f32[]" WEIGHED,
                 strstr(attrs[i], "groups") ? 2 : 4, attrs[i], attrs[i]);
        check_values(text, false);
    }
    check_values("x = var f32[2,3,4,5]\ny = global_avg_pool2d(x)\nw = var f32[3,1,1]" WEIGHED,
                 false);
}

static void test_moves(void **state)
{
    (void)state;
    check_values("a = var f32[2,3,4]\ny = reshape(a, newshape=[4,6])\nw = var f32[6]" WEIGHED,
                 false);
    check_values("a = var f32[2,3,4]\ny = transpose(a, axes=[2,0,1])\nw = var f32[3]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\ny = transpose(a)\nw = var f32[3]" WEIGHED, false);
    check_values("a = var f32[3,4]\ny = reverse(a, axis=1)\nw = var f32[4]" WEIGHED, false);
    check_values("a = var f32[3,4]\nb = var f32[3,2]\ny = concatenate(a, b, a, axis=1)\n"
                 "w = var f32[10]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\ny = pad(a, before=[1,-1], after=[0,3], value=2.0)\n"
                 "w = var f32[6]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\ny = cumsum(a, axis=1)\nw = var f32[4]" WEIGHED, false);
    check_values("a = var f32[3,4]\ny = cumsum(a, axis=0, exclusive=true)\n"
                 "w = var f32[4]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\ny = cumsum(a)\nw = var f32[12]" WEIGHED, false);
}

static void test_network(void **state)
{
    (void)state;
    check_values("x = var f32[1,3,8,8]\n"
                 "c = conv2d(x, var f32[4,3,3,3], padding=[1])\n"
                 "r = relu(add(c, var f32[4,1,1]))\n"
                 "d = add(conv2d(r, var f32[4,4,3,3], padding=[1]), r)\n"
                 "p = max_pool2d(sigmoid(d), pool_size=[2,2], strides=[2,2])\n"
                 "m = mean(p, axis=[2,3], keepdims=true)\n"
                 "s = softmax(multiply(m, var f32[4,1,1]), axis=1)\n"
                 "t = tuple(s, p)\n"
                 "output multiply(t.0, t.0), t.1\n",
                 false);
}

static void test_which(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = parse("x = var f32[3]\ni = var i32[3]\nk = const f32[3] {1,2,3}\n"
                            "u = var f32[2]\n"
                            "y = multiply(x, k)\n"
                            "output y\n");
    optune_graph *with = NULL;
    check_ok(optune_graph_gradient(g, NULL, 0, &with, &err));
    /* Of x, k and u, but not of the integers; u changes nothing. */
    assert_int_equal(optune_graph_outputs(with), 4);
    check_contains(optune_graph_text(with, false), "zeros_like(u)");
    check_contains(optune_graph_text(with, false), "ones_like(y)");
    /* It reads back. */
    optune_graph *again = parse(optune_graph_text(with, true));
    optune_graph_close(again);
    optune_graph_close(with);
    const int integer = optune_graph_find(g, "i");
    assert_int_equal(optune_graph_gradient(g, &integer, 1, &with, &err), OPTUNE_ETYPE);
    optune_graph_close(g);

    g = parse("x = var f32[8]\ny = sort(x)\noutput y\n");
    assert_int_equal(optune_graph_gradient(g, NULL, 0, &with, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "test:2:5: node 'y': operator 'sort' has no gradient rule");
    optune_graph_close(g);
    /* Where nothing that is asked for passes through it, it does not matter. */
    g = parse("x = var f32[8]\nv = var f32[8]\ny = add(sort(x), v)\noutput y\n");
    const int v = optune_graph_find(g, "v");
    check_ok(optune_graph_gradient(g, &v, 1, &with, &err));
    optune_graph_close(with);
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),       cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products),         cmocka_unit_test(test_images),
        cmocka_unit_test(test_images_backwards), cmocka_unit_test(test_moves),
        cmocka_unit_test(test_network),          cmocka_unit_test(test_which),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
