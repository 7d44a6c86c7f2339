/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's text, whole: what it includes in quotes is put in its place, as the compiler's file
 * lies in another folder. Compilers are told the lines that a person sees.
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

enum { MOST_BYTES = 4 << 20, MOST_DEPTH = 16 };

typedef struct reading {
    const char *within;
    ot_text *to;
    ot_text once; /* paths of files that want to be there once, each with its 0 */
    optune_err *err;
} reading;

/* A file that is being read, and the one that includes it. */
typedef struct opened {
    const struct opened *outer;
    int depth;
    char real[PATH_MAX];
    bool guarded; /* if it is included within itself, it is nothing there */
} opened;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_within(const char *folder, const char *path)
{
    char real[PATH_MAX];
    if (!folder)
        return true;
    const size_t n = strlen(folder);
    return realpath(path, real) && strncmp(real, folder, n) == 0 && real[n] == '/';
}

/* What follows a directive's word on this line; NULL: it is another line. */
static const char *behind_directive(const char *line, const char *word)
{
    line += strspn(line, " \t");
    if (*line++ != '#')
        return NULL;
    line += strspn(line, " \t");
    const size_t n = strlen(word);
    if (ot_identifier_length(line) != n || strncmp(line, word, n) != 0)
        return NULL;
    return line + n + strspn(line + n, " \t");
}

/* `#include "name"`: the name, or NULL. */
static const char *included(const char *line, size_t *n)
{
    line = behind_directive(line, "include");
    if (!line || *line++ != '"')
        return NULL;
    *n = strcspn(line, "\"\n");
    return line[*n] == '"' ? line : NULL;
}

static bool says_once(const char *line)
{
    const char *said = behind_directive(line, "pragma");
    return said && ot_identifier_length(said) == 4 && strncmp(said, "once", 4) == 0;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

/* `#ifndef WORD` with `#define WORD` right behind: the usual guard begins here. */
static bool begins_guard(const char *line)
{
    const char *word = behind_directive(line, "ifndef");
    const size_t n = word ? ot_identifier_length(word) : 0;
    do
        line = next_line(line);
    while (*line && line[strspn(line, " \t")] != '#');
    const char *made = n ? behind_directive(line, "define") : NULL;
    return made && ot_identifier_length(made) == n && strncmp(made, word, n) == 0;
}

/* Says once, or has nothing but a guard, without anything for when it is there already. */
static bool is_guarded(const char *text, bool *once)
{
    bool first = true, guarded = false;
    int depth = 0;
    *once = false;
    for (const char *line = text; *line; line = next_line(line)) {
        if (line[strspn(line, " \t")] != '#')
            continue;
        guarded = first ? begins_guard(line) : guarded;
        first = false;
        depth += (behind_directive(line, "if") || behind_directive(line, "ifdef") ||
                  behind_directive(line, "ifndef")) -
                 (behind_directive(line, "endif") != NULL);
        if (depth == 1 && (behind_directive(line, "else") || behind_directive(line, "elif")))
            guarded = false;
        *once = *once || says_once(line);
    }
    return guarded || *once;
}

/* The number of a file that wants to be there once, by its path. */
static int once_number(reading *r, const char *real)
{
    int number = 0;
    for (size_t at = 0; at < r->once.n; at += strlen(r->once.s + at) + 1, number++)
        if (strcmp(r->once.s + at, real) == 0)
            return number;
    ot_text_add_n(&r->once, real, strlen(real) + 1);
    return number;
}

static int add_file(reading *r, const char *path, const opened *outer);

/* The text of an included file, or the line as it stands where there is no such file beside this
 * one: the compiler may know better. */
static int add_included(reading *r, const char *path, const char *name, size_t n,
                        const char *line, size_t length, const opened *in)
{
    char other[PATH_MAX];
    const int folder = (int)(last_part(path) - path);
    if (snprintf(other, sizeof other, "%.*s%.*s", folder, path, (int)n, name) >=
            (int)sizeof other ||
        *name == '/' || !ot_exists(other)) {
        ot_text_add_n(r->to, line, length);
        ot_text_add(r->to, "\n");
        return OPTUNE_OK;
    }
    if (!is_within(r->within, other))
        return optune_fail(r->err, OPTUNE_EUSAGE, "'%s' includes '%.*s', which is not in '%s'",
                           path, (int)n, name, r->within);
    return in->depth == MOST_DEPTH
               ? optune_fail(r->err, OPTUNE_ELIMIT, "'%s' includes without end", path)
               : add_file(r, other, in);
}

/* A file's name may hold anything but a slash, and a compiler reads it as a string. */
static void add_place(ot_text *to, int line, const char *path)
{
    ot_text_printf(to, "#line %d \"", line);
    for (const char *p = last_part(path); *p; p++) {
        if (iscntrl((unsigned char)*p))
            ot_text_printf(to, "\\%03o", (unsigned char)*p);
        else
            ot_text_printf(to, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    }
    ot_text_add(to, "\"\n");
}

static int add_text(reading *r, const char *path, const char *text, const opened *in)
{
    int line = 1, status = OPTUNE_OK;
    add_place(r->to, 1, path);
    for (const char *p = text; *p && status >= 0; line++) {
        const size_t length = strcspn(p, "\n");
        size_t n;
        const char *name = included(p, &n);
        if (name) {
            status = add_included(r, path, name, n, p, length, in);
            add_place(r->to, line + 1, path);
        } else {
            ot_text_add_n(r->to, p, in->outer && says_once(p) ? 0 : length);
            ot_text_add(r->to, "\n");
        }
        p += length + (p[length] == '\n');
    }
    return status;
}

/* `#pragma once` means a file, and all are one here: so it becomes a guard. */
static int add_guarded(reading *r, const char *path, const char *text, const opened *in)
{
    const int number = once_number(r, in->real);
    ot_text_printf(r->to, "#ifndef OPTUNE_ONCE_%d\n#define OPTUNE_ONCE_%d\n", number, number);
    const int status = add_text(r, path, text, in);
    ot_text_add(r->to, "#endif\n");
    return status;
}

static int add_file(reading *r, const char *path, const opened *outer)
{
    ot_text text = {0};
    bool once = false;
    opened in = {.outer = outer, .depth = outer ? outer->depth + 1 : 0};
    if (!realpath(path, in.real))
        snprintf(in.real, sizeof in.real, "%s", path);
    for (const opened *o = outer; o; o = o->outer)
        if (o->guarded && strcmp(o->real, in.real) == 0)
            return OPTUNE_OK;
    int status = ot_read_file(path, &text, MOST_BYTES, r->err);
    if (status >= 0 && memchr(ot_text_str(&text), '\0', text.n))
        status = optune_fail(r->err, OPTUNE_ESYNTAX, "'%s' is no text", path);
    if (status >= 0 && text.n + r->to->n > MOST_BYTES)
        status =
            optune_fail(r->err, OPTUNE_ELIMIT, "'%s' and what it includes is too long", path);
    if (status >= 0) {
        const char *own = ot_text_behind_mark(ot_text_str(&text));
        in.guarded = is_guarded(own, &once);
        status = (once && outer ? add_guarded : add_text)(r, path, own, &in);
    }
    ot_text_release(&text);
    return status;
}

int ot_source_read(const char *path, const char *within, ot_text *to, optune_err *err)
{
    reading r = {.within = within, .to = to, .err = err};
    if (!is_within(within, path) && ot_exists(path))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is not in '%s'", path, within);
    const int status = add_file(&r, path, NULL);
    ot_text_release(&r.once);
    return status;
}

int ot_path_check(const char *path, optune_err *err)
{
    return ot_text_is_utf8(path)
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ESYNTAX,
                             "'%s' has a name that is no UTF-8: rename it, or work elsewhere",
                             path);
}

const char *ot_path_beside(ot_brought *b, const char *name)
{
    const char *slash = strrchr(b->path, '/');
    return name[0] == '/' || !slash
               ? name
               : ot_arena_printf(&b->arena, "%.*s/%s", (int)(slash - b->path), b->path, name);
}
