/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that are computed of named ones: `2*n`, `(h+31)/32`, `n+m`. Such a dim's name is the text of
 * its expression in a normal form, so that two that are written alike are equal, and all that asks
 * dims for their names need not know of it. A text that is longer than a name is kept here, for
 * good, and the name says which one it is.
 *
 * The normal form is a sum of products, of names and of quotients rounded down. Of a quotient all
 * that divides stands in front, so its numerator is never negative (C divides it alike), a common
 * factor is left out, and a quotient of a quotient is one. Dims that are equal may still be written
 * differently: then they are told apart, as dims of two names are.
 */
#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "call/cursor.h"
#include "call/dim_expr.h"

enum {
    MAX_TERMS = 8,
    MAX_FACTORS = 4,
    MAX_TEXT = 192,    /* characters of an expression */
    MAX_DEPTH = 8,     /* of brackets that are read */
    LONG_TEXTS = 4096, /* slots for those that no name holds; at most half of them are used */
    LONG_MARK = '#',
};

typedef struct sum sum;
typedef struct atom {
    const char *text;
    const sum *over; /* NULL: it is a name */
    int64_t by;
} atom;

typedef struct term {
    int64_t times; /* never 0 */
    int n;         /* 0: a number */
    const atom *factor[MAX_FACTORS];
} term;

struct sum {
    int n;
    term term[MAX_TERMS]; /* in order, the number last */
};

typedef struct making { /* of one expression */
    ot_arena arena;
    const char *p;     /* what is read */
    const char *wrong; /* why it is none */
} making;

/* ---- texts that are longer than a name ------------------------------------------------------ */

static _Atomic(const char *) long_text[LONG_TEXTS];
static atomic_int long_texts;

/* Which one it is; -1: there is no room. */
static int long_slot(const char *text)
{
    int at = (int)(ot_hash64(text, strlen(text)) % LONG_TEXTS);
    char *own = NULL;
    for (int i = 0; i < LONG_TEXTS; i++, at = (at + 1) % LONG_TEXTS) {
        const char *is = atomic_load(&long_text[at]);
        if (!is) {
            if (!own && atomic_fetch_add(&long_texts, 1) >= LONG_TEXTS / 2) {
                atomic_fetch_sub(&long_texts, 1);
                return -1;
            }
            own = own ? own : ot_strdup(text);
            if (atomic_compare_exchange_strong(&long_text[at], &is, own))
                return at;
        }
        if (strcmp(is, text) == 0) {
            if (own)
                atomic_fetch_sub(&long_texts, 1);
            free(own);
            return at;
        }
    }
    free(own);
    return -1;
}

const char *optune_dim_text(const optune_dim *dim)
{
    if (!dim || dim->name[0] != LONG_MARK)
        return dim ? dim->name : NULL;
    const int at = atoi(dim->name + 1);
    const char *text = at >= 0 && at < LONG_TEXTS ? atomic_load(&long_text[at]) : NULL;
    return text ? text : dim->name;
}

bool ot_name_computed(const char *name)
{
    return strpbrk(name, "#+-*/(") != NULL;
}

bool ot_dim_computed(const optune_dim *dim)
{
    return ot_name_computed(dim->name);
}

/* ---- arithmetic: NULL, of an operand or as a result, is what has no form here ---------------- */

static int compare_factors(const term *a, const term *b)
{
    for (int i = 0; i < a->n && i < b->n; i++) {
        const int order = strcmp(a->factor[i]->text, b->factor[i]->text);
        if (order)
            return order;
    }
    return !a->n || !b->n ? (a->n == 0) - (b->n == 0) : a->n - b->n;
}

static sum *number(making *m, int64_t value)
{
    sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    if (value)
        s->term[s->n++] = (term){.times = value};
    return s;
}

static sum *of_atom(making *m, const atom *a)
{
    sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    s->term[s->n++] = (term){.times = 1, .n = 1, .factor = {a}};
    return s;
}

static sum *of_name(making *m, const char *name)
{
    atom *a = ot_arena_alloc(&m->arena, sizeof *a);
    a->text = ot_arena_copy(&m->arena, name);
    return of_atom(m, a);
}

static bool is_number(const sum *s)
{
    return !s->n || !s->term[0].n; /* the number is last */
}

static bool add_term(sum *to, const term *t)
{
    int at = 0;
    while (at < to->n && compare_factors(&to->term[at], t) < 0)
        at++;
    if (at < to->n && compare_factors(&to->term[at], t) == 0) {
        if (__builtin_add_overflow(to->term[at].times, t->times, &to->term[at].times))
            return false;
        if (!to->term[at].times) {
            to->n--;
            memmove(&to->term[at], &to->term[at + 1], (size_t)(to->n - at) * sizeof *t);
        }
        return true;
    }
    if (to->n == MAX_TERMS)
        return false;
    memmove(&to->term[at + 1], &to->term[at], (size_t)(to->n - at) * sizeof *t);
    to->term[at] = *t;
    to->n++;
    return true;
}

/* a + by * b */
static sum *add(making *m, const sum *a, const sum *b, int64_t by)
{
    if (!a || !b)
        return NULL;
    sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    *s = *a;
    for (int i = 0; i < b->n && by; i++) {
        term t = b->term[i];
        if (__builtin_mul_overflow(t.times, by, &t.times) || !add_term(s, &t))
            return NULL;
    }
    return s;
}

static sum *multiply(making *m, const sum *a, const sum *b)
{
    if (!a || !b)
        return NULL;
    sum *s = number(m, 0);
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            term t = a->term[i];
            const term *u = &b->term[k];
            if (t.n + u->n > MAX_FACTORS || __builtin_mul_overflow(t.times, u->times, &t.times))
                return NULL;
            for (int f = 0; f < u->n; f++, t.n++) {
                int at = t.n;
                for (; at > 0 && strcmp(t.factor[at - 1]->text, u->factor[f]->text) > 0; at--)
                    t.factor[at] = t.factor[at - 1];
                t.factor[at] = u->factor[f];
            }
            if (!add_term(s, &t))
                return NULL;
        }
    return s;
}

static int64_t common_factor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void print(const sum *s, ot_text *to);

/* The numerator of a quotient that is no more than one name needs no brackets. */
static const atom *quotient(making *m, const sum *over, int64_t by)
{
    const term *t = &over->term[0];
    const bool plain = over->n == 1 && t->times == 1 && t->n == 1 && !t->factor[0]->over;
    ot_text text = {0};
    ot_text_add(&text, plain ? "" : "(");
    print(over, &text);
    ot_text_printf(&text, "%s/%lld", plain ? "" : ")", (long long)by);
    atom *a = ot_arena_alloc(&m->arena, sizeof *a);
    a->text = ot_arena_copy(&m->arena, ot_text_str(&text));
    a->over = over;
    a->by = by;
    ot_text_release(&text);
    return a;
}

/* The term of a quotient as it is, by which a quotient of it becomes one; -1: there is none. */
static int nested(const sum *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->term[i].n == 1 && s->term[i].times == 1 && s->term[i].factor[0]->over)
            return i;
    return -1;
}

/* s / by, rounded down. */
static sum *divide(making *m, const sum *s, int64_t by)
{
    if (!s || by < 1)
        return NULL;
    sum *front = number(m, 0), *rest = number(m, 0);
    int64_t common = by, constant = 0;
    for (int i = 0; i < s->n; i++) {
        term t = s->term[i], whole = t;
        t.times %= by;
        t.times += t.times < 0 ? by : 0;
        whole.times = (s->term[i].times - t.times) / by;
        if (whole.times && !add_term(front, &whole))
            return NULL;
        if (t.times && !add_term(rest, &t))
            return NULL;
        common = t.n ? common_factor(common, t.times) : common;
        constant = t.n ? constant : t.times;
    }
    if (is_number(rest))
        return front;
    if (common > 1) {
        sum *less = number(m, constant / common);
        for (int i = 0; i < rest->n; i++) {
            term t = rest->term[i];
            t.times /= common;
            if (t.n && !add_term(less, &t))
                return NULL;
        }
        return add(m, front, divide(m, less, by / common), 1);
    }
    const int inner = nested(rest);
    if (inner < 0)
        return add(m, front, of_atom(m, quotient(m, rest, by)), 1);
    const atom *a = rest->term[inner].factor[0];
    const sum *one = of_atom(m, a);
    const sum *all = add(m, a->over, add(m, rest, one, -1), a->by);
    return __builtin_mul_overflow(by, a->by, &by) ? NULL : add(m, front, divide(m, all, by), 1);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* What is added comes first, so that no text begins with a sign where that can be. */
static void print(const sum *s, ot_text *to)
{
    bool first = true;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int i = 0; i < s->n; i++) {
            const term *t = &s->term[i];
            if ((t->times < 0) != (sign < 0))
                continue;
            ot_text_add(to, sign < 0 ? "-" : first ? "" : "+");
            first = false;
            const bool told = !t->n || t->times != sign;
            if (told)
                ot_text_add_int(to, sign * t->times);
            for (int f = 0; f < t->n; f++) {
                const bool brackets = t->factor[f]->over && (told || t->n > 1);
                ot_text_printf(to, "%s%s%s%s", told || f ? "*" : "", brackets ? "(" : "",
                               t->factor[f]->text, brackets ? ")" : "");
            }
        }
    if (first)
        ot_text_add(to, "0");
}

static sum *wrong(making *m, const char *why)
{
    m->wrong = m->wrong ? m->wrong : why;
    return NULL;
}

static bool read_number(making *m, int64_t *value)
{
    *value = 0;
    for (; isdigit((unsigned char)*m->p); m->p++)
        if (*value > OPTUNE_MAX_DIM / 10) {
            wrong(m, "this number is too large");
            return false;
        } else {
            *value = 10 * *value + *m->p - '0';
        }
    return true;
}

static sum *read_sum(making *m, int depth);

static sum *read_factor(making *m, int depth)
{
    if (isdigit((unsigned char)*m->p)) {
        int64_t value;
        return read_number(m, &value) ? number(m, value) : NULL;
    }
    if (*m->p == '(') {
        if (depth == MAX_DEPTH)
            return wrong(m, "there are too many brackets");
        m->p++;
        sum *s = read_sum(m, depth + 1);
        if (s && *m->p != ')')
            return wrong(m, "')' is expected");
        m->p += s != NULL;
        return s;
    }
    m->p += *m->p == '?';
    const size_t n = ot_identifier(m->p);
    char name[OPTUNE_DIM_NAME_SIZE] = "";
    if (!n)
        return wrong(m, "a dim's name or a number is expected");
    if (n >= sizeof name)
        return wrong(m, "this name is too long");
    memcpy(name, m->p, n);
    m->p += n;
    return of_name(m, name);
}

static sum *read_product(making *m, int depth)
{
    sum *s = read_factor(m, depth);
    while (s && (*m->p == '*' || *m->p == '/')) {
        const bool divides = *m->p++ == '/';
        int64_t by = 0;
        if (divides && (!isdigit((unsigned char)*m->p) || !read_number(m, &by) || !by))
            return wrong(m, "a number other than 0 is expected");
        s = divides ? divide(m, s, by) : multiply(m, s, read_factor(m, depth));
    }
    return s ? s : wrong(m, "this expression is too long");
}

static sum *read_sum(making *m, int depth)
{
    sum *s = number(m, 0);
    bool minus = *m->p == '-';
    m->p += minus;
    do {
        s = add(m, s, read_product(m, depth), minus ? -1 : 1);
        minus = *m->p == '-';
    } while (s && (*m->p == '+' || minus) && *m->p++);
    return s ? s : wrong(m, "this expression is too long");
}

/* What a dim's name stands for. */
static sum *of_dim(making *m, const optune_dim *dim)
{
    if (optune_dim_known(dim))
        return number(m, dim->min);
    if (!dim->name[0])
        return NULL;
    if (!ot_dim_computed(dim))
        return of_name(m, dim->name);
    m->p = optune_dim_text(dim);
    sum *s = read_sum(m, 0);
    return s && !*m->p ? s : NULL;
}

/* Gives a dim the name of an expression, or the number that it is; false: it has none. */
static bool call_it(optune_dim *dim, const sum *s)
{
    ot_text text = {0};
    char to[OPTUNE_DIM_NAME_SIZE];
    bool fits = s != NULL;
    if (fits && is_number(s)) {
        const int64_t value = s->n ? s->term[0].times : 0;
        fits = value >= dim->min && value <= dim->max;
        if (fits)
            *dim = optune_dim_of(value);
        return fits;
    }
    if (fits)
        print(s, &text);
    fits = fits && text.n <= MAX_TEXT;
    if (fits && !ot_copy(to, sizeof to, ot_text_str(&text))) {
        const int at = long_slot(ot_text_str(&text));
        fits = at >= 0;
        snprintf(to, sizeof to, "%c%d", LONG_MARK, at & 0xffff);
    }
    if (fits)
        memcpy(dim->name, to, sizeof to);
    ot_text_release(&text);
    return fits;
}

int ot_dim_read(const char *text, const char **end, optune_dim *dim, const char **why)
{
    making m = {.p = text};
    const sum *s = read_sum(&m, 0);
    *end = m.p;
    *why = m.wrong;
    int status = s ? OPTUNE_OK : OPTUNE_ESYNTAX;
    if (s && is_number(s)) {
        *why = "it has no named dim";
        status = OPTUNE_ESYNTAX;
    } else if (s && !call_it(dim, s)) {
        *why = "this expression is too long";
        status = OPTUNE_ELIMIT;
    }
    ot_arena_release(&m.arena);
    return status;
}

/* ---- what relations make -------------------------------------------------------------------- */

static bool wants_name(const optune_dim *to)
{
    return !to->name[0] && !optune_dim_known(to);
}

/* A number that is not in the range is no conflict of ours: the relation finds it. */
static void give(optune_dim *to, making *m, const sum *s)
{
    if (s)
        call_it(to, s);
    ot_arena_release(&m->arena);
}

void optune_dim_compute(optune_dim *to, int n, const optune_dim *const *from,
                        const int64_t *times, int64_t plus, int64_t over)
{
    if (!wants_name(to))
        return;
    making m = {.p = NULL};
    const sum *s = number(&m, plus);
    for (int i = 0; i < n && s; i++)
        s = add(&m, s, of_dim(&m, from[i]), times ? times[i] : 1);
    give(to, &m, divide(&m, s, over));
}

void optune_dim_multiply(optune_dim *to, int n, const optune_dim *const *from, int64_t over)
{
    if (!wants_name(to))
        return;
    making m = {.p = NULL};
    const sum *s = number(&m, 1);
    for (int i = 0; i < n && s; i++)
        s = multiply(&m, s, of_dim(&m, from[i]));
    give(to, &m, divide(&m, s, over));
}

/* ---- names that are told ---------------------------------------------------------------------- */

typedef bool visit(void *arg, const char *name);

/* All names in it, some of them more than once; false: one was refused. */
static bool each_name(const sum *s, visit *see, void *arg)
{
    for (int i = 0; i < s->n; i++)
        for (int f = 0; f < s->term[i].n; f++) {
            const atom *a = s->term[i].factor[f];
            if (a->over ? !each_name(a->over, see, arg) : !see(arg, a->text))
                return false;
        }
    return true;
}

static bool is_other(void *name, const char *is)
{
    return strcmp(name, is) != 0;
}

bool ot_dim_mentions(const optune_dim *dim, const char *what)
{
    if (!ot_dim_computed(dim))
        return strcmp(dim->name, what) == 0;
    making m = {.p = NULL};
    const sum *s = of_dim(&m, dim);
    char copy[OPTUNE_DIM_NAME_SIZE];
    const bool mentions =
        s && ot_copy(copy, sizeof copy, what) && !each_name(s, is_other, copy);
    ot_arena_release(&m.arena);
    return mentions;
}

typedef struct asking {
    ot_dim_of_name *of;
    const void *arg;
} asking;

static bool is_told(void *arg, const char *name)
{
    const asking *a = arg;
    optune_dim is;
    return a->of(a->arg, name, &is);
}

bool ot_dim_follows(const optune_dim *dim, ot_dim_of_name *of, const void *arg)
{
    making m = {.p = NULL};
    const sum *s = ot_dim_computed(dim) ? of_dim(&m, dim) : NULL;
    const bool follows = s && each_name(s, is_told, &(asking){of, arg});
    ot_arena_release(&m.arena);
    return follows;
}

/* The same with what names are in their place: numbers, other names, other expressions. */
static sum *put(making *m, const sum *s, const asking *a)
{
    sum *all = number(m, 0);
    for (int i = 0; i < s->n && all; i++) {
        sum *product = number(m, s->term[i].times);
        for (int f = 0; f < s->term[i].n && product; f++) {
            const atom *at = s->term[i].factor[f];
            optune_dim is;
            sum *factor = NULL;
            if (at->over)
                factor = divide(m, put(m, at->over, a), at->by);
            else if (a->of(a->arg, at->text, &is) && (is.name[0] || optune_dim_known(&is)))
                factor = of_dim(m, &is);
            else
                factor = of_name(m, at->text);
            product = multiply(m, product, factor);
        }
        all = add(m, all, product, 1);
    }
    return all;
}

/* The least and the most that it can be; names that are not told are anything. */
static void bounds(const sum *s, const asking *a, int64_t *lo, int64_t *hi)
{
    const int64_t top = OPTUNE_DIM_MAX;
    *lo = *hi = 0;
    for (int i = 0; i < s->n; i++) {
        const term *t = &s->term[i];
        int64_t least = 1, most = 1;
        for (int f = 0; f < t->n; f++) {
            const atom *at = t->factor[f];
            optune_dim is = {.min = 0, .max = top};
            if (at->over) {
                bounds(at->over, a, &is.min, &is.max);
                is.min = is.min < 0 ? 0 : is.min / at->by;
                is.max = is.max == top ? top : is.max / at->by;
            } else {
                a->of(a->arg, at->text, &is);
            }
            least = __builtin_mul_overflow(least, is.min, &least) ? top : least;
            most = !is.max || !most                              ? 0
                   : is.max == top || most == top                ? top
                   : __builtin_mul_overflow(most, is.max, &most) ? top
                                                                 : most;
        }
        int64_t from = t->times > 0 ? least : most, to = t->times > 0 ? most : least;
        const int64_t low = from == top && t->times < 0 ? INT64_MIN
                            : __builtin_mul_overflow(from, t->times, &from)
                                ? (t->times > 0 ? top : INT64_MIN)
                                : from;
        const int64_t high = to == top && t->times > 0 ? top
                             : __builtin_mul_overflow(to, t->times, &to)
                                 ? (t->times > 0 ? top : INT64_MIN)
                                 : to;
        *lo = *lo == INT64_MIN || low == INT64_MIN   ? INT64_MIN
              : __builtin_add_overflow(*lo, low, lo) ? (low > 0 ? top : INT64_MIN)
                                                     : *lo;
        *hi = *hi == top || high == top               ? top
              : __builtin_add_overflow(*hi, high, hi) ? (high > 0 ? top : INT64_MIN)
                                                      : *hi;
    }
}

bool ot_dim_settle(optune_dim *dim, ot_dim_of_name *of, const void *arg)
{
    if (!ot_dim_computed(dim) || optune_dim_known(dim))
        return true;
    const asking a = {of, arg};
    making m = {.p = NULL};
    const sum *s = of_dim(&m, dim);
    bool fits = true;
    if (s) {
        int64_t lo, hi;
        optune_dim now = *dim;
        bounds(s, &a, &lo, &hi);
        now.min = lo > now.min ? lo : now.min;
        now.max = hi < now.max ? hi : now.max;
        fits = now.min <= now.max && (call_it(&now, put(&m, s, &a)) || now.name[0]);
        if (fits)
            *dim = now;
    }
    ot_arena_release(&m.arena);
    return fits;
}
