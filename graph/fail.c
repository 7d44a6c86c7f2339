/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong, and where: "resnet.graph:12:9: reason", the line of the file, a caret. A graph
 * made by code has no lines: then the node is named.
 */
#include <string.h>

#include "graph/graph.h"

enum { WINDOW = 96 };

/* The line with its end cut off, moved so that the column is seen. */
static void show_line(const char *source, ot_text_spot place, ot_text *to)
{
    const char *line = source;
    for (int i = 1; i < place.line; i++) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    const int all = (int)strcspn(line, "\n");
    int from = place.column - 1 > WINDOW / 2 ? place.column - 1 - WINDOW / 2 : 0;
    if (from > 0 && all - from < WINDOW)
        from = all > WINDOW ? all - WINDOW : 0;
    const int n = all - from < WINDOW ? all - from : WINDOW;
    ot_text_add(to, from ? "\n  ..." : "\n  ");
    for (int i = 0; i < n; i++) {
        const char c = (unsigned char)line[from + i] < ' ' ? ' ' : line[from + i];
        ot_text_add_n(to, &c, 1);
    }
    ot_text_printf(to, "%s\n  %*s^", from + n < all ? "..." : "",
                   place.column - 1 - from + (from ? 3 : 0), "");
}

int ot_graph_fail_at(const optune_graph *g, ot_text_spot place, int status, const char *reason,
                     optune_err *err)
{
    if (place.line <= 0 || !g->source)
        return optune_fail(err, status, "%s", reason);
    ot_text text = {0};
    ot_text_printf(&text, "%s:%d:%d: %.600s", g->file, place.line, place.column, reason);
    show_line(g->source, place, &text);
    if (err) { /* not optune_fail: the caret needs its lines */
        err->status = status;
        snprintf(err->text, sizeof err->text, "%s", ot_text_str(&text));
    }
    ot_text_release(&text);
    return status;
}

int ot_graph_fail(const optune_graph *g, int node, int argument, int status, const char *reason,
                  optune_err *err)
{
    char named[OPTUNE_ERR_SIZE];
    snprintf(named, sizeof named, "node '%s': %.800s", g->node[node].name, reason);
    return ot_graph_fail_at(g, ot_graph_place(g, node, argument), status, named, err);
}

void ot_graph_say_types(const optune_tensor *given, const optune_tensor *type, ot_text *to)
{
    if (given->rank <= OPTUNE_MAX_RANK)
        ot_tensor_print(given, to);
    ot_text_add(to, given->rank <= OPTUNE_MAX_RANK ? " is not " : "what was given is not ");
    ot_tensor_print(type, to);
}

bool ot_graph_say_bounds(const optune_tensor *given, const optune_tensor *type, int d,
                         ot_text *to)
{
    const optune_dim *dim = &type->dim[d], *is = &given->dim[d];
    const char *name = optune_dim_text(dim);
    if (!optune_dim_known(is) || (is->min >= dim->min && is->min <= dim->max))
        return false;
    if (*name)
        ot_text_printf(to, ": '%s' (dim %d)", name, d);
    else
        ot_text_printf(to, ": dim %d", d);
    ot_text_printf(to, " is %lld, not %lld", (long long)is->min, (long long)dim->min);
    if (!optune_dim_known(dim))
        ot_text_printf(to, " to %lld", (long long)dim->max);
    return true;
}
