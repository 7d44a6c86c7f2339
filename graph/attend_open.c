/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention in a graph whose batches, queries or keys are known at run time.
 *
 * The one idea: what attend.c finds is found at two sizes of all names, in copies of the graph with
 * the same node numbers. That only guesses; the proof is made of the graph's own types. Queries and
 * keys are by name what the softmax and both products have, and so are rows and columns of all that
 * an operand goes through on its way: a slice that is the whole at those two sizes has another
 * name. Over the operands' own types the call may learn nothing of them, and its output has to be
 * what the graph has there. So equal dims are equal at any size.
 */
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "graph/attend.h"
#include "graph/look.h"

enum { TURNS = 2, NAMES = 16 };

typedef struct named {
    char name[OPTUNE_DIM_NAME_SIZE];
    int64_t min, max;
} named;

/* Those in a type's dims, and what is known of each; false: too many, or a dim has none. */
static bool add_names(const optune_tensor *type, named *all, int *n)
{
    for (int d = 0; d < type->rank; d++) {
        const optune_dim *dim = &type->dim[d];
        const char *text = optune_dim_text(dim), *name;
        if (optune_dim_known(dim))
            continue;
        if (!*text)
            return false;
        for (int size, k; (name = ot_dim_next_name(text, &size)); text = name + size) {
            named one = {.min = 0, .max = OPTUNE_DIM_MAX};
            if (size >= (int)sizeof one.name)
                return false;
            memcpy(one.name, name, (size_t)size);
            for (k = 0; k < *n && strcmp(all[k].name, one.name) != 0; k++)
                ;
            if (k == NAMES)
                return false;
            if (k == *n)
                all[(*n)++] = one;
            if (!strcmp(dim->name, one.name)) {
                all[k].min = dim->min > all[k].min ? dim->min : all[k].min;
                all[k].max = dim->max < all[k].max ? dim->max : all[k].max;
            }
        }
    }
    return true;
}

/* A size of the nth name that others have not, where there are so many, and not 1. */
static int64_t size_of(const named *one, int nth, int turn)
{
    static const int64_t prime[] = {113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173,
                                    179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233,
                                    239, 241, 251, 257, 263, 269, 271, 277, 281, 283};
    const int64_t low = one->max > 1 && one->min < 2 ? 2 : one->min;
    const int64_t size = prime[(nth * TURNS + turn) % (int)OT_COUNT(prime)];
    return size >= low && size <= one->max ? size
           : one->max == OPTUNE_DIM_MAX    ? low + size
                                           : low + size % (one->max - low + 1);
}

/* The sites at one size of everything; negative: the graph does not allow it. */
static int find_at(const optune_graph *g, const named *all, int n, int turn, ot_attend **sites)
{
    optune_err err = {0};
    optune_graph *at = ot_graph_copy(g, false, &err);
    int status = at ? OPTUNE_OK : OPTUNE_ENOMEM;
    *sites = NULL;
    for (int i = 0; i < n && status >= 0; i++)
        status = optune_graph_bind(at, all[i].name, size_of(&all[i], i, turn), &err);
    if (status >= 0)
        status = optune_graph_infer(at, &err);
    if (status >= 0)
        status = ot_graph_all_known(at) ? ot_attends_known(at, sites) : 0;
    optune_graph_close(at);
    return status;
}

static bool same_value(ot_value a, ot_value b)
{
    return a.node == b.node && a.output == b.output;
}

static bool same_site(const ot_attend *a, const ot_attend *b)
{
    bool same = a->root == b->root && a->softmax == b->softmax && a->product == b->product &&
                a->n_masks == b->n_masks && a->scale == b->scale && a->causal == b->causal &&
                a->guarded == b->guarded;
    for (int i = 0; i < OT_ATTEND_SIDES && same; i++)
        same = same_value(a->side[i].from, b->side[i].from) &&
               a->side[i].n_axes == b->side[i].n_axes &&
               !memcmp(a->side[i].axes, b->side[i].axes, sizeof a->side[i].axes);
    for (int i = 0; i < a->n_masks && same; i++)
        same = same_value(a->mask[i].value, b->mask[i].value) &&
               a->mask[i].where == b->mask[i].where && a->mask[i].other == b->mask[i].other &&
               a->mask[i].minus == b->mask[i].minus && a->mask[i].fill == b->mask[i].fill;
    return same;
}

static bool same_dim(const optune_dim *a, const optune_dim *b)
{
    return a->min == b->min && a->max == b->max &&
           (optune_dim_known(a) || (*a->name && !strcmp(a->name, b->name)));
}

static bool same_type(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank && optune_dtype_equal(a->dtype, b->dtype);
    for (int d = 0; d < a->rank && same; d++)
        same = same_dim(&a->dim[d], &b->dim[d]);
    return same;
}

static optune_tensor operand_type(const optune_graph *g, const ot_attend_side *side)
{
    const optune_tensor *from = ot_graph_type_of(g, side->from);
    optune_tensor type = *from;
    for (int d = 0; d < side->n_axes; d++)
        type.dim[d] = from->dim[side->axes[d]];
    return type;
}

/* What is broadcast to scores has of each dim, from the last one on, all that they have, or one. */
static bool add_mask(const optune_graph *g, ot_attend *s, ot_value value)
{
    const optune_dim *const full[] = {&s->type[0].dim[0], &s->type[0].dim[1],
                                      &s->type[0].dim[2], &s->type[1].dim[2]};
    const optune_tensor *type = ot_graph_type_of(g, value);
    for (int d = 4 - type->rank, k = 0; k < type->rank; d++, k++) {
        if (optune_dim_known(&type->dim[k]) && type->dim[k].min == 1)
            continue;
        if (d < 0 || !same_dim(&type->dim[k], full[d]))
            return false;
        s->type[3].dim[d] = *full[d];
    }
    return type->rank <= 4;
}

/* All masks together, which are no operand where they say no more than `causal` does. */
static bool mask_type(const optune_graph *g, ot_attend *s)
{
    s->type[3] = (optune_tensor){.dtype = s->dtype, .rank = 4};
    for (int d = 0; d < 4; d++)
        s->type[3].dim[d] = optune_dim_of(1);
    bool fits = true;
    for (int i = 0; i < s->n_masks && fits; i++)
        fits = !s->mask[i].n_wide && add_mask(g, s, s->mask[i].value) &&
               (!s->mask[i].times || (s->causal && add_mask(g, s, s->mask[i].factor)));
    return fits;
}

/* What the call gives is what the root does, or is where batches and heads are one dim. */
static bool gives_root(const optune_graph *g, ot_attend *s, const optune_tensor *out)
{
    const optune_tensor *root = &g->node[s->root].out[0];
    if (same_type(out, root))
        return true;
    ot_text text = {0};
    optune_call *view = ot_alloc(sizeof *view);
    ot_text_add(&text, "reshape(");
    ot_tensor_print(out, &text);
    ot_text_printf(&text, ", %s)", OT_ATTEND_FLAT);
    s->flat =
        ot_call_parse(ot_text_str(&text), view, NULL) >= 0 && same_type(&view->output[0], root);
    ot_text_release(&text);
    free(view);
    return s->flat;
}

/* By number or by name; ranges may be of what else is known there. */
static bool equal(const optune_dim *a, const optune_dim *b)
{
    return optune_dim_known(a) ? optune_dim_known(b) && a->min == b->min
                               : *a->name && !strcmp(a->name, b->name);
}

static bool is_matrix(const optune_tensor *type, const optune_dim *rows,
                      const optune_dim *columns)
{
    return type->rank >= 2 && equal(&type->dim[type->rank - 2], rows) &&
           equal(&type->dim[type->rank - 1], columns);
}

/* What is joined or repeated is so by numbers, and otherwise as it was. */
static bool repeats_known(const optune_graph *g, const ot_node *node)
{
    const optune_tensor *out = &node->out[0];
    for (int i = 0; i < node->n_in; i++) {
        const optune_tensor *in = ot_graph_type_of(g, node->in[i]);
        if (i && !ot_node_is(node, "concatenate"))
            break; /* like what it is broadcast */
        if (in->rank != out->rank)
            return false;
        for (int d = 0; d < in->rank; d++)
            if (!equal(&in->dim[d], &out->dim[d]) &&
                (d >= in->rank - 2 || !optune_dim_known(&in->dim[d]) ||
                 !optune_dim_known(&out->dim[d])))
                return false;
    }
    return true;
}

/* A part of known heads that has all of the rest. */
static bool part_known(const optune_graph *g, const ot_node *node)
{
    const optune_tensor *in = ot_graph_type_of(g, node->in[0]), *out = &node->out[0];
    bool known = in->rank == out->rank;
    for (int d = 0; d < in->rank && known; d++)
        known = equal(&in->dim[d], &out->dim[d]) ||
                (d == in->rank - 3 && optune_dim_known(&in->dim[d]) &&
                 optune_dim_known(&out->dim[d]));
    return known;
}

/* All that is between a side and the product that reads it has the side's rows and columns; `flip`:
 * as columns and rows. */
static bool reads(const optune_graph *g, const ot_attend *s, int which, ot_value value,
                  bool flip)
{
    const ot_attend_side *side = &s->side[which];
    const optune_dim *rows = &s->type[which].dim[2], *columns = &s->type[which].dim[3];
    while (!same_value(value, side->from)) {
        const ot_node *node = &g->node[value.node];
        double number;
        int next = 0;
        if (node->kind != OT_NODE_CALL ||
            !is_matrix(&node->out[0], flip ? columns : rows, flip ? rows : columns))
            return false;
        if (ot_node_is(node, "transpose")) {
            if (side->n_axes) /* the side is turned so; behind it dims are as they were */
                return true;
            flip = !flip;
        } else if (ot_node_is(node, "multiply")) {
            next = ot_graph_number(g, node->in[0], &number);
        } else if (ot_node_is(node, "strided_slice")) {
            if (!part_known(g, node))
                return false;
        } else if (ot_node_is(node, "concatenate") || ot_node_is(node, "broadcast_to") ||
                   ot_node_is(node, "broadcast_to_like")) {
            if (!repeats_known(g, node))
                return false;
            for (int i = 1; i < node->n_in && ot_node_is(node, "concatenate"); i++) {
                const ot_node *part = &g->node[node->in[i].node];
                if (ot_node_is(part, "strided_slice") && !part_known(g, part))
                    return false;
            }
        }
        value = node->in[next];
    }
    return true;
}

/* Whether the second operand is read as columns by rows. */
static bool second_flips(const ot_node *product)
{
    return ot_node_is(product, "batch_matmul") &&
           optune_call_int(product->call, "transpose_b") == 0;
}

/* Heads and depths are numbers; queries and keys are the same, by name, wherever they are. */
static bool same_lengths(const optune_graph *g, const ot_attend *s)
{
    const ot_node *root = &g->node[s->root], *product = &g->node[s->product];
    const optune_dim *queries = &s->type[OT_ATTEND_Q].dim[2];
    const optune_dim *keys = &s->type[OT_ATTEND_K].dim[2];
    bool same = equal(keys, &s->type[OT_ATTEND_V].dim[2]);
    for (int i = 0; i < OT_ATTEND_SIDES; i++)
        same = same && optune_dim_known(&s->type[i].dim[1]) &&
               optune_dim_known(&s->type[i].dim[3]);
    const bool flip_q = ot_node_is(product, "batch_matmul") &&
                        optune_call_int(product->call, "transpose_a") != 0;
    return same && is_matrix(&product->out[0], queries, keys) &&
           is_matrix(&g->node[s->softmax].out[0], queries, keys) &&
           is_matrix(ot_graph_type_of(g, root->in[0]), queries, keys) &&
           reads(g, s, OT_ATTEND_Q, product->in[0], flip_q) &&
           reads(g, s, OT_ATTEND_K, product->in[1], second_flips(product)) &&
           reads(g, s, OT_ATTEND_V, root->in[1], !second_flips(root));
}

/* With the types of the graph, where these are enough. */
static bool settle(const optune_graph *g, ot_attend *s)
{
    optune_call *call = ot_alloc(sizeof *call);
    bool fits = true;
    s->open = true;
    for (int i = 0; i < OT_ATTEND_SIDES; i++) {
        s->type[i] = operand_type(g, &s->side[i]);
        fits = fits && s->type[i].rank == 4;
    }
    fits = fits && same_lengths(g, s) && mask_type(g, s) &&
           ot_attend_call(s, call, NULL) >= 0 && gives_root(g, s, &call->output[0]);
    for (int i = 0; fits && i < call->n_inputs; i++)
        fits = same_type(&call->input[i].type, &s->type[i]);
    free(call);
    return fits;
}

static int attends_open(const optune_graph *g, ot_attend **sites)
{
    named all[NAMES];
    ot_attend *at[TURNS] = {NULL};
    int n = 0, count[TURNS] = {0}, found = 0;
    bool named_all = true;
    for (int id = 0; id < g->n && named_all; id++)
        if (g->node[id].kind == OT_NODE_VAR || g->node[id].kind == OT_NODE_CONST)
            named_all = add_names(&g->node[id].out[0], all, &n);
    for (int turn = 0; turn < TURNS && named_all; turn++) {
        count[turn] = find_at(g, all, n, turn, &at[turn]);
        named_all = count[turn] > 0;
    }
    for (int i = 0; i < count[0] && named_all; i++)
        for (int k = 0; k < count[1]; k++)
            if (same_site(&at[0][i], &at[1][k]) && settle(g, &at[0][i])) {
                at[0][found++] = at[0][i];
                break;
            }
    free(at[1]);
    *sites = at[0];
    return found;
}

int ot_graph_attends(const optune_graph *g, ot_attend **sites)
{
    *sites = NULL;
    return !ot_attends_at_most(g)  ? 0
           : ot_graph_all_known(g) ? ot_attends_known(g, sites)
                                   : attends_open(g, sites);
}
