/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies out of tree. Their text may include what bodies in the tree include, by the same names
 * ("kernels/common/cpu.kernel.h"): the library holds these files, and what becomes of the text is
 * what the build makes of a body in the tree, one text with each file in place, once. So what is
 * compiled, emitted and digested needs no file of ours, wherever it is.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

enum { MOST_NAME = 256, MOST_DEPTH = 32 };

static int count_files(void)
{
    static _Atomic int known;
    if (!known) {
        int n = 0;
        while (ot_body_files[n].name)
            n++;
        known = n;
    }
    return known;
}

/* Its number; -1: there is none. */
static int file_of(const char *name)
{
    int low = 0, high = count_files() - 1;
    while (low <= high) {
        const int middle = (low + high) / 2, order = strcmp(name, ot_body_files[middle].name);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- lines --------------------------------------------------------------------------------- */

static const char *end_of(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Behind the '#' of a directive and the blanks around it; NULL: the line is none. */
static const char *directive(const char *line)
{
    line += strspn(line, " \t");
    if (*line != '#')
        return NULL;
    return line + 1 + strspn(line + 1, " \t");
}

static bool is_word(const char *at, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(at, word, n) == 0 && (at[n] < 'a' || at[n] > 'z');
}

/* The file of kernels/ that a line includes, quoted or in angle brackets. */
static bool included(const char *line, char name[MOST_NAME])
{
    const char *at = directive(line);
    if (!at || !is_word(at, "include"))
        return false;
    at += strlen("include");
    at += strspn(at, " \t");
    if (*at != '"' && *at != '<')
        return false;
    const size_t n = strcspn(at + 1, "\">\n");
    if (at[1 + n] == '\n' || at[1 + n] == '\0' || n >= MOST_NAME)
        return false;
    memcpy(name, at + 1, n);
    name[n] = '\0';
    return strncmp(name, "kernels/", strlen("kernels/")) == 0;
}

/* ---- putting files in place -------------------------------------------------------------- */

typedef struct place {
    bool *seen; /* of each file, whether it is in the text already */
    ot_text *to;
    const char *of; /* the implementation's name */
} place;

static int refuse(const place *p, const char *name, optune_err *err)
{
    const char **known = ot_alloc((size_t)count_files() * sizeof *known);
    for (int i = 0; i < count_files(); i++)
        known[i] = ot_body_files[i].name;
    const char *nearest = ot_nearest(name, known, count_files());
    free(known);
    /* Such as kernels/host/host.h; a slip in `.kernel.` leaves two dots. */
    const char *dot = strchr(name, '.');
    const bool for_rows = dot && strcmp(dot, ".h") == 0;
    return optune_fail(err, OPTUNE_ENOENT,
                       "the body of implementation '%s' includes '%s', %s%s%s%s", p->of, name,
                       for_rows ? "which is for rows: bodies include files called .kernel. or "
                                  ".shared.h"
                                : "which is no file that bodies include",
                       nearest ? "; did you mean '" : "", nearest ? nearest : "",
                       nearest ? "'?" : "");
}

/* A file of the tree: its law is that each is there once, whatever is around the include. */
static void put_file(const place *p, int file)
{
    if (p->seen[file])
        return;
    p->seen[file] = true;
    char name[MOST_NAME];
    for (const char *line = ot_body_files[file].text, *end; *line; line = end) {
        end = end_of(line);
        const int inner = included(line, name) ? file_of(name) : -1;
        if (inner >= 0)
            put_file(p, inner);
        else
            ot_text_add_n(p->to, line, (size_t)(end - line));
    }
}

/* The text of a row. What it includes under a condition is in the text where that holds, so behind
 * the condition it is not there yet: the compiler and the guards of the files decide. */
static int put_source(const place *p, const char *source, optune_err *err)
{
    const size_t bytes = (size_t)count_files() * sizeof(bool);
    bool *before[MOST_DEPTH] = {0};
    int depth = 0, status = OPTUNE_OK;
    char name[MOST_NAME];
    for (const char *line = source, *end; *line && status >= 0; line = end) {
        end = end_of(line);
        const char *at = directive(line);
        if (at && !strncmp(at, "if", 2) && ++depth <= MOST_DEPTH) {
            before[depth - 1] = ot_alloc(bytes);
            memcpy(before[depth - 1], p->seen, bytes);
        } else if (at && depth > 0 && depth <= MOST_DEPTH &&
                   (!strncmp(at, "el", 2) || is_word(at, "endif"))) {
            memcpy(p->seen, before[depth - 1], bytes);
        }
        if (at && depth > 0 && is_word(at, "endif")) {
            if (depth <= MOST_DEPTH) {
                free(before[depth - 1]);
                before[depth - 1] = NULL;
            }
            depth--;
        }
        if (!included(line, name)) {
            ot_text_add_n(p->to, line, (size_t)(end - line));
            continue;
        }
        const int file = file_of(name);
        if (file < 0)
            status = refuse(p, name, err);
        else
            put_file(p, file);
    }
    for (int i = 0; i < MOST_DEPTH; i++)
        free(before[i]);
    return status;
}

static bool includes_any(const char *source)
{
    char name[MOST_NAME];
    for (const char *line = source; *line; line = end_of(line))
        if (included(line, name))
            return true;
    return false;
}

/* ---- what is kept ------------------------------------------------------------------------ */

/* By the text itself: rows come and go with their plugins, and others take their addresses. */
typedef struct flat {
    char *source;
    ot_text text;
    int serves;
    struct flat *next;
} flat;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static flat *flats;

static const flat *find(const char *source)
{
    const flat *f = flats;
    while (f && strcmp(f->source, source) != 0)
        f = f->next;
    return f;
}

/* Either file says for whom the whole is; what includes both has them under conditions. */
static int serves_of(const bool *seen)
{
    const int cpu = file_of("kernels/common/cpu.kernel.h");
    const int gpu = file_of("kernels/common/gpu.kernel.h");
    const bool on_cpu = cpu >= 0 && seen[cpu], on_gpu = gpu >= 0 && seen[gpu];
    return on_cpu == on_gpu ? OT_FOR_CPUS | OT_FOR_GPUS : on_cpu ? OT_FOR_CPUS : OT_FOR_GPUS;
}

/* Of a text that includes; NULL: it includes what there is not. */
static const flat *flat_of(const char *source, const char *of, optune_err *err)
{
    pthread_mutex_lock(&lock);
    const flat *found = find(source);
    if (!found) {
        flat *made = ot_alloc(sizeof *made);
        bool *seen = ot_alloc((size_t)count_files() * sizeof *seen);
        const place p = {seen, &made->text, of};
        if (put_source(&p, source, err) < 0) {
            ot_text_release(&made->text);
            free(made);
        } else {
            made->source = ot_strdup(source);
            made->serves = serves_of(seen);
            made->next = flats;
            flats = made;
            found = made;
        }
        free(seen);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int ot_body_check(const optune_impl *impl, optune_err *err)
{
    if (!impl->source || !includes_any(impl->source))
        return OPTUNE_OK;
    return flat_of(impl->source, impl->name, err) ? OPTUNE_OK : OPTUNE_ENOENT;
}

const char *ot_body_text(const optune_impl *row)
{
    if (!row->source || !includes_any(row->source))
        return row->source;
    const flat *f = flat_of(row->source, row->name, NULL);
    return f ? ot_text_str(&f->text) : row->source;
}

int ot_body_serves(const optune_impl *row)
{
    const flat *f =
        row->source && includes_any(row->source) ? flat_of(row->source, row->name, NULL) : NULL;
    return f ? f->serves : OT_FOR_CPUS | OT_FOR_GPUS;
}
