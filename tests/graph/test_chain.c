/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1x1 convolutions in front of depthwise ones are found in each spelling of what stands between
 * them, mean the same as one call, and are not found where something is different: values that
 * somebody else reads, other activations, kernels that are none of 1x1, strides, groups, layouts.
 */
#include "tests/support/check.h"

#include <math.h>

#include "base/base.h"
#include "graph/look.h"
#include "graph/sites.h"
#include "optune/define.h"
#include "tests/support/graphs.h"

/* Expanded values e [2,6,7,5], which are read as t. */
#define HEAD                                                                                   \
    "x = var f32[2,3,7,5]\n"                                                                   \
    "w = const f32[6,3,1,1]\n"                                                                 \
    "v = const f32[6,1,3,3]\n"                                                                 \
    "b = const f32[6,1,1]\n"                                                                   \
    "six = const f32[] {6}\n"                                                                  \
    "sixth = const f32[] {0.16666666666666666}\n"                                              \
    "e = conv2d(x, w)\n"
#define DEPTHWISE "y = conv2d(t, v, padding=[1,1,1,1], groups=6)\n"
#define TAIL "z = relu(y)\noutput z\n"
#define BODY(text) HEAD text DEPTHWISE TAIL
#define BIASED(text) BODY("s = add(e, b)\n" text)

typedef struct spelling {
    const char *name, *text;
    const char *call; /* what is in the call that it becomes; NULL: it is none */
} spelling;

static const spelling spellings[] = {
    {"nothing between", HEAD "y = conv2d(e, v, padding=[1,1,1,1], groups=6)\n" TAIL,
     "const f32[6,1,3,3], strides=[1,1], padding=[1,1,1,1], between=none)"},
    {"a bias", BODY("t = add(e, b)\n"), "const f32[6,1,1], strides=[1,1]"},
    {"a bias of four dims in front", BODY("c = const f32[1,6,1,1]\nt = add(c, e)\n"),
     "const f32[6,1,1], strides=[1,1]"},
    {"relu", BODY("t = relu(e)\n"), "between=relu)"},
    {"relu6", BIASED("t = clip(s, a_min=0.0, a_max=6.0)\n"), "between=relu6)"},
    {"silu", BIASED("t = multiply(s, sigmoid(s))\n"), "between=silu)"},
    {"silu as one", BIASED("t = silu(s)\n"), "between=silu)"},
    {"silu, the gate in front", BODY("t = multiply(sigmoid(e), e)\n"), "between=silu)"},
    {"hard swish as one", BODY("t = hardswish(e)\n"), "between=hard_swish)"},
    {"hard swish of a line",
     BIASED("l = add(multiply(s, sixth), const f32[] {0.5})\n"
            "t = multiply(s, clip(l, a_min=0.0, a_max=1.0))\n"),
     "const f32[6,1,1], strides=[1,1], padding=[1,1,1,1], between=hard_swish)"},
    {"hard swish of a ramp",
     BODY("r = clip(add(e, const f32[] {3}), a_min=0.0, a_max=6.0)\n"
          "t = divide(multiply(e, r), six)\n"),
     "between=hard_swish)"},
    {"hard swish of a ramp over six",
     BODY("r = clip(add(const f32[] {3}, e), a_min=0.0, a_max=6.0)\n"
          "t = multiply(divide(r, six), e)\n"),
     "between=hard_swish)"},
    {"strides and a wide kernel",
     HEAD "u = const f32[6,1,5,3]\nt = relu(e)\n"
          "y = conv2d(t, u, strides=[2,1], padding=[2,1,2,1], groups=6)\n" TAIL,
     "const f32[6,1,5,3], strides=[2,1], padding=[2,1,2,1], between=relu)"},
    {"dilation",
     HEAD "t = relu(e)\ny = conv2d(t, v, padding=[2,2,2,2], dilation=[2,2], groups=6)\n" TAIL,
     "dilation=[2,2]"},
    {"read twice", BODY("t = relu(e)\nq = exp(t)\noutput q\n"), NULL},
    {"an output", BODY("t = relu(e)\noutput t\n"), NULL},
    {"read in front of the activation", BODY("t = relu(e)\nq = exp(e)\noutput q\n"), NULL},
    {"read in the gate", BODY("g = sigmoid(e)\nt = multiply(e, g)\noutput g\n"), NULL},
    {"another limit", BODY("t = clip(e, a_min=0.0, a_max=5.0)\n"), NULL},
    {"another activation", BODY("t = tanh(e)\n"), NULL},
    {"another gate", BODY("t = multiply(e, sigmoid(relu(e)))\n"), NULL},
    {"another slope",
     BODY("l = add(multiply(e, const f32[] {0.2}), const f32[] {0.5})\n"
          "t = multiply(e, clip(l, a_min=0.0, a_max=1.0))\n"),
     NULL},
    {"a bias that varies", BODY("c = var f32[6,1,1]\nt = add(e, c)\n"), NULL},
    {"a bias along rows", BODY("c = const f32[7,1]\nt = add(e, c)\n"), NULL},
    {"a weight that varies",
     "x = var f32[2,3,7,5]\nw = var f32[6,3,1,1]\nv = const f32[6,1,3,3]\n"
     "t = conv2d(x, w)\n" DEPTHWISE TAIL,
     NULL},
    {"a first kernel of three rows",
     "x = var f32[2,3,7,5]\nw = const f32[6,3,3,1]\nv = const f32[6,1,3,3]\n"
     "t = conv2d(x, w, padding=[1,0,1,0])\n" DEPTHWISE TAIL,
     NULL},
    {"a first stride",
     "x = var f32[2,3,7,5]\nw = const f32[6,3,1,1]\nv = const f32[6,1,3,3]\n"
     "t = conv2d(x, w, strides=[2,1])\n" DEPTHWISE TAIL,
     NULL},
    {"a first padding",
     "x = var f32[2,3,7,5]\nw = const f32[6,3,1,1]\nv = const f32[6,1,3,3]\n"
     "t = conv2d(x, w, padding=[0,1,0,1])\n" DEPTHWISE TAIL,
     NULL},
    {"groups in front",
     "x = var f32[2,4,7,5]\nw = const f32[6,2,1,1]\nv = const f32[6,1,3,3]\n"
     "t = conv2d(x, w, groups=2)\n" DEPTHWISE TAIL,
     NULL},
    {"no depthwise",
     HEAD "u = const f32[6,2,3,3]\nt = relu(e)\ny = conv2d(t, u, groups=3)\n" TAIL, NULL},
    {"more channels behind",
     HEAD "u = const f32[12,1,3,3]\nt = relu(e)\ny = conv2d(t, u, groups=6)\n" TAIL, NULL},
    {"blocks",
     "x = var f32[2,1,7,5,4]\nw = const f32[8,4,1,1]\nv = const f32[8,1,3,3]\n"
     "t = conv2d(x, w, data_layout=NCHW4c)\n"
     "y = conv2d(t, v, padding=[1,1,1,1], groups=8, data_layout=NCHW4c)\n" TAIL,
     NULL},
};

/* Beyond what every activation is a straight line for. */
static void *elements(const optune_tensor *type, uint64_t *random)
{
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)optune_random_below(random, 8001) / 1000 - 4;
    void *data = ot_alloc((size_t)optune_tensor_bytes(type) + 8);
    ot_elements_set(type->dtype, data, 0, n, value);
    free(value);
    return data;
}

static void fill(optune_graph *g, uint64_t *random)
{
    optune_err err = {0};
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CONST && !g->node[id].data) {
            void *data = elements(&g->node[id].out[0], random);
            check_ok(optune_graph_set_data(g, id, data, &err));
            free(data);
        }
}

/* The graph as it is and with one call, over the same input. */
static void mean_the_same(const optune_graph *g, const ot_relaid *as, const char *name,
                          uint64_t *random)
{
    optune_err err = {0};
    optune_values *x = NULL, *y = NULL;
    assert_int_equal(optune_graph_inputs(g), 1);
    void *in = elements(optune_graph_input_type(g, 0), random);
    check_ok(optune_graph_evaluate(g, (const void *[]){in}, NULL, &x, &err));
    check_ok(optune_graph_evaluate(as->graph, (const void *[]){in}, NULL, &y, &err));
    const int64_t n = optune_tensor_elements(optune_values_type(x, 0));
    assert_int_equal(n, optune_tensor_elements(optune_values_type(y, 0)));
    const float *a = optune_values_data(x, 0), *b = optune_values_data(y, 0);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5F * (1 + fabsf(a[i])) * 8)) {
            print_error("%s: element %d: %g and %g\n", name, (int)i, (double)a[i],
                        (double)b[i]);
            fail();
        }
    optune_values_free(x);
    optune_values_free(y);
    free(in);
}

static int count(const optune_graph *g, const char *op)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        n += ot_node_is(&g->node[id], op);
    return n;
}

static void check_spelling(const spelling *s, uint64_t *random)
{
    optune_err err = {0};
    optune_graph *g = graph_named(s->text, s->name);
    ot_site *sites = NULL;
    fill(g, random);
    const int n = ot_graph_sites(g, &sites);
    if (n != (s->call != NULL))
        print_error("%s: %d found\n", s->name, n);
    assert_int_equal(n, s->call != NULL);
    if (n) {
        ot_relaid as;
        optune_call *call = ot_alloc(sizeof *call);
        ot_text text = {0};
        check_ok(ot_site_call(g, &sites[0], call, &err));
        ot_call_print(call, &text);
        if (!strstr(ot_text_str(&text), s->call))
            print_error("%s: %s\n", s->name, ot_text_str(&text));
        assert_non_null(strstr(ot_text_str(&text), s->call));
        check_ok(ot_graph_as_calls(g, sites, n, &as, &err));
        ot_relaid_share(&as, g);
        assert_int_equal(count(as.graph, "pointwise_depthwise_conv2d"), 1);
        assert_int_equal(count(as.graph, "conv2d"), 0);
        for (int round = 0; round < 3; round++)
            mean_the_same(g, &as, s->name, random);
        ot_relaid_release(&as);
        ot_text_release(&text);
        free(call);
    }
    free(sites);
    optune_graph_close(g);
}

static void test_spellings(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < OT_COUNT(spellings); i++)
        check_spelling(&spellings[i], &random);
}

/* Attention and convolutions in one graph: any of them may be calls. */
static void test_both_kinds(void **state)
{
    (void)state;
    uint64_t random = 9;
    optune_err err = {0};
    const spelling both = {"both",
                           HEAD "t = relu(e)\n" DEPTHWISE "q = reshape(y, newshape=[12,7,5])\n"
                                "p = softmax(batch_matmul(q, q))\n"
                                "r = batch_matmul(p, q, transpose_b=false)\noutput r\n",
                           NULL};
    optune_graph *g = graph_named(both.text, both.name);
    ot_site *sites = NULL;
    fill(g, &random);
    assert_int_equal(ot_graph_sites(g, &sites), 2);
    for (int which = 1; which < 4; which++) {
        ot_relaid as;
        ot_site some[2];
        int n = 0;
        for (int i = 0; i < 2; i++)
            if (which >> i & 1)
                some[n++] = sites[i];
        check_ok(ot_graph_as_calls(g, some, n, &as, &err));
        ot_relaid_share(&as, g);
        assert_int_equal(count(as.graph, "attention"), which & 1);
        assert_int_equal(count(as.graph, "pointwise_depthwise_conv2d"), which >> 1);
        ot_relaid_release(&as);
    }
    free(sites);
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_both_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
