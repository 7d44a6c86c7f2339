/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of constraints before all knobs have their values: between which numbers each
 * part of an expression stays, hence where a beginning has no valid end, and where so few
 * states follow that they are worth remembering.
 *
 * The one idea: this may only tell that nothing is valid, so it is left alone where any rule may
 * fail for some values; those are counted apart.
 */
#include <stdlib.h>

#include "base/where_inside.h"

typedef ot_where_part part;

enum {
    FEW_STATES = 4096,
    MOST_WATCHED = 32, /* comparisons of a level, and parts of one */
};

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t floored(int64_t a, int64_t b) /* b > 0 */
{
    return a / b - (a % b < 0);
}

typedef struct span {
    int64_t low, high;
} span;

/* Between which numbers a part of this kind is, whose operands are between these. false: it may
 * leave 64 bits, divide by zero, or is of a kind that nobody bounds. */
static bool span_of(int kind, span a, span b, span *to)
{
    int64_t end[4];
    bool over = false;
    switch (kind) {
    case OT_NODE_ADD:
        return !__builtin_add_overflow(a.low, b.low, &to->low) &&
               !__builtin_add_overflow(a.high, b.high, &to->high);
    case OT_NODE_SUBTRACT:
        return !__builtin_sub_overflow(a.low, b.high, &to->low) &&
               !__builtin_sub_overflow(a.high, b.low, &to->high);
    case OT_NODE_TIMES:
    case OT_NODE_FLOOR:
        if (kind == OT_NODE_FLOOR && b.low <= 0)
            return false;
        for (int i = 0; i < 4; i++) {
            const int64_t x = i & 1 ? a.high : a.low, y = i & 2 ? b.high : b.low;
            if (kind == OT_NODE_FLOOR)
                end[i] = floored(x, y);
            else
                over = __builtin_mul_overflow(x, y, &end[i]) || over;
        }
        to->low = lesser(lesser(end[0], end[1]), lesser(end[2], end[3]));
        to->high = larger(larger(end[0], end[1]), larger(end[2], end[3]));
        return !over;
    case OT_NODE_MODULO:
        *to = (span){0, b.high - 1};
        return b.low > 0;
    case OT_NODE_MIN:
        *to = (span){lesser(a.low, b.low), lesser(a.high, b.high)};
        return true;
    case OT_NODE_MAX:
        *to = (span){larger(a.low, b.low), larger(a.high, b.high)};
        return true;
    case OT_NODE_CHAIN:
    case OT_NODE_NOT:
        *to = (span){0, 1};
        return true;
    case OT_NODE_AND:
    case OT_NODE_OR: /* the value of one of them, as in Python */
        *to = (span){lesser(a.low, b.low), larger(a.high, b.high)};
        return true;
    default:
        return false;
    }
}

/* Once knobs have their values down to this level. */
static span span_at(const ot_where *w, int id, int level)
{
    const part *p = &w->part[id];
    if (p->level <= level)
        return (span){p->value, p->value};
    span to = {p->low, p->high};
    if (p->kind != OT_PART_KNOB)
        span_of(p->kind, span_at(w, p->a, level), span_at(w, p->b, level), &to);
    return to;
}

/* Whether it is true for some of what the knobs behind this level may become. */
static bool may_hold(const ot_where *w, int id, int level)
{
    const part *p = &w->part[id];
    if (p->level > level && p->kind == OT_NODE_AND)
        return may_hold(w, p->a, level) && may_hold(w, p->b, level);
    if (p->level > level && p->kind == OT_NODE_OR)
        return may_hold(w, p->a, level) || may_hold(w, p->b, level);
    if (p->level <= level || p->kind != OT_NODE_CHAIN) {
        const span is = span_at(w, id, level);
        return is.low != 0 || is.high != 0;
    }
    const span a = span_at(w, p->a, level), b = span_at(w, p->b, level);
    switch (p->what) {
    case OT_EQ:
        return a.low <= b.high && a.high >= b.low;
    case OT_LT:
        return a.low < b.high;
    case OT_LE:
        return a.low <= b.high;
    case OT_GT:
        return a.high > b.low;
    case OT_GE:
        return a.high >= b.low;
    default:
        return true;
    }
}

static int64_t whole_value(const ot_where *w, int knob, int64_t digit)
{
    const ot_expr_value *value = &w->knob[knob].value[digit];
    return ot_where_is_whole(value) ? value->i : digit;
}

typedef struct sorting {
    int64_t value, digit;
} sorting;

static int compare_values(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static int64_t *by_value(ot_where *w, int knob)
{
    const int64_t n = w->knob[knob].n;
    sorting *all = ot_alloc((size_t)n * sizeof *all);
    int64_t *digit = ot_arena_alloc(&w->arena, (size_t)n * sizeof *digit);
    for (int64_t d = 0; d < n; d++)
        all[d] = (sorting){whole_value(w, knob, d), d};
    qsort(all, (size_t)n, sizeof *all, compare_values);
    for (int64_t d = 0; d < n; d++)
        digit[d] = all[d].digit;
    free(all);
    return digit;
}

static bool uses_level(const ot_where *w, int id, int level)
{
    const part *p = &w->part[id];
    if (p->kind == OT_PART_KNOB || p->kind == OT_PART_CONSTANT)
        return p->kind == OT_PART_KNOB && p->level == level;
    return uses_level(w, p->a, level) || uses_level(w, p->b, level);
}

static int n_below(const ot_where *w, int id)
{
    const part *p = &w->part[id];
    if (p->kind == OT_PART_KNOB || p->kind == OT_PART_CONSTANT)
        return 1;
    const int n = n_below(w, p->a);
    return n > MOST_WATCHED ? n : n + n_below(w, p->b);
}

/* Whether a smaller value of this level's knob tells something else than a larger one. */
static bool bounds_level(const ot_where *w, int id, int level)
{
    const part *p = &w->part[id];
    if (p->kind == OT_PART_KNOB || p->kind == OT_PART_CONSTANT)
        return p->kind == OT_PART_KNOB && p->level == level;
    if (p->kind == OT_NODE_MODULO || p->kind == OT_NODE_NOT ||
        (p->kind == OT_NODE_CHAIN && p->what == OT_NE))
        return false;
    return bounds_level(w, p->a, level) || bounds_level(w, p->b, level);
}

/* The conditions that this one is true with only, and that a level tells something about. */
static void watch(ot_where *w, int id)
{
    const part *p = &w->part[id];
    if (p->kind == OT_NODE_AND) {
        watch(w, p->a);
        watch(w, p->b);
    }
    if ((p->kind != OT_NODE_CHAIN && p->kind != OT_NODE_OR) || n_below(w, id) > MOST_WATCHED)
        return;
    for (int level = 0; level <= p->level; level++) {
        ot_where_split *split = &w->split[level];
        int *list = level < p->level ? w->watch[level] : split->closing;
        int *n = level < p->level ? &w->n_watch[level] : &split->n_closing;
        if (!uses_level(w, id, level) || *n == MOST_WATCHED)
            continue;
        list[(*n)++] = id;
        if (!split->digit && bounds_level(w, id, level))
            split->digit = by_value(w, w->order[level]);
    }
}

/* At most so many states that a level can leave behind; `most` where they are more. */
static int64_t states_of(const ot_where *w, int level, int64_t most)
{
    int64_t all = 1;
    for (int i = 0; i < w->n_cut[level + 1] && all < most; i++) {
        const part *p = &w->part[w->cut[level + 1][i]];
        int64_t n = most;
        if (p->kind == OT_PART_KNOB)
            n = w->knob[p->a].n;
        else if (w->safe && (__builtin_sub_overflow(p->high, p->low, &n) || n >= most))
            n = most;
        else if (w->safe)
            n++;
        all = n >= most || all * n >= most ? most : all * n;
    }
    return all;
}

/* What the last knob leaves is counted again sooner than it is found, unless that is always the
 * same few. */
static void settle_kept(ot_where *w)
{
    for (int level = -1; level < w->n_knobs; level++)
        w->keeps[level + 1] =
            level + 1 < w->deepest ||
            (level + 1 == w->deepest && states_of(w, level, FEW_STATES) < FEW_STATES);
}

void ot_where_settle_ahead(ot_where *w)
{
    w->safe = true;
    for (int i = 0; i < w->n_parts && w->safe; i++) {
        part *p = &w->part[i];
        span is = {p->value, p->value};
        if (p->kind == OT_PART_KNOB) {
            is = (span){INT64_MAX, INT64_MIN};
            for (int64_t d = 0; d < w->knob[p->a].n; d++) {
                is.low = lesser(is.low, whole_value(w, p->a, d));
                is.high = larger(is.high, whole_value(w, p->a, d));
            }
        } else if (p->kind != OT_PART_CONSTANT) {
            w->safe = p->kind != OT_PART_GENERIC &&
                      span_of(p->kind, (span){w->part[p->a].low, w->part[p->a].high},
                              (span){w->part[p->b].low, w->part[p->b].high}, &is);
        }
        p->low = is.low;
        p->high = is.high;
    }
    for (int level = 0; level < w->n_knobs; level++) {
        w->watch[level] = ot_arena_alloc(&w->arena, MOST_WATCHED * sizeof(int));
        w->split[level].closing = ot_arena_alloc(&w->arena, MOST_WATCHED * sizeof(int));
    }
    for (int r = 0; r < w->n_rules && w->safe; r++)
        watch(w, w->root[r]);
    settle_kept(w);
}

bool ot_where_is_hopeless(const ot_where *w, int level)
{
    for (int i = 0; level >= 0 && i < w->n_watch[level]; i++)
        if (!may_hold(w, w->watch[level][i], level))
            return true;
    return false;
}

bool ot_where_is_split(const ot_where *w, int level)
{
    enum { TRIAL = 256, ONE_OF = 4 };
    const ot_where_split *split = &w->split[level];
    return split->digit && (split->looked < TRIAL || split->gone * ONE_OF >= split->looked);
}

bool ot_where_is_hopeless_within(ot_where *w, int level, int64_t from, int64_t to)
{
    ot_where_split *split = &w->split[level];
    const int knob = w->order[level]; /* its part, too: they come first, each in its place */
    const part whole = w->part[knob];
    bool hopeless = false;
    w->part[knob].low = whole_value(w, knob, split->digit[from]);
    w->part[knob].high = whole_value(w, knob, split->digit[to - 1]);
    for (int i = 0; i < w->n_watch[level] && !hopeless; i++)
        hopeless = !may_hold(w, w->watch[level][i], level - 1);
    for (int i = 0; i < split->n_closing && !hopeless; i++)
        hopeless = !may_hold(w, split->closing[i], level - 1);
    w->part[knob].low = whole.low;
    w->part[knob].high = whole.high;
    split->looked++;
    split->gone += hopeless;
    return hopeless;
}
