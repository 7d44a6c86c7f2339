/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bounds of dims were given, and why some are still wanted: those that nobody gave, those that
 * no relation tells, or smaller ones.
 */
#include <string.h>

#include "call/dim_expr.h"
#include "graph/graph.h"

/* ---- given before ------------------------------------------------------------------------- */

const char *ot_graph_dim_here(const optune_graph *g, const char *name)
{
    for (const ot_dim_called *c = g->called; c; c = c->next)
        if (!strcmp(c->whole, name))
            return c->name;
    return name;
}

int ot_graph_bound_before(const optune_graph *g, const char *name, optune_err *err)
{
    const char *here = ot_graph_dim_here(g, name);
    for (const ot_dim_given *given = g->given; given; given = given->next)
        if (!strcmp(given->name, here))
            return optune_fail(err, OPTUNE_EUSAGE,
                               "dim '%.80s' is bound to %lld already: bind it once", name,
                               (long long)given->value);
    return OPTUNE_OK;
}

void ot_graph_note_bound(optune_graph *g, const char *name, int64_t value)
{
    ot_dim_given *given = ot_arena_alloc(&g->arena, sizeof *given);
    *given =
        (ot_dim_given){g->given, ot_arena_copy(&g->arena, ot_graph_dim_here(g, name)), value};
    g->given = given;
}

/* ---- wanted ------------------------------------------------------------------------------- */

static bool is_leaf(const ot_node *node)
{
    return node->kind == OT_NODE_VAR || node->kind == OT_NODE_CONST;
}

static bool is_open(const optune_tensor *type)
{
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d].max == OPTUNE_DIM_MAX)
            return true;
    return false;
}

static void add_once(const char *word, int n, ot_text *to)
{
    ot_text one = {0};
    ot_text_printf(&one, "%.*s, ", n, word);
    if (!strstr(ot_text_str(to), one.s))
        ot_text_add(to, one.s);
    ot_text_release(&one);
}

/* "?n, ?h, ": the names in a dim, each once. */
static void add_names_in(const optune_dim *dim, ot_text *to)
{
    const char *text = optune_dim_text(dim), *name;
    char word[OPTUNE_DIM_NAME_SIZE + 1] = "?";
    for (int n; (name = ot_dim_next_name(text, &n)); text = name + n) {
        snprintf(word + 1, sizeof word - 1, "%.*s", n, name);
        add_once(word, (int)strlen(word), to);
    }
}

/* What can be bound of a type's dims; `all`: of ranges, too. */
static void add_names(const optune_tensor *type, bool all, ot_text *to)
{
    for (int d = 0; d < type->rank; d++) {
        const optune_dim *dim = &type->dim[d];
        if (optune_dim_known(dim) || (!all && dim->max != OPTUNE_DIM_MAX))
            continue;
        if (!*optune_dim_text(dim))
            add_once("those that are written ? by a name, as ?m", 41, to);
        add_names_in(dim, to);
    }
}

/* Without the end of a list. */
static const char *names_of(ot_text *names)
{
    if (names->n)
        names->s[names->n -= 2] = '\0';
    return ot_text_str(names);
}

static void say_large(const optune_tensor *type, ot_text *why)
{
    ot_text names = {0};
    ot_text_add(why, "has a value that is too large at the upper ends of its ranges, ");
    ot_tensor_print(type, why);
    add_names(type, true, &names);
    ot_text_printf(why, ": give dims smaller ones with --bind (%s)", names_of(&names));
    ot_text_release(&names);
}

bool ot_graph_unbounded(const optune_graph *g, const optune_tensor *type, ot_text *why)
{
    const optune_tensor *large = NULL;
    ot_text names = {0};
    if (ot_tensor_most_bytes(type) >= 0)
        return false;
    for (int id = 0; id < g->n; id++) {
        const optune_tensor *leaf = is_leaf(&g->node[id]) ? &g->node[id].out[0] : NULL;
        if (!leaf || ot_tensor_most_bytes(leaf) >= 0)
            continue;
        add_names(leaf, false, &names);
        if (!large && leaf->rank >= 0 && !is_open(leaf) &&
            leaf->dtype.code != OPTUNE_DTYPE_UNKNOWN)
            large = leaf;
    }
    if (names.n) {
        ot_text_printf(why, "has unknown dims: give them values or ranges with --bind (%s)",
                       names_of(&names));
    } else if (large) {
        say_large(large, why);
    } else if (type->rank < 0 || type->dtype.code == OPTUNE_DTYPE_UNKNOWN) {
        ot_text_add(why, "has a value whose type is not known: say it in the graph");
    } else if (is_open(type)) {
        add_names(type, false, &names);
        ot_text_printf(why,
                       "has dims that follow from values, or from sizes in a way that no "
                       "bound is known of: give them ranges with --bind (%s), or end the "
                       "graph in front of it",
                       names_of(&names));
    } else {
        say_large(type, why);
    }
    ot_text_release(&names);
    return true;
}

int ot_graph_need_bound(const optune_graph *g, int node, int output, optune_err *err)
{
    ot_text why = {0};
    if (!ot_graph_unbounded(g, &g->node[node].out[output], &why))
        return OPTUNE_OK;
    ot_text text = {0};
    ot_text_printf(&text, "it %s", ot_text_str(&why));
    const int status = ot_graph_fail(g, node, -1, OPTUNE_ETYPE, ot_text_str(&text), err);
    ot_text_release(&text);
    ot_text_release(&why);
    return status;
}

int ot_graph_within(const optune_tensor *type, const optune_tensor *is, optune_err *err)
{
    ot_text text = {0}, names = {0};
    bool within = true;
    for (int d = 0; d < type->rank && type->rank == is->rank; d++)
        if (ot_graph_say_bounds(is, type, d, &text)) {
            within = false;
            add_names_in(&type->dim[d], &names);
        }
    if (names.n)
        ot_text_printf(&text, ": give inputs sizes, or dims ranges with --bind, that fit (%s)",
                       names_of(&names));
    const int status =
        within ? OPTUNE_OK : optune_fail(err, OPTUNE_ETYPE, "its size%s", ot_text_str(&text));
    ot_text_release(&text);
    ot_text_release(&names);
    return status;
}
