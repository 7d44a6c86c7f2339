/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of operators: which there are (the implicit last one, `math`, included), their
 * defaults, and reading one value. Nothing here knows a call's inputs or types.
 */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "call/inside.h"

static const optune_op_attr math_row = {
    .name = "math",
    .kind = OPTUNE_ATTR_WORD,
    .value = "ieee",
    .description = "Numerics class: ieee, or a faster one that must be asked for.",
    .words = "ieee tf32 bf16 fast",
};

int ot_op_input_count(const optune_op *op)
{
    int n = 0;
    while (op->inputs[n].name)
        n++;
    return n;
}

static int own_attrs(const optune_op *op)
{
    int n = 0;
    while (op->attrs && op->attrs[n].name)
        n++;
    return n;
}

int ot_op_attr_count(const optune_op *op)
{
    return own_attrs(op) + 1;
}

const optune_op_attr *ot_op_attr_at(const optune_op *op, int i)
{
    return i < own_attrs(op) ? &op->attrs[i] : &math_row;
}

/* ---- values ------------------------------------------------------------------------------ */

static int wrong(const optune_op_attr *row, const char *text, const char *expected,
                 optune_err *err)
{
    return optune_fail(err, OPTUNE_ESYNTAX, "attribute '%s' is not '%.64s': %s", row->name,
                       text, expected);
}

static int parse_bool(const optune_op_attr *row, const char *text, optune_attr *attr,
                      optune_err *err)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
        attr->i[0] = 1;
    else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        attr->i[0] = 0;
    else
        return wrong(row, text, "true or false is expected", err);
    return OPTUNE_OK;
}

/* `[1,2]`, spaces allowed; a bare integer is a list of one; nothing is the empty list. */
static int parse_ints(const optune_op_attr *row, const char *text, optune_attr *attr,
                      optune_err *err)
{
    const bool list = text[0] == '[';
    const char *p = list ? text + 1 : text;
    attr->n = 0;
    p += strspn(p, " ");
    while (*p && *p != ']') {
        char number[32];
        const size_t n = strspn(p, "-0123456789");
        if (n == 0 || n >= sizeof number)
            return wrong(row, text, "a list of integers like [1,1] is expected", err);
        memcpy(number, p, n);
        number[n] = '\0';
        if (attr->n == OPTUNE_MAX_LIST)
            return optune_fail(err, OPTUNE_ELIMIT, "attribute '%s' has more than %d integers",
                               row->name, OPTUNE_MAX_LIST);
        if (!ot_parse_int(number, &attr->i[attr->n++]))
            return wrong(row, text, "a list of integers like [1,1] is expected", err);
        p += n;
        p += strspn(p, " ");
        if (*p == ',' && list) {
            p++;
            p += strspn(p, " ");
            if (*p != ']' && *p)
                continue;
            return wrong(row, text, "an integer is missing after ','", err);
        }
        if (*p && *p != ']')
            return wrong(row, text, "integers are separated by ','", err);
    }
    if (list && strcmp(p, "]") != 0)
        return wrong(row, text, "the list does not end with ']'", err);
    return OPTUNE_OK;
}

const char *ot_attr_word(const char *text)
{
    return text[0] == '"' && strcmp(text, "\"\"") == 0 ? "" : text;
}

static int parse_word(const optune_op_attr *row, const char *text, optune_attr *attr,
                      optune_err *err)
{
    text = ot_attr_word(text);
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-+", *p))
            return wrong(row, text, "a bare word is expected", err);
    if (!ot_copy(attr->word, sizeof attr->word, text))
        return optune_fail(err, OPTUNE_ELIMIT, "word of attribute '%s' is too long", row->name);
    if (!row->words)
        return OPTUNE_OK;
    const size_t n_text = strlen(text);
    for (const char *w = row->words; *w && n_text; w += strspn(w, " ")) {
        const size_t length = strcspn(w, " ");
        if (length == n_text && memcmp(w, text, length) == 0)
            return OPTUNE_OK;
        w += length;
    }
    enum { MOST = 64 };
    char allowed[1024];
    const char *names[MOST];
    int n = 0;
    if (!ot_copy(allowed, sizeof allowed, row->words))
        return optune_fail(err, OPTUNE_ELIMIT, "attribute '%s' has too many words", row->name);
    char *rest = NULL;
    for (char *w = strtok_r(allowed, " ", &rest); w && n < MOST;
         w = strtok_r(NULL, " ", &rest)) {
        if (strcmp(w, text) == 0)
            return OPTUNE_OK;
        names[n++] = w;
    }
    const char *near = ot_nearest(text, names, n);
    if (near)
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "attribute '%s' is not '%s'; did you mean '%s'?", row->name, text,
                           near);
    return optune_fail(err, OPTUNE_ESYNTAX, "attribute '%s' is not '%s'; it is one of: %s",
                       row->name, text, row->words);
}

static int parse_dtype(const optune_op_attr *row, const char *text, optune_attr *attr,
                       optune_err *err)
{
    attr->dtype = (optune_dtype){0};
    if (text[0] == '\0' || strcmp(text, "?") == 0 || strcmp(text, "\"\"") == 0)
        return OPTUNE_OK;
    if (!ot_parse_dtype(text, &attr->dtype))
        return wrong(row, text, "a dtype like f32, bf16 or i8 is expected", err);
    return OPTUNE_OK;
}

int ot_attr_settle(const optune_op_attr *row, optune_attr *attr, optune_err *err)
{
    int n = row->kind == OPTUNE_ATTR_INT && !attr->none ? 1 : 0;
    if (row->kind == OPTUNE_ATTR_INTS) {
        n = attr->n;
        if (row->length && (n == 0 || n > row->length || row->length % n != 0))
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "attribute '%s' has %d integers, it takes %d", row->name, n,
                               row->length);
        for (; row->length && n < row->length; n++)
            attr->i[n] = attr->i[n - attr->n];
        attr->n = (uint8_t)n;
    }
    const bool bounded = row->min != 0 || row->max != 0;
    for (int i = 0; bounded && i < n; i++)
        if (attr->i[i] < row->min || attr->i[i] > row->max)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "attribute '%s' has %lld outside %lld..%lld", row->name,
                               (long long)attr->i[i], (long long)row->min, (long long)row->max);
    return OPTUNE_OK;
}

int ot_attr_parse(const optune_op_attr *row, const char *text, optune_attr *attr,
                  optune_err *err)
{
    *attr = (optune_attr){.name = row->name, .kind = (uint8_t)row->kind};
    int status = OPTUNE_OK;
    switch (row->kind) {
    case OPTUNE_ATTR_INT:
        attr->none = row->none && strcmp(text, "none") == 0;
        if (!attr->none && !ot_parse_int(text, &attr->i[0]))
            status = wrong(
                row, text,
                row->none ? "an integer or none is expected" : "an integer is expected", err);
        break;
    case OPTUNE_ATTR_FLOAT:
        if (!ot_parse_real(text, &attr->f))
            status = wrong(row, text, "a number is expected", err);
        break;
    case OPTUNE_ATTR_BOOL:
        status = parse_bool(row, text, attr, err);
        break;
    case OPTUNE_ATTR_WORD:
        status = parse_word(row, text, attr, err);
        break;
    case OPTUNE_ATTR_INTS:
        status = parse_ints(row, text, attr, err);
        break;
    case OPTUNE_ATTR_DTYPE:
        status = parse_dtype(row, text, attr, err);
        break;
    default:
        status = optune_fail(err, OPTUNE_EUSAGE, "attribute '%s' has no kind", row->name);
    }
    return status < 0 ? status : ot_attr_settle(row, attr, err);
}

/* A default may lie outside the words a person may write: it is then what "left out" means. */
int ot_attr_default(const optune_op_attr *row, optune_attr *attr, optune_err *err)
{
    assert(row->value);
    if (row->kind == OPTUNE_ATTR_WORD && row->value[0] == '\0') {
        *attr = (optune_attr){.name = row->name, .kind = (uint8_t)row->kind};
        return OPTUNE_OK;
    }
    return ot_attr_parse(row, row->value, attr, err);
}

bool ot_attr_equal(const optune_attr *a, const optune_attr *b)
{
    switch (a->kind) {
    case OPTUNE_ATTR_FLOAT:
        return a->f == b->f;
    case OPTUNE_ATTR_WORD:
        return strcmp(a->word, b->word) == 0;
    case OPTUNE_ATTR_DTYPE:
        return optune_dtype_equal(a->dtype, b->dtype);
    case OPTUNE_ATTR_INTS:
        return a->n == b->n && memcmp(a->i, b->i, a->n * sizeof a->i[0]) == 0;
    default:
        return a->none == b->none && (a->none || a->i[0] == b->i[0]);
    }
}
