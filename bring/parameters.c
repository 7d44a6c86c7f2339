/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a function has the parameters that its file declares: as many, pointers to elements of
 * these types, scalars that hold these values. Nobody else asks: a C compiler sees pointers to
 * anything, and a launch bytes.
 *
 * The one idea: only what is certain by reading is refused. A name that is no type of the language
 * (a typedef, a macro, a template's) may be anything, and a list that is not plain is not judged.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

enum { MOST_PARAMETERS = OT_BROUGHT_ARGS + 1 };

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the quote at p is in a number, as C++ parts digits: 1'000. */
static bool parts_digits(const char *text, const char *p)
{
    const char *start = p;
    while (start > text && (is_part(start[-1]) || start[-1] == '\''))
        start--;
    return start < p && isdigit((unsigned char)*start) && is_part(p[1]);
}

/* The text without comments, what is in quotes, and what directives say. */
static char *plain_text(const char *text)
{
    char *copy = ot_strdup(text);
    bool fresh = true; /* nothing but blanks stands in front, in this line */
    for (char *p = copy; *p;) {
        char *end = p + 1;
        if (p[0] == '/' && p[1] == '/')
            end = p + strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*')
            end = (end = strstr(p + 2, "*/")) ? end + 2 : p + strlen(p);
        else if (*p == '#' && fresh)
            while (*(end += strcspn(end, "\n")) && end[-1] == '\\')
                end++;
        else if (*p == '"' || (*p == '\'' && !parts_digits(copy, p))) {
            for (; *end && *end != '\n' && *end != *p; end++)
                end += *end == '\\' && end[1];
            end += *end == *p;
        }
        fresh = *p == '\n' || (fresh && isspace((unsigned char)*p));
        for (char *k = p + (*p == '#'); end - p > 1 && k < end; k++)
            *k = *k == '\n' ? '\n' : ' ';
        p = end;
    }
    return copy;
}

static const char *behind_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* Behind the parenthesis that closes the one at p; NULL: none does. */
static const char *behind_parentheses(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

/* The next place, from p on, where the function is defined: its parameters are from *from to *to.
 * NULL: there is none. */
static const char *find_definition(const char *text, const char *p, const char *function,
                                   const char **from, const char **to)
{
    const size_t n = strlen(function);
    for (p = strstr(p, function); p; p = strstr(p + 1, function)) {
        const char *open = behind_blanks(p + n), *end;
        if ((p > text && is_part(p[-1])) || is_part(p[n]) || *open != '(' ||
            !(end = behind_parentheses(open)))
            continue;
        *from = open + 1;
        *to = end - 1;
        end = behind_blanks(end);
        while (end && strncmp(end, "__attribute__", 13) == 0) {
            end = behind_parentheses(behind_blanks(end + 13));
            end = end ? behind_blanks(end) : NULL;
        }
        if (end && *end == '{')
            return p + 1;
    }
    return NULL;
}

/* Whether one of these parameters is called so: the last word of it that stands in no brackets,
 * with a type in front; what stands in brackets may be a part of its type. */
static bool names_parameter(const char *from, const char *to, const char *word)
{
    int depth = 0, words = 0;
    bool named = false, inner = false, valued = false;
    for (const char *p = from; p <= to;) {
        const size_t k = p < to ? ot_identifier_length(p) : 0;
        const char *said = k == 13 && strncmp(p, "__attribute__", k) == 0
                               ? behind_parentheses(behind_blanks(p + k))
                               : NULL;
        if (said && said <= to) {
            p = said;
            continue;
        }
        if (k && !depth && !valued) {
            words++;
            named = k == strlen(word) && strncmp(p, word, k) == 0;
        } else if (!k && (p == to || (*p == ',' && !depth))) {
            if (named && words > 1)
                return true;
            words = 0;
            named = valued = inner = false;
        } else if (*p == '(' && !depth &&
                   (*behind_blanks(p + 1) == '*' || *behind_blanks(p + 1) == '&')) {
            inner = true; /* `float (*a)[4]`, `float (&a)[4]`: the name is in there */
        } else if (*p == ')' && !depth && inner) {
            inner = false;
        } else if (!k) {
            valued = valued || (*p == '=' && !depth);
            /* `<` and `>` of a value compare. */
            const char *opening = valued ? "([{" : "([{<", *closing = valued ? ")]}" : ")]}>";
            depth += (strchr(opening, *p) != NULL) - (strchr(closing, *p) != NULL);
        }
        p += k ? k : 1;
    }
    return false;
}

bool ot_parameters_name(const char *source, const char *function, const char *word)
{
    const char *from, *to;
    char *text = plain_text(source);
    bool found = false;
    for (const char *p = text; !found && (p = find_definition(text, p, function, &from, &to));)
        found = names_parameter(from, to, word);
    free(text);
    return found;
}

/* ---- one parameter ----------------------------------------------------------------------- */

typedef struct parameter {
    const char *start;
    int n; /* bytes */
    char name[OPTUNE_NAME_SIZE];
    int levels; /* of pointers and arrays */
    bool fixed; /* what it points to is const */
    int bits;   /* of its type, or of what it points to; 0: not known */
    bool real;  /* a floating-point number */
    bool image; /* or a sampler: nothing that is passed here */
    bool local; /* memory of a group, of OpenCL's */
} parameter;

typedef struct type_word {
    const char *word;
    int bits;
    bool real, gpu; /* only there */
} type_word;

static const type_word type_words[] = {
    {"float", 32, true, false},     {"double", 64, true, false},
    {"_Float16", 16, true, false},  {"__fp16", 16, true, false},
    {"half", 16, true, true},       {"__half", 16, true, true},
    {"__bf16", 16, true, false},    {"__nv_bfloat16", 16, true, true},
    {"bool", 8, false, false},      {"_Bool", 8, false, false},
    {"char", 8, false, false},      {"int8_t", 8, false, false},
    {"uint8_t", 8, false, false},   {"int16_t", 16, false, false},
    {"uint16_t", 16, false, false}, {"int32_t", 32, false, false},
    {"uint32_t", 32, false, false}, {"int64_t", 64, false, false},
    {"uint64_t", 64, false, false}, {"size_t", 64, false, false},
    {"uchar", 8, false, true},      {"ushort", 16, false, true},
    {"uint", 32, false, true},      {"ulong", 64, false, true},
    {"longlong", 64, false, true},  {"ulonglong", 64, false, true},
};

static bool is_one_of(const char *word, size_t n, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, word, n) == 0)
            return true;
    return false;
}

/* What a definition is read with. */
typedef struct reading {
    const ot_brought *b;
    ot_language language;
    bool gpu;
    const char *source, *text; /* the file; its plain text */
} reading;

/* `float4` of a language that has it is as `float` in memory. */
static size_t without_width(const char *word, size_t n, ot_language language)
{
    const bool opencl = language == OT_LANGUAGE_OPENCL;
    if (language == OT_LANGUAGE_C)
        return n;
    if (opencl && n > 3 && strncmp(word + n - 2, "16", 2) == 0 &&
        !isdigit((unsigned char)word[n - 3]))
        return n - 2;
    return n > 2 && strchr(opencl ? "2348" : "234", word[n - 1]) &&
                   isalpha((unsigned char)word[n - 2])
               ? n - 1
               : n;
}

/* ---- what else a word may be ------------------------------------------------------------- */

static bool is_word(const char *p, size_t k, const char *word)
{
    return strlen(word) == k && strncmp(p, word, k) == 0;
}

static bool is_macro(const reading *r, const char *word, size_t n)
{
    for (int i = 0; i < r->b->n_flags; i++) {
        const char *flag = r->b->flag[i];
        if (strncmp(flag, "-D", 2) == 0 && strncmp(flag + 2, word, n) == 0 &&
            !is_part(flag[2 + n]))
            return true;
    }
    for (const char *p = r->source; (p = strchr(p, '#'));) {
        p++;
        p += strspn(p, " \t");
        const size_t k = ot_identifier_length(p);
        if (!is_word(p, k, "define"))
            continue;
        p += k;
        p += strspn(p, " \t");
        if (ot_identifier_length(p) == n && strncmp(p, word, n) == 0)
            return true;
    }
    return false;
}

/* Whether a typedef goes on from p with something behind the name that it declares. */
static bool ends_declarator(const char *p)
{
    p = behind_blanks(p);
    return strncmp(p, "__attribute__", 13) == 0 ||
           (!ot_identifier_length(p) && !strchr("*&>:(", *p));
}

/* By a typedef, `using`, a struct, an enum or a template's parameter. */
static bool is_declared(const char *text, const char *word, size_t n)
{
    static const char *const kinds[] = {"struct", "class", "union", "enum", "typename", NULL};
    enum { NONE, TYPEDEF, USING } statement = NONE;
    bool kind = false; /* a word before is one, with no sign behind it but parentheses */
    int braces = 0, parentheses = 0;
    char before = 0; /* the last sign */
    for (const char *p = text; *p;) {
        size_t k = 0;
        while (is_part(p[k]))
            k++;
        if (!k) {
            braces += (*p == '{') - (*p == '}');
            parentheses += (*p == '(') - (*p == ')');
            kind = kind && (isspace((unsigned char)*p) || *p == '(' || *p == ')');
            before = isspace((unsigned char)*p) ? before : *p;
            if ((*p == ';' && braces <= 0) || (*p == '=' && statement == USING))
                statement = NONE;
            p++;
            continue;
        }
        if (k == n && strncmp(p, word, n) == 0) {
            const bool own = braces <= 0 && (!parentheses || before == '*');
            if ((kind && !parentheses) || (statement != NONE && own && ends_declarator(p + k)))
                return true;
        }
        kind = kind || is_one_of(p, k, kinds);
        if (is_word(p, k, "typedef") || is_word(p, k, "using")) {
            statement = *p == 't' ? TYPEDEF : USING;
            braces = parentheses = 0;
        }
        before = 0;
        p += k;
    }
    return false;
}

/* Whether the file gives a type's word another meaning. */
static bool means_otherwise(const reading *r, const char *word, size_t n)
{
    return is_macro(r, word, n) || is_declared(r->text, word, n);
}

/* ---- types ------------------------------------------------------------------------------- */

/* What the words of a type say: those of C's integers together, or one that is a type itself. */
typedef struct type_said {
    int longs, shorts, ints, signs, others, words;
    int bits;
    bool real;
} type_said;

static void add_type_word(type_said *said, const char *word, size_t n, const reading *r)
{
    static const char *const signs[] = {"signed", "unsigned", NULL};
    static const char *const scalar[] = {"long", "short", "int", "char", NULL};
    const size_t plain = without_width(word, n, r->language);
    said->words++;
    if (means_otherwise(r, word, n) || (plain < n && means_otherwise(r, word, plain))) {
        said->others++;
        return;
    }
    if (is_one_of(word, n, signs)) {
        said->signs++;
        return;
    }
    if (is_one_of(word, plain, scalar)) {
        said->longs += *word == 'l';
        said->shorts += *word == 's';
        said->ints += *word == 'i';
        said->bits = *word == 'c' ? 8 : said->bits;
        return;
    }
    for (int i = 0; i < OT_COUNT(type_words); i++) {
        const type_word *type = &type_words[i];
        const size_t k = strlen(type->word);
        if ((r->gpu || !type->gpu) && (k == n || k == plain) &&
            strncmp(type->word, word, k) == 0) {
            said->bits = type->bits;
            said->real = type->real;
            return;
        }
    }
    said->others++;
}

static int bits_said(const type_said *said)
{
    if (said->others || !said->words)
        return 0;
    if (said->real && said->longs)
        return 128;
    if (said->bits)
        return said->bits;
    return said->longs ? 64 : said->shorts ? 16 : 32;
}

/* false: it is not plainly one. */
static bool read_parameter(const char *start, const char *end, const reading *r, parameter *to)
{
    static const char *const nothing[] = {
        "const",     "volatile",     "restrict",   "__restrict", "__restrict__", "register",
        "static",    "global",       "__global",   "constant",   "__constant",   "__read_only",
        "read_only", "__write_only", "write_only", "__const",    "__volatile__", NULL};
    static const char *const local[] = {"local", "__local", NULL};
    const char *word[16];
    size_t length[16];
    int n = 0, stars = 0, arrays = 0;
    bool inner = false;
    start = behind_blanks(start);
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    *to = (parameter){.start = start, .n = (int)(end - start)};
    for (const char *p = start; p < end;) {
        const size_t k = ot_identifier_length(p);
        if (k) {
            to->fixed = to->fixed || (k == 5 && !stars && strncmp(p, "const", 5) == 0);
            if (r->gpu && is_one_of(p, k, local)) {
                to->local = r->language == OT_LANGUAGE_OPENCL;
                if (!to->local)
                    return false;
            } else if (!is_one_of(p, k, nothing)) {
                if (n == OT_COUNT(word) || arrays)
                    return false;
                word[n] = p;
                length[n++] = k;
            }
            p += k;
        } else if (*p == '[') {
            const size_t to_end = strcspn(p, "]");
            if (p + to_end >= end)
                return false;
            arrays++;
            p += to_end + 1;
        } else if (*p == '(') {
            if (*behind_blanks(p + 1) != '*' || inner || !n)
                return false;
            inner = true;
            p++;
        } else {
            if (*p != '*' && *p != ')' && !isspace((unsigned char)*p))
                return false;
            stars += *p == '*';
            p++;
        }
    }
    if (n < 2 || length[n - 1] >= sizeof to->name) /* without a name, or a macro */
        return false;
    snprintf(to->name, sizeof to->name, "%.*s", (int)length[n - 1], word[n - 1]);
    type_said said = {0};
    for (int i = 0; i < n - 1; i++) {
        add_type_word(&said, word[i], length[i], r);
        to->image = to->image ||
                    (r->gpu && ((strncmp(word[i], "image", 5) == 0 && length[i] > 7 &&
                                 strncmp(word[i] + length[i] - 2, "_t", 2) == 0) ||
                                (length[i] == 9 && strncmp(word[i], "sampler_t", 9) == 0)));
    }
    to->levels = stars + (arrays > 0 && !inner);
    to->bits = bits_said(&said);
    to->real = said.real;
    return true;
}

/* ---- one definition ---------------------------------------------------------------------- */

/* Returns how many; -1: the list is not plain. */
static int read_parameters(const char *from, const char *to, const reading *r, parameter *list)
{
    int n = 0, depth = 0;
    const char *start = behind_blanks(from);
    if (start >= to ||
        (to - start >= 4 && strncmp(start, "void", 4) == 0 && behind_blanks(start + 4) >= to))
        return 0;
    for (const char *p = from; p <= to; p++) {
        if (p < to && strchr("<&#={.", *p))
            return -1;
        depth += (*p == '(' || *p == '[') - ((*p == ')' && p < to) || *p == ']');
        if (p < to && (*p != ',' || depth))
            continue;
        if (n == MOST_PARAMETERS)
            return n;
        if (!read_parameter(start, p, r, &list[n++]))
            return -1;
        start = p + 1;
    }
    return n;
}

/* Why it cannot be what is declared; NULL: it may be. */
static const char *differs(const ot_brought_arg *arg, const parameter *p, bool gpu)
{
    const bool real =
        arg->dtype.code == OPTUNE_DTYPE_FLOAT || arg->dtype.code == OPTUNE_DTYPE_BFLOAT;
    const bool narrow = arg->dtype.bits == 16 && p->bits == 16; /* bits are kept in integers */
    if (p->image)
        return "what is passed are buffers and numbers, no images";
    if (p->local)
        return "local memory is the kernel's last parameter, and is not declared: "
               "'launch shared = BYTES' says how much it is";
    if (arg->role == OT_ROLE_SCALAR) {
        if (p->levels)
            return "it is a pointer, and this a scalar";
        if (!p->bits || (narrow && real && gpu))
            return NULL;
        if (real && !p->real && arg->dtype.code != OPTUNE_DTYPE_BFLOAT)
            return "it holds integers only";
        if (gpu && (real != p->real || (real && arg->dtype.bits != p->bits)))
            return "a launch passes bytes, and those of its type are others";
        return NULL;
    }
    if (!p->levels)
        return p->bits ? "it is no pointer" : NULL;
    if (!p->bits)
        return NULL;
    if (p->levels > 1)
        return "it points to pointers";
    if (arg->dtype.bits != p->bits || (real != p->real && !narrow))
        return "it points to elements of another type";
    return p->fixed && arg->output >= 0 ? "what it points to is const" : NULL;
}

static int check_definition(const ot_brought *b, const char *function, const parameter *list,
                            int n, bool gpu, bool named, optune_err *err)
{
    for (int i = 0; i < n && i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        const char *why = differs(arg, &list[i], gpu);
        char dtype[OPTUNE_WORD_SIZE];
        ot_print_dtype(arg->dtype, dtype, sizeof dtype);
        if (why)
            return ot_fail_at(arg->spot, OPTUNE_ETYPE, err,
                              "parameter %d of '%s', which is declared %s as '%s', is '%.*s': "
                              "%s",
                              i + 1, function, dtype, arg->name,
                              list[i].n < 80 ? list[i].n : 80, list[i].start, why);
        for (int k = 0; k < b->n_args && named; k++)
            if (k != i && strcmp(b->arg[k].name, list[i].name) == 0)
                return ot_fail_at(arg->spot, OPTUNE_ECONFLICT, err,
                                  "parameter %d of '%s' is called '%s', which is declared as "
                                  "number %d: they stand in the function's own order",
                                  i + 1, function, list[i].name, k + 1);
    }
    if (n == b->n_args)
        return OPTUNE_OK;
    if (n == b->n_args + 1 && list[n - 1].local)
        return b->shared.expr
                   ? OPTUNE_OK
                   : ot_fail_at(b->arg[n - 2].spot, OPTUNE_EUSAGE, err,
                                "the last parameter of '%s', '%.*s', is local memory: 'launch "
                                "..., shared = BYTES' says how much it is",
                                function, list[n - 1].n < 80 ? list[n - 1].n : 80,
                                list[n - 1].start);
    return ot_fail_at(b->arg[n < b->n_args ? n : b->n_args - 1].spot, OPTUNE_ETYPE, err,
                      "'%s' has %s%d parameters, and %d are declared", function,
                      n == MOST_PARAMETERS ? "more than " : "",
                      n == MOST_PARAMETERS ? n - 1 : n, b->n_args);
}

/* A declaration of the function begins at `from`, where the one before it ended; its name is at
 * `p`. */
static bool declares(const char *text, const char *from, const char *p, size_t n)
{
    const char *open = behind_blanks(p + n), *end;
    if ((p > text && is_part(p[-1])) || is_part(p[n]) || *open != '(' || from >= p)
        return false;
    end = behind_parentheses(open);
    end = end ? behind_blanks(end) : NULL;
    return end && (*end == '{' || *end == ';');
}

bool ot_declarations_mark(const char *source, const char *function, const char *mark,
                          ot_text *to)
{
    const size_t n = strlen(function);
    char *text = plain_text(source);
    const char *from = text, *unused, *p = text;
    size_t done = 0;
    int depth = 0, defined = 0, met = 0;
    ot_text marked = {0};
    while ((p = find_definition(text, p, function, &unused, &unused)))
        defined++;
    for (p = text; *p; p++) {
        depth += (*p == '{') - (*p == '}');
        from += strspn(from, " \t\r\n#"); /* of a directive its sign is left */
        if (depth == 0 && strncmp(p, function, n) == 0 && declares(text, from, p, n)) {
            const size_t at = (size_t)(from - text);
            ot_text_add_n(&marked, source + done, at - done);
            ot_text_add(&marked, mark);
            done = at;
            met += *behind_blanks(behind_parentheses(behind_blanks(p + n))) == '{';
        }
        if (depth == 0 && strchr(";}", *p))
            from = p + 1;
    }
    const bool all = met > 0 && met == defined;
    if (all)
        ot_text_printf(to, "%s%s", ot_text_str(&marked), source + done);
    ot_text_release(&marked);
    free(text);
    return all;
}

int ot_parameters_check(const ot_brought *b, const char *source, const char *function,
                        ot_language language, optune_err *err)
{
    const char *from, *to;
    int status = OPTUNE_OK;
    char *text = plain_text(source);
    const reading r = {b, language, language != OT_LANGUAGE_C, source, text};
    parameter *list = ot_alloc(MOST_PARAMETERS * sizeof *list);
    const char *p = text;
    /* Of several, by conditions of the preprocessor, any may be the one. */
    for (bool first = true; (p = find_definition(text, p, function, &from, &to));
         first = false) {
        optune_err why = {0};
        const int n = read_parameters(from, to, &r, list);
        const int fits = n < 0 ? OPTUNE_OK
                               : check_definition(b, function, list, n, r.gpu,
                                                  strcmp(function, b->function) == 0, &why);
        if (fits >= 0) {
            status = OPTUNE_OK;
            break;
        }
        if (first) {
            status = fits;
            optune_fail(err, why.status, "%s", why.text);
        }
    }
    if (status >= 0 && err)
        *err = (optune_err){0};
    free(list);
    free(text);
    return status;
}
