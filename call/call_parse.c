/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to call: `dense(f32[?m:1..64,768], const f32[3072,768], math=tf32)`. Inputs come first
 * and by position, attributes follow by name and in any order. Whatever is wrong is shown at
 * its place. Printing back is call_print.c's.
 */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "call/cursor.h"

typedef struct parser {
    ot_cursor cursor;
    const char *input_at[OPTUNE_MAX_INPUTS];    /* where each input starts */
    const char *attr_at[OPTUNE_MAX_ATTRS];      /* and each attribute; NULL: it is left out */
    const char *fused_at[OPTUNE_MAX_EPILOGUES]; /* what to show of each fused operator */
    int chain;    /* which input of the call being read is the value before it; -1: none */
    bool implied; /* and it is not written */
} parser;

/* ---- arguments --------------------------------------------------------------------------- */

static int parse_input(parser *s, optune_call *call)
{
    ot_cursor *const c = &s->cursor;
    const optune_op *op = call->op;
    const int most = ot_op_input_count(op);
    if (call->n_inputs == most)
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "too many inputs: '%s' takes %s%d%s", op->name,
                        op->inputs[0].name && op->inputs[most - 1].optional ? "at most " : "",
                        most,
                        op->joins ? "; calls of some, and one of what these give, are the same, "
                                    "which a graph makes by itself"
                                  : "");
    const int i = call->n_inputs;
    optune_input *input = &call->input[i];
    s->input_at[i] = c->p;
    *input = (optune_input){.is_const = op->inputs[i].is_const};
    const size_t n = ot_identifier(c->p);
    if (s->chain < 0 && n == 1 && *c->p == '_')
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "'_' stands in a fused call only");
    if (n == 1 && *c->p == '_') {
        if (s->chain != i)
            return ot_point(c, c->p, OPTUNE_ESYNTAX, "'_' is given twice");
        *input = (optune_input){.type.rank = -1};
        call->n_inputs++;
        c->p++;
        return OPTUNE_OK;
    }
    if (n == 5 && strncmp(c->p, "const", n) == 0) {
        input->is_const = true;
        c->p += n;
    } else if (n == 3 && strncmp(c->p, "var", n) == 0) {
        input->is_const = false;
        c->p += n;
    }
    const int status = ot_read_tensor(c, &input->type);
    call->n_inputs += status >= 0;
    return status;
}

/* The value ends at the ',' or ')' that is not inside brackets. */
static size_t value_length(const char *p)
{
    size_t n = 0;
    int depth = 0;
    while (p[n] && (depth > 0 || (p[n] != ',' && p[n] != ')'))) {
        depth += p[n] == '[';
        depth -= p[n] == ']';
        n++;
    }
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return n;
}

static int parse_attr(parser *s, optune_call *call, const char *name)
{
    ot_cursor *const c = &s->cursor;
    const char *at = c->p;
    const char *names[OPTUNE_MAX_ATTRS];
    optune_err inner = {0};
    int i = 0;
    for (; i < call->n_attrs; i++) {
        names[i] = call->attr[i].name;
        if (strcmp(names[i], name) == 0)
            break;
    }
    if (i == call->n_attrs) {
        ot_no_such(&inner, "attribute", name, names, call->n_attrs);
        return ot_point_text(c, at, OPTUNE_ESYNTAX, inner.text);
    }
    if (s->attr_at[i])
        return ot_point(c, at, OPTUNE_ESYNTAX, "attribute '%s' is given twice", name);
    s->attr_at[i] = at;
    c->p += strlen(name);
    ot_eat(c, '=');
    ot_skip(c);
    at = c->p;
    char value[OT_MAX_WORD];
    const size_t n = value_length(at);
    int status = ot_copy_word(c, at, n, value);
    if (status < 0)
        return status;
    if (n == 0)
        return ot_point(c, at, OPTUNE_ESYNTAX, "attribute '%s' has no value", name);
    status = ot_attr_parse(ot_op_attr_at(call->op, i), value, &call->attr[i], &inner);
    if (status < 0)
        return ot_point_text(c, at, status, inner.text);
    c->p += n;
    return OPTUNE_OK;
}

static int parse_arguments(parser *s, optune_call *call)
{
    ot_cursor *const c = &s->cursor;
    bool attrs = false;
    memset(s->attr_at, 0, sizeof s->attr_at);
    if (!ot_eat(c, ')')) {
        do {
            ot_skip(c);
            const size_t n = ot_identifier(c->p);
            const char *after = c->p + n;
            while (isspace((unsigned char)*after))
                after++;
            int status;
            if (n > 0 && *after == '=') {
                char name[OT_MAX_WORD];
                status = ot_copy_word(c, c->p, n, name);
                status = status < 0 ? status : parse_attr(s, call, name);
                attrs = true;
            } else if (attrs) {
                status = ot_point(c, c->p, OPTUNE_ESYNTAX, "inputs come before attributes");
            } else {
                status = parse_input(s, call);
            }
            if (status < 0)
                return status;
        } while (ot_eat(c, ','));
        if (!ot_eat(c, ')'))
            return ot_point(c, c->p, OPTUNE_ESYNTAX, "',' or ')' is expected");
    }
    const char *end = c->p - 1;
    const optune_op_input *next = &call->op->inputs[call->n_inputs];
    if (next->name && !next->optional)
        return ot_point(c, end, OPTUNE_ESYNTAX, "input '%s' of '%s' is missing", next->name,
                        call->op->name);
    for (int i = 0; i < call->n_attrs; i++)
        if (!s->attr_at[i] && !ot_op_attr_at(call->op, i)->value)
            return ot_point(c, end, OPTUNE_ESYNTAX, "attribute '%s' of '%s' is missing",
                            call->attr[i].name, call->op->name);
    return OPTUNE_OK;
}

/* ---- whole calls ------------------------------------------------------------------------- */

/* Where the message first says the name as a word of its own; NULL: nowhere. */
static const char *find_word(const char *message, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = strstr(message, name); p; p = strstr(p + 1, name))
        if ((p == message || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) &&
            !(isalnum((unsigned char)p[n]) || p[n] == '_'))
            return p;
    return NULL;
}

/* Relations say "argument 2" of what does not fit, name an input, or an attribute, as "layout=NHWC"
 * or "'axis'"; there the caret goes. */
static const char *place_of(const parser *s, const optune_call *call, int misfit,
                            const char *message)
{
    if (misfit >= 0)
        return s->fused_at[misfit];
    const char *found = strstr(message, "argument ");
    const int i = found && isdigit((unsigned char)found[9]) ? found[9] - '1' : -1;
    if (i >= 0 && i < call->n_inputs)
        return s->input_at[i];
    const char *place = NULL;
    found = NULL;
    for (int k = 0; k < call->n_inputs; k++) {
        const char *here = find_word(message, call->op->inputs[k].name);
        if (here && (!found || here < found)) {
            found = here;
            place = s->input_at[k];
        }
    }
    for (int k = 0; k < call->n_attrs; k++) {
        const char *here = s->attr_at[k] ? find_word(message, call->attr[k].name) : NULL;
        const char after = here ? here[strlen(call->attr[k].name)] : '\0';
        if ((after == '=' || after == '\'') && (!found || here < found)) {
            found = here;
            place = s->attr_at[k];
        }
    }
    return place ? place : s->cursor.text + strspn(s->cursor.text, " \t\n");
}

/* An operator's name and its arguments. */
static int parse_one(parser *s, optune_call *call)
{
    ot_cursor *const c = &s->cursor;
    ot_skip(c);
    const char *at = c->p;
    char name[OT_MAX_WORD];
    const size_t n = ot_identifier(at);
    if (n == 0)
        return ot_point(c, at, OPTUNE_ESYNTAX,
                        "a call like dense(f32[1,64], f32[10,64]) is expected");
    int status = ot_copy_word(c, at, n, name);
    if (status < 0)
        return status;
    const optune_op *op;
    optune_err inner = {0};
    if (ot_op_get(name, &op, &inner) < 0)
        return ot_point_text(c, at, OPTUNE_ENOENT, inner.text);
    c->p += n;
    status = ot_call_start(op, call, c->err);
    if (status < 0)
        return status;
    if (!ot_eat(c, '('))
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "'(' is expected after the operator");
    if (s->implied)
        call->input[call->n_inputs++] = (optune_input){.type.rank = -1};
    return parse_arguments(s, call);
}

/* Which input of the call that starts here is written `_`; -1: none. */
static int place_of_chain(const char *p)
{
    int inputs = 0, depth = 0;
    bool starts = false;
    for (; *p && !(depth == 1 && *p == ')'); p++) {
        if (starts && *p == '_' && !isalnum((unsigned char)p[1]) && p[1] != '_')
            return inputs;
        starts = (depth == 0 && *p == '(') || (depth == 1 && *p == ',') ||
                 (starts && isspace((unsigned char)*p));
        inputs += depth == 1 && *p == ',';
        depth += *p == '(' || *p == '[';
        depth -= *p == ')' || *p == ']'; /* dims are expressions, too: ?(n+3)/5 */
    }
    return -1;
}

static int parse_fused(parser *s, optune_call *call)
{
    ot_cursor *const c = &s->cursor;
    optune_call next;
    optune_err inner = {0};
    ot_skip(c);
    const char *at = c->p;
    const int place = place_of_chain(at);
    s->implied = place < 0;
    s->chain = s->implied ? 0 : place;
    int status = parse_one(s, &next);
    if (status < 0)
        return status;
    status = ot_call_append(call, &next, s->chain, &inner);
    if (status < 0)
        return ot_point_text(c, at, status, inner.text);
    s->fused_at[call->n_epilogues - 1] =
        next.n_inputs == 2 ? s->input_at[s->chain == 0 ? 1 : 0] : at;
    return OPTUNE_OK;
}

/* All of the text; afterwards it is known where the first operator's inputs and attributes are. */
static int parse_whole(parser *s, optune_call *call)
{
    ot_cursor *const c = &s->cursor;
    int status = parse_one(s, call);
    if (status < 0)
        return status;
    ot_skip(c);
    if (*c->p == '\0')
        return OPTUNE_OK;
    const parser own = *s;
    for (; c->p[0] == '-' && c->p[1] == '>' && status >= 0; ot_skip(c)) {
        c->p += 2;
        status = parse_fused(s, call);
    }
    if (status < 0)
        return status;
    if (*c->p)
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "only '-> operator(...)' may follow the call");
    memcpy(s->input_at, own.input_at, sizeof s->input_at);
    memcpy(s->attr_at, own.attr_at, sizeof s->attr_at);
    return OPTUNE_OK;
}

int ot_call_read(const char *text, optune_call *call)
{
    parser s = {.cursor = {.text = text, .p = text}, .chain = -1};
    return parse_whole(&s, call);
}

int ot_call_parse(const char *text, optune_call *call, optune_err *err)
{
    parser s = {.cursor = {.text = text, .p = text, .err = err}, .chain = -1};
    ot_cursor *const c = &s.cursor;
    optune_err inner;
    int misfit, status = parse_whole(&s, call);
    if (status < 0)
        return status;
    inner.status = 0;
    inner.text[0] = '\0';
    status = ot_call_settle(call, &misfit, &inner);
    return status < 0
               ? ot_point_text(c, place_of(&s, call, misfit, inner.text), status, inner.text)
               : OPTUNE_OK;
}
