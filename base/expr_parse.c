/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to expression, by precedence from `or` down to what binds tightest. What Python has and
 * we do not is told from what is no Python, as the remedies differ.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"

enum { MOST_TEXT = 1 << 16, MOST_DEPTH = 64 };

typedef struct parser {
    ot_expr *expr;
    const char *text, *p;
    optune_err *err;
    int depth, n_locals, capacity;
    const char *local[OT_EXPR_MOST_LOCALS];
} parser;

#define FAIL(s, where, ...)                                                                    \
    (ot_fail_at(ot_spot_in(&(s)->expr->place, (s)->text, (size_t)((where) - (s)->text)),       \
                OPTUNE_ESYNTAX, (s)->err, __VA_ARGS__),                                        \
     0)

/* ---- words ------------------------------------------------------------------------------- */

static void skip(parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static bool is_word(const char *p, const char *word)
{
    const size_t n = ot_identifier_length(p);
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

static bool eat_word(parser *s, const char *word)
{
    skip(s);
    if (!is_word(s->p, word))
        return false;
    s->p += strlen(word);
    return true;
}

static bool eat(parser *s, const char *sign)
{
    skip(s);
    const size_t n = strlen(sign);
    if (strncmp(s->p, sign, n) != 0)
        return false;
    s->p += n;
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* 0: there are too many. */
static int add(parser *s, ot_expr_kind kind, const char *at)
{
    ot_expr *e = s->expr;
    if (e->n_nodes == OT_EXPR_MOST_NODES)
        return FAIL(s, at, "the expression has more than %d parts", OT_EXPR_MOST_NODES);
    if (e->n_nodes == s->capacity) {
        s->capacity *= 2;
        ot_expr_node *more = realloc(e->node, (size_t)s->capacity * sizeof *more);
        if (!more)
            abort();
        e->node = more;
    }
    e->node[e->n_nodes] = (ot_expr_node){.kind = (uint8_t)kind, .at = (int)(at - s->text)};
    return e->n_nodes++;
}

/* Of these children in turn, ending at a 0; 0 when one of them failed or there are too many. */
static int parent(parser *s, ot_expr_kind kind, const char *at, int a, int b)
{
    const int made = a ? add(s, kind, at) : 0;
    if (!made)
        return 0;
    s->expr->node[made].child = a;
    s->expr->node[a].next = b;
    return made;
}

static int constant(parser *s, const char *at, ot_expr_value value)
{
    const int made = add(s, OT_NODE_VALUE, at);
    if (made)
        s->expr->node[made].value = value;
    return made;
}

static int parse_any(parser *s);

/* ---- what binds tightest ----------------------------------------------------------------- */

static int parse_number(parser *s)
{
    const char *at = s->p;
    size_t n = 0;
    bool real = false;
    while (isalnum((unsigned char)at[n]) || at[n] == '.' ||
           ((at[n] == '+' || at[n] == '-') && n && (at[n - 1] == 'e' || at[n - 1] == 'E') &&
            strncmp(at, "0x", 2) != 0)) {
        real = real || at[n] == '.' || at[n] == 'e' || at[n] == 'E';
        n++;
    }
    char word[64];
    ot_expr_value value = {.kind = OT_VALUE_INT};
    if (n < sizeof word) {
        memcpy(word, at, n);
        word[n] = '\0';
        if (ot_parse_int(word, &value.i)) {
            s->p += n;
            return constant(s, at, value);
        }
        value.kind = OT_VALUE_REAL;
        if (real && ot_parse_real(word, &value.f)) {
            s->p += n;
            return constant(s, at, value);
        }
    }
    return FAIL(s, at, "'%.*s' is no number that is understood here", (int)(n < 40 ? n : 40),
                at);
}

static int parse_string(parser *s)
{
    const char *at = s->p;
    const size_t n = strcspn(at + 1, *at == '"' ? "\"\\\n" : "'\\\n");
    if (at[1 + n] == '\\')
        return FAIL(s, at + 1 + n, "backslashes in words are not understood here");
    if (at[1 + n] != *at)
        return FAIL(s, at, "the word has no end");
    char *copy = ot_arena_alloc(&s->expr->arena, n + 1);
    memcpy(copy, at + 1, n);
    s->p += n + 2;
    return constant(s, at, (ot_expr_value){.kind = OT_VALUE_WORD, .s = copy});
}

/* Items up to the closing sign, which is eaten; the first of them in *first. */
static bool parse_items(parser *s, char close, int *first, int *n)
{
    int last = 0;
    *first = *n = 0;
    for (;;) {
        skip(s);
        if (*s->p == close)
            break;
        const int item = parse_any(s);
        if (!item)
            return false;
        if (last)
            s->expr->node[last].next = item;
        else
            *first = item;
        last = item;
        ++*n;
        skip(s);
        if (*s->p != ',' && *s->p != close)
            return FAIL(s, s->p, "',' or '%c' is expected", close);
        s->p += *s->p == ',';
    }
    s->p++;
    return true;
}

static int make_list(parser *s, const char *at, int first)
{
    const int made = add(s, OT_NODE_LIST, at);
    if (made)
        s->expr->node[made].child = first;
    return made;
}

/* How far it is to the `for` of a comprehension whose inside begins here; NULL: it is none. */
static const char *find_for(const char *p)
{
    int depth = 0;
    for (; *p && depth >= 0; p++) {
        if (*p == '\'' || *p == '"') {
            const char *end = strchr(p + 1, *p);
            if (!end)
                return NULL;
            p = end;
        } else if (depth == 0 && (p[0] == 'f') && is_word(p, "for") && !isalnum(p[-1]) &&
                   p[-1] != '_') {
            return p;
        }
        depth += (*p == '[' || *p == '(') - (*p == ']' || *p == ')');
    }
    return NULL;
}

/* `[what for name in list if condition]`, behind its '['. The name is read first, as what stands in
 * front of it uses it. */
static int parse_each(parser *s, const char *at, const char *loop)
{
    const char *start = s->p;
    s->p = loop + 3;
    skip(s);
    const size_t n = ot_identifier_length(s->p);
    if (!n)
        return FAIL(s, s->p, "a name is expected behind 'for'");
    if (s->n_locals == OT_EXPR_MOST_LOCALS)
        return FAIL(s, at, "lists made of lists made of lists go too deep");
    char *name = ot_arena_alloc(&s->expr->arena, n + 1);
    memcpy(name, s->p, n);
    s->p += n;
    if (!eat_word(s, "in"))
        return FAIL(s, s->p, "'in' is expected behind 'for %s'", name);
    const int list = parse_any(s);
    if (!list)
        return 0;
    s->local[s->n_locals++] = name;
    int condition = 0;
    if (eat_word(s, "if") && !(condition = parse_any(s)))
        return 0;
    skip(s);
    if (is_word(s->p, "for"))
        return FAIL(s, s->p, "one 'for' is understood in a list, not two");
    if (*s->p != ']')
        return FAIL(s, s->p, "']' is expected");
    const char *end = s->p + 1;
    s->p = start;
    const int what = parse_any(s);
    if (!what)
        return 0;
    skip(s);
    if (s->p != loop)
        return FAIL(s, s->p, "'for' is expected");
    s->p = end;
    s->n_locals--;
    const int made = parent(s, OT_NODE_EACH, at, what, list);
    if (made) {
        s->expr->node[list].next = condition;
        s->expr->node[made].i = s->n_locals;
    }
    return made;
}

static int parse_list(parser *s)
{
    const char *at = s->p++, *loop = find_for(s->p);
    int first, n;
    if (loop)
        return parse_each(s, at, loop);
    return parse_items(s, ']', &first, &n) ? make_list(s, at, first) : 0;
}

/* `(1, 2)` is a list here: nothing changes one. */
static int parse_group(parser *s)
{
    const char *at = s->p++;
    const char *loop = find_for(s->p);
    int first, n;
    if (loop)
        return FAIL(s, loop, "a list made by 'for' stands in brackets: [... for x in ...]");
    if (!parse_items(s, ')', &first, &n))
        return 0;
    return n == 1 && s->p[-2] != ',' ? first : make_list(s, at, first);
}

static int parse_function(parser *s, const char *at, size_t length)
{
    static const struct {
        const char *name;
        ot_expr_kind kind;
        int least, most;
    } known[] = {{"min", OT_NODE_MIN, 1, 64},
                 {"max", OT_NODE_MAX, 1, 64},
                 {"range", OT_NODE_RANGE, 1, 3},
                 {"list", OT_NODE_TO_LIST, 1, 1}};
    for (int i = 0; i < OT_COUNT(known); i++) {
        if (!is_word(at, known[i].name))
            continue;
        int first, n;
        s->p++;
        if (!parse_items(s, ')', &first, &n))
            return 0;
        if (n < known[i].least || n > known[i].most)
            return FAIL(s, at, "'%s' takes %d to %d arguments", known[i].name, known[i].least,
                        known[i].most);
        const int made = add(s, known[i].kind, at);
        if (made)
            s->expr->node[made].child = first;
        return made;
    }
    return FAIL(s, at, "'%.*s(...)' is not called here: there are min, max, range and list",
                (int)(length < 40 ? length : 40), at);
}

static int parse_name(parser *s)
{
    const char *at = s->p;
    const size_t n = ot_identifier_length(at);
    ot_expr *e = s->expr;
    if (is_word(at, "True") || is_word(at, "False")) {
        s->p += n;
        return constant(s, at, (ot_expr_value){.kind = OT_VALUE_BOOL, .i = *at == 'T'});
    }
    s->p += n;
    skip(s);
    if (*s->p == '(' && !is_word(at, "not") && !is_word(at, "in"))
        return parse_function(s, at, n);
    char word[16] = "";
    if (n < sizeof word)
        memcpy(word, at, n);
    if (ot_expr_reserved(word))
        return FAIL(s, at, "'%s' is not understood here", word);
    for (int i = s->n_locals - 1; i >= 0; i--)
        if (is_word(at, s->local[i])) {
            const int made = add(s, OT_NODE_LOCAL, at);
            e->node[made].i = i;
            return made;
        }
    int k = 0;
    while (k < e->n_names && !is_word(at, e->name[k]))
        k++;
    if (k == OT_EXPR_MOST_NAMES)
        return FAIL(s, at, "the expression has more than %d names", OT_EXPR_MOST_NAMES);
    if (k == e->n_names) {
        char *copy = ot_arena_alloc(&e->arena, n + 1);
        memcpy(copy, at, n);
        e->name[e->n_names++] = copy;
    }
    const int made = add(s, OT_NODE_NAME, at);
    e->node[made].i = made ? k : 0;
    return made;
}

static int parse_primary(parser *s)
{
    skip(s);
    const char *at = s->p;
    int made;
    if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1])))
        made = parse_number(s);
    else if (*at == '\'' || *at == '"')
        made = parse_string(s);
    else if (*at == '[')
        made = parse_list(s);
    else if (*at == '(')
        made = parse_group(s);
    else if (ot_identifier_length(at))
        made = parse_name(s);
    else if (!*at)
        return FAIL(s, at, "a value is expected, and the text ends");
    else
        return FAIL(s, at, "a value is expected");
    for (skip(s); made && *s->p == '['; skip(s)) {
        const char *bracket = s->p++;
        const int index = parse_any(s);
        if (!index || !eat(s, "]"))
            return index ? FAIL(s, s->p, "']' is expected") : 0;
        made = parent(s, OT_NODE_INDEX, bracket, made, index);
    }
    if (made && *s->p == '.')
        return FAIL(s, s->p, "'.' is not understood here");
    return made;
}

/* ---- operators --------------------------------------------------------------------------- */

static int parse_unary(parser *s);

/* `**` binds tighter than a sign on its left, and less than one on its right. */
static int parse_power(parser *s)
{
    const int base = parse_primary(s);
    skip(s);
    const char *at = s->p;
    if (!base || !eat(s, "**"))
        return base;
    const int exponent = parse_unary(s);
    return exponent ? parent(s, OT_NODE_POWER, at, base, exponent) : 0;
}

/* The one integer whose digits alone do not fit. */
static const char LEAST[] = "9223372036854775808";

static bool is_least(const char *p)
{
    const char after = strncmp(p, LEAST, strlen(LEAST)) == 0 ? p[strlen(LEAST)] : '.';
    return !isalnum((unsigned char)after) && after != '.' && after != '_';
}

static int parse_unary(parser *s)
{
    skip(s);
    const char *at = s->p;
    if (*at != '-' && *at != '+')
        return parse_power(s);
    if (*at == '-' && is_least(at + 1)) {
        s->p += sizeof LEAST;
        return constant(s, at, ot_int_value(INT64_MIN));
    }
    if (++s->depth > MOST_DEPTH)
        return FAIL(s, at, "the expression goes too deep");
    s->p++;
    const int of = parse_unary(s);
    s->depth--;
    return parent(s, *at == '-' ? OT_NODE_NEGATIVE : OT_NODE_POSITIVE, at, of, 0);
}

static int parse_product(parser *s)
{
    int left = parse_unary(s);
    while (left) {
        skip(s);
        const char *at = s->p;
        const ot_expr_kind kind = at[0] == '*' && at[1] != '*'   ? OT_NODE_TIMES
                                  : at[0] == '/' && at[1] == '/' ? OT_NODE_FLOOR
                                  : at[0] == '/'                 ? OT_NODE_DIVIDE
                                  : at[0] == '%'                 ? OT_NODE_MODULO
                                                                 : OT_NODE_VALUE;
        if (kind == OT_NODE_VALUE)
            break;
        s->p += kind == OT_NODE_FLOOR ? 2 : 1;
        const int right = parse_unary(s);
        left = right ? parent(s, kind, at, left, right) : 0;
    }
    return left;
}

static int parse_sum(parser *s)
{
    int left = parse_product(s);
    while (left) {
        skip(s);
        const char *at = s->p;
        if (*at != '+' && *at != '-')
            break;
        s->p++;
        const int right = parse_product(s);
        left =
            right ? parent(s, *at == '+' ? OT_NODE_ADD : OT_NODE_SUBTRACT, at, left, right) : 0;
    }
    if (left && *s->p && strchr("&|^~@", *s->p))
        return FAIL(s, s->p,
                    "'%c' is not understood here; conditions are joined by 'and' and 'or'",
                    *s->p);
    if (left && (strncmp(s->p, "<<", 2) == 0 || strncmp(s->p, ">>", 2) == 0))
        return FAIL(s, s->p, "shifts are not understood here; use 2**n");
    return left;
}

static ot_compares comparison(parser *s)
{
    static const struct {
        const char *sign;
        ot_compares what;
    } signs[] = {{"==", OT_EQ}, {"!=", OT_NE}, {"<=", OT_LE},
                 {">=", OT_GE}, {"<", OT_LT},  {">", OT_GT}};
    for (int i = 0; i < OT_COUNT(signs); i++)
        if (eat(s, signs[i].sign))
            return signs[i].what;
    if (eat_word(s, "in"))
        return OT_IN;
    const char *before = s->p;
    if (eat_word(s, "not") && eat_word(s, "in"))
        return OT_NOT_IN;
    s->p = before;
    return 0;
}

static int parse_comparison(parser *s)
{
    skip(s);
    const char *at = s->p;
    const int first = parse_sum(s);
    int last = first, chain = 0;
    for (ot_compares what; last && (what = comparison(s)) != 0;) {
        const int next = parse_sum(s);
        if (!next)
            return 0;
        if (!chain)
            chain = parent(s, OT_NODE_CHAIN, at, first, 0);
        if (!chain)
            return 0;
        s->expr->node[last].next = next;
        s->expr->node[next].what = (uint8_t)what;
        last = next;
    }
    if (last && *s->p == '=')
        return FAIL(s, s->p, "'=' compares nothing: '==' is meant");
    return !last ? 0 : chain ? chain : first;
}

static int parse_not(parser *s)
{
    skip(s);
    const char *at = s->p;
    if (!eat_word(s, "not"))
        return parse_comparison(s);
    if (++s->depth > MOST_DEPTH)
        return FAIL(s, at, "the expression goes too deep");
    const int of = parse_not(s);
    s->depth--;
    return parent(s, OT_NODE_NOT, at, of, 0);
}

static int parse_and(parser *s)
{
    int left = parse_not(s);
    for (const char *at = s->p; left && eat_word(s, "and"); at = s->p) {
        const int right = parse_not(s);
        left = right ? parent(s, OT_NODE_AND, at, left, right) : 0;
    }
    return left;
}

static int parse_any(parser *s)
{
    if (++s->depth > MOST_DEPTH)
        return FAIL(s, s->p, "the expression goes too deep");
    int left = parse_and(s);
    for (const char *at = s->p; left && eat_word(s, "or"); at = s->p) {
        const int right = parse_and(s);
        left = right ? parent(s, OT_NODE_OR, at, left, right) : 0;
    }
    s->depth--;
    return left;
}

/* ---- whole ------------------------------------------------------------------------------- */

int ot_expr_parse(const char *text, const ot_spot *place, ot_expr **expr, optune_err *err)
{
    *expr = NULL;
    ot_expr *e = ot_alloc(sizeof *e);
    e->place = place ? *place : (ot_spot){.line = 1, .column = 1};
    e->text = ot_arena_copy(&e->arena, text);
    parser s = {.expr = e, .text = e->text, .p = e->text, .err = err, .capacity = 32};
    e->node = ot_alloc((size_t)s.capacity * sizeof *e->node);
    e->n_nodes = 1;
    if (strlen(text) > MOST_TEXT)
        ot_fail_at(e->place, OPTUNE_ESYNTAX, err, "the expression has more than %d bytes",
                   MOST_TEXT);
    else
        e->root = parse_any(&s);
    skip(&s);
    if (e->root && *s.p)
        e->root = FAIL(&s, s.p, "what follows here is not understood: '%.20s'", s.p);
    if (e->root) {
        *expr = e;
        return OPTUNE_OK;
    }
    ot_expr_free(e);
    return OPTUNE_ESYNTAX;
}
