/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What call/dim_sum.h declares: arithmetic that keeps the normal form, and its text both ways. Of a
 * quotient all that divides stands in front, so its numerator is never negative (as C has it),
 * a common factor is left out, and a quotient of a quotient is one.
 */
#include "call/dim_sum.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 8 }; /* of brackets that are read */

static int compare_factors(const ot_term *a, const ot_term *b)
{
    for (int i = 0; i < a->n && i < b->n; i++) {
        const int order = strcmp(a->factor[i]->text, b->factor[i]->text);
        if (order)
            return order;
    }
    return !a->n || !b->n ? (a->n == 0) - (b->n == 0) : a->n - b->n;
}

ot_sum *ot_sum_number(ot_making *m, int64_t value)
{
    ot_sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    if (value)
        s->term[s->n++] = (ot_term){.times = value};
    return s;
}

static ot_sum *of_atom(ot_making *m, const ot_atom *a)
{
    if (!a)
        return NULL;
    ot_sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    s->term[s->n++] = (ot_term){.times = 1, .n = 1, .factor = {a}};
    return s;
}

ot_sum *ot_sum_of_name(ot_making *m, const char *name)
{
    ot_atom *a = ot_arena_alloc(&m->arena, sizeof *a);
    a->text = ot_arena_copy(&m->arena, name);
    return of_atom(m, a);
}

bool ot_sum_is_number(const ot_sum *s)
{
    return !s->n || !s->term[0].n; /* the number is last */
}

static bool add_term(ot_sum *to, const ot_term *t)
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
    if (to->n == OT_SUM_TERMS)
        return false;
    memmove(&to->term[at + 1], &to->term[at], (size_t)(to->n - at) * sizeof *t);
    to->term[at] = *t;
    to->n++;
    return true;
}

/* a + by * b */
ot_sum *ot_sum_add(ot_making *m, const ot_sum *a, const ot_sum *b, int64_t by)
{
    if (!a || !b)
        return NULL;
    ot_sum *s = ot_arena_alloc(&m->arena, sizeof *s);
    *s = *a;
    for (int i = 0; i < b->n && by; i++) {
        ot_term t = b->term[i];
        if (__builtin_mul_overflow(t.times, by, &t.times) || !add_term(s, &t))
            return NULL;
    }
    return s;
}

ot_sum *ot_sum_multiply(ot_making *m, const ot_sum *a, const ot_sum *b)
{
    if (!a || !b)
        return NULL;
    ot_sum *s = ot_sum_number(m, 0);
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            ot_term t = a->term[i];
            const ot_term *u = &b->term[k];
            if (t.n + u->n > OT_TERM_FACTORS ||
                __builtin_mul_overflow(t.times, u->times, &t.times))
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

/* The numerator of a quotient that is no more than one name needs no brackets. What is longer than
 * any text that comes of it is none: quotients of several quotients would get longer for ever. */
static const ot_atom *quotient(ot_making *m, const ot_sum *over, int64_t by)
{
    const ot_term *t = &over->term[0];
    const bool plain = over->n == 1 && t->times == 1 && t->n == 1 && !t->factor[0]->over;
    ot_text text = {0};
    ot_text_add(&text, plain ? "" : "(");
    ot_sum_print(over, &text);
    ot_text_printf(&text, "%s/%lld", plain ? "" : ")", (long long)by);
    ot_atom *a = NULL;
    if (text.n <= OT_SUM_TEXT) {
        a = ot_arena_alloc(&m->arena, sizeof *a);
        *a = (ot_atom){ot_arena_copy(&m->arena, ot_text_str(&text)), over, by};
    }
    ot_text_release(&text);
    return a;
}

/* The ot_term of a quotient as it is, by which a quotient of it becomes one; -1: there is none. */
static int nested(const ot_sum *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->term[i].n == 1 && s->term[i].times == 1 && s->term[i].factor[0]->over)
            return i;
    return -1;
}

/* s / by, rounded down. */
ot_sum *ot_sum_divide(ot_making *m, const ot_sum *s, int64_t by)
{
    if (!s || by < 1)
        return NULL;
    ot_sum *front = ot_sum_number(m, 0), *rest = ot_sum_number(m, 0);
    int64_t common = by, constant = 0;
    for (int i = 0; i < s->n; i++) {
        ot_term t = s->term[i], whole = t;
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
    if (ot_sum_is_number(rest))
        return front;
    if (common > 1) {
        ot_sum *less = ot_sum_number(m, constant / common);
        for (int i = 0; i < rest->n; i++) {
            ot_term t = rest->term[i];
            t.times /= common;
            if (t.n && !add_term(less, &t))
                return NULL;
        }
        return ot_sum_add(m, front, ot_sum_divide(m, less, by / common), 1);
    }
    const int inner = nested(rest);
    if (inner < 0)
        return ot_sum_add(m, front, of_atom(m, quotient(m, rest, by)), 1);
    const ot_atom *a = rest->term[inner].factor[0];
    const ot_sum *one = of_atom(m, a);
    const ot_sum *all = ot_sum_add(m, a->over, ot_sum_add(m, rest, one, -1), a->by);
    return __builtin_mul_overflow(by, a->by, &by)
               ? NULL
               : ot_sum_add(m, front, ot_sum_divide(m, all, by), 1);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* What is added comes first, so that no text begins with a sign where that can be. */
void ot_sum_print(const ot_sum *s, ot_text *to)
{
    bool first = true;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int i = 0; i < s->n; i++) {
            const ot_term *t = &s->term[i];
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

static ot_sum *wrong(ot_making *m, const char *why)
{
    m->wrong = m->wrong ? m->wrong : why;
    return NULL;
}

static bool read_number(ot_making *m, int64_t *value)
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

static ot_sum *read_factor(ot_making *m, int depth)
{
    if (isdigit((unsigned char)*m->p)) {
        int64_t value;
        return read_number(m, &value) ? ot_sum_number(m, value) : NULL;
    }
    if (*m->p == '(') {
        if (depth == MAX_DEPTH)
            return wrong(m, "there are too many brackets");
        m->p++;
        ot_sum *s = ot_sum_read(m, depth + 1);
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
    return ot_sum_of_name(m, name);
}

static ot_sum *read_product(ot_making *m, int depth)
{
    ot_sum *s = read_factor(m, depth);
    while (s && (*m->p == '*' || *m->p == '/')) {
        const bool divides = *m->p++ == '/';
        int64_t by = 0;
        if (divides && (!isdigit((unsigned char)*m->p) || !read_number(m, &by) || !by))
            return wrong(m, "a number other than 0 is expected");
        s = divides ? ot_sum_divide(m, s, by) : ot_sum_multiply(m, s, read_factor(m, depth));
    }
    return s ? s : wrong(m, "this expression is too long");
}

ot_sum *ot_sum_read(ot_making *m, int depth)
{
    ot_sum *s = ot_sum_number(m, 0);
    bool minus = *m->p == '-';
    m->p += minus;
    do {
        s = ot_sum_add(m, s, read_product(m, depth), minus ? -1 : 1);
        minus = *m->p == '-';
    } while (s && (*m->p == '+' || minus) && *m->p++);
    return s ? s : wrong(m, "this expression is too long");
}
