/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions are made of: places, values, and what can be asked of one. */
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"

ot_spot ot_spot_in(const ot_spot *place, const char *text, size_t at)
{
    ot_spot here = place ? *place : (ot_spot){.line = 1, .column = 1};
    for (size_t i = 0; i < at; i++) {
        here.column = text[i] == '\n' ? 1 : here.column + 1;
        here.line += text[i] == '\n';
    }
    return here;
}

static bool within_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

enum { SHOWN = 64 }; /* bytes of a long text */

/* The text, or what is around its byte `at`, in whole characters. */
static void show_around(const char *text, size_t at, char *to, size_t size)
{
    const size_t n = strlen(text), most = n > SHOWN ? n - SHOWN : 0;
    size_t from = at > SHOWN / 2 ? at - SHOWN / 2 : 0;
    from = from < most ? from : most;
    while (within_character(text[from]))
        from++;
    size_t end = from + SHOWN < n ? from + SHOWN : n;
    while (within_character(text[end]))
        end--;
    snprintf(to, size, "%s%.*s%s", from ? "..." : "", (int)(end - from), text + from,
             end < n ? "..." : "");
}

int ot_fail_at(ot_spot place, int status, optune_err *err, const char *format, ...)
{
    char text[OPTUNE_ERR_SIZE], around[SHOWN + 16];
    va_list args;
    va_start(args, format);
    ot_format_list(text, sizeof text, format, args);
    va_end(args);
    if (place.said) {
        show_around(place.said, (size_t)place.column - 1, around, sizeof around);
        return place.whole ? optune_fail(err, status, "%s %s: %s", place.file, around, text)
                           : optune_fail(err, status, "%s %s, column %d: %s", place.file,
                                         around, place.column, text);
    }
    if (place.file && !place.line)
        return optune_fail(err, status, "%s, column %d: %s", place.file, place.column, text);
    return place.file ? optune_fail(err, status, "%s:%d:%d: %s", place.file, place.line,
                                    place.column, text)
                      : optune_fail(err, status, "column %d: %s", place.column, text);
}

/* ---- values ------------------------------------------------------------------------------ */

const char *ot_value_kind_name(int kind)
{
    static const char *const name[] = {"nothing",       "a truth value", "an integer",
                                       "a real number", "a word",        "a list"};
    return kind >= 0 && kind < OT_COUNT(name) ? name[kind] : "nothing";
}

bool ot_value_number(const ot_expr_value *value)
{
    return value->kind == OT_VALUE_BOOL || value->kind == OT_VALUE_INT ||
           value->kind == OT_VALUE_REAL;
}

double ot_value_real(const ot_expr_value *value)
{
    return value->kind == OT_VALUE_REAL ? value->f : (double)value->i;
}

bool ot_value_true(const ot_expr_value *value)
{
    switch (value->kind) {
    case OT_VALUE_BOOL:
    case OT_VALUE_INT:
        return value->i != 0;
    case OT_VALUE_REAL:
        return value->f != 0;
    case OT_VALUE_WORD:
        return value->s[0] != '\0';
    case OT_VALUE_LIST:
        return value->n > 0;
    }
    return false;
}

void ot_value_print(const ot_expr_value *value, ot_text *to)
{
    switch (value->kind) {
    case OT_VALUE_BOOL:
        ot_text_add(to, value->i ? "True" : "False");
        return;
    case OT_VALUE_INT:
        ot_text_printf(to, "%lld", (long long)value->i);
        return;
    case OT_VALUE_REAL:
        ot_text_add_real(to, value->f);
        return;
    case OT_VALUE_WORD:
        ot_text_printf(to, "'%s'", value->s);
        return;
    case OT_VALUE_LIST:
        ot_text_add(to, "[");
        for (int i = 0; i < value->n; i++) {
            ot_text_add(to, i ? ", " : "");
            ot_value_print(&value->item[i], to);
        }
        ot_text_add(to, "]");
        return;
    }
    ot_text_add(to, "nothing");
}

/* ---- expressions ------------------------------------------------------------------------- */

void ot_expr_free(ot_expr *expr)
{
    if (!expr)
        return;
    free(expr->node);
    ot_arena_release(&expr->arena);
    free(expr);
}

const char *ot_expr_text(const ot_expr *expr)
{
    return expr->text;
}

int ot_expr_names(const ot_expr *expr, const char *const **names)
{
    *names = expr->name;
    return expr->n_names;
}

bool ot_expr_reserved(const char *name)
{
    static const char *const word[] = {"and",    "or",    "not",    "in",    "True", "False",
                                       "lambda", "if",    "else",   "for",   "is",   "None",
                                       "await",  "async", "import", "yield", "del",  "min",
                                       "max",    "range", "list"};
    for (int i = 0; i < OT_COUNT(word); i++)
        if (strcmp(name, word[i]) == 0)
            return true;
    return false;
}

static int place_of_name(const ot_expr *expr, int name)
{
    for (int i = 1; i < expr->n_nodes; i++)
        if (expr->node[i].kind == OT_NODE_NAME && expr->node[i].i == name)
            return expr->node[i].at;
    return 0;
}

int ot_expr_check_names(const ot_expr *expr, ot_expr_meaning *meaning, const void *arg,
                        const char *others, optune_err *err)
{
    for (int i = 0; i < expr->n_names; i++) {
        ot_expr_value value = {0};
        if (!meaning(arg, expr->name[i], &value))
            return ot_fail_at(
                ot_spot_in(&expr->place, expr->text, (size_t)place_of_name(expr, i)),
                OPTUNE_EUSAGE, err, "nothing is called '%s' here; there are %s", expr->name[i],
                others);
    }
    return OPTUNE_OK;
}
