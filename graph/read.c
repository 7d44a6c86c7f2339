/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph file to a graph. One statement a line, names before they are used, so one pass is
 * enough; a line goes on while a bracket is open. The grammar is in docs/formats.md. Every
 * failure shows its place.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/reader.h"

enum {
    MAX_FIELDS = 512,
    FILE_LIMIT = 16 << 20,
    MAX_DEPTH = 128, /* of calls in calls: reading one inside another takes stack */
};

/* ---- types and elements ------------------------------------------------------------------ */

/* The text of one tensor type, for the builder. */
static int take_type(ot_reader *r, char *text, size_t size)
{
    optune_tensor type;
    optune_err inner = {0};
    const char *end;
    ot_read_skip(r);
    const int status = ot_tensor_parse(r->p, &type, &end, &inner);
    if (status < 0)
        return ot_read_fail(r, end, status, "%s", inner.text);
    if ((size_t)(end - r->p) >= size)
        return ot_read_fail(r, r->p, OPTUNE_ELIMIT, "this type is too long");
    memcpy(text, r->p, (size_t)(end - r->p));
    text[end - r->p] = '\0';
    r->p = end;
    return OPTUNE_OK;
}

/* { 1, -2.5, inf } of a known type; one number stands for all elements. */
static int take_elements(ot_reader *r, const char *text, void **data)
{
    const char *at = r->p, *end;
    optune_tensor type;
    *data = NULL;
    if (!ot_read_open(r, '{'))
        return OPTUNE_OK;
    ot_tensor_parse(text, &type, &end, NULL);
    if (!optune_tensor_known(&type) || type.dtype.lanes != 1)
        return ot_read_fail(r, at, OPTUNE_ETYPE, "elements need a known type, not %s", text);
    const int64_t n = optune_tensor_elements(&type);
    if (n > FILE_LIMIT - r->elements) /* one number may stand for millions */
        return ot_read_fail(r, at, OPTUNE_ELIMIT,
                            "too many elements for a file: at most %d in all constants",
                            (int)FILE_LIMIT);
    r->elements += n;
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    int64_t k = 0;
    int status = OPTUNE_OK;
    do {
        ot_read_skip(r);
        const char *from = r->p;
        double x = 0;
        const size_t length = ot_read_real(from, &x);
        if (!length)
            status = ot_read_fail(r, from, OPTUNE_ESYNTAX, "a number is expected");
        else if (k == n)
            status = ot_read_fail(r, from, OPTUNE_ETYPE, "%s has only %lld elements", text,
                                  (long long)n);
        else
            value[k++] = x;
        r->p = from + length;
    } while (status >= 0 && ot_read_eat(r, ','));
    if (status >= 0 && !ot_read_close(r, '}'))
        status = ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "',' or '}' is expected after a number");
    if (status >= 0 && k != n && k != 1)
        status = ot_read_fail(r, at, OPTUNE_ETYPE, "%s has %lld elements, %lld are given", text,
                              (long long)n, (long long)k);
    if (status >= 0) {
        for (int64_t i = k; i < n; i++)
            value[i] = value[0];
        *data = ot_alloc((size_t)optune_tensor_bytes(&type) + 1);
        ot_elements_set(type.dtype, *data, 0, n, value);
    }
    free(value);
    return status;
}

/* ---- values ------------------------------------------------------------------------------ */

static int take_value(ot_reader *r, const char *name);

static int take_tensor(ot_reader *r, const char *name, const char *at, bool constant)
{
    char type[OPTUNE_TEXT_SIZE];
    void *data = NULL;
    optune_err inner = {0};
    int status = take_type(r, type, sizeof type);
    if (status >= 0 && constant)
        status = take_elements(r, type, &data);
    if (status >= 0) {
        status = constant ? optune_graph_constant(r->g, name, type, data, &inner)
                          : optune_graph_variable(r->g, name, type, &inner);
        status = ot_read_pass_on(r, at, status, &inner);
    }
    free(data);
    return status;
}

static int unknown_name(ot_reader *r, const char *at, const char *name)
{
    const char *names[256];
    int n = 0;
    for (int i = 0; i < r->g->n && n < OT_COUNT(names); i++)
        names[n++] = r->g->node[i].name;
    optune_err inner = {0};
    ot_no_such(&inner, "value", name, names, n);
    return ot_read_fail(r, at, OPTUNE_ENOENT, "%s", inner.text);
}

/* `name`, `name.0`, `name.1.0`. */
static int take_reference(ot_reader *r, const char *name)
{
    char word[OPTUNE_NAME_SIZE];
    optune_err inner = {0};
    ot_read_skip(r);
    const char *at = r->p;
    int id = ot_read_word(r, "a name", word);
    if (id < 0)
        return id;
    id = optune_graph_find(r->g, word);
    if (id < 0)
        return unknown_name(r, at, word);
    if (*r->p != '.' && name)
        return ot_read_fail(r, at, OPTUNE_ESYNTAX,
                            "'%s' has a name already: use it, or call something", word);
    while (*r->p == '.') {
        const char *dot = r->p++;
        int index = 0;
        if (!isdigit((unsigned char)*r->p))
            return ot_read_fail(r, r->p, OPTUNE_ESYNTAX,
                                "a field's number is expected after '.'");
        while (isdigit((unsigned char)*r->p) && index < 1 << 20)
            index = 10 * index + *r->p++ - '0';
        const int status =
            optune_graph_get(r->g, *r->p == '.' ? NULL : name, id, index, &inner);
        if (status < 0)
            return ot_read_pass_on(r, dot, status, &inner);
        r->g->node[status].place = ot_read_place(r, at);
        id = status;
    }
    return id;
}

/* The value ends at the ',' or ')' that is not inside brackets. */
static size_t value_length(const char *p)
{
    size_t n = 0;
    for (int depth = 0; p[n] && p[n] != '\n' && p[n] != '#'; n++) {
        if (depth == 0 && (p[n] == ',' || p[n] == ')'))
            break;
        depth += (p[n] == '[') - (p[n] == ']');
    }
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return n;
}

static int take_attr(ot_reader *r, optune_call *call, const char *attr)
{
    char value[OPTUNE_TEXT_SIZE];
    optune_err inner = {0};
    ot_read_skip(r);
    const char *at = r->p;
    const size_t n = value_length(at);
    if (n == 0)
        return ot_read_fail(r, at, OPTUNE_ESYNTAX, "attribute '%s' has no value", attr);
    if (n >= sizeof value)
        return ot_read_fail(r, at, OPTUNE_ELIMIT, "this is too long");
    memcpy(value, at, n);
    value[n] = '\0';
    r->p += n;
    return ot_read_pass_on(r, at, optune_call_set(call, attr, value, &inner), &inner);
}

/* name= : an attribute, not a value */
static bool at_attribute(const ot_reader *r, char word[OPTUNE_NAME_SIZE])
{
    const size_t n = ot_read_identifier(r->p);
    const char *after = r->p + n;
    after += strspn(after, " \t");
    if (n == 0 || n >= OPTUNE_NAME_SIZE || *after != '=')
        return false;
    memcpy(word, r->p, n);
    word[n] = '\0';
    return true;
}

typedef struct arguments {
    int n, node[MAX_FIELDS];
    ot_text_spot place[MAX_FIELDS];
    unsigned given; /* attributes, by number */
} arguments;

static int take_one_attr(ot_reader *r, optune_call *call, const char *word, arguments *all)
{
    const char *at = r->p;
    for (int i = 0; i < call->n_attrs; i++)
        if (!strcmp(call->attr[i].name, word)) {
            if (all->given >> i & 1)
                return ot_read_fail(r, at, OPTUNE_ESYNTAX, "attribute '%s' is given twice",
                                    word);
            all->given |= 1u << i;
        }
    optune_err inner = {0};
    const char *names[OPTUNE_MAX_ATTRS];
    int i = 0;
    for (; i < call->n_attrs && strcmp(names[i] = call->attr[i].name, word); i++)
        ;
    if (i == call->n_attrs) {
        ot_no_such(&inner, "attribute", word, names, call->n_attrs);
        return ot_read_fail(r, at, OPTUNE_ESYNTAX, "%s", inner.text);
    }
    r->p += strlen(word);
    ot_read_eat(r, '=');
    return take_attr(r, call, word);
}

/* Between the brackets of a call or a tuple; call NULL: a tuple has no attributes. */
static int take_arguments(ot_reader *r, optune_call *call, arguments *all)
{
    if (ot_read_close(r, ')'))
        return OPTUNE_OK;
    bool attrs = false;
    do {
        char word[OPTUNE_NAME_SIZE];
        ot_read_skip(r);
        const char *at = r->p;
        int status;
        if (call && at_attribute(r, word)) {
            attrs = true;
            status = take_one_attr(r, call, word, all);
        } else if (attrs) {
            status = ot_read_fail(r, at, OPTUNE_ESYNTAX, "inputs come before attributes");
        } else if (all->n == MAX_FIELDS) {
            status = ot_read_fail(r, at, OPTUNE_ELIMIT, "more than %d values", (int)MAX_FIELDS);
        } else {
            status = take_value(r, NULL);
            if (status >= 0) {
                all->place[all->n] = ot_read_place(r, at);
                all->node[all->n++] = status;
            }
        }
        if (status < 0)
            return status;
    } while (ot_read_eat(r, ','));
    return ot_read_close(r, ')')
               ? OPTUNE_OK
               : ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "',' or ')' is expected");
}

/* A tuple among the arguments stands for its fields: each of them stands where it does. */
static void keep_places(ot_reader *r, int id, const arguments *all)
{
    optune_graph *g = r->g;
    ot_node *node = &g->node[id];
    node->in_place = ot_arena_alloc(&g->arena, (size_t)(node->n_in + 1) * sizeof(ot_text_spot));
    for (int i = 0, n = 0; i < all->n; i++)
        for (int k = ot_graph_tensors(g, all->node[i], NULL, 0); k > 0 && n < node->n_in; k--)
            node->in_place[n++] = all->place[i];
}

static int take_call(ot_reader *r, const char *name, const char *op, const char *at)
{
    optune_err inner = {0};
    optune_call *call = ot_alloc(sizeof *call);
    arguments *all = ot_alloc(sizeof *all);
    int status = ot_read_pass_on(r, at, optune_call_start(call, op, &inner), &inner);
    if (status >= 0)
        status = take_arguments(r, call, all);
    if (status >= 0)
        status = ot_read_pass_on(
            r, at, optune_graph_call_like(r->g, name, call, all->node, all->n, &inner), &inner);
    if (status >= 0) {
        r->g->node[status].place = ot_read_place(r, at);
        keep_places(r, status, all);
    }
    free(all);
    free(call);
    return status;
}

static int take_tuple(ot_reader *r, const char *name, const char *at)
{
    optune_err inner = {0};
    arguments *all = ot_alloc(sizeof *all);
    int status = take_arguments(r, NULL, all);
    if (status >= 0)
        status = ot_read_pass_on(
            r, at, optune_graph_tuple(r->g, name, all->node, all->n, &inner), &inner);
    free(all);
    return status;
}

/* One value: a variable, a constant, a tuple, a call, or a reference. Returns its node. */
static int take_value(ot_reader *r, const char *name)
{
    ot_read_skip(r);
    const char *at = r->p;
    const size_t n = ot_read_identifier(at);
    char word[OPTUNE_NAME_SIZE];
    if (n == 0)
        return ot_read_fail(
            r, at, OPTUNE_ESYNTAX,
            "a value is expected: var, const, tuple(...), an operator's call or a name");
    int status = ot_read_word(r, "a value", word);
    if (status < 0)
        return status;
    if (r->depth > MAX_DEPTH)
        return ot_read_fail(r, at, OPTUNE_ELIMIT,
                            "values are nested more than %d deep: give some of them names",
                            (int)MAX_DEPTH);
    if (!strcmp(word, "var") || !strcmp(word, "const"))
        status = take_tensor(r, name, at, *word == 'c');
    else if (ot_read_open(r, '('))
        status =
            !strcmp(word, "tuple") ? take_tuple(r, name, at) : take_call(r, name, word, at);
    else {
        r->p = at;
        return take_reference(r, name);
    }
    if (status >= 0)
        r->g->node[status].place = ot_read_place(r, at);
    return status;
}

/* ---- statements -------------------------------------------------------------------------- */

typedef struct annotation {
    int n;
    const char *at[OPTUNE_MAX_OUTPUTS];
    char type[OPTUNE_MAX_OUTPUTS][OPTUNE_TEXT_SIZE / 4];
} annotation;

/* `: f32[1,2]` or `: (f32[4], i64[4])` */
static int take_annotation(ot_reader *r, annotation *a)
{
    const bool several = ot_read_open(r, '(');
    do {
        ot_read_skip(r);
        if (a->n == OPTUNE_MAX_OUTPUTS)
            return ot_read_fail(r, r->p, OPTUNE_ELIMIT, "more than %d types",
                                OPTUNE_MAX_OUTPUTS);
        a->at[a->n] = r->p;
        const int status = take_type(r, a->type[a->n], sizeof a->type[0]);
        if (status < 0)
            return status;
        a->n++;
    } while (several && ot_read_eat(r, ','));
    return !several || ot_read_close(r, ')')
               ? OPTUNE_OK
               : ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "',' or ')' is expected after a type");
}

static int annotate(ot_reader *r, int id, const annotation *a)
{
    ot_value value[OPTUNE_MAX_OUTPUTS];
    const int n = ot_graph_tensors(r->g, id, value, OPTUNE_MAX_OUTPUTS);
    if (n != a->n)
        return ot_read_fail(r, a->at[0], OPTUNE_ETYPE, "'%s' has %d tensor%s, %d type%s given",
                            r->g->node[id].name, n, n == 1 ? "" : "s", a->n,
                            a->n == 1 ? " is" : "s are");
    for (int i = 0; i < n; i++) {
        optune_err inner = {0};
        const int status =
            ot_graph_annotate_value(r->g, value[i], r->g->node[id].name, a->type[i], &inner);
        if (status < 0)
            return ot_read_pass_on(r, a->at[i], status, &inner);
    }
    return OPTUNE_OK;
}

static int take_definition(ot_reader *r, const char *name, const char *at)
{
    annotation *a = ot_alloc(sizeof *a);
    int status = OPTUNE_OK;
    if (ot_read_eat(r, ':'))
        status = take_annotation(r, a);
    if (status >= 0 && !ot_read_eat(r, '='))
        status = ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "'=' is expected after '%s'", name);
    if (status >= 0 && optune_graph_find(r->g, name) >= 0)
        status = ot_read_fail(r, at, OPTUNE_ECONFLICT, "'%s' exists already", name);
    if (status >= 0)
        status = take_value(r, name);
    if (status >= 0 && a->n)
        status = annotate(r, status, a);
    free(a);
    return status;
}

static int take_outputs(ot_reader *r)
{
    do {
        const int id = take_value(r, NULL);
        if (id < 0)
            return id;
        optune_err inner = {0};
        const int status = optune_graph_output(r->g, id, &inner);
        if (status < 0)
            return ot_read_pass_on(r, r->p, status, &inner);
    } while (ot_read_eat(r, ','));
    return OPTUNE_OK;
}

static int take_statement(ot_reader *r)
{
    char name[OPTUNE_NAME_SIZE];
    ot_read_skip(r);
    const char *at = r->p;
    int status = ot_read_word(r, "a name or 'output'", name);
    if (status >= 0)
        status = !strcmp(name, "output") ? take_outputs(r) : take_definition(r, name, at);
    if (status < 0)
        return status;
    ot_read_skip(r);
    return *r->p && *r->p != '\n'
               ? ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "one statement a line: this is too much")
               : OPTUNE_OK;
}

int optune_graph_parse(const char *text, const char *name, optune_graph **graph,
                       optune_err *err)
{
    OT_ENTER(err, {"text", text}, {"graph", graph});
    *graph = NULL;
    ot_reader r = {.g = ot_graph_new(), .err = err};
    r.g->file = ot_arena_copy(&r.g->arena, name ? name : "graph");
    r.g->source = ot_arena_copy(&r.g->arena, text);
    r.g->reading = true;
    r.p = r.g->source;
    ot_read_find_lines(&r);
    int status = OPTUNE_OK;
    while (status >= 0) {
        ot_read_skip(&r);
        while (*r.p == '\n') {
            r.p++;
            ot_read_skip(&r);
        }
        if (!*r.p)
            break;
        status = take_statement(&r);
    }
    if (status >= 0 && !r.g->n_outputs)
        status =
            ot_read_fail(&r, r.p, OPTUNE_ESYNTAX, "no output: a graph ends with 'output NAME'");
    free(r.line);
    if (status < 0) {
        optune_graph_close(r.g);
        return status;
    }
    r.g->reading = false;
    ot_graph_name_all(r.g);
    *graph = r.g;
    return OPTUNE_OK;
}

int ot_graph_read_text(const char *path, optune_graph **graph, optune_err *err)
{
    *graph = NULL;
    ot_text text = {0};
    int status = ot_read_input(path, &text, FILE_LIMIT, err);
    if (status >= 0 && strlen(ot_text_str(&text)) != text.n)
        status = optune_fail(err, OPTUNE_ESYNTAX, "'%s' is no text file", path);
    if (status >= 0)
        status = optune_graph_parse(ot_text_str(&text), path, graph, err);
    ot_text_release(&text);
    return status;
}
