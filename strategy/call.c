/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to call: `dense(f32[?m:1..64,768], const f32[3072,768], math=tf32)`. Inputs come first
 * and by position, attributes follow by name and in any order. Whatever is wrong is shown at
 * its place: the reason, the text around it, and a caret. Printing back is call_print.c's.
 */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "strategy/inside.h"

enum {
    WINDOW = 76, /* characters of the text shown in a message */
    MAX_WORD = 256,
};

typedef struct parser {
    const char *text;
    const char *p;
    optune_err *err;
    const char *input_at[OPTUNE_MAX_INPUTS];    /* where each input starts */
    const char *fused_at[OPTUNE_MAX_EPILOGUES]; /* what to show of each fused operator */
    int chain;    /* which input of the call being read is the value before it; -1: none */
    bool implied; /* and it is not written */
} parser;

/* ---- messages ---------------------------------------------------------------------------- */

/* Reason, a line of the text, a caret under `at`; long texts are cut around it. */
static int point_text(parser *c, const char *at, int status, const char *reason)
{
    if (!c->err)
        return status;
    const size_t all = strlen(c->text);
    size_t place = (size_t)(at - c->text), from = 0, shown = all;
    if (all > WINDOW) {
        from = place > WINDOW / 2 ? place - WINDOW / 2 : 0;
        if (from + WINDOW > all)
            from = all - WINDOW;
        shown = WINDOW;
    }
    char line[WINDOW + 8];
    size_t n = 0;
    for (int i = 0; from > 0 && i < 3; i++)
        line[n++] = '.';
    const size_t column = n + place - from;
    for (size_t i = 0; i < shown; i++)
        line[n++] = (unsigned char)c->text[from + i] < ' ' ? ' ' : c->text[from + i];
    for (int i = 0; from + shown < all && i < 3; i++)
        line[n++] = '.';
    line[n] = '\0';
    snprintf(c->err->text, sizeof(c->err->text), "%.700s\n  %s\n  %*s^", reason, line,
             (int)column, "");
    c->err->status = status;
    return status;
}

static int point(parser *c, const char *at, int status, const char *format, ...)
    OPTUNE_PRINTF(4, 5);
static int point(parser *c, const char *at, int status, const char *format, ...)
{
    char reason[512];
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof(reason), format, list);
    va_end(list);
    return point_text(c, at, status, reason);
}

/* ---- words ------------------------------------------------------------------------------- */

static void skip(parser *c)
{
    while (isspace((unsigned char)*c->p))
        c->p++;
}

static bool eat(parser *c, char what)
{
    skip(c);
    if (*c->p != what)
        return false;
    c->p++;
    return true;
}

static size_t identifier(const char *p)
{
    if (!isalpha((unsigned char)*p) && *p != '_')
        return 0;
    size_t n = 1;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n;
}

static int copy_word(parser *c, const char *from, size_t n, char word[MAX_WORD])
{
    if (n >= MAX_WORD)
        return point(c, from, OPTUNE_ELIMIT, "this is too long");
    memcpy(word, from, n);
    word[n] = '\0';
    return OPTUNE_OK;
}

/* ---- tensor types ------------------------------------------------------------------------ */

static int parse_size(parser *c, int64_t *value)
{
    char word[MAX_WORD];
    const char *at = c->p;
    const size_t n = strspn(at, "0123456789");
    if (n == 0)
        return point(c, at, OPTUNE_ESYNTAX, "a dim is expected: an integer, ?, ?m or ?m:1..64");
    const int rc = copy_word(c, at, n, word);
    if (rc < 0)
        return rc;
    if (!ot_parse_int(word, value) || *value == OPTUNE_DIM_MAX)
        return point(c, at, OPTUNE_ELIMIT, "this dim is too large");
    c->p += n;
    return OPTUNE_OK;
}

/* ? ?m ?m:1..64 ?m:16.. ?:1..64 */
static int parse_symbol(parser *c, optune_dim *dim)
{
    *dim = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    c->p++;
    const size_t n = identifier(c->p);
    if (n >= OPTUNE_DIM_NAME_SIZE)
        return point(c, c->p, OPTUNE_ELIMIT, "a dim's name has at most %d characters",
                     OPTUNE_DIM_NAME_SIZE - 1);
    memcpy(dim->name, c->p, n);
    c->p += n;
    if (*c->p != ':')
        return OPTUNE_OK;
    const char *at = ++c->p;
    int rc = parse_size(c, &dim->min);
    if (rc < 0)
        return rc;
    if (strncmp(c->p, "..", 2) != 0)
        return point(c, c->p, OPTUNE_ESYNTAX, "'..' is expected in a range like 1..64");
    c->p += 2;
    if (isdigit((unsigned char)*c->p) && (rc = parse_size(c, &dim->max)) < 0)
        return rc;
    if (dim->min > dim->max)
        return point(c, at, OPTUNE_ESYNTAX, "this range is empty");
    return OPTUNE_OK;
}

static int parse_dims(parser *c, optune_tensor *type)
{
    skip(c);
    if (strncmp(c->p, "...", 3) == 0) {
        c->p += 3;
        if (!eat(c, ']'))
            return point(c, c->p, OPTUNE_ESYNTAX, "']' is expected after '...'");
        return OPTUNE_OK;
    }
    type->rank = 0;
    if (eat(c, ']'))
        return OPTUNE_OK;
    do {
        skip(c);
        if (type->rank == OPTUNE_MAX_RANK)
            return point(c, c->p, OPTUNE_ELIMIT, "a tensor has at most %d dims",
                         OPTUNE_MAX_RANK);
        optune_dim *dim = &type->dim[type->rank];
        *dim = (optune_dim){0};
        const bool symbol = *c->p == '?';
        const int rc = symbol ? parse_symbol(c, dim) : parse_size(c, &dim->min);
        if (rc < 0)
            return rc;
        if (!symbol)
            dim->max = dim->min;
        type->rank++;
    } while (eat(c, ','));
    if (!eat(c, ']'))
        return point(c, c->p, OPTUNE_ESYNTAX, "',' or ']' is expected after a dim");
    return OPTUNE_OK;
}

static int parse_tensor(parser *c, optune_tensor *type)
{
    *type = (optune_tensor){.rank = -1};
    skip(c);
    const char *at = c->p;
    char word[MAX_WORD];
    if (*at == '?') {
        c->p++;
        return eat(c, '[') ? parse_dims(c, type) : OPTUNE_OK;
    }
    const size_t n = identifier(at);
    if (n == 0)
        return point(c, at, OPTUNE_ESYNTAX, "a tensor type like f32[1,64] is expected");
    const int rc = copy_word(c, at, n, word);
    if (rc < 0)
        return rc;
    if (!ot_parse_dtype(word, &type->dtype))
        return point(c, at, OPTUNE_ESYNTAX, "no dtype '%s'; f32, f64, bf16, i8 are some", word);
    c->p += n;
    if (!eat(c, '['))
        return point(c, c->p, OPTUNE_ESYNTAX, "'[' is expected after the dtype");
    return parse_dims(c, type);
}

/* ---- arguments --------------------------------------------------------------------------- */

static int parse_input(parser *c, optune_call *call)
{
    const optune_op *op = call->op;
    const int most = ot_op_input_count(op);
    if (call->n_inputs == most)
        return point(c, c->p, OPTUNE_ESYNTAX, "too many inputs: '%s' takes %s%d", op->name,
                     op->inputs[0].name && op->inputs[most - 1].optional ? "at most " : "",
                     most);
    const int i = call->n_inputs;
    optune_input *input = &call->input[i];
    c->input_at[i] = c->p;
    input->is_const = op->inputs[i].is_const;
    const size_t n = identifier(c->p);
    if (c->chain < 0 && n == 1 && *c->p == '_')
        return point(c, c->p, OPTUNE_ESYNTAX, "'_' stands in a fused call only");
    if (n == 1 && *c->p == '_') {
        if (c->chain != i)
            return point(c, c->p, OPTUNE_ESYNTAX, "'_' is given twice");
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
    const int rc = parse_tensor(c, &input->type);
    call->n_inputs += rc >= 0;
    return rc;
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

static int parse_attr(parser *c, optune_call *call, const char *name, bool *given)
{
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
        return point_text(c, at, OPTUNE_ESYNTAX, inner.text);
    }
    if (given[i])
        return point(c, at, OPTUNE_ESYNTAX, "attribute '%s' is given twice", name);
    given[i] = true;
    c->p += strlen(name);
    eat(c, '=');
    skip(c);
    at = c->p;
    char value[MAX_WORD];
    const size_t n = value_length(at);
    int rc = copy_word(c, at, n, value);
    if (rc < 0)
        return rc;
    if (n == 0)
        return point(c, at, OPTUNE_ESYNTAX, "attribute '%s' has no value", name);
    rc = ot_attr_parse(ot_op_attr_at(call->op, i), value, &call->attr[i], &inner);
    if (rc < 0)
        return point_text(c, at, rc, inner.text);
    c->p += n;
    return OPTUNE_OK;
}

static int parse_arguments(parser *c, optune_call *call)
{
    bool given[OPTUNE_MAX_ATTRS] = {false}, attrs = false;
    if (!eat(c, ')')) {
        do {
            skip(c);
            const size_t n = identifier(c->p);
            const char *after = c->p + n;
            while (isspace((unsigned char)*after))
                after++;
            int rc;
            if (n > 0 && *after == '=') {
                char name[MAX_WORD];
                rc = copy_word(c, c->p, n, name);
                rc = rc < 0 ? rc : parse_attr(c, call, name, given);
                attrs = true;
            } else if (attrs) {
                rc = point(c, c->p, OPTUNE_ESYNTAX, "inputs come before attributes");
            } else {
                rc = parse_input(c, call);
            }
            if (rc < 0)
                return rc;
        } while (eat(c, ','));
        if (!eat(c, ')'))
            return point(c, c->p, OPTUNE_ESYNTAX, "',' or ')' is expected");
    }
    const char *end = c->p - 1;
    const optune_op_input *next = &call->op->inputs[call->n_inputs];
    if (next->name && !next->optional)
        return point(c, end, OPTUNE_ESYNTAX, "input '%s' of '%s' is missing", next->name,
                     call->op->name);
    for (int i = 0; i < call->n_attrs; i++)
        if (!given[i] && !ot_op_attr_at(call->op, i)->value)
            return point(c, end, OPTUNE_ESYNTAX, "attribute '%s' of '%s' is missing",
                         call->attr[i].name, call->op->name);
    return OPTUNE_OK;
}

/* ---- whole calls ------------------------------------------------------------------------- */

int ot_call_start(const optune_op *op, optune_call *call, optune_err *err)
{
    *call =
        (optune_call){.op = op, .n_outputs = op->n_outputs, .n_attrs = ot_op_attr_count(op)};
    if (call->n_attrs > OPTUNE_MAX_ATTRS)
        return optune_fail(err, OPTUNE_ELIMIT, "operator '%s' has too many attributes",
                           op->name);
    for (int i = 0; i < call->n_outputs; i++)
        call->output[i].rank = -1;
    for (int i = 0; i < call->n_attrs; i++) {
        const optune_op_attr *row = ot_op_attr_at(op, i);
        call->attr[i] = (optune_attr){
            .name = row->name, .kind = (uint8_t)row->kind, .n = OT_ATTR_UNSET};
        const int rc = row->value ? ot_attr_default(row, &call->attr[i], err) : OPTUNE_OK;
        if (rc < 0)
            return rc;
    }
    return OPTUNE_OK;
}

int ot_call_settle(optune_call *call, int *misfit, optune_err *err)
{
    if (call->op->outputs)
        call->n_outputs = call->op->outputs(call);
    assert(call->n_outputs >= 1 && call->n_outputs <= call->op->n_outputs);
    const optune_call plain = *call;
    int inner;
    int rc = ot_call_infer_at(call, misfit ? misfit : &inner, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < call->n_attrs; i++) {
        const optune_op_attr *row = ot_op_attr_at(call->op, i);
        optune_attr left_out;
        if (row->kind != OPTUNE_ATTR_DTYPE || !row->value ||
            ot_attr_default(row, &left_out, NULL) < 0 ||
            left_out.dtype.code != OPTUNE_DTYPE_UNKNOWN ||
            plain.attr[i].dtype.code == OPTUNE_DTYPE_UNKNOWN)
            continue;
        optune_call without = plain;
        without.attr[i] = left_out;
        bool same = ot_call_infer(&without, NULL) == rc;
        for (int j = 0; same && j < call->n_outputs; j++)
            same = optune_dtype_equal(call->output[j].dtype, without.output[j].dtype);
        if (same)
            *call = without;
    }
    ot_text text = {0};
    ot_call_print(call, &text);
    if (text.n >= OPTUNE_TEXT_SIZE)
        rc = optune_fail(err, OPTUNE_ELIMIT, "canonical text of this call of '%s' is too long",
                         call->op->name);
    ot_text_release(&text);
    return rc < 0 ? rc : OPTUNE_OK;
}

/* Relations say "argument 2" of what does not fit; then that is where the caret goes. */
static const char *place_of(const parser *c, const optune_call *call, int misfit,
                            const char *message)
{
    if (misfit >= 0)
        return c->fused_at[misfit];
    const char *found = strstr(message, "argument ");
    const int i = found && isdigit((unsigned char)found[9]) ? found[9] - '1' : -1;
    if (i >= 0 && i < call->n_inputs)
        return c->input_at[i];
    for (int k = 0; k < call->n_inputs; k++) {
        char quoted[OPTUNE_NAME_SIZE + 2];
        snprintf(quoted, sizeof(quoted), "'%s'", call->op->inputs[k].name);
        if (strstr(message, quoted))
            return c->input_at[k];
    }
    return c->text + strspn(c->text, " \t\n");
}

/* An operator's name and its arguments. */
static int parse_one(parser *c, optune_call *call)
{
    skip(c);
    const char *at = c->p;
    char name[MAX_WORD];
    const size_t n = identifier(at);
    if (n == 0)
        return point(c, at, OPTUNE_ESYNTAX,
                     "a call like dense(f32[1,64], f32[10,64]) is expected");
    int rc = copy_word(c, at, n, name);
    if (rc < 0)
        return rc;
    const optune_op *op;
    optune_err inner = {0};
    if (ot_op_get(name, &op, &inner) < 0)
        return point_text(c, at, OPTUNE_ENOENT, inner.text);
    c->p += n;
    rc = ot_call_start(op, call, c->err);
    if (rc < 0)
        return rc;
    if (!eat(c, '('))
        return point(c, c->p, OPTUNE_ESYNTAX, "'(' is expected after the operator");
    if (c->implied)
        call->input[call->n_inputs++].type.rank = -1;
    return parse_arguments(c, call);
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
        depth -= *p == ']';
    }
    return -1;
}

static int parse_fused(parser *c, optune_call *call)
{
    optune_call next;
    optune_err inner = {0};
    skip(c);
    const char *at = c->p;
    const int place = place_of_chain(at);
    c->implied = place < 0;
    c->chain = c->implied ? 0 : place;
    int rc = parse_one(c, &next);
    if (rc < 0)
        return rc;
    rc = ot_call_append(call, &next, c->chain, &inner);
    if (rc < 0)
        return point_text(c, at, rc, inner.text);
    c->fused_at[call->n_epilogues - 1] =
        next.n_inputs == 2 ? c->input_at[c->chain == 0 ? 1 : 0] : at;
    return OPTUNE_OK;
}

int ot_call_parse(const char *text, optune_call *call, optune_err *err)
{
    parser c = {.text = text, .p = text, .err = err, .chain = -1};
    optune_err inner = {0};
    int rc = parse_one(&c, call), misfit;
    if (rc < 0)
        return rc;
    const char *own[OPTUNE_MAX_INPUTS];
    memcpy(own, c.input_at, sizeof(own));
    for (skip(&c); c.p[0] == '-' && c.p[1] == '>' && rc >= 0; skip(&c)) {
        c.p += 2;
        rc = parse_fused(&c, call);
    }
    if (rc < 0)
        return rc;
    if (*c.p)
        return point(&c, c.p, OPTUNE_ESYNTAX, "only '-> operator(...)' may follow the call");
    memcpy(c.input_at, own, sizeof(own));
    rc = ot_call_settle(call, &misfit, &inner);
    return rc < 0 ? point_text(&c, place_of(&c, call, misfit, inner.text), rc, inner.text)
                  : OPTUNE_OK;
}

int ot_tensor_parse(const char *text, optune_tensor *type, const char **end, optune_err *err)
{
    parser c = {.text = text, .p = text, .err = err};
    const int rc = parse_tensor(&c, type);
    *end = c.p;
    while (rc >= 0 && *end > text && isspace((unsigned char)(*end)[-1]))
        (*end)--;
    if (rc < 0 && err)
        err->text[strcspn(err->text, "\n")] = '\0'; /* whoever has the text shows the place */
    return rc;
}
