/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a model: a call of one is replaced by the nodes of its body before anything is read.
 * Names inside a body get a number of the call in front, its inputs and outputs those of the call,
 * its attributes the call's values. The one idea: nobody behind this file knows that there are
 * functions.
 */
#include <string.h>

#include "onnx/onnx.h"

enum {
    MOST_DEPTH = 32,       /* of calls in bodies of functions; a function may not call itself */
    MOST_BYTES = 64 << 20, /* of what is written in place of calls */
    /* Fields of files that are newer than the schema may be. */
    NODE_OVERLOAD = 8,
    FUNCTION_ATTRIBUTE_PROTO = 11,
    FUNCTION_OVERLOAD = 13,
};

typedef Onnx__FunctionProto function;

typedef struct inlining {
    ot_onnx *m;
    ot_names functions; /* by domain, name and overload, to their numbers */
    char prefix[16];    /* of names inside bodies: none outside begins so */
    size_t bytes;
    optune_err *err;
} inlining;

/* A call whose body is written: names are those of the outside. */
typedef struct scope {
    const function *f;
    const ot_onnx_proto *call;
    ot_names formal; /* inputs, then outputs */
    int number;
} scope;

/* ---- fields that the schema may not know -------------------------------------------------- */

/* Where the schema knows the field: its place in the message. */
static const void *known(const ProtobufCMessage *message, unsigned tag, size_t *n)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(message->descriptor, tag);
    if (field && field->label == PROTOBUF_C_LABEL_REPEATED)
        *n = *(const size_t *)((const char *)message + field->quantifier_offset);
    return field ? (const char *)message + field->offset : NULL;
}

/* Unknown field i or later of a kind that has a length; NULL: none. `*i` is behind it. */
static const uint8_t *unknown(const ProtobufCMessage *message, unsigned tag, unsigned *i,
                              size_t *n)
{
    while (*i < message->n_unknown_fields) {
        const ProtobufCMessageUnknownField *field = &message->unknown_fields[(*i)++];
        if (field->tag != tag || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        size_t head = 0;
        while (head < field->len && field->data[head] & 0x80)
            head++;
        head += head < field->len;
        *n = field->len - head;
        return field->data + head;
    }
    return NULL;
}

static const char *overload_of(inlining *to, const ProtobufCMessage *message, unsigned tag)
{
    size_t n = 0;
    unsigned i = 0;
    const char *const *own = known(message, tag, &n);
    const uint8_t *text = own ? NULL : unknown(message, tag, &i, &n);
    if (own)
        return ot_onnx_text_of(*own);
    return text ? ot_arena_printf(&to->m->arena, "%.*s", (int)(n < 256 ? n : 256),
                                  (const char *)text)
                : "";
}

/* An attribute's value where the call does not say it; NULL: it has none. */
static const ot_onnx_attr *default_of(inlining *to, const function *f, const char *name)
{
    unsigned i = 0;
    size_t n = 0;
    const uint8_t *bytes;
    ot_onnx_attr *const *const *own = known(&f->base, FUNCTION_ATTRIBUTE_PROTO, &n);
    for (size_t k = 0; own && k < n; k++)
        if (!strcmp(ot_onnx_text_of((*own)[k]->name), name))
            return (*own)[k];
    while ((bytes = unknown(&f->base, FUNCTION_ATTRIBUTE_PROTO, &i, &n))) {
        const ot_onnx_attr *attr = ot_onnx_attr_read(to->m, bytes, n);
        to->bytes += n;
        if (attr && attr->name && !strcmp(attr->name, name))
            return attr;
    }
    return NULL;
}

/* ---- finding ------------------------------------------------------------------------------ */

static const char *key_of(inlining *to, const char *domain, const char *name,
                          const char *overload)
{
    domain = ot_onnx_text_of(domain);
    to->bytes += strlen(domain) + strlen(ot_onnx_text_of(name));
    return ot_arena_printf(&to->m->arena, "%s\n%s\n%s",
                           strcmp(domain, "ai.onnx") == 0 ? "" : domain, ot_onnx_text_of(name),
                           overload);
}

static const function *function_of(inlining *to, const ot_onnx_proto *node)
{
    if (!to->functions.n)
        return NULL;
    const int *at =
        ot_names_find(&to->functions, key_of(to, node->domain, node->op_type,
                                             overload_of(to, &node->base, NODE_OVERLOAD)));
    return at ? to->m->model->functions[*at] : NULL;
}

static void find_functions(inlining *to)
{
    const ot_onnx_model *model = to->m->model;
    for (size_t i = 0; i < model->n_functions; i++) {
        const function *f = model->functions[i];
        const char *key =
            key_of(to, f->domain, f->name, overload_of(to, &f->base, FUNCTION_OVERLOAD));
        if (!ot_names_find(&to->functions, key))
            ot_names_add(&to->functions, key, (int)i);
    }
}

/* ---- writing a body ----------------------------------------------------------------------- */

static void *room(inlining *to, size_t n)
{
    to->bytes += n;
    return ot_arena_alloc(&to->m->arena, n ? n : 1);
}

static char *outside_name(inlining *to, const scope *s, char *name)
{
    to->bytes += strlen(name) + 16;
    const int *at = ot_names_find(&s->formal, name);
    const size_t i = at ? (size_t)*at : 0;
    if (at && i < s->f->n_input)
        return i < s->call->n_input ? s->call->input[i] : "";
    if (at && i - s->f->n_input < s->call->n_output && *s->call->output[i - s->f->n_input])
        return s->call->output[i - s->f->n_input];
    return *name ? ot_arena_printf(&to->m->arena, "%s%d/%s", to->prefix, s->number, name)
                 : name;
}

static char **outside_names(inlining *to, const scope *s, size_t n, char **name)
{
    char **to_names = room(to, n * sizeof *to_names);
    for (size_t i = 0; i < n; i++)
        to_names[i] = outside_name(to, s, name[i]);
    return to_names;
}

static const ot_onnx_attr *attr_named(const ot_onnx_proto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && !strcmp(node->attribute[i]->name, name))
            return node->attribute[i];
    return NULL;
}

/* Attributes that name one of the function's have its value, or are not there. */
static void resolve_attributes(inlining *to, const scope *s, ot_onnx_proto *node)
{
    ot_onnx_attr **attr = room(to, node->n_attribute * sizeof *attr);
    size_t n = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        ot_onnx_attr *own = node->attribute[i];
        const char *named = ot_onnx_text_of(own->ref_attr_name);
        if (!*named) {
            attr[n++] = own;
            continue;
        }
        const ot_onnx_attr *given = attr_named(s->call, named);
        if (!given)
            given = default_of(to, s->f, named);
        if (!given)
            continue;
        attr[n] = room(to, sizeof **attr);
        *attr[n] = *given;
        attr[n++]->name = own->name;
    }
    node->attribute = attr;
    node->n_attribute = n;
}

static ot_onnx_graph *outside_body(inlining *to, const scope *s, const ot_onnx_graph *inner,
                                   const ot_onnx_shade *outer);

/* As `outside_names`, but those that bodies around have themselves. */
static char **unshaded_names(inlining *to, const scope *s, size_t n, char **name,
                             const ot_onnx_shade *around)
{
    char **to_names = room(to, n * sizeof *to_names);
    for (size_t i = 0; i < n; i++)
        to_names[i] = ot_onnx_shaded(around, name[i]) ? name[i] : outside_name(to, s, name[i]);
    return to_names;
}

/* What bodies of a node say of names around is said of them as they are called there. */
static void outside_bodies(inlining *to, const scope *s, ot_onnx_proto *node,
                           const ot_onnx_shade *around)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (!node->attribute[i]->g)
            continue;
        ot_onnx_attr *attr = room(to, sizeof *attr);
        *attr = *node->attribute[i];
        attr->g = outside_body(to, s, attr->g, around);
        node->attribute[i] = attr;
    }
}

static ot_onnx_graph *outside_body(inlining *to, const scope *s, const ot_onnx_graph *inner,
                                   const ot_onnx_shade *outer)
{
    ot_onnx_graph *body = room(to, sizeof *body);
    ot_onnx_shade own = {.around = outer};
    ot_onnx_shade_by(&own, inner);
    *body = *inner;
    body->node = room(to, inner->n_node * sizeof(ot_onnx_proto *));
    for (size_t i = 0; i < inner->n_node; i++) {
        ot_onnx_proto *node = room(to, sizeof *node);
        *node = *inner->node[i];
        node->input = unshaded_names(to, s, node->n_input, node->input, &own);
        resolve_attributes(to, s, node);
        outside_bodies(to, s, node, &own);
        body->node[i] = node;
    }
    body->output = room(to, inner->n_output * sizeof(ot_onnx_info *));
    for (size_t i = 0; i < inner->n_output; i++) {
        body->output[i] = room(to, sizeof(ot_onnx_info));
        *body->output[i] = *inner->output[i];
        char *name = (char *)(uintptr_t)ot_onnx_text_of(inner->output[i]->name);
        body->output[i]->name = *unshaded_names(to, s, 1, &name, &own);
    }
    ot_names_release(&own.own);
    return body;
}

static ot_onnx_proto *outside(inlining *to, const scope *s, const ot_onnx_proto *inner)
{
    ot_onnx_proto *node = room(to, sizeof *node);
    *node = *inner;
    node->input = outside_names(to, s, inner->n_input, inner->input);
    node->output = outside_names(to, s, inner->n_output, inner->output);
    node->name = ot_arena_printf(&to->m->arena, "%.60s/%.60s", ot_onnx_node_name(s->call),
                                 ot_onnx_node_name(inner));
    resolve_attributes(to, s, node);
    outside_bodies(to, s, node, NULL);
    return node;
}

static int refuse(inlining *to, const ot_onnx_proto *call, int status, const char *why)
{
    return optune_fail(to->err, status, "%.200s: %.60s '%.100s': %s", to->m->path,
                       ot_onnx_text_of(call->op_type), ot_onnx_node_name(call), why);
}

static void push(inlining *to, const ot_onnx_proto *node)
{
    ot_rows_push(&to->m->at->nodes, node);
    to->m->n_nodes++;
}

/* An output that is one of the function's inputs is made by no node of its body. */
static void pass_through(inlining *to, const scope *s)
{
    for (size_t i = 0; i < s->call->n_output; i++) {
        const int *at = ot_names_find(&s->formal, s->f->output[i]);
        if ((size_t)*at >= s->f->n_input || !*s->call->output[i])
            continue;
        ot_onnx_proto *copy = room(to, sizeof *copy);
        *copy = (ot_onnx_proto)ONNX__NODE_PROTO__INIT;
        copy->op_type = "Identity";
        copy->n_input = copy->n_output = 1;
        copy->input = outside_names(to, s, 1, &s->f->output[i]);
        copy->output = &s->call->output[i];
        copy->name = (char *)ot_onnx_node_name(s->call);
        push(to, copy);
    }
}

static int expand(inlining *to, const ot_onnx_proto *node, int depth);

static int write_body(inlining *to, const function *f, const ot_onnx_proto *call, int depth)
{
    scope s = {.f = f, .call = call, .number = to->m->calls++};
    if (depth == MOST_DEPTH)
        return refuse(to, call, OPTUNE_ELIMIT,
                      "functions call each other more than 32 deep, or without end");
    if (call->n_input > f->n_input || call->n_output > f->n_output)
        return refuse(to, call, OPTUNE_EDAMAGED,
                      "it has more inputs or outputs than the function that it calls");
    for (size_t i = 0; i < f->n_input; i++)
        ot_names_add(&s.formal, f->input[i], (int)i);
    for (size_t i = 0; i < f->n_output; i++)
        if (!ot_names_find(&s.formal, f->output[i]))
            ot_names_add(&s.formal, f->output[i], (int)(f->n_input + i));
    to->bytes += (f->n_input + f->n_output) * sizeof(ot_named);
    int status = OPTUNE_OK;
    for (size_t i = 0; i < f->n_node && status >= 0; i++)
        status = expand(to, outside(to, &s, f->node[i]), depth + 1);
    if (status >= 0)
        pass_through(to, &s);
    ot_names_release(&s.formal);
    return status;
}

static int expand(inlining *to, const ot_onnx_proto *node, int depth)
{
    const function *f = function_of(to, node);
    if (to->bytes > MOST_BYTES)
        return refuse(to, node, OPTUNE_ELIMIT,
                      "its functions take more than 64 MiB, written out at each call");
    if (f)
        return write_body(to, f, node, depth);
    push(to, node);
    return OPTUNE_OK;
}

static void avoid(void *most, const char *name)
{
    size_t *marks = most;
    const size_t n = *name == 'f' ? strspn(name + 1, "_") : 0;
    if (*name == 'f' && name[1 + n] >= '0' && name[1 + n] <= '9' && n >= *marks)
        *marks = n + 1;
}

/* "f", with as many '_' behind it as it takes to differ from what stands in front of a number in
 * any name outside. False: it takes too many. */
static bool choose_prefix(inlining *to)
{
    size_t marks = 0;
    for (const ot_onnx_scope *at = to->m->at; at; at = at->outer)
        ot_onnx_each_own(at->graph, avoid, &marks);
    if (marks + 2 > sizeof to->prefix)
        return false;
    memset(to->prefix, '_', marks + 1);
    to->prefix[0] = 'f';
    return true;
}

int ot_onnx_inline(ot_onnx *m, optune_err *err)
{
    inlining to = {.m = m, .err = err};
    int status = OPTUNE_OK;
    if (!choose_prefix(&to))
        return optune_fail(err, OPTUNE_ELIMIT, "%.200s: its names begin with 'f____________'",
                           m->path);
    find_functions(&to);
    for (size_t i = 0; i < m->at->graph->n_node && status >= 0; i++)
        status = expand(&to, m->at->graph->node[i], 0);
    ot_names_release(&to.functions);
    return status;
}
