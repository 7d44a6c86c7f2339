/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to values, and what a node says of its inputs and outputs. Calls on them are call.c's.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

/* ---- values ----------------------------------------------------------------------------- */

ot_onnx_value *ot_onnx_new(ot_onnx *m)
{
    ot_onnx_value *value = ot_arena_alloc(&m->arena, sizeof *value);
    value->type.rank = -1;
    value->node = -1;
    value->number = m->values.n;
    ot_rows_push(&m->values, value);
    return value;
}

ot_onnx_value *ot_onnx_named(const ot_onnx *m, const char *name)
{
    for (const ot_onnx_scope *at = m->at; at; at = at->outer) {
        const int *number = ot_names_find(&at->names, name);
        if (number)
            return (ot_onnx_value *)(uintptr_t)m->values.row[*number];
    }
    return NULL;
}

void ot_onnx_name(ot_onnx *m, const char *name, ot_onnx_value *value)
{
    ot_names_add(&m->at->names, name, value->number);
}

const char *ot_onnx_stem(ot_onnx *m, const char *name)
{
    const size_t n = strlen(name), most = 40;
    const char *from = name + (n > most ? n - most : 0);
    char *stem =
        ot_arena_printf(&m->arena, "%s%s", isalpha((unsigned char)*from) ? "" : "n", from);
    for (char *c = stem; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    return stem;
}

const char *ot_onnx_type_text(const optune_tensor *type, ot_text *text)
{
    ot_text_clear(text);
    ot_tensor_print(type, text);
    return ot_text_str(text);
}

int ot_onnx_put(ot_onnx *m, ot_onnx_value *value, const char *stem, optune_err *err)
{
    if (value->node >= 0)
        return value->node;
    if (value->sizes)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "sizes that only a run knows are no tensor here: bind the model's "
                           "symbolic dims with --bind DIM=N");
    if (value->sequence)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "a sequence is no tensor");
    ot_text text = {0};
    value->node = optune_graph_constant(m->g, ot_graph_fresh_name(m->g, stem),
                                        ot_onnx_type_text(&value->type, &text), NULL, err);
    ot_text_release(&text);
    if (value->node >= 0) {
        m->g->node[value->node].data = value->data;
        m->g->node[value->node].backing = value->backing;
        value->lent = true;
    }
    return value->node;
}

const optune_tensor *ot_onnx_type(const ot_onnx *m, const ot_onnx_value *value)
{
    ot_value at;
    return value->node >= 0 && ot_graph_tensor(m->g, value->node, &at)
               ? ot_graph_type_of(m->g, at)
               : &value->type;
}

bool ot_onnx_floating(const ot_onnx_node *n, const ot_onnx_value *value)
{
    const int code = ot_onnx_type(n->m, value)->dtype.code;
    return code == OPTUNE_DTYPE_FLOAT || code == OPTUNE_DTYPE_BFLOAT;
}

/* ---- what a node has -------------------------------------------------------------------- */

int ot_onnx_refuse(ot_onnx_node *n, const char *format, ...)
{
    char reason[OPTUNE_ERR_SIZE / 2];
    va_list list;
    va_start(list, format);
    ot_format_list(reason, sizeof reason, format, list);
    va_end(list);
    return optune_fail(n->err, OPTUNE_EUNSUPPORTED, "%s", reason);
}

ot_onnx_value *ot_onnx_in(const ot_onnx_node *n, int i)
{
    const char *name = i < (int)n->proto->n_input ? n->proto->input[i] : "";
    return *name ? ot_onnx_named(n->m, name) : NULL;
}

ot_onnx_value *ot_onnx_need(ot_onnx_node *n, int i)
{
    ot_onnx_value *value = ot_onnx_in(n, i);
    if (!value)
        optune_fail(n->err, OPTUNE_ETYPE, "input %d is missing", i + 1);
    return value;
}

bool ot_onnx_wants(const ot_onnx_node *n, int i)
{
    const char *name = i < (int)n->proto->n_output ? n->proto->output[i] : "";
    return *name && ot_names_find(&n->m->at->used, name);
}

bool ot_onnx_reader(const ot_onnx_node *n, ot_onnx_node *reader)
{
    const int *at = ot_names_find(&n->m->at->used, n->proto->output[0]);
    const ot_onnx_use use = at ? n->m->at->use[*at] : (ot_onnx_use){0};
    if (use.count != 1 || use.node <= n->index)
        return false;
    *reader = *n;
    reader->index = use.node;
    reader->proto = ot_onnx_proto_at(n->m, use.node);
    return true;
}

int ot_onnx_give(ot_onnx_node *n, int i, ot_onnx_value *value)
{
    if (!value)
        return n->err->status < 0 ? n->err->status : ot_onnx_refuse(n, "it cannot be computed");
    if (i < (int)n->proto->n_output && *n->proto->output[i])
        ot_onnx_name(n->m, n->proto->output[i], value);
    return OPTUNE_OK;
}

const void *ot_onnx_look(ot_onnx_node *n, ot_onnx_value *value)
{
    if (value->backing && !value->held) {
        if (ot_backing_hold(value->backing, n->err) < 0)
            return NULL;
        value->held = true;
    }
    return value->data;
}

int ot_onnx_rank(ot_onnx_node *n, const ot_onnx_value *value)
{
    const int rank = ot_onnx_type(n->m, value)->rank;
    if (rank < 0)
        ot_onnx_refuse(n, "how many dims its input has is not known");
    return rank;
}

bool ot_onnx_dims(ot_onnx_node *n, const ot_onnx_value *value, int64_t dim[OPTUNE_MAX_RANK])
{
    return ot_onnx_dims_at(n, value, ~0u, dim);
}

/* With quotes for a shell where the name has what one would take as its own. */
static int ask_for(ot_onnx_node *n, const char *dim)
{
    const char *quote = dim[strcspn(dim, " *?()[]{}$&;|<>\"\\!~#")] ? "'" : "";
    return ot_onnx_refuse(n, "it needs the value of dim '%.60s': --bind %s%.60s=1%s, say", dim,
                          quote, dim, quote);
}

/* The names in what a dim is computed of, as the model has them; false: they are not all its. */
static bool parts_of(const ot_onnx_node *n, const char *text, ot_text *parts)
{
    const char *name;
    for (int length; (name = ot_dim_next_name(text, &length)); text = name + length) {
        char word[OPTUNE_DIM_NAME_SIZE];
        snprintf(word, sizeof word, "%.*s", length, name);
        const ot_onnx_dim_name *called = ot_onnx_dim_named(n->m, word);
        if (!called)
            return false;
        ot_text_printf(parts, "%s'%.60s'", parts->n ? ", " : "", ot_onnx_called(called));
    }
    return parts->n > 0;
}

int ot_onnx_ask(ot_onnx_node *n, const optune_dim *dim, int at)
{
    const ot_onnx_dim_name *called = *dim->name ? ot_onnx_dim_named(n->m, dim->name) : NULL;
    const char *text = optune_dim_text(dim);
    char where[40] = "a dim";
    ot_text parts = {0};
    if (called)
        return ask_for(n, ot_onnx_called(called));
    if (at >= 0)
        snprintf(where, sizeof where, "dim %d of its input", at);
    if (ot_name_computed(dim->name) && parts_of(n, text, &parts))
        ot_onnx_refuse(n,
                       "it needs the value of %s, which is %.100s: bind %.300s to numbers, "
                       "with --bind DIM=N",
                       where, text, ot_text_str(&parts));
    else if (*dim->name || at < 0)
        ot_onnx_refuse(n,
                       "it needs a number for %s, which follows from "
                       "values or from dims that are not bound: only a run knows it",
                       where);
    else
        ot_onnx_refuse(n,
                       "%s is not known: bind the model's symbolic dims "
                       "with --bind DIM=N",
                       where);
    ot_text_release(&parts);
    return n->err->status;
}

bool ot_onnx_dims_at(ot_onnx_node *n, const ot_onnx_value *value, unsigned wanted,
                     int64_t dim[OPTUNE_MAX_RANK])
{
    const optune_tensor *type = ot_onnx_type(n->m, value);
    if (ot_onnx_rank(n, value) < 0)
        return false;
    for (int d = 0; d < type->rank; d++) {
        dim[d] = optune_dim_known(&type->dim[d]) ? type->dim[d].min : -1;
        if (dim[d] >= 0 || !(wanted >> d & 1))
            continue;
        ot_onnx_ask(n, &type->dim[d], d);
        return false;
    }
    return true;
}

int ot_onnx_axis(ot_onnx_node *n, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    ot_onnx_refuse(n, "there is no axis %lld in %d dims", (long long)axis, rank);
    return -1;
}
