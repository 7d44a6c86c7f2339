/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing trees and asking them. Rows are never moved: a tree sorts an array of their numbers, a
 * node owning a range of it. All trees live in one array of nodes that grows with the rows.
 */
#include "tuner/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { SPLITS = 10 }; /* tried at a node; the best is taken */

typedef enum test { LEAF, ONE, SUM, DIFFERENCE, EQUAL } test;

typedef struct node {
    float value; /* of the split, or of the leaf */
    uint8_t test, a, b;
    int32_t kid; /* where the test holds; the other one is behind it */
} node;

struct ot_forest {
    int n_features, n_logs;
    ot_feature_kind kind[OT_MAX_FEATURES];
    uint8_t log[OT_MAX_FEATURES]; /* features that are logarithms */
    node *node;
    int n_nodes, node_capacity;
    int root[OT_FOREST_TREES];
    int *row;
    int row_capacity;
};

ot_forest *ot_forest_open(int n_features, const ot_feature_kind *kind)
{
    ot_forest *f = ot_alloc(sizeof *f);
    f->n_features = n_features;
    for (int i = 0; i < n_features; i++) {
        f->kind[i] = kind[i];
        if (kind[i] == OT_FEATURE_LOG)
            f->log[f->n_logs++] = (uint8_t)i;
    }
    return f;
}

void ot_forest_close(ot_forest *f)
{
    if (!f)
        return;
    free(f->node);
    free(f->row);
    free(f);
}

static inline float feature(const node *n, const float *x)
{
    switch (n->test) {
    case SUM:
        return x[n->a] + x[n->b];
    case DIFFERENCE:
        return x[n->a] - x[n->b];
    default:
        return x[n->a];
    }
}

static inline bool holds(const node *n, const float *x)
{
    return n->test == EQUAL ? x[n->a] == n->value : feature(n, x) <= n->value;
}

/* ---- growing --------------------------------------------------------------------------------- */

typedef struct growing {
    ot_forest *forest;
    const float *x, *y;
    uint64_t *rng;
} growing;

/* Of small ranges, and many of them: what a division would cost more than the bias of 2^-32. */
static inline int below(const growing *g, int n)
{
    return (int)((optune_random(g->rng) >> 32) * (uint64_t)n >> 32);
}

static const float *row_at(const growing *g, int at)
{
    return g->x + (size_t)g->forest->row[at] * (size_t)g->forest->n_features;
}

/* A test that two random rows of the range fall on different sides of. */
static bool draw_test(const growing *g, int from, int to, node *n)
{
    const ot_forest *f = g->forest;
    const int pick = below(g, f->n_features + (f->n_logs > 1 ? f->n_logs : 0));
    if (pick < f->n_features) {
        n->a = n->b = (uint8_t)pick;
        n->test = f->kind[pick] == OT_FEATURE_WORD ? EQUAL : ONE;
    } else {
        const int i = pick - f->n_features;
        const int k = below(g, f->n_logs - 1);
        n->a = f->log[i];
        n->b = f->log[k < i ? k : k + 1];
        n->test = below(g, 3) ? SUM : DIFFERENCE;
    }
    const int one = below(g, to - from);
    const int two = below(g, to - from);
    const float p = feature(n, row_at(g, from + one)), q = feature(n, row_at(g, from + two));
    if (p == q)
        return false;
    n->value = n->test == EQUAL ? p : (p + q) / 2;
    return true;
}

/* How much of the variance a test explains, up to what all tests of the node share. */
static double gain(const growing *g, int from, int to, const node *n)
{
    double in = 0, out = 0;
    int n_in = 0;
    for (int i = from; i < to; i++) {
        const double y = (double)g->y[g->forest->row[i]];
        if (holds(n, row_at(g, i))) {
            in += y;
            n_in++;
        } else {
            out += y;
        }
    }
    const int n_out = to - from - n_in;
    return n_in && n_out ? in * in / n_in + out * out / n_out : -INFINITY;
}

static int add_nodes(ot_forest *f, int n)
{
    if (f->n_nodes + n > f->node_capacity) {
        f->node_capacity = 2 * (f->n_nodes + n) + 256;
        f->node = realloc(f->node, (size_t)f->node_capacity * sizeof *f->node);
        if (!f->node)
            abort();
    }
    f->n_nodes += n;
    return f->n_nodes - n;
}

static int divide(const growing *g, int from, int to, const node *n)
{
    int *row = g->forest->row;
    for (int i = from; i < to; i++)
        if (holds(n, row_at(g, i))) {
            const int other = row[from];
            row[from++] = row[i];
            row[i] = other;
        }
    return from;
}

static void grow(const growing *g, int at, int from, int to)
{
    ot_forest *f = g->forest;
    double sum = 0, least = INFINITY, most = -INFINITY;
    for (int i = from; i < to; i++) {
        const double y = (double)g->y[f->row[i]];
        sum += y;
        least = fmin(least, y);
        most = fmax(most, y);
    }
    node best = {.test = LEAF, .value = (float)(sum / (to - from)), .kid = -1};
    if (to - from > 1 && least < most) {
        double most_gain = -INFINITY;
        for (int s = 0; s < SPLITS || (most_gain == -INFINITY && s < 4 * SPLITS); s++) {
            node n = {.kid = -1};
            if (!draw_test(g, from, to, &n))
                continue;
            const double own = gain(g, from, to, &n);
            if (own > most_gain) {
                most_gain = own;
                best = n;
            }
        }
    }
    if (best.test != LEAF) {
        const int kid = add_nodes(f, 2);
        const int middle = divide(g, from, to, &best);
        best.kid = kid;
        grow(g, kid, from, middle);
        grow(g, kid + 1, middle, to);
    }
    f->node[at] = best;
}

void ot_forest_fit(ot_forest *f, const float *x, const float *y, int n, uint64_t *rng)
{
    const growing g = {f, x, y, rng};
    if (n > f->row_capacity) {
        free(f->row);
        f->row_capacity = 2 * n;
        f->row = ot_alloc((size_t)f->row_capacity * sizeof *f->row);
    }
    f->n_nodes = 0;
    for (int t = 0; t < OT_FOREST_TREES; t++) {
        for (int i = 0; i < n; i++)
            f->row[i] = i;
        f->root[t] = add_nodes(f, 1);
        grow(&g, f->root[t], 0, n);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

void ot_forest_predict(const ot_forest *f, const float *x, int n, float *mean, float *deviation)
{
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(deviation, 0, (size_t)n * sizeof *deviation);
    for (int t = 0; t < OT_FOREST_TREES; t++)
        for (int i = 0; i < n; i++) {
            const float *row = x + (size_t)i * (size_t)f->n_features;
            const node *at = &f->node[f->root[t]];
            while (at->test != LEAF)
                at = &f->node[at->kid + !holds(at, row)];
            mean[i] += at->value;
            deviation[i] += at->value * at->value;
        }
    for (int i = 0; i < n; i++) {
        mean[i] /= OT_FOREST_TREES;
        deviation[i] = sqrtf(fmaxf(0, deviation[i] / OT_FOREST_TREES - mean[i] * mean[i]));
    }
}
