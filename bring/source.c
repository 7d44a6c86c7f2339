/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's text, whole: what it includes in quotes is put in its place, as the compiler's file
 * lies in another folder. Compilers are told the lines that a person sees.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

enum { MOST_BYTES = 4 << 20, MOST_DEPTH = 16 };

typedef struct reading {
    const char *within;
    ot_text *to;
    optune_err *err;
} reading;

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

const char *ot_text_behind_mark(const char *text)
{
    static const char mark[] = "\xef\xbb\xbf";
    return strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text;
}

/* `#include "name"`: the name, or NULL. */
static const char *included(const char *line, size_t *n)
{
    line += strspn(line, " \t");
    if (*line++ != '#')
        return NULL;
    line += strspn(line, " \t");
    if (strncmp(line, "include", 7) != 0)
        return NULL;
    line += 7 + strspn(line + 7, " \t");
    if (*line++ != '"')
        return NULL;
    *n = strcspn(line, "\"\n");
    return line[*n] == '"' ? line : NULL;
}

static int add_file(reading *r, const char *path, int depth);

/* The text of an included file, or the line as it stands where there is no such file beside this
 * one: the compiler may know better. */
static int add_included(reading *r, const char *path, const char *name, size_t n,
                        const char *line, size_t length, int depth)
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
    return depth == MOST_DEPTH
               ? optune_fail(r->err, OPTUNE_ELIMIT, "'%s' includes without end", path)
               : add_file(r, other, depth + 1);
}

static int add_text(reading *r, const char *path, const char *text, int depth)
{
    int line = 1, status = OPTUNE_OK;
    ot_text_printf(r->to, "#line 1 \"%s\"\n", last_part(path));
    for (const char *p = text; *p && status >= 0; line++) {
        const size_t length = strcspn(p, "\n");
        size_t n;
        const char *name = included(p, &n);
        if (name) {
            status = add_included(r, path, name, n, p, length, depth);
            ot_text_printf(r->to, "#line %d \"%s\"\n", line + 1, last_part(path));
        } else {
            ot_text_add_n(r->to, p, length);
            ot_text_add(r->to, "\n");
        }
        p += length + (p[length] == '\n');
    }
    return status;
}

static int add_file(reading *r, const char *path, int depth)
{
    ot_text text = {0};
    int status = ot_read_file(path, &text, MOST_BYTES, r->err);
    if (status >= 0 && memchr(ot_text_str(&text), '\0', text.n))
        status = optune_fail(r->err, OPTUNE_ESYNTAX, "'%s' is no text", path);
    if (status >= 0 && text.n + r->to->n > MOST_BYTES)
        status =
            optune_fail(r->err, OPTUNE_ELIMIT, "'%s' and what it includes is too long", path);
    if (status >= 0)
        status = add_text(r, path, ot_text_behind_mark(ot_text_str(&text)), depth);
    ot_text_release(&text);
    return status;
}

int ot_source_read(const char *path, const char *within, ot_text *to, optune_err *err)
{
    reading r = {.within = within, .to = to, .err = err};
    if (!is_within(within, path) && ot_exists(path))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is not in '%s'", path, within);
    return add_file(&r, path, 0);
}

const char *ot_path_beside(ot_brought *b, const char *name)
{
    const char *slash = strrchr(b->path, '/');
    return name[0] == '/' || !slash
               ? name
               : ot_arena_printf(&b->arena, "%.*s/%s", (int)(slash - b->path), b->path, name);
}
