/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What any front end declares of a kernel: sizes, knobs, constraints. Whatever cannot be is refused
 * where it is declared.
 */
#include <string.h>

#include "bring/bring.h"

enum { MOST_NAME = OPTUNE_KNOB_NAME_SIZE - 1 };

static int said_already(ot_spot place, const char *what, const char *name, ot_spot before,
                        optune_err *err)
{
    if (before.line)
        return ot_fail_at(place, OPTUNE_ECONFLICT, err, "'%s' is %s already, see line %d", name,
                          what, before.line);
    return ot_fail_at(place, OPTUNE_ECONFLICT, err, "'%s' is %s already", name, what);
}

static int check_name(const ot_brought *b, const char *what, const char *name, ot_spot place,
                      optune_err *err)
{
    if (!ot_is_identifier(name))
        return ot_fail_at(place, OPTUNE_ESYNTAX, err, "'%.40s' is no name for a %s", name,
                          what);
    if (strlen(name) > MOST_NAME)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "the name '%.40s...' is longer than %d",
                          name, MOST_NAME);
    if (ot_expr_reserved(name))
        return ot_fail_at(place, OPTUNE_ECONFLICT, err,
                          "'%s' is a word of expressions, and no name", name);
    if (strcmp(name, "math") == 0 || strncmp(name, "OT_", 3) == 0 ||
        strncmp(name, "OPTUNE_", 7) == 0)
        return ot_fail_at(place, OPTUNE_ECONFLICT, err,
                          "'%s' is taken: `math` and what begins with OT_ or OPTUNE_ is ours",
                          name);
    for (int i = 0; i < b->n_sizes; i++)
        if (strcmp(b->size[i].name, name) == 0)
            return said_already(place, "a size", name, b->size[i].spot, err);
    for (int i = 0; i < b->n_knobs; i++)
        if (strcmp(b->knob[i].name, name) == 0)
            return said_already(place, "a knob", name, b->knob[i].spot, err);
    return OPTUNE_OK;
}

static int check_size(const char *name, ot_spot place, const ot_expr_value *value,
                      optune_err *err)
{
    if (value->kind != OT_VALUE_INT)
        return ot_fail_at(place, OPTUNE_ETYPE, err, "size '%s' is %s, not an integer", name,
                          ot_value_kind_name(value->kind));
    if (value->i < 0 || value->i > OPTUNE_MAX_DIM)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "size '%s' is %lld, not 0 to 2^40", name,
                          (long long)value->i);
    return OPTUNE_OK;
}

int ot_declare_size(ot_brought *b, const char *name, ot_spot place, const ot_expr_value *value,
                    optune_err *err)
{
    OT_RETURN_UNLESS_OK(check_name(b, "size", name, place, err));
    if (b->n_sizes == OT_BROUGHT_SIZES)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "more than %d sizes", OT_BROUGHT_SIZES);
    ot_brought_size *size = &b->size[b->n_sizes];
    *size = (ot_brought_size){.name = ot_arena_copy(&b->arena, name),
                              .spot = place,
                              .list = value->kind == OT_VALUE_LIST,
                              .n = value->kind == OT_VALUE_LIST ? value->n : 1,
                              .input = -1};
    if (size->n < 1 || size->n > OPTUNE_MAX_LIST)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "size '%s' has %d numbers, not 1 to %d",
                          name, size->n, OPTUNE_MAX_LIST);
    for (int i = 0; i < size->n; i++) {
        const ot_expr_value *item = size->list ? &value->item[i] : value;
        OT_RETURN_UNLESS_OK(check_size(name, place, item, err));
        size->value[i] = item->i;
    }
    b->n_sizes++;
    return OPTUNE_OK;
}

/* ---- knobs ------------------------------------------------------------------------------- */

/* One kind for all: integers, truth values, or what is written down as it stands. */
static uint8_t scalar_of(const ot_expr_value *list)
{
    bool ints = true, bools = true;
    for (int i = 0; i < list->n; i++) {
        ints = ints && list->item[i].kind == OT_VALUE_INT;
        bools = bools && list->item[i].kind == OT_VALUE_BOOL;
    }
    return bools ? OPTUNE_SCALAR_BOOL : ints ? OPTUNE_SCALAR_INT : OPTUNE_SCALAR_WORD;
}

static const char *source_text(ot_brought *b, const ot_expr_value *value)
{
    if (value->kind == OT_VALUE_WORD)
        return ot_arena_copy(&b->arena, value->s);
    if (value->kind == OT_VALUE_BOOL)
        return value->i ? "1" : "0";
    ot_text text = {0};
    ot_value_print(value, &text);
    const char *copy = ot_arena_copy(&b->arena, ot_text_str(&text));
    ot_text_release(&text);
    return copy;
}

static int find(const ot_expr_value *list, const char *const *text, const char *wanted)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(text[i], wanted) == 0)
            return i;
    return -1;
}

static bool is_same_number(const ot_expr_value *a, const ot_expr_value *b)
{
    return ot_value_number(a) && ot_value_number(b) && ot_value_real(a) == ot_value_real(b);
}

/* Copies the values, and how each is written. */
static int take_values(ot_brought *b, ot_brought_knob *knob, const ot_expr_value *list,
                       optune_err *err)
{
    ot_expr_value *item = ot_arena_alloc(&b->arena, (size_t)list->n * sizeof *item);
    const char **text = ot_arena_alloc(&b->arena, (size_t)list->n * sizeof *text);
    for (int i = 0; i < list->n; i++) {
        const ot_expr_value *value = &list->item[i];
        if (value->kind == OT_VALUE_LIST || value->kind == OT_VALUE_NONE)
            return ot_fail_at(knob->spot, OPTUNE_ETYPE, err,
                              "knob '%s': value %d is %s; numbers, words and truth values are "
                              "possible",
                              knob->name, i + 1, ot_value_kind_name(value->kind));
        text[i] = source_text(b, value);
        item[i] = *value;
        if (value->kind == OT_VALUE_WORD)
            item[i].s = text[i];
        if (strlen(text[i]) >= OPTUNE_WORD_SIZE)
            return ot_fail_at(knob->spot, OPTUNE_ELIMIT, err,
                              "knob '%s': the value '%.40s' has more than %d letters; "
                              "several knobs can say it in parts",
                              knob->name, text[i], OPTUNE_WORD_SIZE - 1);
        if (!ot_text_is_plain(text[i]))
            return ot_fail_at(knob->spot, OPTUNE_ESYNTAX, err,
                              "knob '%s': value %d has a character that terminals obey",
                              knob->name, i + 1);
        const ot_expr_value before = {.kind = OT_VALUE_LIST, .n = i, .item = item};
        if (list->n <= 4096 && find(&before, text, text[i]) >= 0)
            return ot_fail_at(knob->spot, OPTUNE_ESYNTAX, err, "knob '%s' has %s twice%s",
                              knob->name, text[i],
                              value->kind == OT_VALUE_REAL
                                  ? ": 1.1 and 1.10 are one number; in quotes, as in "
                                    "['1.1', '1.10'], they are two words"
                                  : "");
    }
    knob->list = (ot_expr_value){.kind = OT_VALUE_LIST, .n = list->n, .item = item};
    knob->text = text;
    knob->scalar = scalar_of(&knob->list);
    return OPTUNE_OK;
}

int ot_declare_knob(ot_brought *b, const char *name, ot_spot place, const ot_expr_value *list,
                    const ot_expr_value *standard, optune_err *err)
{
    OT_RETURN_UNLESS_OK(check_name(b, "knob", name, place, err));
    if (b->n_knobs == OPTUNE_MAX_KNOBS)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "more than %d knobs", OPTUNE_MAX_KNOBS);
    if (list->kind != OT_VALUE_LIST)
        return ot_fail_at(place, OPTUNE_ETYPE, err,
                          "the values of knob '%s' are %s, not a list: [1, 2, 4]", name,
                          ot_value_kind_name(list->kind));
    if (list->n < 1)
        return ot_fail_at(place, OPTUNE_EUSAGE, err, "knob '%s' has no values", name);
    ot_brought_knob *knob = &b->knob[b->n_knobs];
    *knob = (ot_brought_knob){.name = ot_arena_copy(&b->arena, name), .spot = place};
    OT_RETURN_UNLESS_OK(take_values(b, knob, list, err));
    if (standard) {
        knob->standard = find(&knob->list, knob->text, source_text(b, standard));
        for (int i = 0; i < knob->list.n && knob->standard < 0; i++)
            if (is_same_number(&knob->list.item[i], standard))
                knob->standard = i; /* 2.0 of 1, 2, 4 */
        if (knob->standard < 0)
            return ot_fail_at(place, OPTUNE_EUSAGE, err,
                              "the default of knob '%s', %s, is none of its values", name,
                              source_text(b, standard));
    }
    b->n_knobs++;
    return OPTUNE_OK;
}

/* ---- expressions ------------------------------------------------------------------------- */

int ot_declare_where(ot_brought *b, const char *text, ot_spot place, optune_err *err)
{
    if (b->n_where == OT_BROUGHT_WHERE)
        return ot_fail_at(place, OPTUNE_ELIMIT, err, "more than %d constraints",
                          OT_BROUGHT_WHERE);
    OT_RETURN_UNLESS_OK(ot_expr_parse(text, &place, &b->where[b->n_where].expr, err));
    b->n_where++;
    return OPTUNE_OK;
}

int ot_declared_value(ot_brought *b, const char *text, ot_spot place, ot_expr_value *value,
                      optune_err *err)
{
    ot_expr *expr;
    ot_expr_value known[OT_EXPR_MOST_NAMES] = {{0}};
    const char *const *name;
    OT_RETURN_UNLESS_OK(ot_expr_parse(text, &place, &expr, err));
    const int n = ot_expr_names(expr, &name);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < b->n_sizes; k++)
            if (!b->size[k].list && strcmp(b->size[k].name, name[i]) == 0)
                known[i] = ot_int_value(b->size[k].value[0]);
    ot_expr_value result;
    const int status = ot_expr_eval(expr, known, &b->arena, &result, err);
    if (status >= 0 && result.kind == OT_VALUE_WORD)
        result.s = ot_arena_copy(&b->arena, result.s);
    if (status >= 0 &&
        result.kind == OT_VALUE_LIST) { /* words in it belong to the expression */
        ot_expr_value *item = ot_arena_alloc(&b->arena, (size_t)(result.n + 1) * sizeof *item);
        for (int i = 0; i < result.n; i++) {
            item[i] = result.item[i];
            if (item[i].kind == OT_VALUE_WORD)
                item[i].s = ot_arena_copy(&b->arena, item[i].s);
        }
        result.item = item;
    }
    *value = result;
    ot_expr_free(expr);
    return status;
}
