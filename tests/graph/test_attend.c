/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention that graphs spell out is found in each of its spellings, means the same as one call,
 * and is not found where something is different: values that somebody else reads, factors that are
 * none, sums along another axis.
 */
#include "tests/support/check.h"

#include <math.h>

#include "base/base.h"
#include "graph/attend.h"
#include "optune/define.h"
#include "tests/support/graphs.h"

#define HEADS                                                                                  \
    "q = var f32[2,3,5,4]\n"                                                                   \
    "k = var f32[2,3,7,4]\n"                                                                   \
    "v = var f32[2,3,7,6]\n"                                                                   \
    "qb = reshape(q, newshape=[6,5,4])\n"                                                      \
    "kb = reshape(k, newshape=[6,7,4])\n"                                                      \
    "vb = reshape(v, newshape=[6,7,6])\n"                                                      \
    "two = const f32[] {2}\n"                                                                  \
    "low = const f32[] {-3.4028234663852886e38}\n"                                             \
    "none = const f32[] {-inf}\n"
#define TAIL                                                                                   \
    "pb = reshape(p, newshape=[6,5,7])\n"                                                      \
    "y = batch_matmul(pb, vb, transpose_b=false)\n"                                            \
    "z = reshape(y, newshape=[2,3,5,6])\n"                                                     \
    "output z\n"
/* Two images, two heads of keys for six of queries. */
#define GROUPS "q = var f32[12,5,4]\nk = var f32[2,2,7,4]\nv = var f32[2,2,7,6]\n"
#define GROUPS_TAIL                                                                            \
    "y = batch_matmul(softmax(batch_matmul(q, kr)), vr, transpose_b=false)\n"                  \
    "output y\n"
/* Scores s [2,3,5,7]. */
#define PRODUCT                                                                                \
    "sb = batch_matmul(qb, kb)\n"                                                              \
    "s = reshape(sb, newshape=[2,3,5,7])\n"

typedef struct spelling {
    const char *name, *text;
    const char *call; /* what is in the call that it becomes; NULL: it is none */
} spelling;

#define BODY(text) HEADS PRODUCT text TAIL

static const spelling spellings[] = {
    {"a factor", BODY("t = divide(s, two)\np = softmax(t, axis=3)\n"),
     "f32[2,3,5,4], f32[2,3,7,4], f32[2,3,7,6], causal=false)"},
    {"no factor", BODY("p = softmax(s)\n"), "scale=1"},
    {"a factor in front", BODY("t = multiply(two, s)\np = softmax(t)\n"), "scale=2"},
    {"an added mask",
     BODY("m = var f32[2,1,1,7]\nt = add(divide(s, two), m)\np = softmax(t)\n"),
     "f32[2,1,1,7], causal=false, nan=true"},
    {"a mask on the left",
     BODY("m = var f32[5,7]\nt = add(m, multiply(s, const f32[1,1,1,1] {0.25}))\np = "
          "softmax(t)\n"),
     "f32[1,1,5,7], causal=false, scale=0.25, nan=true"},
    {"two masks",
     BODY("m = var f32[2,1,1,7]\nn = var f32[1,3,5,7]\np = softmax(add(add(s, m), n))\n"),
     "f32[2,3,5,7], causal=false, scale=1.0, nan=true"},
    {"a mask of another whole", BODY("m = var f32[2,3,5,7]\np = softmax(add(m, s))\n"),
     "f32[2,3,5,7]"},
    {"where",
     BODY("m = var bool[2,1,5,7]\nt = where(m, divide(s, two), low)\np = softmax(t)\n"),
     "f32[2,1,5,7], causal=false, nan=true"},
    {"where it is not", BODY("m = var bool[1,1,1,7]\np = softmax(where(m, none, s))\n"),
     "f32[1,1,1,7], causal=false, scale=1.0, nan=true"},
    {"a triangle",
     BODY("tri = const bool[1,1,5,7]\nt = where(tri, divide(s, two), low)\np = softmax(t)\n"),
     "f32[2,3,7,6], causal=true)"},
    {"a triangle and a mask",
     BODY("tri = const bool[5,7]\nm = var f32[2,1,1,7]\n"
          "t = add(where(tri, divide(s, two), low), m)\np = softmax(t)\n"),
     "f32[2,1,5,7], causal=false, nan=true"},
    {"scaled operands",
     HEADS
     "r = const f32[] {0.70710678118654752}\n"
     "qs = multiply(q, r)\nks = multiply(r, transpose(k, axes=[0,1,3,2]))\n"
     "qt = reshape(qs, newshape=[6,5,4])\nkt = reshape(ks, newshape=[6,4,7])\n"
     "p = reshape(softmax(batch_matmul(qt, kt, transpose_b=false)), newshape=[2,3,5,7])\n" TAIL,
     "f32[1,6,7,4], f32[1,6,7,6], causal=false)"},
    {"heads in the middle",
     "x = var f32[2,5,12]\nw = var f32[2,7,12]\n"
     "q = transpose(reshape(x, newshape=[2,5,3,4]), axes=[0,2,1,3])\n"
     "k = transpose(reshape(w, newshape=[2,7,3,4]), axes=[0,2,3,1])\n"
     "v = transpose(reshape(w, newshape=[2,7,3,4]), axes=[0,2,1,3])\n"
     "s = batch_matmul(reshape(q, newshape=[6,5,4]), reshape(k, newshape=[6,4,7]), "
     "transpose_b=false)\n"
     "p = softmax(divide(reshape(s, newshape=[2,3,5,7]), const f32[] {2}))\n"
     "y = batch_matmul(reshape(p, newshape=[6,5,7]), reshape(v, newshape=[6,7,4]), "
     "transpose_b=false)\n"
     "z = transpose(reshape(y, newshape=[2,3,5,4]), axes=[0,2,1,3])\noutput z\n",
     "f32[2,3,5,4], f32[2,3,7,4], f32[2,3,7,4], causal=false)"},
    {"values turned over",
     HEADS PRODUCT "p = softmax(s)\n"
                   "vt = transpose(vb, axes=[0,2,1])\n"
                   "y = batch_matmul(reshape(p, newshape=[6,5,7]), vt)\noutput y\n",
     "scale=1"},
    {"one matrix",
     "q = var f32[5,4]\nk = var f32[7,4]\nv = var f32[6,7]\n"
     "y = dense(softmax(dense(q, k)), v)\noutput y\n",
     "f32[1,1,5,4], f32[1,1,7,4], f32[1,1,7,6], causal=false, scale=1"},
    {"one head of keys",
     "q = var f32[3,5,4]\nk = var f32[1,7,4]\nv = var f32[1,7,6]\n"
     "y = batch_matmul(softmax(batch_matmul(q, k)), v, transpose_b=false)\noutput y\n",
     "f32[1,3,5,4], f32[1,1,7,4], f32[1,1,7,6], causal=false, scale=1"},
    {"a mask of three dims",
     "q = var f32[3,5,4]\nk = var f32[3,7,4]\nv = var f32[3,7,6]\nm = var f32[3,1,7]\n"
     "y = batch_matmul(softmax(add(batch_matmul(q, k), m)), v, transpose_b=false)\noutput y\n",
     "f32[1,3,1,7], causal=false, scale=1.0, nan=true"},
    {"weights that are 0 where they are no numbers",
     BODY("m = var f32[2,1,5,7]\nw = softmax(add(s, m))\n"
          "u = equal(equal(w, w), const bool[] {0})\np = where(u, const f32[] {0}, w)\n"),
     "f32[2,1,5,7], causal=false, scale=1.0)"},
    {"weights that are numbers, else 0",
     BODY("m = var f32[2,1,5,7]\nw = softmax(add(s, m))\n"
          "p = where(equal(w, w), w, const f32[] {0})\n"),
     "f32[2,1,5,7], causal=false, scale=1.0)"},
    {"a mask that is subtracted", BODY("m = var f32[2,1,1,7]\np = softmax(subtract(s, m))\n"),
     "f32[2,1,1,7], causal=false, scale=1.0, nan=true"},
    {"a triangle that is subtracted",
     BODY("far = const f32[1,1,5,7]\np = softmax(subtract(s, far))\n"),
     "f32[2,3,7,6], causal=true, scale=1.0)"},
    {"a triangle that chooses -10000",
     BODY("tri = const bool[5,7]\np = softmax(where(tri, s, const f32[] {-10000}))\n"),
     "f32[2,3,7,6], causal=true, scale=1.0)"},
    {"a triangle that multiplies and is subtracted",
     BODY("tri = const f32[1,1,5,7]\nfar = const f32[1,1,5,7]\n"
          "p = softmax(subtract(multiply(divide(s, two), tri), far))\n"),
     "f32[2,3,7,6], causal=true)"},
    {"scores that are wider",
     "q = var f16[6,5,4]\nk = var f16[6,7,4]\nv = var f16[6,7,6]\nm = var f32[1,5,7]\n"
     "s = cast(batch_matmul(q, k), dtype=f32)\n"
     "p = cast(softmax(add(s, m)), dtype=f16)\n"
     "y = batch_matmul(p, v, transpose_b=false)\noutput y\n",
     "f16[1,6,7,6], f16[1,1,5,7], causal=false, scale=1.0, nan=true"},
    {"heads that are broadcast",
     GROUPS "kr = reshape(broadcast_to(reshape(k, newshape=[2,2,1,7,4]), shape=[2,2,3,7,4]), "
            "newshape=[12,7,4])\n"
            "vr = reshape(broadcast_to(reshape(v, newshape=[2,2,1,7,6]), shape=[2,2,3,7,6]), "
            "newshape=[12,7,6])\n" GROUPS_TAIL,
     "f32[1,12,5,4], f32[1,4,7,4], f32[1,4,7,6]"},
    {"heads that are joined and turned",
     GROUPS "ke = reshape(k, newshape=[2,2,1,7,4])\nve = reshape(v, newshape=[2,2,1,7,6])\n"
            "k4 = reshape(concatenate(ke, ke, ke, axis=2), newshape=[2,6,7,4])\n"
            "kt = reshape(transpose(k4, axes=[0,1,3,2]), newshape=[12,4,7])\n"
            "vr = reshape(concatenate(ve, ve, ve, axis=2), newshape=[12,7,6])\n"
            "p = softmax(batch_matmul(q, kt, transpose_b=false))\n"
            "y = batch_matmul(p, vr, transpose_b=false)\noutput y\n",
     "f32[1,12,5,4], f32[1,4,7,4], f32[1,4,7,6]"},
    {"heads that are picked",
     GROUPS "k0 = strided_slice(k, begin=[0,0], end=[2,1])\n"
            "k1 = strided_slice(k, begin=[0,1], end=[2,2])\n"
            "kr = reshape(concatenate(k0, k0, k, k1, k1, axis=1), newshape=[12,7,4])\n"
            "v0 = strided_slice(v, begin=[0,0], end=[2,1])\n"
            "v1 = strided_slice(v, begin=[0,1], end=[2,2])\n"
            "vr = reshape(concatenate(v0, v0, v, v1, v1, axis=1), newshape=[12,7,6])\n" //
     GROUPS_TAIL,
     "f32[1,12,5,4], f32[1,4,7,4], f32[1,4,7,6]"},
    {"heads that are not neighbours",
     GROUPS "kr = reshape(concatenate(k, k, k, axis=1), newshape=[12,7,4])\n"
            "vr = reshape(concatenate(v, v, v, axis=1), newshape=[12,7,6])\n" GROUPS_TAIL,
     "f32[1,12,5,4], f32[1,12,7,4], f32[1,12,7,6]"},
    {"windows of images",
     "q = var f32[4,3,5,4]\nk = var f32[4,3,7,4]\nv = var f32[4,3,7,6]\n"
     "m = var f32[1,2,1,5,7]\n"
     "s = batch_matmul(reshape(q, newshape=[12,5,4]), reshape(k, newshape=[12,7,4]))\n"
     "s4 = reshape(s, newshape=[4,3,5,7])\n"
     "t = add(reshape(s4, newshape=[2,2,3,5,7]), m)\n"
     "p = softmax(reshape(t, newshape=[4,3,5,7]))\n"
     "y = batch_matmul(reshape(p, newshape=[12,5,7]), reshape(v, newshape=[12,7,6]), "
     "transpose_b=false)\noutput y\n",
     "f32[4,3,7,6], f32[4,1,5,7], causal=false, scale=1.0, nan=true"},
    /* what is none */
    {"guarded weights that are read",
     BODY("w = softmax(s)\nu = equal(equal(w, w), const bool[] {0})\n"
          "p = where(u, const f32[] {0}, w)\nx = add(w, two)\noutput x\n"),
     NULL},
    {"a guard the other way round",
     BODY("w = softmax(s)\np = where(equal(w, w), const f32[] {0}, w)\n"), NULL},
    {"scores that are taken from something",
     BODY("m = var f32[2,1,1,7]\np = softmax(subtract(m, s))\n"), NULL},
    {"a triangle that chooses little",
     BODY("tri = const bool[5,7]\np = softmax(where(tri, s, const f32[] {-100}))\n"), NULL},
    {"a triangle that only multiplies",
     BODY("tri = const f32[1,1,5,7]\np = softmax(multiply(s, tri))\n"), NULL},
    {"a triangle that hides too little beside a mask",
     BODY("tri = const bool[5,7]\nm = var f32[2,1,1,7]\n"
          "p = softmax(add(where(tri, s, const f32[] {-10000}), m))\n"),
     NULL},
    {"scores that are narrower",
     "q = var f32[6,5,4]\nk = var f32[6,7,4]\nv = var f32[6,7,6]\n"
     "s = cast(cast(batch_matmul(q, k), dtype=f16), dtype=f32)\n"
     "y = batch_matmul(softmax(s), v, transpose_b=false)\noutput y\n",
     NULL},
    {"weights that are an output", BODY("p = softmax(s)\noutput p\n"), NULL},
    {"weights that are read twice", BODY("p = softmax(s)\nw = add(p, two)\noutput w\n"), NULL},
    {"scores that are read twice", BODY("p = softmax(s)\nw = add(s, two)\noutput w\n"), NULL},
    {"scores added to themselves", BODY("p = softmax(add(s, s))\n"), NULL},
    {"a factor that is an input", BODY("f = var f32[]\np = softmax(divide(s, f))\n"), NULL},
    {"a factor for each head", BODY("f = const f32[3,1,1]\np = softmax(multiply(s, f))\n"),
     NULL},
    {"a factor of zero", BODY("p = softmax(multiply(s, const f32[] {0}))\n"), NULL},
    {"a factor behind the mask",
     BODY("m = var f32[2,1,1,7]\np = softmax(divide(add(s, m), two))\n"), NULL},
    {"another axis", BODY("p = softmax(s, axis=2)\n"), NULL},
    {"weights that are scaled", BODY("p = multiply(softmax(s), two)\n"), NULL},
    {"hidden scores that count",
     BODY("m = var bool[1,1,5,7]\n"
          "p = softmax(where(m, s, const f32[] {-10000}))\n"),
     NULL},
    {"a mask that makes scores more",
     "q = var f32[3,5,4]\nk = var f32[3,7,4]\nv = var f32[6,7,6]\nm = var f32[2,3,5,7]\n"
     "t = add(batch_matmul(q, k), m)\n"
     "p = reshape(softmax(t), newshape=[6,5,7])\n"
     "y = batch_matmul(p, v, transpose_b=false)\noutput y\n",
     NULL},
    {"weights turned over",
     HEADS PRODUCT
     "p = softmax(s)\n"
     "y = batch_matmul(transpose(reshape(p, newshape=[6,5,7]), axes=[0,2,1]), vb, "
     "transpose_a=true, transpose_b=false)\noutput y\n",
     NULL},
    {"whole numbers",
     HEADS PRODUCT
     "p = cast(softmax(s), dtype=i32)\n"
     "vi = cast(vb, dtype=i32)\n"
     "y = batch_matmul(reshape(p, newshape=[6,5,7]), vi, transpose_b=false)\noutput y\n",
     NULL},
};

static double element(const char *name, const optune_tensor *type, int64_t i, uint64_t *random)
{
    const int64_t columns = type->rank ? type->dim[type->rank - 1].min : 1;
    const int64_t rows = type->rank > 1 ? type->dim[type->rank - 2].min : 1;
    const bool seen = i % columns <= i / columns % rows + columns - rows;
    if (!strcmp(name, "tri"))
        return seen;
    if (!strcmp(name, "far"))
        return seen ? 0 : 1e4;
    if (type->dtype.code == OPTUNE_DTYPE_BOOL)
        return (double)optune_random_below(random, 2);
    if (!strcmp(name, "m") && optune_random_below(random, 3) == 0)
        return optune_random_below(random, 2) ? -50 : -INFINITY;
    return (double)optune_random_below(random, 2001) / 1000 - 1;
}

static void *elements(const char *name, const optune_tensor *type, uint64_t *random)
{
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    for (int64_t i = 0; i < n; i++)
        value[i] = element(name, type, i, random);
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
            void *data = elements(g->node[id].name, &g->node[id].out[0], random);
            check_ok(optune_graph_set_data(g, id, data, &err));
            free(data);
        }
}

static void same(const optune_values *a, const optune_values *b, const char *name)
{
    const optune_tensor *type = optune_values_type(a, 0);
    const int64_t n = optune_tensor_elements(type);
    assert_int_equal(n, optune_tensor_elements(optune_values_type(b, 0)));
    for (int64_t i = 0; i < n; i++) {
        double x, y;
        ot_elements(type->dtype, optune_values_data(a, 0), i, 1, &x);
        ot_elements(type->dtype, optune_values_data(b, 0), i, 1, &y);
        if (!(fabs(x - y) <= (type->dtype.bits == 16 ? 2e-3 : 1e-5)) &&
            !(isnan(x) && isnan(y))) {
            print_error("%s: element %d: %g and %g\n", name, (int)i, x, y);
            fail();
        }
    }
}

/* The graph as it is and with its attention as one call, over the same inputs. */
static void mean_the_same(const optune_graph *g, const ot_relaid *as, const char *name,
                          uint64_t *random)
{
    enum { INPUTS = 8 };
    optune_err err = {0};
    void *in[INPUTS] = {NULL};
    optune_values *x = NULL, *y = NULL;
    const int n = optune_graph_inputs(g);
    assert_true(n <= INPUTS);
    assert_int_equal(n, optune_graph_inputs(as->graph));
    for (int i = 0; i < n; i++) {
        int at = 0, seen = 0;
        while (g->node[at].kind != OT_NODE_VAR || seen++ < i)
            at++;
        in[i] = elements(g->node[at].name, optune_graph_input_type(g, i), random);
    }
    check_ok(optune_graph_evaluate(g, (const void *const *)in, NULL, &x, &err));
    check_ok(optune_graph_evaluate(as->graph, (const void *const *)in, NULL, &y, &err));
    same(x, y, name);
    optune_values_free(x);
    optune_values_free(y);
    for (int i = 0; i < n; i++)
        free(in[i]);
}

static const ot_node *attention_of(const optune_graph *g)
{
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CALL &&
            !strcmp(g->node[id].call->op->name, "attention"))
            return &g->node[id];
    return NULL;
}

static void test_spellings(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < OT_COUNT(spellings); i++) {
        const spelling *s = &spellings[i];
        optune_err err = {0};
        optune_graph *g = graph_named(s->text, s->name);
        fill(g, &random);
        ot_attend *sites = NULL;
        const int n = ot_graph_attends(g, &sites);
        if (n != (s->call != NULL))
            print_error("%s: %d found\n", s->name, n);
        assert_int_equal(n, s->call != NULL);
        if (n) {
            ot_relaid as;
            optune_call *call = ot_alloc(sizeof *call);
            ot_text text = {0};
            check_ok(ot_attend_call(&sites[0], call, &err));
            ot_call_print(call, &text);
            if (!strstr(ot_text_str(&text), s->call))
                print_error("%s: %s\n", s->name, ot_text_str(&text));
            assert_non_null(strstr(ot_text_str(&text), s->call));
            check_ok(ot_graph_attend(g, sites, n, &as, &err));
            ot_relaid_share(&as, g);
            assert_non_null(attention_of(as.graph));
            for (int round = 0; round < 4; round++)
                mean_the_same(g, &as, s->name, &random);
            ot_relaid_release(&as);
            ot_text_release(&text);
            free(call);
        }
        free(sites);
        optune_graph_close(g);
    }
}

/* Layers that have one mask have it made once, and what only they needed is gone. */
static void test_layers(void **state)
{
    (void)state;
    uint64_t random = 11;
    optune_err err = {0};
    const spelling layers = {
        "two layers",
        "x = var f32[1,2,5,4]\nm = var bool[1,1,1,5]\nlow = const f32[] {-1e38}\n"
        "a = reshape(x, newshape=[2,5,4])\n"
        "s = where(m, reshape(batch_matmul(a, a), newshape=[1,2,5,5]), low)\n"
        "p = reshape(softmax(s), newshape=[2,5,5])\n"
        "y = batch_matmul(p, a, transpose_b=false)\n"
        "t = where(m, reshape(batch_matmul(y, y), newshape=[1,2,5,5]), low)\n"
        "r = reshape(softmax(t), newshape=[2,5,5])\n"
        "z = batch_matmul(r, y, transpose_b=false)\noutput z\n",
        NULL};
    optune_graph *g = graph_named(layers.text, layers.name);
    fill(g, &random);
    ot_attend *sites = NULL;
    ot_relaid as;
    assert_int_equal(ot_graph_attends(g, &sites), 2);
    check_ok(ot_graph_attend(g, sites, 2, &as, &err));
    ot_relaid_share(&as, g);
    int masks = 0, softmaxes = 0;
    for (int id = 0; id < as.graph->n; id++) {
        const ot_node *node = &as.graph->node[id];
        masks += node->kind == OT_NODE_CALL && !strcmp(node->call->op->name, "where");
        softmaxes += node->kind == OT_NODE_CALL && !strcmp(node->call->op->name, "softmax");
    }
    assert_int_equal(masks, 1);
    assert_int_equal(softmaxes, 0);
    mean_the_same(g, &as, layers.name, &random);
    ot_relaid_release(&as);
    /* One of them alone. */
    check_ok(ot_graph_attend(g, sites + 1, 1, &as, &err));
    ot_relaid_share(&as, g);
    assert_non_null(attention_of(as.graph));
    mean_the_same(g, &as, layers.name, &random);
    ot_relaid_release(&as);
    free(sites);
    optune_graph_close(g);
}

/* Keys and values of which a part is read that is all of them only while there are few: this end,
 * or this begin, of each of the two heads that four of queries share. */
#define SHARED(begin, end)                                                                     \
    "q = var f32[1,4,?t:1..8,8]\nk = var f32[1,2,?s:1..1000,8]\n"                              \
    "v = var f32[1,2,?s:1..1000,8]\n"                                                          \
    "k0 = strided_slice(k, begin=[0,0," begin ",0], end=[1,1," end ",8])\n"                    \
    "k1 = strided_slice(k, begin=[0,1," begin ",0], end=[1,2," end ",8])\n"                    \
    "v0 = strided_slice(v, begin=[0,0," begin ",0], end=[1,1," end ",8])\n"                    \
    "v1 = strided_slice(v, begin=[0,1," begin ",0], end=[1,2," end ",8])\n"                    \
    "kk = concatenate(k0, k0, k1, k1, axis=1)\n"                                               \
    "vv = concatenate(v0, v0, v1, v1, axis=1)\n"                                               \
    "s = batch_matmul(reshape(q, newshape=[-1,-2,-2]), reshape(kk, newshape=[-1,-2,-2]))\n"    \
    "y = batch_matmul(softmax(s), reshape(vv, newshape=[-1,-2,-2]), transpose_b=false)\n"      \
    "output y\n"

/* Batches of two heads, whose scores become `a`, three dims of heads each. */
#define FEW_DIMS(rows, rest)                                                                   \
    "x = var f32[?n:1..4,2," rows ",3]\n" rest "h = reshape(x, newshape=[-1,-2,-2])\n"         \
    "s = reshape(batch_matmul(h, h), newshape=[-1,2,-2,-2])\n"                                 \
    "low = const f32[] {-3.4028234663852886e38}\n"
#define FEW_DIMS_TAIL                                                                          \
    "p = reshape(softmax(a), newshape=[-1,-2,-2])\n"                                           \
    "y = batch_matmul(p, h, transpose_b=false)\noutput y\n"

/* A copy of a graph at these sizes of its names. */
static optune_graph *bound(const optune_graph *g, const int64_t *size)
{
    optune_err err = {0};
    optune_graph *at;
    check_ok(optune_graph_copy(g, false, &at, &err));
    for (int i = 0; size[i]; i++)
        optune_graph_bind(at, (const char *const[]){"n", "t", "p", "s"}[i], size[i], &err);
    check_ok(optune_graph_infer(at, &err));
    return at;
}

/* Batches, queries and keys that are known at run time: the call has their names, and at any size
 * it is what is spelled out. */
static void test_open(void **state)
{
    (void)state;
    static const spelling open[] = {
        {"flat products of heads that are turned, a mask of padding",
         "x = var f32[?n:1..4,?t:1..64,6]\nm = var f32[?n:1..4,1,1,?t:1..64]\n"
         "h = reshape(x, newshape=[0,0,2,3])\nq = transpose(h, axes=[0,2,1,3])\n"
         "k = transpose(h, axes=[0,2,3,1])\nc = const f32[] {1.5}\n"
         "s = batch_matmul(reshape(q, newshape=[-1,-2,-2]), reshape(k, newshape=[-1,-2,-2]), "
         "transpose_b=false)\n"
         "a = add(divide(reshape(s, newshape=[-1,2,-2,-2]), c), m)\n"
         "y = batch_matmul(reshape(softmax(a), newshape=[-1,-2,-2]), "
         "reshape(q, newshape=[-1,-2,-2]), transpose_b=false)\n"
         "z = reshape(y, newshape=[-1,2,-2,-2])\noutput z\n",
         "f32[?n:1..4,1,1,?t:1..64]"},
        {"keys behind a cache",
         "q = var f32[1,2,?t,4]\nk = var f32[1,2,?t,4]\np = var f32[1,2,?p:0..9,4]\n"
         "all = reshape(concatenate(p, k, axis=2), newshape=[-1,-2,-2])\n"
         "s = batch_matmul(reshape(q, newshape=[-1,-2,-2]), all)\n"
         "y = batch_matmul(softmax(s), all, transpose_b=false)\noutput y\n",
         "f32[1,2,?p+t,4]"},
        {"values that are as many as keys at some sizes only",
         "q = var f32[1,2,?t:1..9,4]\nv = var f32[1,2,?p:1..9,4]\n"
         "a = reshape(q, newshape=[-1,-2,-2])\nb = reshape(v, newshape=[-1,-2,-2])\n"
         "w = strided_slice(softmax(batch_matmul(a, a)), begin=[0,0,0], end=[2,9,1])\n"
         "y = batch_matmul(w, sum(b, axis=[1], keepdims=true), transpose_b=false)\noutput y\n",
         NULL},
        {"heads that are picked with all of their keys", SHARED("0", "1000"),
         "f32[1,2,?s:1..1000,8]"},
        {"the first keys of heads that are picked", SHARED("0", "300"), NULL},
        {"the last keys of heads that are picked", SHARED("-300", "1000"), NULL},
        {"a mask of two dims, one of three, one of keys",
         FEW_DIMS("?t:1..64",
                  "m = var f32[?t:1..64,?t:1..64]\nk = var bool[1,?t:1..64,?t:1..64]\n"
                  "l = var bool[?t:1..64]\n") "a = where(l, where(k, add(s, m), low), "
                                              "low)\n" FEW_DIMS_TAIL,
         "f32[1,1,?t:1..64,?t:1..64], causal=false"},
        {"a mask of heads, of three dims",
         FEW_DIMS("?t:1..64", "m = var f32[2,1,?t:1..64]\n") "a = add(s, m)\n" FEW_DIMS_TAIL,
         "f32[1,2,1,?t:1..64], causal=false"},
        {"a triangle of a known length",
         FEW_DIMS("5", "tri = const bool[5,5]\n") "a = where(tri, s, low)\n" FEW_DIMS_TAIL,
         "f32[?n:1..4,2,5,3], causal=true"},
        {"a triangle that multiplies and is subtracted",
         FEW_DIMS(
             "5",
             "tri = const f32[1,5,5]\nfar = const f32[5,5]\n") "a = subtract(multiply(s, tri), "
                                                               "far)\n" FEW_DIMS_TAIL,
         "causal=true"},
        {"a triangle of a known length and a mask of padding",
         FEW_DIMS(
             "5",
             "tri = const bool[5,5]\nm = var f32[?n:1..4,1,1,5]\n") "a = add(where(tri, s, "
                                                                    "low), m)\n" FEW_DIMS_TAIL,
         "f32[?n:1..4,1,5,5], causal=false"},
        {"scores that somebody else reads",
         "q = var f32[1,2,?t,4]\na = reshape(q, newshape=[-1,-2,-2])\ns = batch_matmul(a, a)\n"
         "y = batch_matmul(softmax(s), a, transpose_b=false)\noutput y\noutput s\n",
         NULL},
    };
    static const int64_t sizes[][5] = {{1, 1, 1, 1}, {2, 5, 4, 6}, {3, 7, 9, 400}};
    uint64_t random = 13;
    for (int i = 0; i < OT_COUNT(open); i++) {
        optune_err err = {0};
        optune_graph *g = graph_named(open[i].text, open[i].name);
        fill(g, &random);
        ot_attend *sites = NULL;
        const int n = ot_graph_attends(g, &sites);
        if (n != (open[i].call != NULL))
            print_error("%s: %d found\n", open[i].name, n);
        assert_int_equal(n, open[i].call != NULL);
        if (n) {
            ot_relaid as;
            optune_call *call = ot_alloc(sizeof *call);
            ot_text text = {0};
            check_ok(ot_attend_call(&sites[0], call, &err));
            ot_call_print(call, &text);
            if (!strstr(ot_text_str(&text), open[i].call))
                print_error("%s: %s\n", open[i].name, ot_text_str(&text));
            assert_non_null(strstr(ot_text_str(&text), open[i].call));
            check_ok(ot_graph_attend(g, sites, n, &as, &err));
            ot_relaid_share(&as, g);
            assert_non_null(attention_of(as.graph));
            for (int s = 0; s < OT_COUNT(sizes); s++) {
                optune_graph *at = bound(g, sizes[s]);
                ot_relaid called = {.graph = bound(as.graph, sizes[s])};
                mean_the_same(at, &called, open[i].name, &random);
                optune_graph_close(called.graph);
                optune_graph_close(at);
            }
            ot_relaid_release(&as);
            ot_text_release(&text);
            free(call);
        }
        free(sites);
        optune_graph_close(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
