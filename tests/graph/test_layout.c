/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in blocks of channels mean the same: random ones of convolutions, poolings, residual adds
 * and what stands between them, in random forms, evaluated by the references. And the choice of
 * forms against trying all of them.
 */
#include "tests/support/check.h"

#include <math.h>

#include "base/base.h"
#include "graph/layout.h"
#include "optune/define.h"
#include "tests/support/graphs.h"

enum { BLOCK = 4, NODES = 9, ROUNDS = 200 };

static bool anything(void *arg, const optune_call *call)
{
    (void)arg;
    (void)call;
    return true;
}

static bool nothing(void *arg, const optune_call *call)
{
    (void)arg;
    (void)call;
    return false;
}

/* Whole numbers, so that sums come out the same in every order. */
static void *whole(const optune_tensor *type, uint64_t *random)
{
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)optune_random_below(random, 7) - 3;
    void *data = ot_alloc((size_t)optune_tensor_bytes(type) + 1);
    ot_elements_set(type->dtype, data, 0, n, value);
    free(value);
    return data;
}

static void fill(optune_graph *g, uint64_t seed)
{
    optune_err err = {0};
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CONST && !g->node[id].data) {
            void *data = whole(&g->node[id].out[0], &seed);
            check_ok(optune_graph_set_data(g, id, data, &err));
            free(data);
        }
}

/* What inputs hold stays until the end: an output may be one. */
static void *held[2 * ROUNDS + 16];
static int n_held;

static optune_values *evaluate(const optune_graph *g, uint64_t seed)
{
    optune_err err = {0};
    optune_values *values = NULL;
    assert_int_equal(optune_graph_inputs(g), 1);
    const void *in = held[n_held++] = whole(optune_graph_input_type(g, 0), &seed);
    check_ok(optune_graph_evaluate(g, &in, NULL, &values, &err));
    return values;
}

static void same_values(const optune_graph *a, const optune_values *x, const optune_values *y)
{
    for (int i = 0; i < optune_graph_outputs(a); i++) {
        const optune_tensor *type = optune_values_type(x, i), *other = optune_values_type(y, i);
        assert_int_equal(type->rank, other->rank);
        const int64_t n = optune_tensor_elements(type);
        assert_int_equal(n, optune_tensor_elements(other));
        double *p = ot_alloc((size_t)(n + 1) * sizeof *p),
               *q = ot_alloc((size_t)(n + 1) * sizeof *q);
        ot_elements(type->dtype, optune_values_data(x, i), 0, n, p);
        ot_elements(other->dtype, optune_values_data(y, i), 0, n, q);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs(p[k] - q[k]) <= 1e-5 * fmax(fabs(p[k]), 1))) {
                print_error("output %d, element %d: %g and %g\n", i, (int)k, p[k], q[k]);
                fail();
            }
        free(p);
        free(q);
    }
}

/* ---- random graphs ----------------------------------------------------------------------- */

typedef struct made {
    ot_text text;
    int channels[NODES + 1], extent[NODES + 1];
    int n;
    uint64_t random;
} made;

static int below(made *m, int n)
{
    return (int)optune_random_below(&m->random, n);
}

static void add(made *m, int channels, int extent)
{
    m->n++;
    m->channels[m->n] = channels;
    m->extent[m->n] = extent;
}

static int like(made *m, int of)
{
    int other = below(m, m->n + 1);
    for (int i = 0; i <= m->n; i++, other = (other + 1) % (m->n + 1))
        if (other != of && m->channels[other] == m->channels[of] &&
            m->extent[other] == m->extent[of])
            return other;
    return of;
}

static void one_node(made *m)
{
    static const int widths[] = {4, 8, 12, 6};
    const int of = below(m, 3) ? m->n : below(m, m->n + 1);
    const int c = m->channels[of], e = m->extent[of], wide = widths[below(m, 4)];
    const int id = m->n + 1;
    switch (below(m, 11)) {
    case 0: /* with an epilogue that fuses */
        ot_text_printf(&m->text,
                       "k%d = conv2d(v%d, const f32[%d,%d,3,3], padding=[1,1])\n"
                       "b%d = add(k%d, const f32[%d,1,1])\nv%d = clip(b%d, a_min=0, a_max=6)\n",
                       id, of, wide, c, id, id, wide, id, id);
        add(m, wide, e);
        break;
    case 1:
        ot_text_printf(&m->text, "v%d = conv2d(v%d, const f32[%d,%d,1,1])\n", id, of, wide, c);
        add(m, wide, e);
        break;
    case 2:
        ot_text_printf(&m->text,
                       "v%d = conv2d(v%d, const f32[%d,1,3,3], padding=[1,1], groups=%d)\n", id,
                       of, c, c);
        add(m, c, e);
        break;
    case 3: /* groups that blocks may cut */
        ot_text_printf(&m->text, "v%d = conv2d(v%d, const f32[%d,%d,1,1], groups=2)\n", id, of,
                       wide, c / 2);
        add(m, wide, e);
        break;
    case 4:
        ot_text_printf(&m->text, "v%d = add(v%d, v%d)\n", id, of, like(m, of));
        add(m, c, e);
        break;
    case 5:
        ot_text_printf(&m->text, "v%d = %s(v%d, pool_size=[3,3], padding=[1,1])\n", id,
                       below(m, 2) ? "max_pool2d" : "avg_pool2d", of);
        add(m, c, e);
        break;
    case 6: { /* squeeze and excite */
        ot_text_printf(&m->text,
                       "g%d = global_avg_pool2d(v%d)\nk%d = conv2d(g%d, const f32[%d,%d,1,1])\n"
                       "v%d = multiply(v%d, k%d)\n",
                       id, of, id, id, c, c, id, of, id);
        add(m, c, e);
        break;
    }
    case 7: {
        const int other = like(m, of);
        ot_text_printf(&m->text, "v%d = concatenate(v%d, v%d, axis=%d)\n", id, of, other,
                       below(m, 2) ? 1 : -3);
        add(m, 2 * c, e);
        break;
    }
    case 8: /* a batch norm's two constants, one with a batch */
        ot_text_printf(&m->text,
                       "m%d = multiply(v%d, const f32[1,%d,1,1])\n"
                       "v%d = add(m%d, const f32[%d,1,1])\n",
                       id, of, c, id, id, c);
        add(m, c, e);
        break;
    case 9: /* a mask over pixels, of one channel */
        ot_text_printf(&m->text,
                       "w%d = conv2d(v%d, const f32[1,%d,1,1])\nv%d = multiply(v%d, w%d)\n", id,
                       of, c, id, of, id);
        add(m, c, e);
        break;
    default: /* what no blocks can be read by */
        ot_text_printf(&m->text,
                       "s%d = subtract(v%d, const f32[1,%d,%d,%d])\n"
                       "v%d = relu(s%d)\n",
                       id, of, c, e, e, id, id);
        add(m, c, e);
    }
}

static void random_text(made *m, uint64_t seed)
{
    *m = (made){.random = seed};
    m->channels[0] = below(m, 2) ? 8 : 4;
    m->extent[0] = 4 + below(m, 3);
    ot_text_printf(&m->text, "v0 = var f32[%d,%d,%d,%d]\n", 1 + below(m, 2), m->channels[0],
                   m->extent[0], m->extent[0]);
    while (m->n < NODES)
        one_node(m);
    ot_text_printf(&m->text, "output v%d, v%d\n", m->n, below(m, m->n));
}

static const ot_blocks forms[] = {{0, 0}, {BLOCK, BLOCK}, {0, BLOCK}, {BLOCK, 0}};

static void random_forms_mean_the_same(void **state)
{
    (void)state;
    int in_blocks = 0, transforms = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        optune_err err = {0};
        made m;
        random_text(&m, seed * 7919);
        optune_graph *g = graph_of(ot_text_str(&m.text));
        fill(g, seed);
        optune_values *right = evaluate(g, seed);
        ot_groups groups;
        check_ok(ot_graph_partition(g, seed % 3 ? anything : nothing, NULL, &groups, &err));
        ot_blocks *form = ot_alloc((size_t)groups.n * sizeof *form);
        for (int i = 0; i < groups.n; i++) {
            const ot_blocks one = forms[seed % 5 ? below(&m, 4) : 1];
            if (ot_group_takes(g, &groups.group[i], one))
                form[i] = one;
            in_blocks += form[i].in || form[i].out;
        }
        ot_relaid relaid;
        check_ok(ot_graph_relayout(g, &groups, form, &relaid, &err));
        transforms += relaid.transforms;
        ot_relaid_share(&relaid, g);
        assert_int_equal(optune_graph_inputs(relaid.graph), optune_graph_inputs(g));
        optune_values *found = evaluate(relaid.graph, seed);
        same_values(g, right, found);
        optune_values_free(found);
        optune_values_free(right);
        ot_relaid_release(&relaid);
        ot_groups_release(&groups);
        optune_graph_close(g);
        ot_text_release(&m.text);
        free(form);
    }
    assert_true(in_blocks > 2 * ROUNDS); /* or nothing was looked at */
    assert_true(transforms > ROUNDS);
}

/* In every form that each group takes, one after the other. */
static void check_all_forms(optune_graph *g)
{
    optune_err err = {0};
    fill(g, 5);
    optune_values *right = evaluate(g, 5);
    ot_groups groups;
    check_ok(ot_graph_partition(g, anything, NULL, &groups, &err));
    ot_blocks *form = ot_alloc((size_t)groups.n * sizeof *form);
    for (int shift = 0; shift < OT_COUNT(forms); shift++) {
        for (int i = 0; i < groups.n; i++) {
            const ot_blocks one = forms[(i + shift) % OT_COUNT(forms)];
            form[i] = ot_group_takes(g, &groups.group[i], one) ? one : forms[0];
        }
        ot_relaid relaid;
        check_ok(ot_graph_relayout(g, &groups, form, &relaid, &err));
        ot_relaid_share(&relaid, g);
        assert_int_equal(optune_graph_outputs(relaid.graph), optune_graph_outputs(g));
        optune_values *found = evaluate(relaid.graph, 5);
        same_values(g, right, found);
        optune_values_free(found);
        ot_relaid_release(&relaid);
    }
    free(form);
    optune_values_free(right);
    ot_groups_release(&groups);
    optune_graph_close(g);
}

/* What has no blocks stands between what has; several outputs, tuples, an input that is given. */
static void tuples_and_several_outputs_stay(void **state)
{
    (void)state;
    check_all_forms(
        graph_of("x = var f32[1,8,5,5]\n"
                 "a = conv2d(x, const f32[8,8,1,1])\n"
                 "t = topk(a, k=3, axis=1, ret_type=both)\n"
                 "b = conv2d(t.0, const f32[8,3,1,1])\n"
                 "j = tuple(a, b, x)\n"
                 "c = concatenate(j, axis=1)\n"
                 "d = max_pool2d(c, pool_size=[2,2], strides=[2,2], ceil_mode=true)\n"
                 "k = tuple(d, t)\n"
                 "output k, x, b\n"));
}

static void gradients_mean_the_same(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[1,8,5,5]\n"
                               "a = conv2d(x, const f32[8,8,3,3], padding=[1,1])\n"
                               "r = relu(add(a, const f32[8,1,1]))\n"
                               "b = conv2d(r, const f32[8,1,3,3], padding=[1,1], groups=8)\n"
                               "p = avg_pool2d(add(b, x), pool_size=[2,2])\n"
                               "output p\n");
    optune_graph *gradient = NULL;
    check_ok(optune_graph_gradient(g, NULL, 0, &gradient, &err));
    check_ok(optune_graph_infer(gradient, &err));
    optune_graph_close(g);
    check_all_forms(gradient);
}

/* ---- where transforms stand -------------------------------------------------------------- */

static int count(const optune_graph *g, const char *op)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        n += g->node[id].kind == OT_NODE_CALL && !strcmp(g->node[id].call->op->name, op);
    return n;
}

static void relay_all(const char *text, const ot_blocks *form, int n, ot_relaid *to)
{
    optune_err err = {0};
    optune_graph *g = graph_of(text);
    ot_groups groups;
    check_ok(ot_graph_partition(g, anything, NULL, &groups, &err));
    assert_int_equal(groups.n, n);
    for (int i = 0; i < n; i++)
        assert_true(ot_group_takes(g, &groups.group[i], form[i]));
    check_ok(ot_graph_relayout(g, &groups, form, to, &err));
    ot_groups_release(&groups);
    optune_graph_close(g);
}

static void neighbours_agree_without_transforms(void **state)
{
    (void)state;
    static const char text[] = "x = var f32[1,8,5,5]\n"
                               "a = conv2d(x, const f32[8,8,1,1])\n"
                               "b = conv2d(a, const f32[8,1,3,3], padding=[1,1], groups=8)\n"
                               "r = relu(b)\n"
                               "c = conv2d(r, const f32[8,8,1,1])\n"
                               "y = add(c, a)\n"
                               "output y\n";
    ot_relaid to;
    relay_all(text, (const ot_blocks[]){{0, 4}, {4, 4}, {4, 0}}, 3, &to);
    /* `a` is read in blocks, and plain by the sum of the last. */
    assert_int_equal(to.transforms, 1);
    assert_int_equal(count(to.graph, "layout_transform"), 1);
    check_contains(optune_graph_text(to.graph, true),
                   "a_NCHW : f32[1,8,5,5] = layout_transform(a, ");
    check_contains(optune_graph_text(to.graph, true), "out_layout=NCHW4c");
    ot_relaid_release(&to);
    relay_all(text, (const ot_blocks[]){{4, 4}, {4, 4}, {4, 4}}, 3, &to);
    assert_int_equal(to.transforms, 2); /* the caller's x and y are plain */
    const optune_tensor *y = optune_graph_output_type(to.graph, 0);
    assert_int_equal(y->rank, 4);
    ot_relaid_release(&to);
}

/* One pixel lies the same way in any layout. */
static void a_pixel_is_only_viewed(void **state)
{
    (void)state;
    ot_relaid to;
    relay_all("x = var f32[2,8,1,1]\n"
              "y = conv2d(x, const f32[8,8,1,1])\noutput y\n",
              (const ot_blocks[]){{4, 4}}, 1, &to);
    assert_int_equal(to.transforms, 0);
    assert_int_equal(count(to.graph, "reshape"), 2);
    ot_relaid_release(&to);
}

static void what_has_no_blocks_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x = var f32[1,6,5,5]\ny = conv2d(x, const f32[8,6,1,1])\noutput y\n",
        "x = var f32[?n:1..8,8,5,5]\ny = conv2d(x, const f32[8,8,1,1])\noutput y\n",
        "x = var f32[8,8]\ny = relu(x)\noutput y\n",
        "x = var f32[1,8,5,5]\ny = softmax(x, axis=1)\noutput y\n",
        "x = var f32[1,8,5,5]\ny = concatenate(x, x, axis=2)\noutput y\n",
        "x = var f32[1,8,5,5]\ny = add(x, const f32[8,5,5])\noutput y\n",
        "x = var f32[1,2,5,5,4]\ny = conv2d(x, const f32[8,8,1,1], data_layout=NCHW4c)\noutput "
        "y\n",
    };
    for (int i = 0; i < OT_COUNT(texts); i++) {
        optune_err err = {0};
        optune_graph *g = NULL;
        ot_groups groups;
        check_ok(optune_graph_parse(texts[i], "test", &g, &err));
        check_ok(optune_graph_infer(g, &err));
        if (ot_graph_partition(g, nothing, NULL, &groups, &err) >= 0) {
            for (int k = 0; k < groups.n; k++) {
                assert_true(ot_group_takes(g, &groups.group[k], (ot_blocks){0, 0}));
                assert_false(ot_group_takes(g, &groups.group[k], (ot_blocks){BLOCK, BLOCK}));
            }
            ot_groups_release(&groups);
        }
        optune_graph_close(g);
    }
}

static void names_of_its_own_are_free(void **state)
{
    (void)state;
    ot_relaid to;
    relay_all("x = var f32[1,8,5,5]\n"
              "y_NCHW = conv2d(x, const f32[8,8,1,1])\n"
              "y = conv2d(y_NCHW, const f32[8,8,1,1])\n"
              "x_NCHW4c = relu(y_NCHW)\noutput y, x_NCHW4c\n",
              (const ot_blocks[]){{4, 4}, {4, 4}, {4, 4}}, 3, &to);
    assert_int_equal(to.transforms, 3);
    ot_relaid_release(&to);
}

/* ---- forms as text ----------------------------------------------------------------------- */

static void forms_read_back(void **state)
{
    (void)state;
    const ot_blocks all[] = {{0, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 0}, {0, 0}, {0, 0}};
    ot_blocks back[OT_COUNT(all)];
    ot_text text = {0};
    ot_forms_print(all, OT_COUNT(all), &text);
    assert_string_equal(ot_text_str(&text), "0>8,8*3,8>0,0*2");
    assert_true(ot_forms_parse(ot_text_str(&text), back, OT_COUNT(all)));
    assert_memory_equal(all, back, sizeof all);
    static const char *const wrong[] = {
        "",   "8*6",     "8*8",  "8*7,", "8*7x", ">8*7",          "8>*7",
        "8*", "8*0,8*7", "8**7", "-8*7", " 8*7", "99999999999*7", "8*99999999999999999999"};
    for (int i = 0; i < OT_COUNT(wrong); i++)
        assert_false(ot_forms_parse(wrong[i], back, OT_COUNT(all)));
    ot_text_release(&text);
}

/* ---- the choice -------------------------------------------------------------------------- */

enum { MOST_VARIABLES = 7, MOST_PAIRS = 16 };

static double by_trying(const ot_assignment *p)
{
    int state[MOST_VARIABLES] = {0};
    double best = INFINITY;
    for (bool more = true; more;) {
        double sum = 0;
        for (int i = 0; i < p->n; i++)
            sum += p->cost[i][state[i]];
        for (int i = 0; i < p->n_pairs; i++)
            sum += p->pair[i].cost[state[p->pair[i].a]][state[p->pair[i].b]];
        best = fmin(best, sum);
        int at = 0;
        while (at < p->n && ++state[at] == p->states[at])
            state[at++] = 0;
        more = at < p->n;
    }
    return best;
}

static void the_choice_is_the_best_of_all(void **state)
{
    (void)state;
    uint64_t random = 42;
    int exact_ones = 0, others = 0, off = 0;
    for (int round = 0; round < 600; round++) {
        double cost[MOST_VARIABLES][OT_STATES];
        ot_pair pair[MOST_PAIRS] = {{0}};
        int states[MOST_VARIABLES], chosen[MOST_VARIABLES];
        ot_assignment p = {.n = 1 + (int)optune_random_below(&random, MOST_VARIABLES),
                           .states = states,
                           .cost = cost,
                           .pair = pair};
        for (int i = 0; i < p.n; i++) {
            states[i] = 1 + (int)optune_random_below(&random, OT_STATES);
            for (int s = 0; s < OT_STATES; s++)
                cost[i][s] = (double)optune_random_below(&random, 20);
        }
        if (p.n > 1)
            p.n_pairs = (int)optune_random_below(&random, MOST_PAIRS + 1);
        for (int i = 0; i < p.n_pairs; i++) {
            pair[i].a = (int)optune_random_below(&random, p.n);
            pair[i].b = (pair[i].a + 1 + (int)optune_random_below(&random, p.n - 1)) % p.n;
            for (int s = 0; s < OT_STATES; s++)
                for (int t = 0; t < OT_STATES; t++)
                    pair[i].cost[s][t] = optune_random_below(&random, 12)
                                             ? (double)optune_random_below(&random, 20)
                                             : INFINITY;
        }
        bool exact;
        const double best = by_trying(&p), sum = ot_assign(&p, chosen, &exact);
        for (int i = 0; i < p.n; i++)
            assert_in_range(chosen[i], 0, states[i] - 1);
        if (exact && isfinite(best))
            assert_true(sum == best);
        else if (exact)
            assert_true(!isfinite(sum));
        else
            assert_true(sum >= best);
        exact_ones += exact;
        others += !exact;
        off += !exact && sum > best;
    }
    assert_true(exact_ones > 200 && others > 50); /* of both there were some */
    assert_true(off < others / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_forms_mean_the_same),
        cmocka_unit_test(tuples_and_several_outputs_stay),
        cmocka_unit_test(gradients_mean_the_same),
        cmocka_unit_test(neighbours_agree_without_transforms),
        cmocka_unit_test(a_pixel_is_only_viewed),
        cmocka_unit_test(what_has_no_blocks_is_refused),
        cmocka_unit_test(names_of_its_own_are_free),
        cmocka_unit_test(forms_read_back),
        cmocka_unit_test(the_choice_is_the_best_of_all),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    while (n_held > 0)
        free(held[--n_held]);
    return failed;
}
