/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that are computed of named ones: `2*n`, `(h+31)/32`, `n+m`. Such a dim's name is the text of
 * its expression in a normal form, so that two that are written alike are equal, and all that asks
 * dims for their names need not know of it. A text that is longer than a name is kept here, for
 * good, and the name says which one it is.
 *
 * The normal form is that of dim_sum.h. Dims that are equal may still be written
 * differently: then they are told apart, as dims of two names are.
 */
#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "call/dim_sum.h"

enum {
    MAX_TEXT = 192,    /* characters of an expression */
    LONG_TEXTS = 4096, /* slots for those that no name holds; at most half of them are used */
    LONG_MARK = '#',
};

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

/* What a dim's name stands for. */
static ot_sum *of_dim(ot_making *m, const optune_dim *dim)
{
    if (optune_dim_known(dim))
        return ot_sum_number(m, dim->min);
    if (!dim->name[0])
        return NULL;
    if (!ot_dim_computed(dim))
        return ot_sum_of_name(m, dim->name);
    m->p = optune_dim_text(dim);
    ot_sum *s = ot_sum_read(m, 0);
    return s && !*m->p ? s : NULL;
}

/* Gives a dim the name of an expression, or the number that it is; false: it has none. */
static bool call_it(optune_dim *dim, const ot_sum *s)
{
    ot_text text = {0};
    char to[OPTUNE_DIM_NAME_SIZE];
    bool fits = s != NULL;
    if (fits && ot_sum_is_number(s)) {
        const int64_t value = s->n ? s->term[0].times : 0;
        fits = value >= dim->min && value <= dim->max;
        if (fits)
            *dim = optune_dim_of(value);
        return fits;
    }
    if (fits)
        ot_sum_print(s, &text);
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
    ot_making m = {.p = text};
    const ot_sum *s = ot_sum_read(&m, 0);
    *end = m.p;
    *why = m.wrong;
    int status = s ? OPTUNE_OK : OPTUNE_ESYNTAX;
    if (s && ot_sum_is_number(s)) {
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
static void give(optune_dim *to, ot_making *m, const ot_sum *s)
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
    ot_making m = {.p = NULL};
    const ot_sum *s = ot_sum_number(&m, plus);
    for (int i = 0; i < n && s; i++)
        s = ot_sum_add(&m, s, of_dim(&m, from[i]), times ? times[i] : 1);
    give(to, &m, ot_sum_divide(&m, s, over));
}

void optune_dim_multiply(optune_dim *to, int n, const optune_dim *const *from, int64_t over)
{
    if (!wants_name(to))
        return;
    ot_making m = {.p = NULL};
    const ot_sum *s = ot_sum_number(&m, 1);
    for (int i = 0; i < n && s; i++)
        s = ot_sum_multiply(&m, s, of_dim(&m, from[i]));
    give(to, &m, ot_sum_divide(&m, s, over));
}

/* ---- names that are told ----------------------------------------------------------------- */

typedef bool visit(void *arg, const char *name);

/* All names in it, some of them more than once; false: one was refused. */
static bool each_name(const ot_sum *s, visit *see, void *arg)
{
    for (int i = 0; i < s->n; i++)
        for (int f = 0; f < s->term[i].n; f++) {
            const ot_atom *a = s->term[i].factor[f];
            if (a->over ? !each_name(a->over, see, arg) : !see(arg, a->text))
                return false;
        }
    return true;
}

static bool is_other(void *name, const char *is)
{
    return strcmp(name, is) != 0;
}

const char *ot_dim_next_name(const char *text, int *n)
{
    while (*text && !isalpha((unsigned char)*text) && *text != '_')
        text++;
    *n = 0;
    while (isalnum((unsigned char)text[*n]) || text[*n] == '_')
        ++*n;
    return *n ? text : NULL;
}

bool ot_dim_mentions(const optune_dim *dim, const char *what)
{
    if (!ot_dim_computed(dim))
        return strcmp(dim->name, what) == 0;
    ot_making m = {.p = NULL};
    const ot_sum *s = of_dim(&m, dim);
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
    ot_making m = {.p = NULL};
    const ot_sum *s = ot_dim_computed(dim) ? of_dim(&m, dim) : NULL;
    const bool follows = s && each_name(s, is_told, &(asking){of, arg});
    ot_arena_release(&m.arena);
    return follows;
}

/* The same with what names are in their place: numbers, other names, other expressions. */
static ot_sum *put(ot_making *m, const ot_sum *s, const asking *a)
{
    ot_sum *all = ot_sum_number(m, 0);
    for (int i = 0; i < s->n && all; i++) {
        ot_sum *product = ot_sum_number(m, s->term[i].times);
        for (int f = 0; f < s->term[i].n && product; f++) {
            const ot_atom *at = s->term[i].factor[f];
            optune_dim is;
            ot_sum *factor = NULL;
            if (at->over)
                factor = ot_sum_divide(m, put(m, at->over, a), at->by);
            else if (a->of(a->arg, at->text, &is) && (is.name[0] || optune_dim_known(&is)))
                factor = of_dim(m, &is);
            else
                factor = ot_sum_of_name(m, at->text);
            product = ot_sum_multiply(m, product, factor);
        }
        all = ot_sum_add(m, all, product, 1);
    }
    return all;
}

/* The least and the most that it can be; names that are not told are anything. */
static void bounds(const ot_sum *s, const asking *a, int64_t *lo, int64_t *hi)
{
    const int64_t top = OPTUNE_DIM_MAX;
    *lo = *hi = 0;
    for (int i = 0; i < s->n; i++) {
        const ot_term *t = &s->term[i];
        int64_t least = 1, most = 1;
        for (int f = 0; f < t->n; f++) {
            const ot_atom *at = t->factor[f];
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
    ot_making m = {.p = NULL};
    const ot_sum *s = of_dim(&m, dim);
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

/* ---- what they are made of ---------------------------------------------------------------- */

static optune_dim called_so(const ot_sum *s)
{
    optune_dim dim = {.min = 0, .max = OPTUNE_DIM_MAX};
    return call_it(&dim, s) ? dim : (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
}

int ot_dim_terms(const optune_dim *dim, ot_dim_term term[OT_DIM_TERMS])
{
    _Static_assert((int)OT_DIM_TERMS == (int)OT_SUM_TERMS, "all terms of a sum");
    _Static_assert((int)OT_DIM_FACTORS == (int)OT_TERM_FACTORS, "all factors of a term");
    ot_making m = {.p = NULL};
    const ot_sum *s = of_dim(&m, dim);
    int n = s ? s->n : 0;
    for (int i = 0; i < n; i++) {
        const ot_term *t = &s->term[i];
        term[i] = (ot_dim_term){.times = t->times, .n = t->n};
        for (int f = 0; f < t->n; f++) {
            const ot_sum *factor = t->factor[f]->over ? t->factor[f]->over
                                                      : ot_sum_of_name(&m, t->factor[f]->text);
            term[i].factor[f] = called_so(factor);
            term[i].by[f] = t->factor[f]->over ? t->factor[f]->by : 1;
            if (!term[i].factor[f].name[0])
                n = 0;
        }
    }
    ot_arena_release(&m.arena);
    return n;
}

/* A product of dims, and who knows what divides them. */
typedef struct exactly {
    int n;
    const optune_dim *dim;
    ot_dim_divided *divided;
    const void *arg;
} exactly;

static bool divides(const exactly *e, const ot_atom *a)
{
    const optune_dim dim = called_so(a->over);
    return !e->divided || (dim.name[0] && e->divided(e->arg, &dim, a->by));
}

/* What it is times `over` where no quotient that is known to have none has a remainder. */
static ot_sum *whole(ot_making *m, const exactly *e, const ot_sum *s, int64_t *over)
{
    ot_sum *all = ot_sum_number(m, 0);
    *over = 1;
    for (int i = 0; s && i < s->n && all; i++) {
        ot_sum *product = ot_sum_number(m, s->term[i].times);
        int64_t below = 1, by;
        for (int f = 0; f < s->term[i].n && product; f++) {
            const ot_atom *a = s->term[i].factor[f];
            const bool opened = a->over && divides(e, a);
            const ot_sum *factor = opened    ? whole(m, e, a->over, &by)
                                   : a->over ? ot_sum_divide(m, a->over, a->by)
                                             : ot_sum_of_name(m, a->text);
            product = ot_sum_multiply(m, product, factor);
            if (opened && (__builtin_mul_overflow(below, by, &below) ||
                           __builtin_mul_overflow(below, a->by, &below)))
                return NULL;
        }
        all = ot_sum_multiply(m, all, ot_sum_number(m, below));
        all = ot_sum_add(m, all, product, *over);
        if (__builtin_mul_overflow(*over, below, over))
            return NULL;
    }
    return s ? all : NULL;
}

static ot_sum *whole_product(ot_making *m, const exactly *e, int64_t *over)
{
    ot_sum *all = ot_sum_number(m, 1);
    *over = 1;
    for (int i = 0; i < e->n && all; i++) {
        int64_t by;
        all = ot_sum_multiply(m, all, whole(m, e, of_dim(m, &e->dim[i]), &by));
        if (all && __builtin_mul_overflow(*over, by, over))
            return NULL;
    }
    return all;
}

bool ot_dims_agree(int n, const optune_dim *a, int m, const optune_dim *b,
                   ot_dim_divided *divided, const void *arg)
{
    ot_making making = {.p = NULL};
    int64_t over[2];
    const ot_sum *x = whole_product(&making, &(exactly){n, a, divided, arg}, &over[0]);
    const ot_sum *y = whole_product(&making, &(exactly){m, b, divided, arg}, &over[1]);
    x = x ? ot_sum_multiply(&making, x, ot_sum_number(&making, over[1])) : NULL;
    x = y ? ot_sum_add(&making, x, y, -over[0]) : NULL;
    const bool agree = x && ot_sum_is_number(x) && !x->n;
    ot_arena_release(&making.arena);
    return agree;
}
