/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notation of a source file, see docs/tune.md: statements in comments or pragmas, which no
 * compiler looks at.
 *
 *     // optune: kernel matmul(A: f32[M,K], B: f32[K,N], out C: f32[M,N])
 *     // optune: size M = 512, N = 512, K = 512
 *     // optune: knob TILE = [8, 16, 32]
 *
 * The one idea: a statement keeps its text at the lines and columns that it has in the file, so
 * that every part of it, expressions too, can say its own place.
 */
#include <ctype.h>
#include <string.h>

#include "bring/bring.h"

typedef struct statement {
    ot_brought *b;
    ot_spot place; /* of text[0] */
    const char *text, *p;
    optune_err *err;
} statement;

#define FAIL(s, where, ...)                                                                    \
    ot_fail_at(place_at((s), (where)), OPTUNE_ESYNTAX, (s)->err, __VA_ARGS__)

static ot_spot place_at(const statement *s, const char *where)
{
    return ot_spot_in(&s->place, s->text, (size_t)(where - s->text));
}

/* ---- words of a statement ---------------------------------------------------------------- */

static void skip(statement *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static bool eat(statement *s, char sign)
{
    skip(s);
    const bool here = *s->p == sign;
    s->p += here;
    return here;
}

static bool is_word(const char *p, const char *word)
{
    return ot_identifier_length(p) == strlen(word) && strncmp(p, word, strlen(word)) == 0;
}

/* NULL: there is none, and that was said. */
static const char *take_word(statement *s, const char *what)
{
    skip(s);
    const size_t n = ot_identifier_length(s->p);
    if ((unsigned char)s->p[n] >= 0x80) {
        FAIL(s, s->p, "%s is of letters a to z, digits and _ here", what);
        return NULL;
    }
    if (n == 0) {
        FAIL(s, s->p, "%s is expected", what);
        return NULL;
    }
    char *word = ot_arena_alloc(&s->b->arena, n + 1);
    memcpy(word, s->p, n);
    s->p += n;
    return word;
}

/* Whether the `=` at p is one of `==`, `<=`, `>=` or `!=`. */
static bool compares(const char *start, const char *p)
{
    return *p == '=' && (p[1] == '=' || (p > start && strchr("=<>!", p[-1])));
}

/* The text up to one of these signs, a word, or the end, outside of brackets and quotes; no
 * comparison's `=` is a sign. */
static const char *take_text(statement *s, const char *signs, const char *word)
{
    int depth = 0;
    skip(s);
    const char *start = s->p;
    for (; *s->p; s->p++) {
        if (*s->p == '\'' || *s->p == '"') {
            const char *end = strchr(s->p + 1, *s->p);
            s->p = end ? end : s->p;
        }
        if (depth == 0 && strchr(signs, *s->p) && !compares(start, s->p))
            break;
        if (depth == 0 && word && s->p > start && strchr(" \t\n\r])", s->p[-1]) &&
            is_word(s->p, word))
            break;
        depth += (*s->p == '(' || *s->p == '[') - (*s->p == ')' || *s->p == ']');
    }
    const char *end = s->p;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    char *text = ot_arena_alloc(&s->b->arena, (size_t)(end - start) + 1);
    memcpy(text, start, (size_t)(end - start));
    return text;
}

static int end(statement *s)
{
    skip(s);
    return *s->p ? FAIL(s, s->p, "'%.30s' is not understood here", s->p) : OPTUNE_OK;
}

static int take_formula_to(statement *s, const char *signs, const char *word,
                           ot_formula *formula)
{
    skip(s);
    const ot_spot place = place_at(s, s->p);
    if (formula->expr)
        return FAIL(s, s->p, "this is said already at line %d", formula->expr->place.line);
    return ot_expr_parse(take_text(s, signs, word), &place, &formula->expr, s->err);
}

static int take_formula(statement *s, const char *signs, ot_formula *formula)
{
    return take_formula_to(s, signs, NULL, formula);
}

/* ---- the kernel's parameters ------------------------------------------------------------- */

static int take_dtype(statement *s, optune_dtype *dtype)
{
    skip(s);
    const char *at = s->p, *word = take_word(s, "an element type like f32");
    if (!word)
        return OPTUNE_ESYNTAX;
    if (!ot_parse_dtype(word, dtype) || dtype->lanes != 1 || dtype->bits % 8 != 0)
        return FAIL(s, at,
                    "'%s' is no element type: there are f32, f64, f16, bf16, i8 to i64 "
                    "and u8 to u64",
                    word);
    return OPTUNE_OK;
}

static int take_dims(statement *s, ot_brought_arg *arg)
{
    do {
        if (arg->rank == OPTUNE_MAX_RANK)
            return FAIL(s, s->p, "more than %d dims", OPTUNE_MAX_RANK);
        OT_RETURN_UNLESS_OK(take_formula(s, ",]", &arg->dim[arg->rank]));
        arg->rank++;
    } while (eat(s, ','));
    return eat(s, ']') ? OPTUNE_OK : FAIL(s, s->p, "',' or ']' is expected");
}

/* `from 0 to N - 1`: what an input may hold. */
static int take_range(statement *s, ot_brought_arg *arg)
{
    skip(s);
    if (!is_word(s->p, "from"))
        return OPTUNE_OK;
    if (arg->role == OT_ROLE_OUT)
        return FAIL(s, s->p, "'%s' is an output: the kernel says what it holds", arg->name);
    s->p += strlen("from");
    OT_RETURN_UNLESS_OK(take_formula_to(s, ",)", "to", &arg->low));
    if (!is_word(s->p, "to"))
        return FAIL(s, s->p, "'to' is expected: from LEAST to MOST");
    s->p += strlen("to");
    return take_formula(s, ",)=", &arg->high);
}

/* A file's name in quotes. NULL: there is none, and that was said. */
static const char *take_file(statement *s)
{
    skip(s);
    const char quote = *s->p == '\'' ? '\'' : '"';
    if (!eat(s, quote)) {
        FAIL(s, s->p, "a file in quotes is expected");
        return NULL;
    }
    const size_t n = strcspn(s->p, quote == '"' ? "\"\n" : "'\n");
    if (s->p[n] != quote || n == 0) {
        FAIL(s, s->p, "the file's name has no end");
        return NULL;
    }
    const char *name = ot_arena_printf(&s->b->arena, "%.*s", (int)n, s->p);
    s->p += n + 1;
    return name;
}

/* `= "FILE"`: what an input holds, or what is right of an output; of both at once the one is said
 * first, then the other: `= "BEFORE" then "AFTER"`. */
static int take_files(statement *s, ot_brought_arg *arg)
{
    if (!eat(s, '='))
        return OPTUNE_OK;
    const char *first = take_file(s);
    if (!first)
        return OPTUNE_ESYNTAX;
    *(arg->role == OT_ROLE_OUT ? &arg->expected : &arg->held) = first;
    skip(s);
    if (arg->role != OT_ROLE_INOUT || !is_word(s->p, "then"))
        return OPTUNE_OK;
    s->p += strlen("then");
    arg->expected = take_file(s);
    return arg->expected ? OPTUNE_OK : OPTUNE_ESYNTAX;
}

/* `out C: f32[M,N]`, `inout C: f32[M,N]`, or `n: i32 = N`. */
static int take_arg(statement *s)
{
    ot_brought *b = s->b;
    skip(s);
    if (b->n_args == OT_BROUGHT_ARGS)
        return FAIL(s, s->p, "more than %d parameters", OT_BROUGHT_ARGS);
    ot_brought_arg *arg = &b->arg[b->n_args];
    *arg = (ot_brought_arg){.spot = place_at(s, s->p), .role = OT_ROLE_IN};
    arg->name = take_word(s, "a parameter's name");
    skip(s);
    if (arg->name && ot_identifier_length(s->p)) {
        static const char *const word[] = {
            [OT_ROLE_IN] = "in", [OT_ROLE_OUT] = "out", [OT_ROLE_INOUT] = "inout"};
        int role = 0;
        while (role < OT_COUNT(word) && strcmp(arg->name, word[role]) != 0)
            role++;
        if (role == OT_COUNT(word))
            return FAIL(s, s->p,
                        "':' is expected behind '%s'; in front of a parameter's name stands "
                        "in, out or inout",
                        arg->name);
        arg->role = (ot_brought_role)role;
        arg->spot = place_at(s, s->p);
        arg->name = take_word(s, "a parameter's name");
    }
    if (!arg->name)
        return OPTUNE_ESYNTAX;
    if (!eat(s, ':'))
        return FAIL(s, s->p, "':' and a type are expected behind '%s'", arg->name);
    OT_RETURN_UNLESS_OK(take_dtype(s, &arg->dtype));
    b->n_args++;
    if (eat(s, '[')) {
        OT_RETURN_UNLESS_OK(take_dims(s, arg));
        OT_RETURN_UNLESS_OK(take_range(s, arg));
        return take_files(s, arg);
    }
    if (arg->role != OT_ROLE_IN || !eat(s, '='))
        return FAIL(s, s->p, "'%s' has neither dims, as in f32[N], nor a value, as in i32 = N",
                    arg->name);
    arg->role = OT_ROLE_SCALAR;
    return take_formula(s, ",)", &arg->value);
}

static int kernel(statement *s)
{
    ot_brought *b = s->b;
    skip(s);
    if (b->function)
        return FAIL(s, s->p, "there is a kernel already, '%s': one file brings one",
                    b->function);
    b->function = take_word(s, "the kernel's name");
    if (!b->function)
        return OPTUNE_ESYNTAX;
    if (!eat(s, '('))
        return FAIL(s, s->p, "'(' and the parameters are expected behind '%s'", b->function);
    do
        OT_RETURN_UNLESS_OK(take_arg(s));
    while (eat(s, ','));
    return eat(s, ')') ? end(s) : FAIL(s, s->p, "',' or ')' is expected");
}

/* ---- the other statements ---------------------------------------------------------------- */

static int size(statement *s)
{
    do {
        skip(s);
        const ot_spot place = place_at(s, s->p);
        const char *name = take_word(s, "a size's name");
        if (!name)
            return OPTUNE_ESYNTAX;
        if (!eat(s, '='))
            return FAIL(s, s->p, "'=' is expected behind '%s'", name);
        skip(s);
        const ot_spot at = place_at(s, s->p);
        ot_expr_value value;
        OT_RETURN_UNLESS_OK(
            ot_declared_value(s->b, take_text(s, ",", NULL), at, &value, s->err));
        if (value.kind == OT_VALUE_LIST)
            return ot_fail_at(at, OPTUNE_ETYPE, s->err, "size '%s' is a list, not an integer",
                              name);
        OT_RETURN_UNLESS_OK(ot_declare_size(s->b, name, place, &value, s->err));
    } while (eat(s, ','));
    return end(s);
}

static int knob(statement *s)
{
    do {
        skip(s);
        const ot_spot place = place_at(s, s->p);
        const char *name = take_word(s, "a knob's name");
        if (!name)
            return OPTUNE_ESYNTAX;
        if (!eat(s, '='))
            return FAIL(s, s->p, "'=' and a list of values are expected behind '%s'", name);
        skip(s);
        ot_spot at = place_at(s, s->p);
        ot_expr_value list, standard;
        const char *values = take_text(s, ",", "default");
        OT_RETURN_UNLESS_OK(ot_declared_value(s->b, values, at, &list, s->err));
        const bool said = is_word(s->p, "default");
        if (said) {
            s->p += strlen("default");
            skip(s);
            at = place_at(s, s->p);
            OT_RETURN_UNLESS_OK(
                ot_declared_value(s->b, take_text(s, ",", NULL), at, &standard, s->err));
            if (standard.kind == OT_VALUE_LIST)
                return ot_fail_at(at, OPTUNE_ETYPE, s->err, "the default is a list");
        }
        OT_RETURN_UNLESS_OK(
            ot_declare_knob(s->b, name, place, &list, said ? &standard : NULL, s->err));
        if (s->b->language == OT_LANGUAGE_PROGRAM)
            ot_program_spell(s->b, &s->b->knob[s->b->n_knobs - 1], values);
    } while (eat(s, ','));
    return end(s);
}

static int where(statement *s)
{
    skip(s);
    const ot_spot place = place_at(s, s->p);
    return ot_declare_where(s->b, take_text(s, "", NULL), place, s->err);
}

/* `grid = ..., block = ..., shared = ...`. */
static int launch(statement *s)
{
    ot_brought *b = s->b;
    const struct {
        const char *name;
        ot_formula *formula;
    } part[] = {{"grid", &b->grid}, {"block", &b->block}, {"shared", &b->shared}};
    do {
        skip(s);
        const char *at = s->p, *word = take_word(s, "grid, block or shared");
        if (!word)
            return OPTUNE_ESYNTAX;
        int k = 0;
        while (k < OT_COUNT(part) && strcmp(part[k].name, word) != 0)
            k++;
        if (k == OT_COUNT(part))
            return FAIL(s, at, "a launch has grid, block and shared, and no '%s'", word);
        if (!eat(s, '='))
            return FAIL(s, s->p, "'=' is expected behind '%s'", word);
        OT_RETURN_UNLESS_OK(take_formula(s, ",", part[k].formula));
    } while (eat(s, ','));
    return end(s);
}

static int flops(statement *s)
{
    return take_formula(s, "", &s->b->flops);
}

static int bytes(statement *s)
{
    return take_formula(s, "", &s->b->bytes);
}

static int name(statement *s)
{
    skip(s);
    if (s->b->op.name)
        return FAIL(s, s->p, "there is a name already, '%s'", s->b->op.name);
    s->b->op.name = take_word(s, "a name");
    return s->b->op.name ? end(s) : OPTUNE_ESYNTAX;
}

/* `reference f`, `reference f in "file.c"`, `reference default`. */
static int reference(statement *s)
{
    ot_brought *b = s->b;
    skip(s);
    if (b->reference)
        return FAIL(s, s->p, "there is a reference already, '%s'", b->reference);
    b->reference = take_word(s, "a C function, or 'default',");
    if (!b->reference)
        return OPTUNE_ESYNTAX;
    skip(s);
    if (is_word(s->p, "in")) {
        s->p += 2;
        b->reference_source = take_file(s);
        if (!b->reference_source)
            return OPTUNE_ESYNTAX;
    }
    return end(s);
}

/* `1e-4`, or `absolute=1e-5, relative=1e-4`. */
static int tolerance(statement *s)
{
    ot_brought *b = s->b;
    do {
        double *to[2] = {&b->absolute, &b->relative};
        skip(s);
        if (is_word(s->p, "absolute") || is_word(s->p, "relative")) {
            to[0] = to[1] = *s->p == 'a' ? to[0] : to[1];
            s->p += strlen("absolute");
            if (!eat(s, '='))
                return FAIL(s, s->p, "'=' is expected");
        }
        skip(s);
        const ot_spot at = place_at(s, s->p);
        ot_expr_value value;
        OT_RETURN_UNLESS_OK(ot_declared_value(b, take_text(s, ",", NULL), at, &value, s->err));
        if (!ot_value_number(&value) || !(ot_value_real(&value) >= 0))
            return ot_fail_at(at, OPTUNE_ETYPE, s->err, "a tolerance is a number, 0 or more");
        if (*to[0] >= 0 || *to[1] >= 0)
            return ot_fail_at(at, OPTUNE_ESYNTAX, s->err,
                              "this is said already: one tolerance, or absolute=A, relative=R");
        *to[0] = *to[1] = ot_value_real(&value);
    } while (eat(s, ','));
    return end(s);
}

static int flags(statement *s)
{
    ot_brought *b = s->b;
    for (skip(s); *s->p; skip(s)) {
        const size_t n = strcspn(s->p, " \t\r\n");
        if (b->n_flags == OT_BROUGHT_FLAGS || n >= OPTUNE_WORD_SIZE)
            return FAIL(s, s->p, "more than %d flags, or one of more than %d letters",
                        OT_BROUGHT_FLAGS, OPTUNE_WORD_SIZE - 1);
        b->flag[b->n_flags++] = ot_arena_printf(&b->arena, "%.*s", (int)n, s->p);
        s->p += n;
    }
    return OPTUNE_OK;
}

static const struct {
    const char *word;
    int (*read)(statement *s);
    bool any; /* of programs, too */
} known[] = {
    {"kernel", kernel, false}, {"size", size, true},
    {"knob", knob, true},      {"where", where, true},
    {"launch", launch, false}, {"reference", reference, false},
    {"flags", flags, false},   {"tolerance", tolerance, false},
    {"flops", flops, false},   {"bytes", bytes, false},
    {"name", name, true},
};

/* The place of what was said in an option is within that, unless it stands here otherwise than it
 * was said: a knob's values in quotes, texts as words. Returns where it begins. */
static const char *call_by_option(statement *s, const char *word)
{
    skip(s);
    s->place = (ot_spot){.file = ot_program_said(s->b, word),
                         .column = 1 - (int)(s->p - s->text),
                         .said = s->p,
                         .whole = strcmp(word, "knob") == 0 || ot_program_word(word)};
    return s->p;
}

static int no_such_statement(statement *s, const char *at, const char *word)
{
    enum { MOST = OT_COUNT(known) + OT_PROGRAM_TEXTS };
    const bool program = s->b->language == OT_LANGUAGE_PROGRAM;
    const char *names[MOST];
    optune_err inner = {0};
    int n = 0;
    for (const char *const *p = ot_program_words; program && *p && n < MOST; p++)
        names[n++] = *p;
    for (int i = 0; i < OT_COUNT(known) && n < MOST; i++)
        if (known[i].any || !program)
            names[n++] = known[i].word;
    ot_no_such(&inner, "statement", word, names, n);
    return FAIL(s, at, "%s", inner.text);
}

static int read_statement(statement *s)
{
    optune_err inner = {0};
    skip(s);
    const char *at = s->p, *word = take_word(s, "a word like kernel, size or knob");
    if (!word)
        return OPTUNE_ESYNTAX;
    if (s->b->in_options)
        at = call_by_option(s, word);
    if (!ot_text_is_utf8(s->text)) /* records and documents would lose it */
        return FAIL(s, at, "it is no UTF-8");
    if (s->b->language == OT_LANGUAGE_PROGRAM && ot_program_word(word)) {
        const int status = ot_program_statement(s->b, word, s->p, &inner);
        return status < 0 ? ot_fail_at(place_at(s, at), status, s->err, "%s", inner.text)
                          : status;
    }
    for (int i = 0; i < OT_COUNT(known); i++) {
        if (strcmp(word, known[i].word) != 0)
            continue;
        if (s->b->language == OT_LANGUAGE_PROGRAM && !known[i].any)
            return FAIL(s, at, "'%s' is said of kernels, and this is a program", word);
        return known[i].read(s);
    }
    return no_such_statement(s, at, word);
}

/* ---- finding statements ------------------------------------------------------------------ */

/* Behind the colon of `optune:`; NULL: that is not what begins here. */
static const char *behind_mark(const char *p)
{
    if (strncmp(p, "optune", 6) != 0)
        return NULL;
    p += 6 + strspn(p + 6, " \t");
    return *p == ':' ? p + 1 : NULL;
}

/* What follows `optune:` in a comment, or `optune` in a pragma, on this line; NULL: nothing. */
static const char *statement_in(const char *line)
{
    static const char *const comment[] = {"//", "/*", "*"};
    line += strspn(line, " \t");
    if (strncmp(line, "#pragma", 7) == 0 && (line[7] == ' ' || line[7] == '\t')) {
        line += 7 + strspn(line + 7, " \t");
        return is_word(line, "optune") ? line + 6 + (line[6] == ':') : NULL;
    }
    for (int i = 0; i < OT_COUNT(comment); i++) {
        const size_t n = strlen(comment[i]);
        if (strncmp(line, comment[i], n) == 0) {
            line += n + strspn(line + n, " \t");
            return behind_mark(line);
        }
    }
    return NULL;
}

/* In a file of nothing but statements every line is one, unless it is empty or a remark. */
static const char *statement_at(ot_language language, const char *line)
{
    if (language != OT_LANGUAGE_PROGRAM)
        return statement_in(line);
    const char *p = line + strspn(line, " \t\r");
    return *p == '#' || *p == '\n' || !*p ? NULL : p;
}

/* Where behind code, or behind a statement, another one begins, which nobody would read; NULL:
 * nowhere. What is in quotes is somebody's text. */
static const char *statement_behind(const char *line, size_t length)
{
    bool quoted = false;
    for (const char *p = line + strspn(line, " \t"); p < line + length; p++) {
        quoted = quoted != (*p == '"' && p[-(p > line)] != '\\');
        if (quoted || *p != '/' || (p[1] != '/' && p[1] != '*'))
            continue;
        const char *said = p + 2 + strspn(p + 2, " \t");
        if (behind_mark(said) && strspn(line, " \t") != (size_t)(p - line))
            return p;
    }
    return NULL;
}

/* A pragma goes on in the next line behind a backslash, as the preprocessor has it: which is taken
 * off. */
static bool is_glued(ot_text *open)
{
    size_t n = open->n;
    while (n && isspace((unsigned char)open->s[n - 1]) && open->s[n - 1] != '\n')
        n--;
    if (!n || open->s[n - 1] != '\\')
        return false;
    open->s[n - 1] = ' ';
    return true;
}

/* A bracket is open, or a comma is the last that it says. Commands are on one line each. */
static bool goes_on(const char *text)
{
    int depth = 0;
    char word[16];
    if (sscanf(text, "%15s", word) == 1 && ot_program_word(word))
        return false;
    bool comma = false;
    for (; *text; text++) {
        const char *quoted = *text == '\'' || *text == '"' ? strchr(text + 1, *text) : NULL;
        text = quoted ? quoted : text; /* what is in quotes is no bracket */
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
        comma = isspace((unsigned char)*text) ? comma : *text == ',';
    }
    return depth > 0 || comma;
}

static void add_line(ot_language language, ot_text *to, const char *from, const char *line,
                     size_t length)
{
    const char *close = language == OT_LANGUAGE_PROGRAM ? NULL : strstr(from, "*/");
    size_t n = (size_t)(line + length - from);
    if (close && (size_t)(close - from) < n)
        n = (size_t)(close - from);
    ot_text_add_n(to, from, n);
}

/* A statement goes on in the next line's comment while a bracket is open, or behind a comma. */
int ot_notation_read(ot_brought *b, const char *text, optune_err *err)
{
    ot_text open = {0};
    statement s = {.b = b, .err = err};
    int status = OPTUNE_OK, number = 1;
    bool glued = false;
    for (const char *line = text; *line && status >= 0; number++) {
        const size_t length = strcspn(line, "\n");
        const char *from = glued ? line : statement_at(b->language, line);
        const char *lost =
            b->language == OT_LANGUAGE_PROGRAM ? NULL : statement_behind(line, length);
        if (lost) {
            status = ot_fail_at(
                (ot_spot){.file = b->file, .line = number, .column = (int)(lost - line) + 1},
                OPTUNE_ESYNTAX, err, "a statement stands on a line of its own");
            break;
        }
        if (from && open.n == 0) {
            s.place =
                (ot_spot){.file = b->file, .line = number, .column = (int)(from - line) + 1};
            add_line(b->language, &open, from, line, length);
        } else if (from) { /* at the columns it has in the file */
            ot_text_printf(&open, "\n%*s", (int)(from - line), "");
            add_line(b->language, &open, from, line, length);
        }
        const bool pragma = glued || line[strspn(line, " \t")] == '#';
        glued = pragma && from && b->language != OT_LANGUAGE_PROGRAM && is_glued(&open);
        line += length + (line[length] == '\n');
        if (open.n && ((b->in_options || (!goes_on(open.s) && !glued)) || !from || !*line)) {
            s.text = s.p = ot_arena_copy(&b->arena, open.s);
            ot_text_clear(&open);
            status = read_statement(&s);
        }
    }
    ot_text_release(&open);
    if (status >= 0 && !b->function && b->language != OT_LANGUAGE_PROGRAM)
        status = optune_fail(err, OPTUNE_ESYNTAX,
                             "%s declares no kernel; a line like '// optune: kernel "
                             "f(in A: f32[N], out B: f32[N])' does, see docs/tune.md",
                             b->file);
    return status;
}
