/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of random calls of every operator that has a rule, and of a small network, against
 * central differences; which nodes get one; and what is said of an operator without a rule.
 *
 * OPTUNE_TEST_CALLS (default 6 an operator) says how many random calls, OPTUNE_TEST_SEED which,
 * OPTUNE_TEST_OP of which operator.
 */
#include "support/check.h"

#include "graph/graph.h"
#include "support/gradients.h"
#include "support/graphs.h"
#include "support/random_call.h"

#include <math.h>

/* ---- random calls ------------------------------------------------------------------------ */

typedef struct drawn { /* a random call as a graph */
    const optune_call *call;
    const char *text;
    optune_graph *g;
    gradient_leaves l;
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
    int wrt[GRADIENT_LEAVES], leaf[GRADIENT_LEAVES], n = 0;
    d->l.n = optune_graph_inputs(d->g);
    for (int i = 0; i < d->l.n; i++) {
        fill_drawn(d, i, false, rng);
        if (optune_graph_input_type(d->g, i)->dtype.code != OPTUNE_DTYPE_FLOAT)
            continue;
        leaf[n] = i;
        wrt[n++] = optune_graph_input_node(d->g, i);
    }
    if (isnan(gradient_total(d->g, &d->l))) { /* a logarithm, a root */
        gradient_leaves_release(&d->l);
        for (int i = 0; i < d->l.n; i++)
            fill_drawn(d, i, true, rng);
    }
    const int status = optune_graph_gradient(d->g, wrt, n, &with, &err);
    if (status < 0) { /* its rule serves some layouts only */
        gradient_leaves_release(&d->l);
        if (status != OPTUNE_EUNSUPPORTED)
            fail_msg("%s\n%s", d->text, err.text);
        d->refused = true;
        return true;
    }
    const int outputs = optune_graph_outputs(d->g);
    optune_values *values = gradient_evaluate(with, &d->l);
    bool holds = true;
    for (int i = 0; i < n && holds; i++) {
        const double *gradient = optune_values_data(values, outputs + i);
        const int64_t all = d->l.elements[leaf[i]];
        for (int probe = 0; probe < GRADIENT_PROBES && probe < all && holds; probe++) {
            const int64_t k = all <= GRADIENT_PROBES ? probe : optune_random_below(rng, all);
            const double want = gradient_difference(d->g, &d->l, leaf[i], k);
            holds = !isfinite(want) || fabs(gradient[k] - want) <= 2e-5 * fmax(1, fabs(want));
            if (!holds)
                ot_text_printf(why, "input %d, element %lld: gradient %.9g, difference %.9g\n",
                               leaf[i], (long long)k, gradient[k], want);
        }
    }
    optune_values_free(values);
    gradient_leaves_release(&d->l);
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
    gradients_hold("x = var f32[1,3,8,8]\n"
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
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
