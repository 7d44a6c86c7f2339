/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention that a graph spells out. From the product of weights and values back: the softmax along
 * the keys, masks that are added or chosen by conditions, a constant factor, the product of queries
 * and keys, with views in between; each value in between has no other use. Factors and what turns
 * keys over are taken from the operands, too.
 *
 * A factor behind a mask, a mask without a shape of heads, a condition that fills in anything but
 * what counts as -infinity are no attention: then the graph stays as it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/attend.h"
#include "graph/look.h"

/* A score that so little is added to, or less, counts nothing: what was there before is lost in it,
 * as in -infinity. */
static const double NEVER = -1e30;

enum { STEPS = 32 }; /* at most so many of one kind behind each other are looked through */

typedef struct finding {
    const optune_graph *g;
    const int *uses;
    ot_attend *site;
    int rank; /* of scores with all dims of heads; 0: not seen */
} finding;

/* ---- nodes ------------------------------------------------------------------------------- */

static const optune_tensor *type_of(const optune_graph *g, ot_value value)
{
    return ot_graph_type_of(g, value);
}

static bool same_type(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank && optune_dtype_equal(a->dtype, b->dtype);
    for (int d = 0; same && d < a->rank; d++)
        same = a->dim[d].min == b->dim[d].min;
    return same;
}

/* Counted from the end: 1 is the last; dims that a type has not are 1. */
static int64_t back(const optune_tensor *type, int d)
{
    return d <= type->rank ? type->dim[type->rank - d].min : 1;
}

static int64_t in_front(const optune_tensor *type)
{
    int64_t n = 1;
    for (int d = 0; d < type->rank - 2; d++)
        n *= type->dim[d].min;
    return n;
}

/* The same matrices under other dims in front. */
static bool is_view(const optune_graph *g, const ot_node *node)
{
    if (!ot_node_is(node, "reshape") && !ot_node_is(node, "expand_dims") &&
        !ot_node_is(node, "squeeze"))
        return false;
    const optune_tensor *in = type_of(g, node->in[0]), *out = &node->out[0];
    return in->rank >= 2 && out->rank >= 2 && back(in, 1) == back(out, 1) &&
           back(in, 2) == back(out, 2);
}

/* value * factor; false: it is no such product. */
static bool is_scaled(const optune_graph *g, const ot_node *node, ot_value *value,
                      double *factor)
{
    const bool quotient = ot_node_is(node, "divide");
    double number = 0;
    if (!quotient && !ot_node_is(node, "multiply"))
        return false;
    for (int i = quotient; i < 2; i++)
        if (ot_graph_number(g, node->in[i], &number) &&
            same_type(type_of(g, node->in[1 - i]), &node->out[0])) {
            *value = node->in[1 - i];
            *factor = quotient ? 1 / number : number;
            return isfinite(*factor) && *factor != 0;
        }
    return false;
}

/* ---- operands ---------------------------------------------------------------------------- */

/* Back from what a product reads, as far as it is only turned, viewed and, with `scale`, scaled. */
static void peel(const optune_graph *g, ot_value value, bool flip, double *scale,
                 ot_attend_side *side)
{
    const optune_tensor *type = type_of(g, value);
    *side = (ot_attend_side){.heads = in_front(type),
                             .rows = back(type, flip ? 1 : 2),
                             .columns = back(type, flip ? 2 : 1)};
    bool turned = false;
    for (int i = 0; i < STEPS; i++) {
        const ot_node *node = &g->node[value.node];
        double factor = 1;
        ot_value inner;
        if (!turned && is_view(g, node)) {
            value = node->in[0];
        } else if (scale && is_scaled(g, node, &inner, &factor)) {
            *scale *= factor;
            value = inner;
        } else if (flip && !turned && ot_node_is(node, "transpose")) {
            const optune_attr *axes = optune_call_attr(node->call, "axes");
            const int rank = node->out[0].rank;
            for (int d = 0; d < rank; d++)
                side->axes[d] = axes->n ? (int)axes->i[d] : rank - 1 - d;
            side->n_axes = rank;
            turned = true;
            value = node->in[0];
        } else {
            break;
        }
    }
    side->from = value;
    if (!flip)
        return;
    const int rank = type_of(g, value)->rank;
    for (int d = 0; !side->n_axes && d < rank; d++)
        side->axes[d] = d;
    side->n_axes = 0;
    const int last = side->axes[rank - 1];
    side->axes[rank - 1] = side->axes[rank - 2];
    side->axes[rank - 2] = last;
    for (int d = 0; d < rank; d++)
        if (side->axes[d] != d)
            side->n_axes = rank;
}

/* The second operand of a product, [.., n, k] or, with *flip, [.., k, n]; false: it is none. */
static bool is_product(const ot_node *node, bool *flip_a, bool *flip_b)
{
    *flip_a = *flip_b = false;
    if (ot_node_is(node, "dense"))
        return node->n_in == 2;
    if (!ot_node_is(node, "batch_matmul"))
        return false;
    *flip_a = optune_call_int(node->call, "transpose_a") != 0;
    *flip_b = optune_call_int(node->call, "transpose_b") == 0;
    return true;
}

/* ---- scores ------------------------------------------------------------------------------ */

/* The dims of heads that something broadcast to scores of `type` has. */
static bool mask_dims(const finding *f, const optune_tensor *type, ot_attend_mask *mask)
{
    const ot_attend *s = f->site;
    const optune_tensor *m = type_of(f->g, mask->value);
    const int64_t heads = s->b * s->hq;
    if (m->rank > type->rank)
        return false;
    mask->dim[3] = back(m, 1);
    mask->dim[2] = back(m, 2);
    mask->dim[1] = back(m, 3);
    mask->dim[0] = back(m, 4);
    for (int d = 5; d <= m->rank; d++)
        if (back(m, d) != 1)
            return false;
    if (type->rank < 4 && mask->dim[1] == heads && mask->dim[0] == 1) {
        mask->dim[0] = s->b;
        mask->dim[1] = s->hq;
    }
    const int64_t full[] = {s->b, s->hq, s->sq, s->skv};
    for (int d = 0; d < 4; d++)
        if (mask->dim[d] != 1 && mask->dim[d] != full[d])
            return false;
    return true;
}

static bool scores(finding *f, ot_value value);

/* Scores are input `i`; what stands in the site is as before where they are not. */
static bool go_on(finding *f, const ot_node *node, int i, const ot_attend_mask *mask)
{
    ot_attend *s = f->site;
    const optune_tensor *out = &node->out[0];
    const int n = s->n_masks, rank = f->rank;
    if (n == OT_ATTEND_MASKS || s->scale != 1 || !same_type(type_of(f->g, node->in[i]), out))
        return false;
    const ot_attend kept = *s;
    s->mask[s->n_masks++] = *mask;
    if (scores(f, node->in[i]) && mask_dims(f, out, &s->mask[n]))
        return true;
    *s = kept;
    f->rank = rank;
    return false;
}

static bool masked(finding *f, const ot_node *node)
{
    const bool sum = ot_node_is(node, "add"), chosen = ot_node_is(node, "where");
    double fill = 0;
    for (int i = 0; i < 2; i++) {
        if (sum && go_on(f, node, i, &(ot_attend_mask){.value = node->in[1 - i]}))
            return true;
        const ot_attend_mask mask = {.value = node->in[0], .where = true, .other = i == 1};
        if (!chosen || !ot_graph_number(f->g, node->in[2 - i], &fill) || !(fill <= NEVER))
            continue;
        ot_attend_mask filled = mask;
        filled.fill = fill;
        if (go_on(f, node, 1 + i, &filled))
            return true;
    }
    return false;
}

static bool queries_and_keys(finding *f, const ot_node *node)
{
    ot_attend *s = f->site;
    bool flip_a, flip_b;
    if (!is_product(node, &flip_a, &flip_b))
        return false;
    peel(f->g, node->in[0], flip_a, &s->scale, &s->side[OT_ATTEND_Q]);
    peel(f->g, node->in[1], flip_b, &s->scale, &s->side[OT_ATTEND_K]);
    const ot_attend_side *q = &s->side[OT_ATTEND_Q], *k = &s->side[OT_ATTEND_K];
    if (f->rank != 4) {
        s->b = 1;
        s->hq = in_front(&node->out[0]);
    }
    s->hkv = s->b ? k->heads / s->b : 0;
    s->d = q->columns;
    return s->b * s->hq == q->heads && s->b * s->hkv == k->heads && s->hkv > 0 &&
           (s->hkv == s->hq || s->hkv == 1) && q->rows == s->sq && k->rows == s->skv &&
           q->columns == k->columns;
}

/* Scores of this type, with a use only and with the heads that the others have. */
static bool are_scores(finding *f, ot_value value)
{
    const optune_tensor *type = type_of(f->g, value);
    if (f->uses[value.node] != 1 || back(type, 1) != f->site->skv)
        return false;
    if (type->rank != 4)
        return true;
    if (f->rank == 4)
        return type->dim[0].min == f->site->b && type->dim[1].min == f->site->hq;
    f->rank = 4;
    f->site->b = type->dim[0].min;
    f->site->hq = type->dim[1].min;
    return true;
}

/* Back from a value of scores to the product that they are. */
static bool scores(finding *f, ot_value value)
{
    for (int i = 0; i < STEPS && are_scores(f, value); i++) {
        const ot_node *node = &f->g->node[value.node];
        double factor = 1;
        ot_value inner;
        if (is_view(f->g, node)) {
            value = node->in[0];
        } else if (is_scaled(f->g, node, &inner, &factor)) {
            f->site->scale *= factor;
            value = inner;
        } else if (ot_node_is(node, "add") || ot_node_is(node, "where")) {
            return masked(f, node);
        } else {
            return queries_and_keys(f, node);
        }
    }
    return false;
}

/* ---- causal masks ------------------------------------------------------------------------ */

/* Whether `n` values from i = 0, j = 0 on hide exactly what is behind the diagonal. */
static bool hides_what_follows(const ot_attend *s, const ot_attend_mask *mask,
                               const double *value, int64_t i)
{
    for (int64_t j = 0; j < s->skv; j++) {
        const bool seen = mask->where ? (value[j] != 0) != mask->other : value[j] == 0;
        const bool hidden = mask->where ? !seen : value[j] <= NEVER;
        if (j <= i + s->skv - s->sq ? !seen : !hidden)
            return false;
    }
    return true;
}

/* Constants that say no more than `causal` does. */
static bool is_causal(const optune_graph *g, const ot_attend *s)
{
    const ot_attend_mask *mask = &s->mask[0];
    const optune_tensor *type = type_of(g, mask->value);
    const void *data = NULL;
    if (s->n_masks != 1 || !ot_value_constant(g, mask->value) || s->sq > s->skv ||
        mask->dim[2] != s->sq || mask->dim[3] != s->skv ||
        ot_graph_hold(g, mask->value.node, &data, NULL) < 0)
        return false;
    double *line = ot_alloc((size_t)s->skv * sizeof *line);
    bool causal = data != NULL;
    const int64_t lines = optune_tensor_elements(type) / s->skv;
    for (int64_t l = 0; l < lines && causal; l++) {
        ot_elements(type->dtype, data, l * s->skv, s->skv, line);
        causal = hides_what_follows(s, mask, line, l % s->sq);
    }
    free(line);
    ot_graph_let_go(g, mask->value.node);
    return causal;
}

/* ---- sites ------------------------------------------------------------------------------- */

static bool one_float_type(const optune_graph *g, const ot_attend *s, int root)
{
    const optune_dtype dtype = g->node[root].out[0].dtype;
    bool same = (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT) &&
                dtype.lanes == 1;
    for (int i = 0; i < OT_ATTEND_SIDES; i++)
        same = same && optune_dtype_equal(type_of(g, s->side[i].from)->dtype, dtype);
    for (int i = 0; i < s->n_masks; i++)
        same = same && (s->mask[i].where ||
                        optune_dtype_equal(type_of(g, s->mask[i].value)->dtype, dtype));
    return same;
}

static bool has_elements(const ot_attend *s)
{
    return s->b > 0 && s->hq > 0 && s->sq > 0 && s->skv > 0 && s->d > 0 && s->dv > 0;
}

/* The factor that is the default where it is that but for rounding. */
static double settled_scale(const ot_attend *s)
{
    const double usual = 1 / sqrt((double)s->d);
    return fabs(s->scale - usual) <= usual * 0x1p-23 ? 0 : s->scale;
}

static bool is_attention(const optune_graph *g, const int *uses, int root, ot_attend *site)
{
    const ot_node *node = &g->node[root];
    bool flip_a, flip_b;
    if (!is_product(node, &flip_a, &flip_b) || flip_a)
        return false;
    ot_value value = node->in[0];
    while (uses[value.node] == 1 && is_view(g, &g->node[value.node]))
        value = g->node[value.node].in[0];
    const ot_node *softmax = &g->node[value.node];
    if (uses[value.node] != 1 || !ot_node_is(softmax, "softmax"))
        return false;
    const int64_t axis = optune_call_int(softmax->call, "axis");
    const optune_tensor *type = &softmax->out[0];
    if (type->rank < 2 || (axis != -1 && axis != type->rank - 1))
        return false;
    *site = (ot_attend){.root = root, .scale = 1, .sq = back(type, 2), .skv = back(type, 1)};
    finding f = {g, uses, site, 0};
    peel(g, node->in[1], !flip_b, NULL, &site->side[OT_ATTEND_V]);
    const ot_attend_side *v = &site->side[OT_ATTEND_V];
    site->dv = v->columns;
    site->dtype = node->out[0].dtype;
    if (!scores(&f, softmax->in[0]) || v->heads != site->side[OT_ATTEND_K].heads ||
        v->rows != site->skv || !one_float_type(g, site, root) ||
        in_front(&node->out[0]) != site->b * site->hq || !isfinite(site->scale) ||
        !optune_dtype_equal(type->dtype, site->dtype) || !has_elements(site))
        return false;
    site->scale = settled_scale(site);
    site->causal = is_causal(g, site);
    return true;
}

int ot_graph_attends(const optune_graph *g, ot_attend **sites)
{
    int n = 0, room = 0;
    *sites = NULL;
    for (int id = 0; id < g->n; id++)
        room += ot_node_is(&g->node[id], "softmax");
    if (!room || !ot_graph_all_known(g))
        return 0;
    int *uses = ot_graph_uses(g);
    *sites = ot_alloc((size_t)room * sizeof **sites);
    for (int id = 0; id < g->n && n < room; id++)
        n += is_attention(g, uses, id, &(*sites)[n]);
    free(uses);
    return n;
}
