/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of graphs against central differences in double precision. */
#ifndef OPTUNE_TESTS_GRADIENTS_H
#define OPTUNE_TESTS_GRADIENTS_H

#include "optune/graph.h"

enum { GRADIENT_LEAVES = OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS, GRADIENT_PROBES = 24 };

/* What a graph's inputs hold; data is the holder's. */
typedef struct gradient_leaves {
    int n;
    double *data[GRADIENT_LEAVES];
    int64_t elements[GRADIENT_LEAVES];
} gradient_leaves;

void gradient_leaves_release(gradient_leaves *l);
/* The graph's outputs, which the caller frees; the test fails where it cannot be evaluated. */
optune_values *gradient_evaluate(const optune_graph *g, const gradient_leaves *l);
/* The sum of all elements of all outputs of a graph of f64. */
double gradient_total(const optune_graph *g, const gradient_leaves *l);
/* By element k of that leaf, the central difference of this sum. */
double gradient_difference(const optune_graph *g, const gradient_leaves *l, int leaf,
                           int64_t k);

/* The test fails unless, with values in (0.3, 1.3) and, unless `positive`, of either sign, the
 * gradients of the graph in double precision are what differences say. */
void gradients_hold(const char *text, bool positive);

/* A graph whose output y is weighed, so that no gradient is 1 or 0 by symmetry. */
#define WEIGHED "\nz = multiply(y, multiply(y, w))\noutput z\n"

#endif
