/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of specializations: boolean expressions over named dims, brought to conjunctive
 * normal form and judged over intervals. Three answers: true, false, or unknown when the ranges
 * of symbolic dims do not decide. Two occurrences of a dim are judged apart, so the answer may
 * be "unknown" where algebra would decide; it is never wrong.
 *
 * Grammar, as in C: || && ! == != < <= > >= + - * / % unary - parentheses, integers, names.
 * Division and remainder round towards minus infinity.
 */
#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/range.h"

enum { MAX_CLAUSES = 64, MAX_LITERALS = 16, MAX_DEPTH = 64, MAX_NODES = 1024 };

typedef enum operation {
    NUMBER,
    NAME,
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    NEG, /* integers */
    LT,
    LE,
    GT,
    GE,
    EQ,
    NE,
    AND,
    OR,
    NOT, /* booleans */
} operation;

typedef struct node {
    operation op;
    int64_t number;
    const char *name;
    const struct node *a, *b;
} node;

typedef struct clause {
    int n;
    const node *literal[MAX_LITERALS]; /* comparisons, joined by || */
} clause;

typedef struct clauses {
    int n;
    clause clause[MAX_CLAUSES]; /* joined by && */
} clauses;

struct ot_condition {
    ot_arena arena;
    clauses all;
};

/* ---- parsing ----------------------------------------------------------------------------- */

typedef struct parser {
    const char *text, *p;
    ot_arena *arena;
    optune_err *err;
    int depth, joins;
} parser;

static const node *wrong(const parser *c, const char *what)
{
    optune_fail(c->err, OPTUNE_ESYNTAX, "condition '%.200s' is wrong at column %d: %s", c->text,
                (int)(c->p - c->text) + 1, what);
    return NULL;
}

static const node *make(const parser *c, operation op, const node *a, const node *b)
{
    node *made = ot_arena_alloc(c->arena, sizeof *made);
    *made = (node){.op = op, .a = a, .b = b};
    return made;
}

static bool is_boolean(const node *e)
{
    return e->op >= LT;
}

/* A number where a truth is wanted means "is not zero". */
static const node *boolean(const parser *c, const node *e)
{
    return is_boolean(e) ? e : make(c, NE, e, make(c, NUMBER, NULL, NULL));
}

static const struct binary {
    const char *text;
    operation op;
    int level; /* binds tighter when higher */
} binaries[] = {
    {"||", OR, 1}, {"&&", AND, 2}, {"==", EQ, 3}, {"!=", NE, 3}, {"<=", LE, 4},
    {">=", GE, 4}, {"<", LT, 4},   {">", GT, 4},  {"+", ADD, 5}, {"-", SUB, 5},
    {"*", MUL, 6}, {"/", DIV, 6},  {"%", MOD, 6},
};

static const node *parse_level(parser *c, int level);

static const node *parse_primary(parser *c)
{
    c->p += strspn(c->p, " \t\n");
    const node *e = NULL;
    if (++c->depth > MAX_DEPTH) {
        e = wrong(c, "it nests too deeply");
    } else if (*c->p == '(') {
        c->p++;
        e = parse_level(c, 1);
        c->p += strspn(c->p, " \t\n");
        if (e && *c->p != ')')
            return wrong(c, "')' is expected");
        c->p += e != NULL;
    } else if (*c->p == '!' || *c->p == '-') {
        const bool negation = *c->p++ == '!';
        e = parse_primary(c);
        if (e && negation)
            e = make(c, NOT, boolean(c, e), NULL);
        else if (e && is_boolean(e))
            e = wrong(c, "a truth has no sign");
        else if (e)
            e = make(c, NEG, e, NULL);
    } else if (isdigit((unsigned char)*c->p)) {
        const size_t n = strspn(c->p, "0123456789");
        node *number = ot_arena_alloc(c->arena, sizeof *number);
        char *digits = ot_arena_printf(c->arena, "%.*s", (int)n, c->p);
        if (!ot_parse_int(digits, &number->number))
            return wrong(c, "this number is too large");
        c->p += n;
        e = number;
    } else if (isalpha((unsigned char)*c->p) || *c->p == '_') {
        size_t n = 0;
        while (isalnum((unsigned char)c->p[n]) || c->p[n] == '_')
            n++;
        node *name = ot_arena_alloc(c->arena, sizeof *name);
        *name = (node){.op = NAME, .name = ot_arena_printf(c->arena, "%.*s", (int)n, c->p)};
        c->p += n;
        e = name;
    } else {
        e = wrong(c, *c->p ? "a dim, a number or '(' is expected" : "it ends too early");
    }
    c->depth--;
    return e;
}

static const struct binary *next_binary(parser *c, int level)
{
    c->p += strspn(c->p, " \t\n");
    for (int i = 0; i < OT_COUNT(binaries); i++)
        if (binaries[i].level == level &&
            strncmp(c->p, binaries[i].text, strlen(binaries[i].text)) == 0)
            return &binaries[i];
    return NULL;
}

static const node *join(const parser *c, operation op, const node *a, const node *b)
{
    if (op == AND || op == OR)
        return make(c, op, boolean(c, a), boolean(c, b));
    if (is_boolean(a) || is_boolean(b))
        return wrong(c, "a truth is used as a number");
    if ((op == DIV || op == MOD) && b->op == NUMBER && b->number == 0)
        return wrong(c, "this divides by zero");
    return make(c, op, a, b);
}

static const node *parse_level(parser *c, int level)
{
    if (level > 6)
        return parse_primary(c);
    const node *e = parse_level(c, level + 1);
    const struct binary *binary;
    while (e && (binary = next_binary(c, level))) {
        if (++c->joins > MAX_NODES)
            return wrong(c, "it is too long");
        c->p += strlen(binary->text);
        const node *right = parse_level(c, level + 1);
        e = right ? join(c, binary->op, e, right) : NULL;
    }
    return e;
}

/* ---- normal form ------------------------------------------------------------------------- */

static int conjoin(clauses *to, const clauses *more)
{
    if (to->n + more->n > MAX_CLAUSES)
        return OPTUNE_ELIMIT;
    memcpy(&to->clause[to->n], more->clause, (size_t)more->n * sizeof(clause));
    to->n += more->n;
    return OPTUNE_OK;
}

/* (a1 && a2) || (b1 && b2) = (a1||b1) && (a1||b2) && (a2||b1) && (a2||b2) */
static int disjoin(const clauses *a, const clauses *b, clauses *to)
{
    if (a->n * b->n > MAX_CLAUSES)
        return OPTUNE_ELIMIT;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            clause *made = &to->clause[to->n++];
            *made = a->clause[i];
            if (made->n + b->clause[j].n > MAX_LITERALS)
                return OPTUNE_ELIMIT;
            for (int k = 0; k < b->clause[j].n; k++)
                made->literal[made->n++] = b->clause[j].literal[k];
        }
    return OPTUNE_OK;
}

static int normalise(const parser *c, const node *e, bool negated, clauses *to)
{
    static const operation opposite[] = {
        [LT] = GE, [LE] = GT, [GT] = LE, [GE] = LT, [EQ] = NE, [NE] = EQ,
    };
    to->n = 0;
    if (e->op == NOT)
        return normalise(c, e->a, !negated, to);
    if (e->op != AND && e->op != OR) {
        to->n = 1;
        to->clause[0] = (clause){.n = 1};
        to->clause[0].literal[0] = negated ? make(c, opposite[e->op], e->a, e->b) : e;
        return OPTUNE_OK;
    }
    clauses *a = ot_alloc(sizeof *a), *b = ot_alloc(sizeof *b);
    int status = normalise(c, e->a, negated, a);
    status = status < 0 ? status : normalise(c, e->b, negated, b);
    if (status >= 0 && (e->op == AND) != negated) {
        *to = *a;
        status = conjoin(to, b);
    } else if (status >= 0) {
        status = disjoin(a, b, to);
    }
    free(a);
    free(b);
    return status;
}

int ot_condition_parse(const char *text, ot_condition **condition, optune_err *err)
{
    ot_condition *made = ot_alloc(sizeof *made);
    parser c = {.text = text, .p = text, .arena = &made->arena, .err = err};
    *condition = NULL;
    const node *e = parse_level(&c, 1);
    if (e && *c.p)
        e = wrong(&c, "an operator is expected");
    int status = e ? normalise(&c, boolean(&c, e), false, &made->all) : OPTUNE_ESYNTAX;
    if (status == OPTUNE_ELIMIT)
        optune_fail(err, status,
                    "condition '%s' has too many clauses in conjunctive normal form", text);
    if (status < 0)
        ot_condition_free(made);
    else
        *condition = made;
    return status;
}

/* ---- kept -------------------------------------------------------------------------------- */

/* For ever, as rows are. By its text, as a plugin that failed to load may have had
 * another one there. */
typedef struct kept {
    uint64_t hash;
    char *text;
    ot_condition *condition;
} kept;

const ot_condition *ot_condition_kept(const char *text, ot_condition **own, optune_err *err)
{
    enum { SLOTS = 1024, PROBES = 16 };
    static _Atomic(kept *) slot[SLOTS];
    const uint64_t hash = ot_hash64(text, strlen(text));
    *own = NULL;
    for (int i = 0; i < PROBES; i++) {
        _Atomic(kept *) *at = &slot[(hash + (uint64_t)i) % SLOTS];
        kept *there = atomic_load_explicit(at, memory_order_acquire);
        if (there && there->hash == hash && !strcmp(there->text, text))
            return there->condition;
        if (there)
            continue;
        kept *made = ot_alloc(sizeof *made);
        *made = (kept){.hash = hash, .text = ot_strdup(text)};
        if (ot_condition_parse(made->text, &made->condition, err) < 0) {
            free(made->text);
            free(made);
            return NULL;
        }
        if (atomic_compare_exchange_strong(at, &there, made))
            return made->condition;
        /* Another thread was first. */
        *own = made->condition;
        free(made->text);
        free(made);
        return *own;
    }
    return ot_condition_parse(text, own, err) < 0 ? NULL : *own;
}

void ot_condition_free(ot_condition *condition)
{
    if (!condition)
        return;
    ot_arena_release(&condition->arena);
    free(condition);
}

/* ---- looking inside ---------------------------------------------------------------------- */

static void visit(const node *e, void (*seen)(void *arg, const char *name, int64_t number),
                  void *arg)
{
    if (!e)
        return;
    if (e->op == NUMBER || e->op == NAME)
        seen(arg, e->name, e->number);
    visit(e->a, seen, arg);
    visit(e->b, seen, arg);
}

bool ot_condition_visit_nth(const ot_condition *condition, int nth,
                            void (*seen)(void *arg, const char *name, int64_t number),
                            void *arg)
{
    for (int i = 0; i < condition->all.n; nth -= condition->all.clause[i++].n)
        if (nth < condition->all.clause[i].n) {
            visit(condition->all.clause[i].literal[nth], seen, arg);
            return true;
        }
    return false;
}

void ot_condition_visit(const ot_condition *condition,
                        void (*seen)(void *arg, const char *name, int64_t number), void *arg)
{
    for (int nth = 0; ot_condition_visit_nth(condition, nth, seen, arg); nth++)
        ;
}

/* ---- printing ---------------------------------------------------------------------------- */

static const struct binary *binary_of(operation op)
{
    for (int i = 0; i < OT_COUNT(binaries); i++)
        if (binaries[i].op == op)
            return &binaries[i];
    return NULL;
}

static void print(const node *e, int level, ot_text *to)
{
    if (e->op == NUMBER) {
        ot_text_printf(to, "%lld", (long long)e->number);
    } else if (e->op == NAME) {
        ot_text_add(to, e->name);
    } else if (e->op == NEG) {
        ot_text_add(to, "-");
        print(e->a, 7, to);
    } else {
        const struct binary *binary = binary_of(e->op);
        const bool nested = binary->level < level;
        ot_text_add(to, nested ? "(" : "");
        print(e->a, binary->level, to);
        ot_text_printf(to, " %s ", binary->text);
        print(e->b, binary->level + 1, to);
        ot_text_add(to, nested ? ")" : "");
    }
}

/* ---- judging ----------------------------------------------------------------------------- */

typedef struct scene {
    ot_dim_lookup lookup;
    const void *arg;
    const char *missing; /* the first name that nobody knows */
} scene;

static ot_range value(scene *s, const node *e)
{
    if (e->op == NUMBER)
        return (ot_range){e->number, e->number};
    if (e->op == NAME) {
        optune_dim dim;
        if (s->lookup && s->lookup(s->arg, e->name, &dim))
            return (ot_range){dim.min, dim.max};
        s->missing = s->missing ? s->missing : e->name;
        return ot_anything;
    }
    const ot_range a = value(s, e->a);
    if (e->op == NEG)
        return ot_range_negative(a);
    const ot_range b = value(s, e->b);
    switch (e->op) {
    case ADD:
        return ot_range_plus(a, b);
    case SUB:
        return ot_range_plus(a, ot_range_negative(b));
    case MUL:
        return ot_range_product(a, b);
    case DIV:
        return ot_range_quotient(a, b);
    default:
        return ot_range_remainder(a, b);
    }
}

static int opposite_truth(int truth)
{
    return truth == OT_UNKNOWN ? truth : truth == OT_TRUE ? OT_FALSE : OT_TRUE;
}

static int truth_of(scene *s, const node *literal)
{
    const ot_range a = value(s, literal->a), b = value(s, literal->b);
    switch (literal->op) {
    case LT:
        return ot_range_less(a, b);
    case GE:
        return opposite_truth(ot_range_less(a, b));
    case GT:
        return ot_range_less(b, a);
    case LE:
        return opposite_truth(ot_range_less(b, a));
    case EQ:
        return ot_range_equal(a, b);
    default:
        return opposite_truth(ot_range_equal(a, b));
    }
}

static void describe(const clause *of, const char *missing, char *to, size_t size)
{
    ot_text text = {0};
    for (int i = 0; i < of->n; i++) {
        ot_text_add(&text, i ? " || " : "");
        print(of->literal[i], 3, &text);
    }
    if (missing)
        ot_text_printf(&text, " (there is no dim '%s')", missing);
    snprintf(to, size, "%s", ot_text_str(&text));
    ot_text_release(&text);
}

int ot_condition_test(const ot_condition *condition, ot_dim_lookup lookup, const void *arg,
                      char *what, size_t size)
{
    int answer = OT_TRUE;
    if (size)
        what[0] = '\0';
    for (int i = 0; i < condition->all.n; i++) {
        const clause *of = &condition->all.clause[i];
        scene s = {.lookup = lookup, .arg = arg};
        int truth = OT_FALSE;
        for (int j = 0; j < of->n && truth != OT_TRUE; j++) {
            const int literal = truth_of(&s, of->literal[j]);
            truth = literal == OT_FALSE ? truth : literal;
        }
        if (truth == OT_TRUE || (truth == OT_UNKNOWN && answer == OT_UNKNOWN))
            continue;
        answer = truth;
        if (size)
            describe(of, s.missing, what, size);
        if (truth == OT_FALSE)
            return OT_FALSE;
    }
    return answer;
}
