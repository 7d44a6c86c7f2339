/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in a text that is being read. Messages show the reason, a line of the text around the
 * place, and a caret under it.
 */
#include <stdarg.h>
#include <string.h>

#include "call/cursor.h"

enum { WINDOW = 76 }; /* characters of the text shown in a message */

/* ---- messages ---------------------------------------------------------------------------- */

/* Reason, a line of the text, a caret under `at`; long texts are cut around it. */
int ot_point_text(const ot_cursor *c, const char *at, int status, const char *reason)
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
    snprintf(c->err->text, sizeof c->err->text, "%.700s\n  %s\n  %*s^", reason, line,
             (int)column, "");
    c->err->status = status;
    return status;
}

int ot_point(const ot_cursor *c, const char *at, int status, const char *format, ...)
{
    char reason[512];
    va_list list;
    va_start(list, format);
    ot_format_list(reason, sizeof reason, format, list);
    va_end(list);
    return ot_point_text(c, at, status, reason);
}

/* ---- words ------------------------------------------------------------------------------- */

void ot_skip(ot_cursor *c)
{
    while (*c->p == ' ' || (*c->p >= '\t' && *c->p <= '\r'))
        c->p++;
}

bool ot_eat(ot_cursor *c, char what)
{
    ot_skip(c);
    if (*c->p != what)
        return false;
    c->p++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t ot_identifier(const char *p)
{
    size_t n = 0;
    while (is_letter(p[n]) || (n && p[n] >= '0' && p[n] <= '9'))
        n++;
    return n;
}

int ot_copy_word(const ot_cursor *c, const char *from, size_t n, char word[OT_MAX_WORD])
{
    if (n >= OT_MAX_WORD)
        return ot_point(c, from, OPTUNE_ELIMIT, "this is too long");
    memcpy(word, from, n);
    word[n] = '\0';
    return OPTUNE_OK;
}
