/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention that a graph spells out. From the product of weights and values back: the softmax along
 * the keys, masks that are added or chosen by conditions, a constant factor, the product of queries
 * and keys, with views in between; each value in between has no other use. Factors and what turns
 * keys over are taken from the operands, too.
 *
 * A factor behind a mask, a mask without a shape of heads, a condition that fills in anything but
 * what counts as -infinity are no attention: then the graph stays as it is. Constant triangles may
 * hide by less, and by a product: of each query they leave a key.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/attend_side.h"
#include "graph/look.h"

/* A score that so little is added to, or less, counts nothing: what was there before is lost in it,
 * as in -infinity. */
static const double NEVER = -1e30;

/* Nor does one that a triangle hides by this, as exporters from before infinities do: no network
 * has scores so far from each other. */
static const double HIDDEN = -9900;

typedef struct finding {
    const optune_graph *g;
    const int *uses;
    ot_attend *site;
    int rank; /* of scores with all dims of heads; 0: not seen */
} finding;

static const optune_tensor *type_of(const optune_graph *g, ot_value value)
{
    return ot_graph_type_of(g, value);
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
    for (int d = 0; d < 4; d++)
        mask->dim[3 - d] = ot_attend_back(m, d + 1);
    for (int d = 6; d <= m->rank; d++)
        if (ot_attend_back(m, d) != 1)
            return false;
    const int64_t inner = ot_attend_back(type, 4), outer = ot_attend_back(m, 5);
    if (type->rank == 5 && inner * type->dim[0].min == s->b && mask->dim[0] != 1) {
        mask->n_wide = outer == type->dim[0].min ? 0 : 5; /* windows of each image */
        for (int d = 0; d < 5; d++)
            mask->wide[d] = d == 0 ? type->dim[0].min : d == 1 ? inner : mask->dim[d - 1];
        mask->dim[0] = s->b;
    } else if (outer != 1) {
        return false;
    }
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
    if (n == OT_ATTEND_MASKS || s->scale != 1 ||
        !ot_attend_same_type(type_of(f->g, node->in[i]), out))
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
    const bool sum = ot_node_is(node, "add"), less = ot_node_is(node, "subtract");
    double fill = 0;
    for (int i = 0; i < 2; i++) {
        const ot_attend_mask other = {.value = node->in[1 - i], .minus = less};
        if ((sum || (less && i == 0)) && go_on(f, node, i, &other))
            return true;
    }
    for (int i = 0; i < 2 && ot_node_is(node, "where"); i++) {
        const ot_attend_mask mask = {.value = node->in[0], .where = true, .other = i == 1};
        if (!ot_graph_number(f->g, node->in[2 - i], &fill) || !(fill <= HIDDEN))
            continue;
        ot_attend_mask filled = mask;
        filled.fill = fill;
        if (go_on(f, node, 1 + i, &filled))
            return true;
    }
    return false;
}

/* scores * factor below what is added: the last mask's, which must be constants both. */
static bool scores(finding *f, ot_value value);
static bool multiplied(finding *f, const ot_node *node)
{
    ot_attend *s = f->site;
    const ot_attend kept = *s;
    const int n = s->n_masks, rank = f->rank;
    if (n != 1 || s->mask[0].where || s->scale != 1 || !ot_node_is(node, "multiply"))
        return false;
    for (int i = 0; i < 2; i++) {
        const ot_value factor = node->in[1 - i];
        ot_attend_mask at = {.value = factor};
        if (!ot_value_constant(f->g, factor) ||
            !ot_attend_same_type(type_of(f->g, node->in[i]), &node->out[0]))
            continue;
        s->mask[0].times = true;
        s->mask[0].factor = factor;
        if (scores(f, node->in[i]) && s->n_masks == 1 && mask_dims(f, &node->out[0], &at) &&
            at.dim[2] == s->sq && at.dim[3] == s->skv)
            return true;
        *s = kept;
        f->rank = rank;
    }
    return false;
}

static bool queries_and_keys(finding *f, const ot_node *node)
{
    ot_attend *s = f->site;
    bool flip_a, flip_b;
    if (!is_product(node, &flip_a, &flip_b))
        return false;
    ot_attend_peel(f->g, node->in[0], flip_a, s->dtype, &s->scale, &s->side[OT_ATTEND_Q]);
    ot_attend_peel(f->g, node->in[1], flip_b, s->dtype, &s->scale, &s->side[OT_ATTEND_K]);
    const ot_attend_side *q = &s->side[OT_ATTEND_Q], *k = &s->side[OT_ATTEND_K];
    if (f->rank != 4) {
        s->b = 1;
        s->hq = ot_attend_in_front(&node->out[0]);
    }
    s->hkv = s->b ? k->heads / s->b : 0;
    s->d = q->columns;
    s->product = (int)(node - f->g->node);
    return s->b * s->hq == q->heads && s->b * s->hkv == k->heads && s->hkv > 0 &&
           q->shared == 1 && (s->hkv * k->shared == s->hq || s->hkv == 1) && q->rows == s->sq &&
           k->rows == s->skv && q->columns == k->columns;
}

/* Scores of this type, with a use only and with the heads that the others have. */
static bool are_scores(finding *f, ot_value value)
{
    const optune_tensor *type = type_of(f->g, value);
    if (f->uses[value.node] != 1 || ot_attend_back(type, 1) != f->site->skv)
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
    for (int i = 0; i < OT_ATTEND_STEPS && are_scores(f, value); i++) {
        const ot_node *node = &f->g->node[value.node];
        double factor = 1;
        ot_value inner;
        if (ot_attend_is_view(f->g, node) || ot_attend_is_recast(f->g, node, f->site->dtype)) {
            value = node->in[0];
        } else if (ot_attend_is_scaled(f->g, node, &inner, &factor)) {
            f->site->scale *= factor;
            value = inner;
        } else if (ot_node_is(node, "add") || ot_node_is(node, "subtract") ||
                   ot_node_is(node, "where")) {
            return masked(f, node);
        } else if (ot_node_is(node, "multiply")) {
            return multiplied(f, node);
        } else {
            return queries_and_keys(f, node);
        }
    }
    return false;
}

/* ---- causal masks ------------------------------------------------------------------------ */

/* Whether row i of a mask hides exactly what is behind the diagonal. `factor`: what scores were
 * multiplied by, or NULL. */
static bool hides_what_follows(const ot_attend *s, const ot_attend_mask *mask,
                               const double *value, const double *factor, int64_t i)
{
    for (int64_t j = 0; j < s->skv; j++) {
        const double add = mask->minus ? -value[j] : value[j];
        const bool seen = mask->where ? (value[j] != 0) != mask->other
                                      : add == 0 && (!factor || factor[j] == 1);
        const bool hidden =
            mask->where ? !seen
                        : add <= HIDDEN && (!factor || factor[j] == 0 || factor[j] == 1);
        if (j <= i + s->skv - s->sq ? !seen : !hidden)
            return false;
    }
    return true;
}

/* Lines of a constant; false: there are none. */
static bool hold_lines(const optune_graph *g, ot_value value, const void **data)
{
    *data = NULL;
    if (!ot_value_constant(g, value) || ot_graph_hold(g, value.node, data, NULL) < 0)
        return false;
    if (!*data)
        ot_graph_let_go(g, value.node);
    return *data != NULL;
}

/* Constants that say no more than `causal` does. */
static bool is_causal(const optune_graph *g, const ot_attend *s)
{
    const ot_attend_mask *mask = &s->mask[0];
    const optune_tensor *type = type_of(g, mask->value), *by = type_of(g, mask->factor);
    const void *data = NULL, *factors = NULL;
    if (s->n_masks != 1 || s->sq > s->skv || mask->dim[2] != s->sq || mask->dim[3] != s->skv ||
        !hold_lines(g, mask->value, &data))
        return false;
    double *line = ot_alloc((size_t)s->skv * 2 * sizeof *line), *factor = line + s->skv;
    bool causal = !mask->times || hold_lines(g, mask->factor, &factors);
    const int64_t lines = optune_tensor_elements(type) / s->skv;
    const int64_t others = mask->times ? optune_tensor_elements(by) / s->skv : lines;
    for (int64_t l = 0; l < (lines > others ? lines : others) && causal; l++) {
        ot_elements(type->dtype, data, l % lines * s->skv, s->skv, line);
        if (factors)
            ot_elements(by->dtype, factors, l % others * s->skv, s->skv, factor);
        causal = hides_what_follows(s, mask, line, factors ? factor : NULL, l % s->sq);
    }
    free(line);
    ot_graph_let_go(g, mask->value.node);
    if (factors)
        ot_graph_let_go(g, mask->factor.node);
    return causal;
}

/* What a triangle may have and no other mask. */
static bool only_causal(const ot_attend *s)
{
    bool only = false;
    for (int i = 0; i < s->n_masks; i++)
        only = only || s->mask[i].times || (s->mask[i].where && !(s->mask[i].fill <= NEVER));
    return only;
}

/* ---- sites ------------------------------------------------------------------------------- */

static bool is_float(optune_dtype dtype)
{
    return (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT) &&
           dtype.lanes == 1;
}

/* Of what a mask adds another one is made of. */
static bool one_float_type(const optune_graph *g, const ot_attend *s, int root)
{
    const optune_dtype dtype = g->node[root].out[0].dtype;
    bool same = is_float(dtype);
    for (int i = 0; i < OT_ATTEND_SIDES; i++)
        same = same && optune_dtype_equal(type_of(g, s->side[i].from)->dtype, dtype);
    for (int i = 0; i < s->n_masks; i++)
        same = same && (s->mask[i].where || is_float(type_of(g, s->mask[i].value)->dtype));
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

static bool same_value(ot_value a, ot_value b)
{
    return a.node == b.node && a.output == b.output;
}

/* where(weights are numbers, weights, 0), in either order: the weights, with no other use. */
static bool is_guard(const finding *f, const ot_node *node, ot_value *weights)
{
    double zero = 1;
    if (!ot_node_is(node, "where"))
        return false;
    for (int i = 1; i < 3; i++) {
        const ot_value inner = node->in[i];
        ot_value test = node->in[0];
        bool numbers = true; /* what the condition is true of */
        if (!ot_graph_number(f->g, node->in[3 - i], &zero) || zero != 0 ||
            !ot_attend_same_type(type_of(f->g, inner), &node->out[0]))
            continue;
        const ot_node *n = &f->g->node[test.node];
        if (f->uses[test.node] == 1 && ot_node_is(n, "equal") &&
            ot_graph_number(f->g, n->in[1], &zero) && zero == 0) {
            numbers = false;
            test = n->in[0];
            n = &f->g->node[test.node];
        }
        if (numbers != (i == 1) || f->uses[test.node] != 1 || f->uses[inner.node] != 3 ||
            !ot_node_is(n, "equal") || !same_value(n->in[0], inner) ||
            !same_value(n->in[1], inner))
            continue;
        *weights = inner;
        return true;
    }
    return false;
}

/* Back from what the product reads to the softmax. */
static const ot_node *softmax_of(finding *f, ot_value value)
{
    const optune_graph *g = f->g;
    int uses = 1; /* a guard reads what it guards three times */
    for (int i = 0; i < OT_ATTEND_STEPS; i++) {
        const ot_node *node = &g->node[value.node];
        if (f->uses[value.node] != uses || ot_node_is(node, "softmax"))
            return f->uses[value.node] == uses ? node : NULL;
        uses = 1;
        if (ot_attend_is_view(g, node) || ot_attend_is_recast(g, node, f->site->dtype))
            value = node->in[0];
        else if (!f->site->guarded && is_guard(f, node, &value)) {
            f->site->guarded = true;
            uses = 3;
        } else
            return NULL;
    }
    return NULL;
}

static bool is_attention(const optune_graph *g, const int *uses, int root, ot_attend *site)
{
    const ot_node *node = &g->node[root];
    bool flip_a, flip_b;
    if (!is_product(node, &flip_a, &flip_b) || flip_a)
        return false;
    *site = (ot_attend){.root = root, .scale = 1, .dtype = node->out[0].dtype};
    finding f = {g, uses, site, 0};
    const ot_node *softmax = softmax_of(&f, node->in[0]);
    if (!softmax)
        return false;
    const int64_t axis = optune_call_int(softmax->call, "axis");
    const optune_tensor *type = &softmax->out[0];
    if (type->rank < 2 || (axis != -1 && axis != type->rank - 1))
        return false;
    site->sq = ot_attend_back(type, 2);
    site->skv = ot_attend_back(type, 1);
    ot_attend_peel(g, node->in[1], !flip_b, site->dtype, NULL, &site->side[OT_ATTEND_V]);
    const ot_attend_side *v = &site->side[OT_ATTEND_V];
    site->dv = v->columns;
    site->softmax = (int)(softmax - g->node);
    if (!scores(&f, softmax->in[0]) || v->heads != site->side[OT_ATTEND_K].heads ||
        v->rows != site->skv || !one_float_type(g, site, root) ||
        ot_attend_in_front(&node->out[0]) != site->b * site->hq || !isfinite(site->scale) ||
        !has_elements(site))
        return false;
    site->scale = settled_scale(site);
    site->causal = is_causal(g, site);
    return site->causal || !only_causal(site);
}

int ot_attends_at_most(const optune_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        n += ot_node_is(&g->node[id], "softmax");
    return n;
}

int ot_attends_known(const optune_graph *g, ot_attend **sites)
{
    const int room = ot_attends_at_most(g);
    int n = 0;
    int *uses = ot_graph_uses(g);
    *sites = ot_alloc((size_t)(room + 1) * sizeof **sites);
    for (int id = 0; id < g->n && n < room; id++)
        n += is_attention(g, uses, id, &(*sites)[n]);
    free(uses);
    return n;
}
