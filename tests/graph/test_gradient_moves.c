/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of moves, of order, and of what is taken and scattered, by differences; of ties. */
#include "support/check.h"

#include "support/gradients.h"
#include "support/graphs.h"

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
        gradients_hold(text, false);
    }
    gradients_hold(
        "a = var f32[3,1]\ny = broadcast_to(a, shape=[2,3,4])\nw = var f32[4]" WEIGHED, false);
    gradients_hold("a = var f32[2,3,4]\ny = reshape(a, newshape=[4,6])\nw = var f32[6]" WEIGHED,
                   false);
    gradients_hold("a = var f32[2,3,4]\ny = transpose(a, axes=[2,0,1])\nw = var f32[3]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\ny = transpose(a)\nw = var f32[3]" WEIGHED, false);
    gradients_hold("a = var f32[3,4]\ny = reverse(a, axis=1)\nw = var f32[4]" WEIGHED, false);
    gradients_hold("a = var f32[3,4]\nb = var f32[3,2]\ny = concatenate(a, b, a, axis=1)\n"
                   "w = var f32[10]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\ny = pad(a, before=[1,-1], after=[0,3], value=2.0)\n"
                   "w = var f32[6]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\ny = cumsum(a, axis=1)\nw = var f32[4]" WEIGHED, false);
    gradients_hold("a = var f32[3,4]\ny = cumsum(a, axis=0, exclusive=true)\n"
                   "w = var f32[4]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\ny = cumsum(a)\nw = var f32[12]" WEIGHED, false);
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
        gradients_hold(text, false);
    }
    /* Both outputs; the indices receive nothing, whatever is made of them. */
    gradients_hold("a = var f32[4,5]\nt = topk(a, k=2)\nw = var f32[2]\n"
                   "i = cast(t.1, dtype=f32)\n"
                   "output multiply(t.0, multiply(t.0, w)), multiply(w, i)\n",
                   false);
    /* A slice that is taken twice receives both; -1 is the last, what is outside the nearest. */
    gradients_hold("a = var f32[3,4,2]\ny = take(a, const i32[2,3] {0,2,0,-1,7,-9}, axis=1)\n"
                   "w = var f32[2]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\ny = gather(a, const i64[2,4] {0,2,0,-1,2,1,7,-9})\n"
                   "w = var f32[4]" WEIGHED,
                   false);
    gradients_hold("a = var f32[3,4]\nu = var f32[3,2]\n"
                   "y = scatter_add(a, const i32[3,2] {0,0,3,-1,1,9}, u, axis=1)\n"
                   "w = var f32[4]" WEIGHED,
                   false);
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
            gradients_hold(text, false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_scatters),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
