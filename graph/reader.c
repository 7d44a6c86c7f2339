/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a graph file: spaces, comments, brackets, names, and where they stand. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "graph/reader.h"

/* ---- places ------------------------------------------------------------------------------ */

void ot_read_find_lines(ot_reader *r)
{
    const char *const source = r->g->source;
    int n = 1;
    for (const char *c = source; *c; c++)
        n += *c == '\n';
    r->line = ot_alloc((size_t)n * sizeof *r->line);
    for (const char *c = source; *c; c++)
        if (*c == '\n')
            r->line[++r->n_lines] = (size_t)(c - source) + 1;
    r->n_lines++;
}

ot_text_spot ot_read_place(const ot_reader *r, const char *at)
{
    const size_t offset = (size_t)(at - r->g->source);
    int line = 0;
    for (int behind = r->n_lines; behind - line > 1;) {
        const int middle = line + (behind - line) / 2;
        if (r->line[middle] <= offset)
            line = middle;
        else
            behind = middle;
    }
    return (ot_text_spot){line + 1, (int)(offset - r->line[line]) + 1};
}

int ot_read_fail(const ot_reader *r, const char *at, int status, const char *format, ...)
{
    char reason[OPTUNE_ERR_SIZE];
    va_list list;
    va_start(list, format);
    ot_format_list(reason, sizeof reason, format, list);
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
