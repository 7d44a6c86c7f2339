/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph with sites as calls. Operands of attention are turned and seen as [batch, heads,
 * positions, depth], masks become one that is added: made once where several calls have the same.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/look.h"
#include "graph/sites.h"

enum { OWN_NODES = 80 }; /* at most, of a site */

typedef struct writing {
    ot_rebuild make;
    const ot_site *site;
    int n;
    int *mask; /* of each site that was written; -1: none */
    bool *needed;
    int *nth; /* by node: the site whose root it is; -1: none */
} writing;

static optune_tensor shape_of(optune_dtype dtype, const int64_t *dim)
{
    optune_tensor type = {.dtype = dtype, .rank = 4};
    for (int d = 0; d < 4; d++)
        type.dim[d] = optune_dim_of(dim[d]);
    return type;
}

static bool same_dims(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dim[d].min == b->dim[d].min;
    return same;
}

static void attributes(const ot_attend *s, ot_text *to)
{
    if (s->causal)
        ot_text_add(to, "causal=true");
    if (s->scale != 0)
        ot_text_printf(to, "%sscale=%.17g", to->n ? ", " : "", s->scale);
    if (s->n_masks && !s->causal && !s->guarded) /* as a softmax of nothing but -infinity is */
        ot_text_printf(to, "%snan=true", to->n ? ", " : "");
}

/* What all masks together are broadcast from. */
static void mask_dims(const ot_attend *s, int64_t dim[4])
{
    for (int d = 0; d < 4; d++) {
        dim[d] = 1;
        for (int i = 0; i < s->n_masks; i++)
            dim[d] = s->mask[i].dim[d] > dim[d] ? s->mask[i].dim[d] : dim[d];
    }
}

int ot_attend_call(const ot_attend *s, optune_call *call, optune_err *err)
{
    int64_t masks[4];
    mask_dims(s, masks);
    const optune_tensor known[] = {
        shape_of(s->dtype, (const int64_t[]){s->b, s->hq, s->sq, s->d}),
        shape_of(s->dtype, (const int64_t[]){s->b, s->hkv, s->skv, s->d}),
        shape_of(s->dtype, (const int64_t[]){s->b, s->hkv, s->skv, s->dv}),
        shape_of(s->dtype, masks),
    };
    const optune_tensor *type = s->open ? s->type : known;
    ot_text text = {0};
    ot_text_add(&text, "attention(");
    for (int i = 0; i < (s->n_masks && !s->causal ? 4 : 3); i++) {
        ot_text_add(&text, i ? ", " : "");
        ot_tensor_print(&type[i], &text);
    }
    ot_text attrs = {0};
    attributes(s, &attrs);
    ot_text_printf(&text, "%s%s)", attrs.n ? ", " : "", ot_text_str(&attrs));
    const int status = ot_call_parse(ot_text_str(&text), call, err);
    ot_text_release(&attrs);
    ot_text_release(&text);
    return status;
}

/* ---- the rewriting ----------------------------------------------------------------------- */

static const char *stem_of(const writing *w, const ot_attend *s)
{
    return w->make.g->node[s->root].name;
}

static int call(writing *w, const ot_attend *s, const char *what, const char *op, int n,
                const int *in, const char *attrs)
{
    char name[OPTUNE_NAME_SIZE];
    for (int i = 0; i < n; i++)
        if (in[i] < 0)
            return in[i];
    ot_rebuild_name(&w->make, stem_of(w, s), what, name);
    return ot_rebuild_note(
        &w->make, optune_graph_call(w->make.to->graph, name, op, in, n, attrs, w->make.err),
        -1);
}

/* A value of `type` with these dims; what is open has them but for those of 1 in front. */
static int viewed(writing *w, const ot_attend *s, const char *what, int value,
                  const optune_tensor *type, const int64_t *dim)
{
    char name[OPTUNE_NAME_SIZE];
    const optune_tensor as = shape_of(type->dtype, dim);
    if (value >= 0 && s->open && type->rank < as.rank) {
        ot_text attrs = {0};
        ot_text_printf(&attrs, "axis=0, num_newaxis=%d", as.rank - type->rank);
        value = call(w, s, what, "expand_dims", 1, &value, ot_text_str(&attrs));
        ot_text_release(&attrs);
    }
    if (value < 0 || s->open || same_dims(type, &as))
        return value;
    return ot_rebuild_view(&w->make, value, &as,
                           ot_rebuild_name(&w->make, stem_of(w, s), what, name));
}

static int operand(writing *w, const ot_attend *s, int which)
{
    static const char *const what[] = {"q", "k", "v"};
    const ot_attend_side *side = &s->side[which];
    optune_tensor type = *ot_graph_type_of(w->make.g, side->from);
    const optune_tensor from = type;
    int value = ot_rebuild_home(&w->make, side->from);
    if (side->n_axes) {
        ot_text attrs = {0};
        for (int d = 0; d < side->n_axes; d++) {
            ot_text_printf(&attrs, "%s%d", d ? "," : "axes=[", side->axes[d]);
            type.dim[d] = from.dim[side->axes[d]];
        }
        ot_text_add(&attrs, "]");
        value = call(w, s, what[which], "transpose", 1, &value, ot_text_str(&attrs));
        ot_text_release(&attrs);
    }
    const int64_t heads = which == OT_ATTEND_Q ? s->hq : s->hkv;
    return viewed(w, s, what[which], value, &type,
                  (const int64_t[]){s->b, heads, side->rows, side->columns});
}

static int number_as(writing *w, const ot_attend *s, optune_dtype dtype, double value)
{
    char name[OPTUNE_NAME_SIZE];
    double element[2] = {0};
    const optune_tensor type = {.dtype = dtype};
    ot_text text = {0};
    ot_tensor_print(&type, &text);
    ot_elements_set(dtype, element, 0, 1, &value);
    const int id = optune_graph_constant(w->make.to->graph,
                                         ot_rebuild_name(&w->make, stem_of(w, s), "fill", name),
                                         ot_text_str(&text), element, w->make.err);
    ot_text_release(&text);
    return ot_rebuild_note(&w->make, id, -1);
}

static int number(writing *w, const ot_attend *s, double value)
{
    return number_as(w, s, s->dtype, value);
}

static bool same_masks(const ot_attend *a, const ot_attend *b)
{
    bool same = a->n_masks == b->n_masks && a->causal == b->causal &&
                optune_dtype_equal(a->dtype, b->dtype);
    for (int i = 0; same && i < a->n_masks; i++) {
        const ot_attend_mask *x = &a->mask[i], *y = &b->mask[i];
        same = x->value.node == y->value.node && x->value.output == y->value.output &&
               x->where == y->where && x->other == y->other && x->fill == y->fill &&
               x->minus == y->minus && x->n_wide == y->n_wide &&
               !memcmp(x->wide, y->wide, sizeof x->wide) &&
               !memcmp(x->dim, y->dim, sizeof x->dim);
    }
    return same;
}

/* The least finite number of a float dtype. */
static double lowest(optune_dtype dtype)
{
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        return -0x1.fep127;
    return dtype.bits == 16 ? -65504 : dtype.bits == 32 ? -FLT_MAX : -DBL_MAX;
}

/* What stands for a number that a narrower dtype does not hold: as little, and finite as it is. */
static double held(optune_dtype dtype, double value)
{
    return isfinite(value) && value < lowest(dtype) ? lowest(dtype) : value;
}

/* A mask in the dtype of the call, of the dims that it is broadcast to with the batch as one. */
static int mask_value(writing *w, const ot_attend *s, const ot_attend_mask *m)
{
    optune_tensor type = *ot_graph_type_of(w->make.g, m->value);
    int value = ot_rebuild_home(&w->make, m->value);
    char name[16];
    ot_text attrs = {0};
    if (m->n_wide) {
        type.rank = m->n_wide;
        for (int d = 0; d < m->n_wide; d++) {
            ot_text_printf(&attrs, "%s%lld", d ? "," : "shape=[", (long long)m->wide[d]);
            type.dim[d] = optune_dim_of(m->wide[d]);
        }
        ot_text_add(&attrs, "]");
        value = call(w, s, "mask", "broadcast_to", 1, &value, ot_text_str(&attrs));
        ot_text_clear(&attrs);
    }
    value = viewed(w, s, "mask", value, &type, m->dim);
    if (!m->where && m->minus)
        value = call(w, s, "mask", "negative", 1, &value, NULL);
    if (!m->where && !optune_dtype_equal(type.dtype, s->dtype)) {
        if (lowest(type.dtype) < lowest(s->dtype)) {
            const int least[] = {value, number_as(w, s, type.dtype, lowest(s->dtype))};
            const int never[] = {value, number_as(w, s, type.dtype, -INFINITY)};
            const int all[] = {call(w, s, "mask", "equal", 2, never, NULL), value,
                               call(w, s, "mask", "maximum", 2, least, NULL)};
            value = call(w, s, "mask", "where", 3, all, NULL);
        }
        ot_print_dtype(s->dtype, name, sizeof name);
        ot_text_printf(&attrs, "dtype=%s", name);
        value = call(w, s, "mask", "cast", 1, &value, ot_text_str(&attrs));
    }
    ot_text_release(&attrs);
    return value;
}

/* What is added to the scores. */
static int mask(writing *w, int nth)
{
    const ot_attend *s = &w->site[nth].as.attend;
    for (int i = 0; i < nth; i++)
        if (w->mask[i] >= 0 && same_masks(&w->site[i].as.attend, s))
            return w->mask[i];
    int all = -1;
    for (int i = s->n_masks - 1; i >= 0; i--) {
        const ot_attend_mask *m = &s->mask[i];
        const int value = mask_value(w, s, m);
        const bool first = i == s->n_masks - 1;
        if (m->where) {
            const int kept = first ? number(w, s, 0) : all;
            const int fill = number(w, s, held(s->dtype, m->fill));
            all = call(w, s, "mask", "where", 3,
                       m->other ? (const int[]){value, fill, kept}
                                : (const int[]){value, kept, fill},
                       NULL);
        } else {
            all = first ? value : call(w, s, "mask", "add", 2, (const int[]){all, value}, NULL);
        }
        if (all < 0)
            return all;
    }
    return w->mask[nth] = all;
}

static int attend(writing *w, int nth)
{
    const ot_attend *s = &w->site[nth].as.attend;
    const ot_node *root = &w->make.g->node[s->root];
    int in[4] = {-1, -1, -1, -1}, n = 0, status = OPTUNE_OK;
    for (; n < OT_ATTEND_SIDES && status >= 0; n++)
        status = in[n] = operand(w, s, n);
    if (status >= 0 && s->n_masks && !s->causal)
        status = in[n++] = mask(w, nth);
    if (status < 0)
        return status;
    ot_text attrs = {0};
    attributes(s, &attrs);
    const bool is_root = s->open && !s->flat;
    int id = is_root ? optune_graph_call(w->make.to->graph, root->name, "attention", in, n,
                                         ot_text_str(&attrs), w->make.err)
                     : call(w, s, "attention", "attention", n, in, ot_text_str(&attrs));
    ot_text_release(&attrs);
    if (id < 0)
        return id;
    if (s->flat)
        id = optune_graph_call(w->make.to->graph, root->name, "reshape", &id, 1, OT_ATTEND_FLAT,
                               w->make.err);
    else if (!s->open)
        id = ot_rebuild_view(&w->make, id, &root->out[0], root->name);
    return w->make.home[s->root] = ot_rebuild_note(&w->make, id, s->root);
}

static void need(writing *w, ot_value value)
{
    w->needed[value.node] = true;
}

/* From the outputs back, so that what only a site needed is none. */
static void find_needed(writing *w)
{
    const optune_graph *g = w->make.g;
    const int n = ot_graph_output_values(g, NULL, 0);
    ot_value *out = ot_alloc((size_t)(n + 1) * sizeof *out);
    ot_graph_output_values(g, out, n);
    for (int i = 0; i < n; i++)
        need(w, out[i]);
    free(out);
    for (int id = g->n - 1; id >= 0; id--) {
        const ot_node *node = &g->node[id];
        if (!w->needed[id])
            continue;
        if (w->nth[id] < 0) {
            for (int i = 0; i < node->n_in; i++)
                need(w, node->in[i]);
            continue;
        }
        const ot_site *site = &w->site[w->nth[id]];
        if (site->kind == OT_SITE_CHAIN) {
            need(
                w,
                site->as.chain.data); /* weights are constants, which are made when asked for */
            continue;
        }
        const ot_attend *s = &site->as.attend;
        for (int i = 0; i < OT_ATTEND_SIDES; i++)
            need(w, s->side[i].from);
        for (int i = 0; i < s->n_masks && !s->causal; i++)
            need(w, s->mask[i].value);
    }
}

static int write_call(writing *w, int id)
{
    const ot_node *node = &w->make.g->node[id];
    int in[OPTUNE_MAX_INPUTS];
    if (w->nth[id] >= 0)
        return w->site[w->nth[id]].kind == OT_SITE_CHAIN
                   ? ot_chain_write(&w->make, &w->site[w->nth[id]].as.chain)
                   : attend(w, w->nth[id]);
    for (int i = 0; i < node->n_in; i++) {
        in[i] = ot_rebuild_home(&w->make, node->in[i]);
        if (in[i] < 0)
            return in[i];
    }
    return ot_rebuild_same(&w->make, id, in);
}

static int write_graph(writing *w)
{
    const optune_graph *g = w->make.g;
    optune_graph *to = w->make.to->graph;
    int status = OPTUNE_OK;
    for (int id = 0; id < g->n && status >= 0; id++) {
        const ot_node *node = &g->node[id];
        if (node->kind == OT_NODE_VAR)
            status = w->make.home[id] =
                ot_rebuild_leaf(&w->make, id, node->name, &node->out[0]);
        else if (node->kind == OT_NODE_CALL && w->needed[id])
            status = write_call(w, id);
    }
    const int n = ot_graph_output_values(g, NULL, 0);
    ot_value *out = ot_alloc((size_t)(n + 1) * sizeof *out);
    ot_graph_output_values(g, out, n);
    for (int i = 0; i < n && status >= 0; i++) {
        const int id = ot_rebuild_home(&w->make, out[i]);
        status = id < 0 ? id : optune_graph_output(to, id, w->make.err);
    }
    free(out);
    if (status >= 0)
        status = optune_graph_infer(to, w->make.err);
    return status > 0 && ot_graph_all_known(g)
               ? optune_fail(w->make.err, OPTUNE_ETYPE, "its types do not follow")
               : status;
}

int ot_graph_attend(const optune_graph *g, const ot_attend *sites, int n, ot_relaid *to,
                    optune_err *err)
{
    ot_site *all = ot_alloc((size_t)(n + 1) * sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = (ot_site){OT_SITE_ATTENTION, {.attend = sites[i]}};
    const int status = ot_graph_as_calls(g, all, n, to, err);
    free(all);
    return status;
}

int ot_graph_as_calls(const optune_graph *g, const ot_site *sites, int n, ot_relaid *to,
                      optune_err *err)
{
    size_t most = (size_t)n * OWN_NODES + 1 + (size_t)ot_graph_output_values(g, NULL, 0);
    writing w = {.site = sites,
                 .n = n,
                 .mask = ot_alloc((size_t)(n + 1) * sizeof *w.mask),
                 .needed = ot_alloc((size_t)(g->n + 1) * sizeof *w.needed),
                 .nth = ot_alloc((size_t)(g->n + 1) * sizeof *w.nth)};
    for (int id = 0; id < g->n; id++) {
        most += 2 + (size_t)g->node[id].n_in;
        w.nth[id] = -1;
    }
    for (int i = 0; i < n; i++) {
        w.mask[i] = -1;
        w.nth[ot_site_root(&sites[i])] = i;
    }
    ot_rebuild_start(&w.make, g, most, to, err);
    find_needed(&w);
    const int status = write_graph(&w);
    free(w.mask);
    free(w.needed);
    free(w.nth);
    ot_rebuild_end(&w.make, status);
    return status;
}
