/* SPDX-License-Identifier: Apache-2.0 */
#include "support/gradients.h"

#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/check.h"
#include "support/graphs.h"

/* Values in (0.3, 1.3) and, unless `positive`, of either sign: kinks at 0 are far. */
static gradient_leaves fill(const optune_graph *g, bool positive)
{
    gradient_leaves l = {.n = optune_graph_inputs(g)};
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

void gradient_leaves_release(gradient_leaves *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->data[i]);
}

optune_values *gradient_evaluate(const optune_graph *g, const gradient_leaves *l)
{
    optune_err err = {0};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const *)l->data, NULL, &values, &err));
    return values;
}

double gradient_total(const optune_graph *g, const gradient_leaves *l)
{
    optune_values *values = gradient_evaluate(g, l);
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

double gradient_difference(const optune_graph *g, const gradient_leaves *l, int leaf, int64_t k)
{
    const double step = 1e-5;
    double *at = &l->data[leaf][k], was = *at;
    *at = was + step;
    const double above = gradient_total(g, l);
    *at = was - step;
    const double below = gradient_total(g, l);
    *at = was;
    return (above - below) / (2 * step);
}

static void check_one(const char *text, const optune_graph *g, const gradient_leaves *l,
                      int leaf, const double *gradient)
{
    uint64_t rng = 7;
    const int64_t n = l->elements[leaf];
    for (int probe = 0; probe < GRADIENT_PROBES && probe < n; probe++) {
        const int64_t k = n <= GRADIENT_PROBES ? probe : optune_random_below(&rng, n);
        const double want = gradient_difference(g, l, leaf, k);
        if (!(fabs(gradient[k] - want) <= 2e-5 * fmax(1, fabs(want)))) {
            print_error("%s\ninput %d, element %lld: gradient %.9g, difference %.9g\n", text,
                        leaf, (long long)k, gradient[k], want);
            fail();
        }
    }
}

void gradients_hold(const char *text, bool positive)
{
    optune_err err = {0};
    optune_graph *narrow = graph_of(text), *g = NULL, *with = NULL;
    check_ok(optune_graph_copy(narrow, true, &g, &err));
    assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
    int wrt[GRADIENT_LEAVES];
    gradient_leaves l = fill(g, positive);
    for (int i = 0; i < l.n; i++)
        wrt[i] = optune_graph_input_node(g, i);
    const int status = optune_graph_gradient(g, wrt, l.n, &with, &err);
    if (status < 0)
        print_error("%s\n%s\n", text, err.text);
    assert_int_equal(status, OPTUNE_OK);
    const int outputs = optune_graph_outputs(g);
    assert_int_equal(optune_graph_outputs(with), outputs + l.n);
    optune_values *values = gradient_evaluate(with, &l);
    for (int i = 0; i < l.n; i++) {
        assert_int_equal(optune_tensor_elements(optune_values_type(values, outputs + i)),
                         l.elements[i]);
        check_one(text, g, &l, i, optune_values_data(values, outputs + i));
    }
    optune_values_free(values);
    gradient_leaves_release(&l);
    optune_graph_close(with);
    optune_graph_close(g);
    optune_graph_close(narrow);
}
