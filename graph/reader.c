/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a graph file: spaces, comments, brackets, names, and where they stand. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "graph/reader.h"

/* ---- places ------------------------------------------------------------------------------ */

ot_spot ot_read_place(const ot_reader *r, const char *at)
{
    ot_spot place = {1, 1};
    for (const char *c = r->g->source; c < at; c++) {
        place.column++;
        if (*c == '\n')
            place = (ot_spot){place.line + 1, 1};
    }
    return place;
}

int ot_read_fail(const ot_reader *r, const char *at, int status, const char *format, ...)
{
    char reason[OPTUNE_ERR_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    return ot_graph_fail_at(r->g, ot_read_place(r, at), status, reason, r->err);
}

/* What the builder refused, at its place. */
int ot_read_pass_on(const ot_reader *r, const char *at, int status, const optune_err *inner)
{
    return status < 0 ? ot_read_fail(r, at, status, "%s", inner->text) : status;
}

/* ---- words ------------------------------------------------------------------------------- */

void ot_read_skip(ot_reader *r)
{
    for (;; r->p++) {
        if (*r->p == '#')
            r->p += strcspn(r->p, "\n");
        if (!isspace((unsigned char)*r->p) || (*r->p == '\n' && r->depth == 0))
            return;
    }
}

bool ot_read_eat(ot_reader *r, char what)
{
    ot_read_skip(r);
    if (*r->p != what)
        return false;
    r->p++;
    return true;
}

bool ot_read_open(ot_reader *r, char what)
{
    if (!ot_read_eat(r, what))
        return false;
    r->depth++;
    return true;
}

bool ot_read_close(ot_reader *r, char what)
{
    if (!ot_read_eat(r, what))
        return false;
    r->depth--;
    return true;
}

size_t ot_read_identifier(const char *p)
{
    size_t n = 0;
    if (isalpha((unsigned char)*p) || *p == '_')
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
    return n;
}

int ot_read_word(ot_reader *r, const char *what, char word[OPTUNE_NAME_SIZE])
{
    ot_read_skip(r);
    const size_t n = ot_read_identifier(r->p);
    if (n == 0)
        return ot_read_fail(r, r->p, OPTUNE_ESYNTAX, "%s is expected", what);
    if (n >= OPTUNE_NAME_SIZE)
        return ot_read_fail(r, r->p, OPTUNE_ELIMIT, "a name has at most %d characters",
                            OPTUNE_NAME_SIZE - 1);
    memcpy(word, r->p, n);
    word[n] = '\0';
    r->p += n;
    return OPTUNE_OK;
}
