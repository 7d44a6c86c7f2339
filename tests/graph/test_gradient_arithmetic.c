/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of elementwise operators, reductions, products and attention, by differences. */
#include "support/check.h"

#include "support/gradients.h"
#include "support/graphs.h"

#include <math.h>

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
        gradients_hold(text, !strcmp(binary[i], "power") || !strcmp(binary[i], "divide"));
        snprintf(text, sizeof text, "b = var f32[5]\ny = %s(b, b)\nw = var f32[5]" WEIGHED,
                 binary[i]);
        if (strcmp(binary[i], "maximum") && strcmp(binary[i], "minimum"))
            gradients_hold(text, true);
    }
    for (int i = 0; i < OT_COUNT(unary); i++) {
        snprintf(text, sizeof text, "a = var f32[3,5]\ny = %s(a)\nw = var f32[5]" WEIGHED,
                 unary[i]);
        gradients_hold(text, !strcmp(unary[i], "log") || !strcmp(unary[i], "sqrt"));
    }
    gradients_hold("a = var f32[9]\ny = leaky_relu(a, alpha=0.3)\nw = var f32[]" WEIGHED,
                   false);
    gradients_hold("a = var f32[9]\ny = swish(a, beta=1.7)\nw = var f32[]" WEIGHED, false);
    gradients_hold(
        "a = var f32[9]\ny = elu(a, alpha=0.7, gamma=1.3, steep=2.0)\nw = var f32[]" WEIGHED,
        false);
    gradients_hold("a = var f32[9]\ny = clip(a, a_min=-0.6, a_max=0.5)\nw = var f32[]" WEIGHED,
                   false);
    gradients_hold("a = var f32[2,5]\nb = var f32[5]\n"
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
            gradients_hold(text, false);
        }
    gradients_hold("a = var f32[2,3,4]\nb = var f32[3,1]\ny = collapse_sum_like(a, b)\n"
                   "w = var f32[3,1]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,1]\nb = var f32[2,3,4]\ny = broadcast_to_like(a, b)\n"
                   "w = var f32[4]" WEIGHED,
                   false);
    gradients_hold("a = var f32[2,5]\ny = softmax(a)\nw = var f32[5]" WEIGHED, false);
    gradients_hold("a = var f32[2,5,3]\ny = softmax(a, axis=1)\nw = var f32[3]" WEIGHED, false);
}

static void test_products(void **state)
{
    (void)state;
    gradients_hold("x = var f32[2,3,4]\nv = var f32[2,5,4]\ny = batch_matmul(x, v)\n"
                   "w = var f32[5]" WEIGHED,
                   false);
    gradients_hold("x = var f32[2,3,4]\nv = var f32[2,4,5]\n"
                   "y = batch_matmul(x, v, transpose_b=false)\nw = var f32[5]" WEIGHED,
                   false);
    gradients_hold("x = var f32[2,4,3]\nv = var f32[2,4,5]\n"
                   "y = batch_matmul(x, v, transpose_a=true, transpose_b=false)\n"
                   "w = var f32[5]" WEIGHED,
                   false);
    gradients_hold("x = var f32[1,4,3]\nv = var f32[3,5,4]\n"
                   "y = batch_matmul(x, v, transpose_a=true)\nw = var f32[5]" WEIGHED,
                   false);
    gradients_hold("x = var f32[3,4]\nv = var f32[5,4]\nb = var f32[5]\ny = dense(x, v, b)\n"
                   "w = var f32[5]" WEIGHED,
                   false);
    gradients_hold(
        "x = var f32[3,4]\nv = var f32[5,4]\ny = dense(x, v)\nw = var f32[3,1]" WEIGHED, false);
}

/* Heads in groups, masks, queries that see nothing. */
static void test_attention(void **state)
{
    (void)state;
    gradients_hold("q = var f32[1,4,3,5]\nk = var f32[1,2,4,5]\nv = var f32[1,2,4,6]\n"
                   "m = var f32[1,1,3,4]\ny = attention(q, k, v, m)\nw = var f32[6]" WEIGHED,
                   false);
    gradients_hold("q = var f32[1,2,5,3]\nk = var f32[1,1,3,3]\nv = var f32[1,1,3,2]\n"
                   "y = attention(q, k, v, causal=true, scale=0.7)\nw = var f32[2]" WEIGHED,
                   false);
    gradients_hold("q = var f32[2,2,3,3]\nk = var f32[2,2,4,3]\nv = var f32[2,2,4,3]\n"
                   "m = var f32[2,1,1,4]\nn = var f32[2,1,1,4]\n"
                   "y = attention(q, k, v, greater(m, n), causal=true)\nw = var f32[3]" WEIGHED,
                   false);
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
            gradients_hold(text, false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_products),
        cmocka_unit_test(test_attention),  cmocka_unit_test(test_products_of_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
