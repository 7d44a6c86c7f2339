/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time program: writes gen/bodies.c, one entry for each implementation file named on the
 * command line, in that order. A body is flattened: quoted includes are replaced by the file's
 * text, each at most once. The body of kernels/x/impl_y.c is kernels/x/impl_y.kernel.c, .kernel.cu
 * for GPUs, .kernel.h for both, or the file that a line OPTUNE_BODY("...") of the rows' file names.
 * The digest covers the rows' own file, the body, every quoted include under kernels/ that either
 * of them reaches, and the host code that the rows call, which is the .c beside a .h: a change of
 * what an implementation is made of changes it, and a change elsewhere does not. The files behind
 * `--files` go in as they are, for bodies out of tree that include them.
 *
 * usage: embed SOURCE_DIR OUT.c OUT.d kernels/.../impl_<id>.c ... --files kernels/.../x.kernel.h
 * ...
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct buffer {
    char *s;
    size_t n, capacity;
} buffer;

enum { MOST_NAMES = 128 };
typedef struct names {
    char name[MOST_NAMES][512];
    int n;
} names;

static const char *root;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s '%s'\n", what, name);
    exit(1);
}

static void append(buffer *b, const char *s, size_t n)
{
    if (b->n + n + 1 > b->capacity) {
        b->capacity = (b->n + n + 1) * 2;
        b->s = realloc(b->s, b->capacity);
        if (!b->s)
            fail("out of memory for", "text");
    }
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

static bool read_file(const char *name, buffer *to)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    char part[65536];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        append(to, part, n);
    fclose(f);
    append(to, "", 0);
    return true;
}

static bool add_name(names *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->name[i], name))
            return false;
    if (all->n == MOST_NAMES || strlen(name) >= sizeof all->name[0])
        fail("too many or too long includes at", name);
    strcpy(all->name[all->n++], name);
    return true;
}

/* The quoted include of a line, or false. Only files of kernels/ count. */
static bool quoted_include(const char *line, const char *end, char name[512])
{
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    if (end - line < 10 || strncmp(line, "#include", 8))
        return false;
    const char *open = memchr(line, '"', (size_t)(end - line));
    const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
    if (!close || close - open > 500)
        return false;
    memcpy(name, open + 1, (size_t)(close - open - 1));
    name[close - open - 1] = 0;
    return !strncmp(name, "kernels/", 8);
}

static bool ends(const char *name, const char *ending)
{
    const size_t n = strlen(name), e = strlen(ending);
    return n > e && !strcmp(name + n - e, ending);
}

/* The host code that a header for the host declares: the .c beside it; false: there is none. */
static bool code_behind(const char *header, char name[512])
{
    if (!ends(header, ".h") || ends(header, ".kernel.h") || ends(header, ".shared.h"))
        return false;
    snprintf(name, 512, "%.*s.c", (int)(strlen(header) - 2), header);
    buffer probe = {0};
    const bool found = read_file(name, &probe);
    free(probe.s);
    return found;
}

/* Appends a file with its includes in place, and behind each header its code. */
static void flatten(const char *name, names *seen, buffer *to)
{
    if (!add_name(seen, name))
        return;
    buffer text = {0};
    if (!read_file(name, &text))
        fail("cannot read", name);
    for (const char *line = text.s; *line;) {
        const char *end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        char include[512];
        if (quoted_include(line, end, include))
            flatten(include, seen, to);
        else
            append(to, line, (size_t)(end - line));
        line = end;
    }
    free(text.s);
    char code[512];
    if (code_behind(name, code))
        flatten(code, seen, to);
}

static void write_text(FILE *out, const buffer *b)
{
    fputs("\n        \"", out);
    for (size_t i = 0; i < b->n; i++) {
        const unsigned char c = (unsigned char)b->s[i];
        if (c == '\n')
            fputs(i + 1 < b->n ? "\\n\"\n        \"" : "\\n", out);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c > 126 || c == '?')
            fprintf(out, "\\%03o", c);
        else
            fputc(c, out);
    }
    fputs("\"", out);
}

static void write_entry(FILE *out, const char *file, const buffer *all, const buffer *body,
                        int serves)
{
    const XXH128_hash_t h = XXH3_128bits(all->s, all->n);
    fprintf(out, "{\"%s\",", file);
    write_text(out, body);
    fprintf(out, ",\n        \"%016llx%016llx\", %d}", (unsigned long long)h.high64,
            (unsigned long long)h.low64, serves);
}

static void write_depends(FILE *depends, const names *seen)
{
    for (int k = 0; k < seen->n; k++)
        fprintf(depends, " %s/%s", root, seen->name[k]);
}

/* What ends a body's name, by ot_body's `serves`. */
static const char *const endings[] = {"", ".kernel.c", ".kernel.cu", ".kernel.h"};

/* The file that the rows of `text` name as their body; false: none. */
static bool named_body(const char *text, char name[1024], int *serves)
{
    const char *line = strstr(text, "\nOPTUNE_BODY(\"");
    if (!line)
        return false;
    line = strchr(line, '"') + 1;
    const size_t n = strcspn(line, "\"\n");
    snprintf(name, 1024, "%.*s", (int)n, line);
    for (*serves = 3; *serves > 0; --*serves) {
        if (ends(name, endings[*serves]))
            return true;
    }
    fail("no body by its name:", name);
    return false;
}

/* The file beside the rows' own; false: there is none. */
static bool body_beside(const char *file, char name[1024], int *serves)
{
    buffer probe = {0};
    bool found = false;
    for (int k = 1; k <= 3 && !found; k++) {
        snprintf(name, 1024, "%.*s%s", (int)(strlen(file) - 2), file, endings[k]);
        *serves = k;
        found = read_file(name, &probe);
    }
    free(probe.s);
    return found;
}

static void write_impl(FILE *out, FILE *depends, const char *file)
{
    const size_t n = strlen(file);
    if (strncmp(file, "kernels/", 8) || n < 3 || strcmp(file + n - 2, ".c"))
        fail("not an implementation file:", file);
    char body_name[1024];
    names row_seen = {0}, body_seen = {0};
    buffer row = {0}, body = {0}, own = {0};
    int serves = 1;
    flatten(file, &row_seen, &row);
    append(&body, "", 0);
    if (!read_file(file, &own))
        fail("cannot read", file);
    if (named_body(own.s, body_name, &serves) || body_beside(file, body_name, &serves))
        flatten(body_name, &body_seen, &body);
    else
        serves = 1;
    append(&row, "\0", 1);
    append(&row, body.s, body.n);
    fputs("    ", out);
    write_entry(out, file, &row, &body, serves);
    fputs(",\n", out);
    write_depends(depends, &row_seen);
    write_depends(depends, &body_seen);
    free(own.s);
    free(row.s);
    free(body.s);
}

/* A body that belongs to no row. */
static void write_stage(FILE *out, FILE *depends, const char *file, int serves)
{
    names seen = {0};
    buffer stage = {0};
    flatten(file, &seen, &stage);
    fputs("    ", out);
    write_entry(out, file, &stage, &stage, serves);
    fputs(",\n", out);
    write_depends(depends, &seen);
    free(stage.s);
}

/* What a body out of tree may include, in the order of names. */
static void write_file(FILE *out, FILE *depends, const char *file)
{
    buffer text = {0};
    append(&text, "", 0);
    if (!read_file(file, &text))
        fail("cannot read", file);
    fprintf(out, "    {\"%s\",", file);
    write_text(out, &text);
    fputs("},\n", out);
    fprintf(depends, " %s/%s", root, file);
    free(text.s);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("usage: embed SOURCE_DIR OUT.c OUT.d IMPL.c..., got too few words after", argv[0]);
    root = argv[1];
    FILE *out = fopen(argv[2], "w");
    FILE *depends = fopen(argv[3], "w");
    if (!out || !depends)
        fail("cannot write", argv[2]);
    fprintf(depends, "%s:", argv[2]);
    fprintf(out, "/* Generated by scripts/embed.c. */\n#include \"strategy/embedded.h\"\n\n"
                 "const ot_body ot_body_epilogue[2] = {\n");
    write_stage(out, depends, "kernels/common/epilogue.kernel.c", 1);
    write_stage(out, depends, "kernels/common/epilogue.kernel.cu", 2);
    fprintf(out, "};\n\nconst ot_body ot_body_widen[1] = {\n");
    write_stage(out, depends, "kernels/common/widen.kernel.c", 1);
    fprintf(out, "};\n\nconst ot_body ot_body_table[] = {\n");
    int i = 4;
    for (; i < argc && strcmp(argv[i], "--files"); i++)
        write_impl(out, depends, argv[i]);
    fputs("    {0, 0, 0, 0},\n};\n\nconst ot_body_file ot_body_files[] = {\n", out);
    if (i < argc)
        qsort(argv + i + 1, (size_t)(argc - i - 1), sizeof *argv, by_name);
    for (i++; i < argc; i++)
        write_file(out, depends, argv[i]);
    fputs("    {0, 0},\n};\n", out);
    fputs("\n", depends);
    if (fclose(out) || fclose(depends))
        fail("cannot write", argv[2]);
    return 0;
}
