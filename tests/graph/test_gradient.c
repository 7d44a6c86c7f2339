/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients against central differences in double precision, operator by operator and through
 * small networks; random calls of every operator that has a rule; which nodes get one; and what is
 * said of an operator without a rule.
 *
 * OPTUNE_TEST_CALLS (default 6 an operator) says how many random calls, OPTUNE_TEST_SEED which,
 * OPTUNE_TEST_OP of which operator.
 */
#include "support/check.h"

#include "graph/graph.h"
#include "support/graphs.h"
#include "support/random_call.h"

#include <math.h>

enum { MOST = OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS, PROBES = 24 };

typedef struct leaves {
    int n;
    double *data[MOST];
    int64_t elements[MOST];
} leaves;

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

static double difference(const optune_graph *g, const leaves *l, int leaf, int64_t k)
{
    const double step = 1e-5;
    double *at = &l->data[leaf][k], was = *at;
    *at = was + step;
    const double above = total(g, l);
    *at = was - step;
    const double below = total(g, l);
    *at = was;
    return (above - below) / (2 * step);
}

static void check_one(const char *text, const optune_graph *g, const leaves *l, int leaf,
                      const double *gradient)
{
    uint64_t rng = 7;
    const int64_t n = l->elements[leaf];
    for (int probe = 0; probe < PROBES && probe < n; probe++) {
        const int64_t k = n <= PROBES ? probe : optune_random_below(&rng, n);
        const double want = difference(g, l, leaf, k);
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
    optune_graph *narrow = graph_of(text), *g = NULL, *with = NULL;
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
                                         "maximum", "minimum",  "power",    "prelu"};
    static const char *const unary[] = {
        "negative", "exp",  "sigmoid", "relu", "tanh",     "erf",       "floor",
        "abs",      "copy", "log",     "sqrt", "sin",      "cos",       "tan",
        "atan",     "silu", "gelu",    "mish", "softplus", "hardswish", "gelu_tanh"};
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
    check_values("a = var f32[9]\ny = leaky_relu(a, alpha=0.3)\nw = var f32[]" WEIGHED, false);
    check_values("a = var f32[9]\ny = swish(a, beta=1.7)\nw = var f32[]" WEIGHED, false);
    check_values(
        "a = var f32[9]\ny = elu(a, alpha=0.7, gamma=1.3, steep=2.0)\nw = var f32[]" WEIGHED,
        false);
    check_values("a = var f32[9]\ny = clip(a, a_min=-0.6, a_max=0.5)\nw = var f32[]" WEIGHED,
                 false);
    check_values("a = var f32[2,5]\nb = var f32[5]\n"
                 "y = where(greater(a, b), a, multiply(b, b))\nw = var f32[2,1]" WEIGHED,
                 false);
}

/* The gradient of leaf `leaf` of a graph of f64 vectors. */
static void check_gradient(const char *text, const double *const *data, int leaf,
                           const double *want)
{
    optune_err err = {0};
    optune_graph *g = graph_of(text), *with = NULL;
    check_ok(optune_graph_gradient(g, NULL, 0, &with, &err));
    assert_int_equal(optune_graph_infer(with, &err), OPTUNE_OK);
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(with, (const void *const *)data, NULL, &values, &err));
    const int at = optune_graph_outputs(g) + leaf;
    const double *got = optune_values_data(values, at);
    for (int64_t k = 0; k < optune_tensor_elements(optune_values_type(values, at)); k++)
        if (!(fabs(got[k] - want[k]) < 1e-12))
            fail_msg("%s\nleaf %d, element %d: %g, not %g", text, leaf, (int)k, got[k],
                     want[k]);
    optune_values_free(values);
    optune_graph_close(with);
    optune_graph_close(g);
}

/* Where differences tell nothing: 0 to a power, a power of 0, the kink of abs. */
static void test_zeros(void **state)
{
    (void)state;
    static const double a[] = {0, 0, 2, 0, -3}, b[] = {2, 0, 0, 1, 2};
    static const double of_a[] = {0, 0, 0, 1, -6}, of_b[] = {0, 0, 0.69314718055994529, 0};
    const double *const both[] = {a, b};
    check_gradient("a = var f64[5]\nb = var f64[5]\noutput power(a, b)\n", both, 0, of_a);
    check_gradient("a = var f64[4]\nb = var f64[4]\noutput power(a, b)\n", both, 1, of_b);
    static const double x[] = {0, -0.0, 1.5, -1.5}, of_x[] = {0, 0, 1, -1};
    const double *const one[] = {x};
    check_gradient("x = var f64[4]\noutput abs(x)\n", one, 0, of_x);
    /* The cube is infinite. */
    static const double far[] = {1e200, -1e200, 40, -40}, of_far[] = {1, 0, 1, 0};
    const double *const two[] = {far};
    check_gradient("x = var f64[4]\noutput gelu_tanh(x)\n", two, 0, of_far);
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

/* Heads in groups, masks, queries that see nothing. */
static void test_attention(void **state)
{
    (void)state;
    check_values("q = var f32[1,4,3,5]\nk = var f32[1,2,4,5]\nv = var f32[1,2,4,6]\n"
                 "m = var f32[1,1,3,4]\ny = attention(q, k, v, m)\nw = var f32[6]" WEIGHED,
                 false);
    check_values("q = var f32[1,2,5,3]\nk = var f32[1,1,3,3]\nv = var f32[1,1,3,2]\n"
                 "y = attention(q, k, v, causal=true, scale=0.7)\nw = var f32[2]" WEIGHED,
                 false);
    check_values("q = var f32[2,2,3,3]\nk = var f32[2,2,4,3]\nv = var f32[2,2,4,3]\n"
                 "m = var f32[2,1,1,4]\nn = var f32[2,1,1,4]\n"
                 "y = attention(q, k, v, greater(m, n), causal=true)\nw = var f32[3]" WEIGHED,
                 false);
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
    /* All of the data's single row lies in what is cut off in front. */
    check_values("x = var f32[3,3,1,1]\nv = var f32[3,1,1,1]\n"
                 "y = conv2d_transpose(x, v, padding=[1,0,1,0], dilation=[4,5], "
                 "output_padding=[2,1])\nw = var f32[]" WEIGHED,
                 false);
    /* Rows and columns of output_padding that are whole strides. */
    check_values("x = var f32[1,3,3,4]\nv = var f32[3,2,2,2]\n"
                 "y = conv2d_transpose(x, v, strides=[2,1], dilation=[1,4], padding=[0,1,0,1], "
                 "output_padding=[1,3])\nw = var f32[]" WEIGHED,
                 false);
    check_values("x = var f32[2,3,4,5]\ny = global_avg_pool2d(x)\nw = var f32[3,1,1]" WEIGHED,
                 false);
    /* Two convolutions and what stands between them as one. */
    static const char *const between[] = {"none, padding=[1,1,1,1]", "relu, strides=[2,1]",
                                          "relu6, strides=[2,2], padding=[1,1,1,1]",
                                          "hard_swish, padding=[0,1,2,1]",
                                          "silu, dilation=[2,1]"};
    for (int i = 0; i < OT_COUNT(between); i++) {
        snprintf(text, sizeof text,
                 "x = var f32[2,3,5,6]\nf = var f32[4,3,1,1]\nd = var f32[4,1,3,3]\n"
                 "y = pointwise_depthwise_conv2d(x, f, d%s, between=%s)\nw = var f32[]" WEIGHED,
                 i ? ", var f32[4,1,1]" : "", between[i]);
        check_values(text, false);
    }
}

static void test_moves(void **state)
{
    (void)state;
    static const char *const slices[] = {
        "begin=[1], end=[6]",
        "begin=[0,1], end=[7,4], strides=[3,1]",
        "begin=[6,4], end=[-8,-6], strides=[-2,-1]",
        "begin=[5], end=[0], strides=[-3]",
        "begin=[2], end=[3], strides=[5]",
        "begin=[0,4], end=[7,-6], strides=[1,-4]",
    };
    char text[512];
    for (int i = 0; i < OT_COUNT(slices); i++) {
        snprintf(text, sizeof text,
                 "a = var f32[7,5,2]\ny = strided_slice(a, %s)\nw = var f32[2]" WEIGHED,
                 slices[i]);
        check_values(text, false);
    }
    check_values("a = var f32[3,1]\ny = broadcast_to(a, shape=[2,3,4])\nw = var f32[4]" WEIGHED,
                 false);
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

/* With zeros among the factors: none, one, several, first and last. */
static void test_products_of_zeros(void **state)
{
    (void)state;
    static const char *const factors[] = {"1,-2,3,0.5,-1.5,2", "1,-2,0,0.5,-1.5,2",
                                          "0,-2,3,0.5,-1.5,2", "1,-2,3,0.5,-1.5,0",
                                          "1,0,3,0.5,0,2",     "0,0,0,0.5,-1.5,0"};
    static const char *const op[] = {"prod(x, axis=[1])",
                                     "prod(x)",
                                     "prod(x, axis=[0])",
                                     "cumprod(x)",
                                     "cumprod(x, axis=0, exclusive=true)",
                                     "cumprod(x, axis=1)",
                                     "cumprod(x, axis=-1, exclusive=true)"};
    char text[512];
    for (int f = 0; f < OT_COUNT(factors); f++)
        for (int i = 0; i < OT_COUNT(op); i++) {
            /* A factor of the shape of x that is 0 at the same places, and not by a kink. */
            snprintf(text, sizeof text,
                     "a = var f32[2,3]\nk = const f32[2,3] {%s}\nx = multiply(a, k)\n"
                     "v = add(x, var f32[1])\nt = subtract(v, const f32[] {1})\n"
                     "y = %s\nw = var f32[1]\nz = multiply(y, w)\n"
                     "output z, multiply(y, y), sum(t)\n",
                     factors[f], op[i]);
            check_values(text, false);
        }
}

static void test_order(void **state)
{
    (void)state;
    static const char *const op[] = {"sort(a)", "sort(a, axis=0, is_ascend=false)",
                                     "topk(a, k=2, ret_type=values)",
                                     "topk(a, k=3, axis=0, ret_type=values, is_ascend=true)",
                                     "topk(a, k=0, ret_type=values)"};
    char text[512];
    for (int i = 0; i < OT_COUNT(op); i++) {
        snprintf(text, sizeof text, "a = var f32[4,5]\ny = %s\nw = var f32[]" WEIGHED, op[i]);
        check_values(text, false);
    }
    /* Both outputs; the indices receive nothing, whatever is made of them. */
    check_values("a = var f32[4,5]\nt = topk(a, k=2)\nw = var f32[2]\n"
                 "i = cast(t.1, dtype=f32)\n"
                 "output multiply(t.0, multiply(t.0, w)), multiply(w, i)\n",
                 false);
    /* A slice that is taken twice receives both; -1 is the last, what is outside the nearest. */
    check_values("a = var f32[3,4,2]\ny = take(a, const i32[2,3] {0,2,0,-1,7,-9}, axis=1)\n"
                 "w = var f32[2]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\ny = gather(a, const i64[2,4] {0,2,0,-1,2,1,7,-9})\n"
                 "w = var f32[4]" WEIGHED,
                 false);
    check_values("a = var f32[3,4]\nu = var f32[3,2]\n"
                 "y = scatter_add(a, const i32[3,2] {0,0,3,-1,1,9}, u, axis=1)\n"
                 "w = var f32[4]" WEIGHED,
                 false);
}

/* What is read between pixels: of them, and of where it lies. */
static void test_samples(void **state)
{
    (void)state;
    static const char *const ways[] = {"",
                                       ", align_corners=true, padding_mode=border",
                                       ", padding_mode=reflection",
                                       ", method=nearest",
                                       ", method=cubic",
                                       ", method=cubic, align_corners=true, "
                                       "padding_mode=reflection"};
    char text[512];
    for (int i = 0; i < OT_COUNT(ways); i++) {
        snprintf(text, sizeof text,
                 "d = var f32[2,2,3,4]\ng = var f32[2,3,2,2]\ny = grid_sample(d, g%s)\n"
                 "w = var f32[2,1,1]" WEIGHED,
                 ways[i]);
        check_values(text, false);
    }
    check_values("d = var f32[1,2,3,2,4]\ng = var f32[1,2,2,3,3]\ny = grid_sample(d, g)\n"
                 "w = var f32[2,1,1,1]" WEIGHED,
                 false);
    for (int half = 0; half < 2; half++)
        for (int ratio = 1; ratio <= 2; ratio++) {
            snprintf(text, sizeof text,
                     "d = var f32[2,2,4,5]\nr = var f32[3,4]\n"
                     "y = roi_align(d, r, const i64[3] {0,1,-2}, pooled_size=[2,3], "
                     "sample_ratio=%d, spatial_scale=3, half_pixel=%s)\n"
                     "w = var f32[2,1,1]" WEIGHED,
                     ratio, half ? "true" : "false");
            check_values(text, false);
        }
}

/* Updates that meet in one element, among them zeros; equal ones share. */
static void test_scatters(void **state)
{
    (void)state;
    static const char *const modes[] = {"multiply", "minimum", "maximum"};
    char text[512];
    for (int i = 0; i < OT_COUNT(modes); i++)
        for (int zeros = 0; zeros < (i ? 1 : 2); zeros++) {
            snprintf(text, sizeof text,
                     "a = var f32[3,4]\nu = var f32[3,5]\n"
                     "f = multiply(a, const f32[3,4] {1,1,%d,1,1,1,1,%d,1,1,1,1})\n"
                     "v = multiply(u, const f32[3,5] {1,1,1,1,1,1,%d,1,1,1,%d,%d,1,1,1})\n"
                     "y = scatter_reduce(f, const i32[3,5] {0,0,3,-1,1,2,1,2,0,9,1,1,2,1,0}, "
                     "v, axis=1, mode=%s)\n"
                     "w = var f32[4]\noutput multiply(y, w)\n",
                     !zeros, !zeros, !zeros, !zeros, !zeros, modes[i]);
            check_values(text, false);
        }
}

/* Equal elements: those that are chosen receive all, in an order that is stated. */
static void check_ties(const char *text, int n, const double *want)
{
    optune_err err = {0};
    optune_graph *g = graph_of(text), *with = NULL;
    check_ok(optune_graph_gradient(g, NULL, 0, &with, &err));
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(with, NULL, NULL, &values, &err));
    const float *got = optune_values_data(values, optune_graph_outputs(g));
    for (int i = 0; i < n; i++)
        if ((double)got[i] != want[i])
            fail_msg("%s\nelement %d: %g, not %g", text, i, (double)got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(with);
    optune_graph_close(g);
}

static void test_ties(void **state)
{
    (void)state;
    check_ties("a = const f32[4] {2,1,2,1}\ny = sort(a)\nw = const f32[4] {1,2,3,4}\n"
               "output multiply(y, w)\n",
               4, (const double[]){3, 1, 4, 2});
    check_ties("a = const f32[4] {2,1,2,2}\ny = topk(a, k=2, ret_type=values)\n"
               "w = const f32[2] {1,5}\noutput multiply(y, w)\n",
               4, (const double[]){1, 0, 5, 0});
    check_ties("a = const f32[4] {2,1,2,1}\noutput max(a)\n", 4,
               (const double[]){0.5, 0, 0.5, 0});
    check_ties("a = const f32[3] {2,1,5}\nu = const f32[5] {2,2,0,7,7}\n"
               "output scatter_reduce(a, const i32[5] {0,0,0,1,1}, u, mode=maximum)\n",
               3, (const double[]){1 / 3.f, 0, 1});
}

static void test_pools_backwards(void **state)
{
    (void)state;
    static const char *const pools[] = {
        "pool_size=[2,2], strides=[2,2]", "pool_size=[3,3], strides=[2,1], padding=[1]",
        "pool_size=[3,2], padding=[1,0,1,1], ceil_mode=true, strides=[2,3]",
        "pool_size=[2,3], dilation=[2,1]"};
    char text[512];
    for (int i = 0; i < OT_COUNT(pools); i++)
        for (int k = 0; k < 2; k++) {
            const char *op = k ? "avg_pool2d" : "max_pool2d";
            snprintf(text, sizeof text,
                     "x = var f32[1,2,6,7]\nv = var f32[1,2,6,7]\np = %s(v, %s)\n"
                     "d = multiply(p, p)\ny = %s_grad(d, x, %s)\nw = var f32[7]" WEIGHED,
                     op, pools[i], op, pools[i]);
            check_values(text, false);
        }
}

/* ---- random calls ------------------------------------------------------------------------ */

typedef struct drawn { /* a random call as a graph */
    const optune_call *call;
    const char *text;
    optune_graph *g;
    leaves l;
    bool refused;
} drawn;

/* `y = op(x0, x1, attrs)`, and each floating output times itself and a weight. False: nothing of it
 * can be differentiated. */
static bool as_graph(const optune_call *call, ot_text *to)
{
    bool floats = false;
    to->n = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        ot_text_printf(to, "x%d = var ", i);
        ot_tensor_print(&call->input[i].type, to);
        ot_text_add(to, "\n");
        floats = floats || call->input[i].type.dtype.code == OPTUNE_DTYPE_FLOAT ||
                 call->input[i].type.dtype.code == OPTUNE_DTYPE_BFLOAT;
    }
    ot_text_printf(to, "y = %s(", call->op->name);
    for (int i = 0; i < call->n_inputs; i++)
        ot_text_printf(to, "%sx%d", i ? ", " : "", i);
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, "math") != 0) {
            ot_text_add(to, ", ");
            ot_attr_print(&call->attr[i], to);
        }
    ot_text_add(to, ")\n");
    int n = 0;
    for (int o = 0; o < call->n_outputs; o++) {
        const optune_tensor *type = &call->output[o];
        if (type->dtype.code != OPTUNE_DTYPE_FLOAT && type->dtype.code != OPTUNE_DTYPE_BFLOAT)
            continue;
        char field[8] = "";
        if (call->n_outputs > 1)
            snprintf(field, sizeof field, ".%d", o);
        ot_text_printf(to, "w%d = var ", o);
        ot_tensor_print(type, to);
        ot_text_printf(to, "\noutput multiply(y%s, multiply(y%s, w%d))\n", field, field, o);
        n++;
    }
    return floats && n > 0;
}

/* Values of one leaf: of floats none twice and none near 0, of integers what the operator takes. */
static void fill_drawn(drawn *d, int i, bool positive, uint64_t *rng)
{
    const optune_tensor *type = optune_graph_input_type(d->g, i);
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)n * sizeof *value + 1), low = 0, high = 1;
    d->l.elements[i] = n;
    d->l.data[i] = ot_alloc((size_t)n * sizeof(double) + 1);
    const bool real = type->dtype.code == OPTUNE_DTYPE_FLOAT;
    if (i < d->call->n_inputs && d->call->op->range)
        d->call->op->range(d->call, i, &low, &high);
    for (int64_t k = 0; k < n; k++)
        value[k] = real ? 0.3 + ((double)k + optune_random_unit(rng) / 2) / (double)n
                        : low + (double)optune_random_below(rng, (int64_t)(high - low) + 1);
    for (int64_t k = n - 1; k > 0; k--) {
        const int64_t other = optune_random_below(rng, k + 1);
        const double was = value[k];
        value[k] = value[other];
        value[other] = was;
    }
    for (int64_t k = 0; k < n && real; k++)
        value[k] *= positive || optune_random_below(rng, 2) ? 1 : -1;
    ot_elements_set(type->dtype, d->l.data[i], 0, n, value);
    free(value);
}

/* Whether differences say the same of all that are asked for; *why says of which they do not. What
 * is infinite (the maximum of nothing) has none. */
static bool drawn_holds(drawn *d, uint64_t *rng, ot_text *why)
{
    optune_err err = {0};
    optune_graph *with = NULL;
    int wrt[MOST], leaf[MOST], n = 0;
    d->l.n = optune_graph_inputs(d->g);
    for (int i = 0; i < d->l.n; i++) {
        fill_drawn(d, i, false, rng);
        if (optune_graph_input_type(d->g, i)->dtype.code != OPTUNE_DTYPE_FLOAT)
            continue;
        leaf[n] = i;
        wrt[n++] = optune_graph_input_node(d->g, i);
    }
    if (isnan(total(d->g, &d->l))) { /* a logarithm, a root */
        release(&d->l);
        for (int i = 0; i < d->l.n; i++)
            fill_drawn(d, i, true, rng);
    }
    const int status = optune_graph_gradient(d->g, wrt, n, &with, &err);
    if (status < 0) { /* its rule serves some layouts only */
        release(&d->l);
        if (status != OPTUNE_EUNSUPPORTED)
            fail_msg("%s\n%s", d->text, err.text);
        d->refused = true;
        return true;
    }
    const int outputs = optune_graph_outputs(d->g);
    optune_values *values = evaluate(with, &d->l);
    bool holds = true;
    for (int i = 0; i < n && holds; i++) {
        const double *gradient = optune_values_data(values, outputs + i);
        const int64_t all = d->l.elements[leaf[i]];
        for (int probe = 0; probe < PROBES && probe < all && holds; probe++) {
            const int64_t k = all <= PROBES ? probe : optune_random_below(rng, all);
            const double want = difference(d->g, &d->l, leaf[i], k);
            holds = !isfinite(want) || fabs(gradient[k] - want) <= 2e-5 * fmax(1, fabs(want));
            if (!holds)
                ot_text_printf(why, "input %d, element %lld: gradient %.9g, difference %.9g\n",
                               leaf[i], (long long)k, gradient[k], want);
        }
    }
    optune_values_free(values);
    release(&d->l);
    optune_graph_close(with);
    return holds;
}

/* Differences are wrong at a kink: what is wrong of two sets of values is the gradient. False: the
 * rule does not serve the call, and says so. */
static bool check_drawn(const optune_call *call, const char *text, uint64_t *rng)
{
    optune_err err = {0};
    optune_graph *narrow = graph_of(text);
    drawn d = {.call = call, .text = text};
    ot_text why = {0};
    check_ok(optune_graph_copy(narrow, true, &d.g, &err));
    assert_int_equal(optune_graph_infer(d.g, &err), OPTUNE_OK);
    const bool holds = drawn_holds(&d, rng, &why) || drawn_holds(&d, rng, &why);
    if (!holds)
        print_error("%s\n%s", text, ot_text_str(&why));
    ot_text_release(&why);
    optune_graph_close(d.g);
    optune_graph_close(narrow);
    assert_true(holds);
    return !d.refused;
}

static void test_random(void **state)
{
    (void)state;
    static optune_call call;
    const random_limits limits = {.elements = 1500, .flops = 3e4};
    const int calls = random_asked("OPTUNE_TEST_CALLS", 6);
    const char *only = getenv("OPTUNE_TEST_OP");
    uint64_t rng = random_seed();
    ot_text text = {0}, graph = {0};
    int n, met = 0;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        if (!op[i]->gradient || (only && strcmp(only, op[i]->name) != 0))
            continue;
        int done = 0;
        for (int draw = 0; draw < 60 * calls && done < calls; draw++)
            if (random_call(&rng, op[i], &limits, &call, &text) && call.n_epilogues == 0 &&
                as_graph(&call, &graph))
                done += check_drawn(&call, ot_text_str(&graph), &rng);
        met += done;
        if (!done)
            print_message("%s: no call of floats is drawn\n", op[i]->name);
    }
    print_message("%d calls differentiated\n", met);
    assert_true(met > 0);
    ot_text_release(&text);
    ot_text_release(&graph);
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

static const optune_op_input ruleless_inputs[] = {{.name = "data", .type = "tensor"}, {0}};
static const optune_op ruleless = {
    .name = "ruleless",
    .summary = "the same values, without a rule",
    .inputs = ruleless_inputs,
    .n_outputs = 1,
    .pattern = OPTUNE_ELEMWISE,
    .types = optune_elemwise_types,
};

static void test_which(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[3]\ni = var i32[3]\nk = const f32[3] {1,2,3}\n"
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
    optune_graph *again = graph_of(optune_graph_text(with, true));
    optune_graph_close(again);
    optune_graph_close(with);
    const int integer = optune_graph_find(g, "i");
    assert_int_equal(optune_graph_gradient(g, &integer, 1, &with, &err), OPTUNE_ETYPE);
    optune_graph_close(g);

    check_ok(ot_op_add(&ruleless, &err));
    g = graph_of("x = var f32[8]\ny = ruleless(x)\noutput y\n");
    assert_int_equal(optune_graph_gradient(g, NULL, 0, &with, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "test:2:5: node 'y': operator 'ruleless' has no gradient rule");
    optune_graph_close(g);
    /* Where nothing that is asked for passes through it, it does not matter. */
    g = graph_of("x = var f32[8]\nv = var f32[8]\ny = add(ruleless(x), v)\noutput y\n");
    const int v = optune_graph_find(g, "v");
    check_ok(optune_graph_gradient(g, &v, 1, &with, &err));
    optune_graph_close(with);
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_images_backwards),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_products_of_zeros),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_scatters),
        cmocka_unit_test(test_pools_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
