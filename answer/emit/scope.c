/* SPDX-License-Identifier: Apache-2.0 */
/* What a body's text defines at file scope, by reading it: no preprocessor, no parser. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer/emit/scope.h"
#include "call/cursor.h"

bool ot_scope_has(const ot_scope_names *all, const char *name, size_t n)
{
    for (int i = 0; i < all->n; i++)
        if (strlen(all->name[i]) == n && strncmp(all->name[i], name, n) == 0)
            return true;
    return false;
}

void ot_scope_add(ot_scope_names *all, const char *name, size_t n)
{
    if (!n || n >= OPTUNE_NAME_SIZE || ot_scope_has(all, name, n))
        return;
    all->name = ot_room(all->name, all->n, &all->capacity, sizeof *all->name);
    snprintf(all->name[all->n++], OPTUNE_NAME_SIZE, "%.*s", (int)n, name);
}

/* Names that a macro makes of numbers, `static const T a##i = ...` of an op's own attributes
 * (include/optune/define.h) or `VECTOR(vec_x##k, ...)` and what follows it, are in no text. */
static void add_numbered(ot_scope_names *own, const char *value, const char *end)
{
    const char *vector = strstr(value, "VECTOR(");
    if ((ot_identifier(value) != 6 || strncmp(value, "static", 6) != 0) &&
        (!vector || vector >= end))
        return;
    for (const char *paste = value; (paste = strstr(paste, "##")) && paste < end; paste += 2) {
        const char *from = paste, *number = paste + 2;
        while (isalnum((unsigned char)from[-1]) || from[-1] == '_')
            from--;
        if (!islower((unsigned char)*from) ||
            strncmp(number + ot_identifier(number), "##", 2) == 0)
            continue;
        for (int i = 0; i < OPTUNE_MAX_NUMBERS; i++) {
            char name[OPTUNE_NAME_SIZE];
            snprintf(name, sizeof name, "%.*s%d", (int)(paste - from), from, i);
            ot_scope_add(own, name, strlen(name));
        }
    }
}

/* Behind a comment, a literal or a preprocessor line that starts here; else `p`. */
static const char *skip_apart(const char *p, bool line_start, ot_scope_names *macros,
                              ot_scope_names *asked, ot_scope_names *own)
{
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (*p == '"' || *p == '\'') {
        const char quote = *p++;
        while (*p && *p != quote)
            p += *p == '\\' && p[1] ? 2 : 1;
        return *p ? p + 1 : p;
    }
    if (*p == '#' && line_start) {
        const char *word = p + 1 + strspn(p + 1, " \t");
        const size_t n = ot_identifier(word);
        const char *name = word + n + strspn(word + n, " \t");
        if (n == 6 && strncmp(word, "define", n) == 0)
            ot_scope_add(macros, name, ot_identifier(name));
        else if ((n == 5 && strncmp(word, "ifdef", n) == 0) ||
                 (n == 6 && strncmp(word, "ifndef", n) == 0))
            ot_scope_add(asked, name, ot_identifier(name));
        while (*p && !(*p == '\n' && p[-1] != '\\'))
            p++;
        const char *value = name + ot_identifier(name);
        value += *value == '(' ? strcspn(value, ")") + 1 : 0;
        if (n == 6 && strncmp(word, "define", n) == 0 && value < p)
            add_numbered(own, value + strspn(value, " \t"), p);
    }
    return p;
}

bool ot_function_is_defined(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (depth == 0 && (*p == '{' || *p == ';' || *p == ','))
            return *p == '{';
    }
    return false;
}

/* True when a body is all that follows the parameters. */
static bool is_function(const char *p)
{
    int depth = 0;
    do {
        depth += *p == '(';
        depth -= *p == ')';
    } while (*p++ && depth > 0);
    return p[-1] && p[strspn(p, " \t\r\n")] == '{';
}

/* What OpenCL's compiler has names for: uint, float4. */
static bool is_opencl_type(const char *p, size_t n)
{
    static const char *const words[] = {"char",  "short",  "int",  "long",
                                        "float", "double", "half", "bool"};
    const size_t sign = n && *p == 'u';
    while (n && isdigit((unsigned char)p[n - 1]))
        n--;
    for (int i = 0; i < OT_COUNT(words); i++)
        for (size_t from = 0; from <= sign; from++)
            if (strlen(words[i]) == n - from && strncmp(words[i], p + from, n - from) == 0)
                return true;
    return false;
}

static bool is_keyword(const char *p, size_t n)
{
    static const char *const words[] = {
        "typedef", "static",   "inline",   "extern",   "const",          "volatile", "restrict",
        "void",    "char",     "short",    "int",      "long",           "float",    "double",
        "signed",  "unsigned", "struct",   "union",    "enum",           "register", "sizeof",
        "asm",     "_Bool",    "_Complex", "_Float16", "_Static_assert", "_Alignas"};
    for (int i = 0; i < OT_COUNT(words); i++)
        if (strlen(words[i]) == n && strncmp(words[i], p, n) == 0)
            return true;
    return (n > 1 && p[0] == '_' && p[1] == '_') || /* the compiler's own */
           is_opencl_type(p, n);
}

void ot_scope_of(const char *text, ot_scope *scope)
{
    ot_scope_names *const macros = &scope->macros, *const asked = &scope->asked;
    ot_scope_names *const own = &scope->own, *const functions = &scope->functions;
    int braces = 0, parens = 0;
    bool line_start = true, type = false, constants = false, pending_enum = false;
    for (const char *p = text; *p;) {
        const char *behind = skip_apart(p, line_start, macros, asked, own);
        if (behind != p) {
            p = behind;
            line_start = false;
            continue;
        }
        line_start = *p == '\n' || (line_start && isspace((unsigned char)*p));
        const size_t n = ot_identifier(p);
        const bool outside = parens == 0 && (braces == 0 || (braces == 1 && constants));
        if (n && outside) {
            type = type || (n == 7 && strncmp(p, "typedef", n) == 0);
            pending_enum = n == 4 && strncmp(p, "enum", n) == 0 ? true : pending_enum;
            const char *next = p + n + strspn(p + n, " \t\n");
            if (!is_keyword(p, n) && (type || *next != '(' || ot_function_is_defined(next)))
                ot_scope_add(own, p, n);
            if (*next == '(' && is_function(next))
                ot_scope_add(functions, p, n);
            if (*next == '(' && ot_scope_has(macros, p, n)) { /* VECTOR(tile_rows, float, 4); */
                const char *first = next + 1 + strspn(next + 1, " \t\n");
                if (!is_keyword(first, ot_identifier(first)))
                    ot_scope_add(own, first, ot_identifier(first));
            }
        }
        if (n) {
            p += n;
            continue;
        }
        if (isdigit((unsigned char)*p)) {
            p += strspn(p, "0123456789abcdefABCDEFxXuUlL.");
            continue;
        }
        parens += *p == '(';
        parens -= *p == ')';
        if (*p == '{' && braces++ == 0) {
            constants = pending_enum;
            pending_enum = false;
        }
        braces -= *p == '}';
        if (*p == ';' && braces == 0)
            type = pending_enum = false;
        p++;
    }
}

void ot_scope_release(ot_scope *scope)
{
    free(scope->macros.name);
    free(scope->asked.name);
    free(scope->own.name);
    free(scope->functions.name);
    *scope = (ot_scope){0};
}
