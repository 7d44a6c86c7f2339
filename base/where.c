/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, numbering and drawing what satisfies constraints (base/where.h). */
#include <stdlib.h>
#include <string.h>

#include "base/where_inside.h"

typedef ot_where_part part;
typedef ot_where_state state;

enum {
    MOST_PARTS = 2048,
    MOST_KEPT = 1 << 20, /* states: 32 bytes each */
    MOST_STEPS = 30000000,
};

/* ---- parts ------------------------------------------------------------------------------- */

static int add_part(ot_where *w, part p)
{
    for (int i = 0; i < w->n_parts; i++) {
        const part *q = &w->part[i];
        if (q->kind == p.kind && q->what == p.what && q->a == p.a && q->b == p.b &&
            (p.kind != OT_PART_CONSTANT || q->value == p.value))
            return i;
    }
    if (w->n_parts == MOST_PARTS)
        return -1;
    w->part[w->n_parts] = p;
    return w->n_parts++;
}

static int constant(ot_where *w, int64_t value)
{
    return add_part(w, (part){.kind = OT_PART_CONSTANT, .value = value});
}

static int name_part(ot_where *w, const ot_where_rule *rule, int name)
{
    const int knob = rule->knob[name];
    if (knob < 0)
        return ot_where_is_whole(&rule->value[name]) ? constant(w, rule->value[name].i) : -1;
    for (int64_t i = 0; i < w->knob[knob].n; i++)
        if (!ot_where_is_whole(&w->knob[knob].value[i]))
            return -1;
    return add_part(w, (part){.kind = OT_PART_KNOB, .a = knob});
}

static int binary(ot_where *w, int kind, int what, int a, int b)
{
    return a < 0 || b < 0
               ? -1
               : add_part(w,
                          (part){.kind = (uint8_t)kind, .what = (uint8_t)what, .a = a, .b = b});
}

static int part_of(ot_where *w, const ot_where_rule *rule, int at);

/* `a < b <= c`, and membership of a list that is written out. */
static int chain_part(ot_where *w, const ot_where_rule *rule, const ot_expr_node *node)
{
    const ot_expr_node *all = rule->expr->node;
    int left = part_of(w, rule, node->child), result = -1;
    for (int at = all[node->child].next; at && left >= 0; at = all[at].next) {
        const int what = all[at].what;
        int one = -1, right = -1;
        if (what == OT_IN || what == OT_NOT_IN) {
            if (all[at].kind != OT_NODE_LIST || !all[at].child || all[at].next)
                return -1;
            for (int item = all[at].child; item; item = all[item].next) {
                const int same = binary(w, OT_NODE_CHAIN, OT_EQ, left, part_of(w, rule, item));
                one = item == all[at].child ? same : binary(w, OT_NODE_OR, 0, one, same);
                if (one < 0)
                    return -1;
            }
            if (what == OT_NOT_IN)
                one = binary(w, OT_NODE_NOT, 0, one, one);
        } else {
            right = part_of(w, rule, at);
            one = binary(w, OT_NODE_CHAIN, what, left, right);
        }
        if (one < 0)
            return -1;
        result = result < 0 ? one : binary(w, OT_NODE_AND, 0, result, one);
        left = right;
        if (right < 0 && all[at].next)
            return -1;
    }
    return result;
}

/* -1: it is not of integers alone, or of something that is rarely written. */
static int part_of(ot_where *w, const ot_where_rule *rule, int at)
{
    const ot_expr_node *all = rule->expr->node, *node = &all[at];
    switch (node->kind) {
    case OT_NODE_VALUE:
        return ot_where_is_whole(&node->value) ? constant(w, node->value.i) : -1;
    case OT_NODE_NAME:
        return name_part(w, rule, (int)node->i);
    case OT_NODE_CHAIN:
        return chain_part(w, rule, node);
    case OT_NODE_POSITIVE:
        return part_of(w, rule, node->child);
    case OT_NODE_NEGATIVE:
        return binary(w, OT_NODE_SUBTRACT, 0, constant(w, 0), part_of(w, rule, node->child));
    case OT_NODE_NOT: {
        const int inner = part_of(w, rule, node->child);
        return binary(w, OT_NODE_NOT, 0, inner, inner);
    }
    case OT_NODE_AND:
    case OT_NODE_OR:
    case OT_NODE_ADD:
    case OT_NODE_SUBTRACT:
    case OT_NODE_TIMES:
    case OT_NODE_FLOOR:
    case OT_NODE_MODULO:
    case OT_NODE_MIN:
    case OT_NODE_MAX: {
        int result = part_of(w, rule, node->child);
        for (int next = all[node->child].next; next && result >= 0; next = all[next].next)
            result = binary(w, node->kind, 0, result, part_of(w, rule, next));
        return all[node->child].next ? result : -1;
    }
    default:
        return -1;
    }
}

/* ---- levels ------------------------------------------------------------------------------ */

/* Next is a knob of the rule that lacks fewest, the shortest of these first. */
static void choose_order(ot_where *w)
{
    uint32_t wants[OPTUNE_MAX_KNOBS * 4] = {0}, done = 0;
    const int rules = w->n_rules < OT_COUNT(wants) ? w->n_rules : OT_COUNT(wants);
    for (int r = 0; r < rules; r++)
        for (int i = 0; i < w->rule[r].expr->n_names; i++)
            if (w->rule[r].knob[i] >= 0)
                wants[r] |= 1u << w->rule[r].knob[i];
    for (int level = 0; level < w->n_knobs; level++) {
        int best = -1, fewest = OPTUNE_MAX_KNOBS + 1;
        for (int r = 0; r < rules; r++) {
            const uint32_t missing = wants[r] & ~done;
            const int n = __builtin_popcount(missing);
            /* A rule that shares nothing with what was begun can wait. */
            const int rank = n + (wants[r] & done || !done ? 0 : OPTUNE_MAX_KNOBS / 2);
            for (int k = 0; n && k < w->n_knobs; k++)
                if (missing >> k & 1 &&
                    (rank < fewest || (rank == fewest && w->knob[k].n < w->knob[best].n))) {
                    fewest = rank;
                    best = k;
                }
        }
        w->deepest = best >= 0 ? level : w->deepest;
        for (int k = 0; k < w->n_knobs && best < 0; k++)
            best = done >> k & 1 ? -1 : k;
        w->order[level] = best;
        w->place[best] = level;
        done |= 1u << best;
    }
}

static int generic_level(const ot_where *w, const ot_where_rule *rule)
{
    int level = -1;
    for (int i = 0; i < rule->expr->n_names; i++)
        if (rule->knob[i] >= 0 && w->place[rule->knob[i]] > level)
            level = w->place[rule->knob[i]];
    return level;
}

static void use(ot_where *w, int id, int level)
{
    if (w->part[id].last < level)
        w->part[id].last = level;
}

/* Parts come behind what they are made of, so one pass tells all levels. */
static void settle_levels(ot_where *w)
{
    for (int i = 0; i < w->n_parts; i++) {
        part *p = &w->part[i];
        p->last = -1;
        if (p->kind == OT_PART_CONSTANT)
            p->level = -1;
        else if (p->kind == OT_PART_KNOB)
            p->level = w->place[p->a];
        else if (p->kind == OT_PART_GENERIC)
            p->level = generic_level(w, &w->rule[p->a]);
        else
            p->level = w->part[p->a].level > w->part[p->b].level ? w->part[p->a].level
                                                                 : w->part[p->b].level;
        if (p->kind == OT_PART_KNOB || p->kind == OT_PART_CONSTANT)
            continue;
        if (p->kind != OT_PART_GENERIC) {
            use(w, p->a, p->level);
            use(w, p->b, p->level);
            continue;
        }
        const ot_where_rule *rule = &w->rule[p->a];
        for (int n = 0; n < rule->expr->n_names; n++)
            for (int k = 0; k < w->n_parts && rule->knob[n] >= 0; k++)
                if (w->part[k].kind == OT_PART_KNOB && w->part[k].a == rule->knob[n])
                    use(w, k, p->level);
    }
    for (int level = -1; level < w->n_knobs; level++) {
        w->at_level[level + 1] = ot_alloc((size_t)(w->n_parts + 1) * sizeof(int));
        w->cut[level + 1] = ot_alloc((size_t)(w->n_parts + 1) * sizeof(int));
        w->rule_at[level + 1] = ot_alloc((size_t)(w->n_rules + 1) * sizeof(int));
        for (int r = 0; r < w->n_rules; r++)
            if (w->part[w->root[r]].level == level)
                w->rule_at[level + 1][w->n_rule_at[level + 1]++] = w->root[r];
        for (int i = 0; i < w->n_parts; i++) {
            const part *p = &w->part[i];
            if (p->level == level && p->kind != OT_PART_CONSTANT)
                w->at_level[level + 1][w->n_at[level + 1]++] = i;
            if (p->level >= 0 && p->level <= level && p->last > level)
                w->cut[level + 1][w->n_cut[level + 1]++] = i;
        }
    }
}

static ot_expr_value copy_of(ot_where *w, const ot_expr_value *value)
{
    if (value->kind != OT_VALUE_LIST)
        return *value;
    ot_expr_value *item = ot_arena_alloc(&w->arena, (size_t)(value->n + 1) * sizeof *item);
    memcpy(item, value->item, (size_t)value->n * sizeof *item);
    return (ot_expr_value){.kind = OT_VALUE_LIST, .n = value->n, .item = item};
}

ot_where *ot_where_open(const ot_where_knob *knob, int n_knobs, const ot_where_rule *rule,
                        int n_rules)
{
    ot_where *w = ot_alloc(sizeof *w);
    w->n_knobs = n_knobs;
    w->n_rules = n_rules;
    w->deepest = -1;
    memcpy(w->knob, knob, (size_t)n_knobs * sizeof *knob);
    w->rule = ot_alloc((size_t)(n_rules + 1) * sizeof *w->rule);
    memcpy(w->rule, rule, (size_t)n_rules * sizeof *rule);
    for (int r = 0; r < n_rules; r++)
        for (int i = 0; i < rule[r].expr->n_names; i++)
            if (rule[r].knob[i] < 0)
                w->rule[r].value[i] = copy_of(w, &rule[r].value[i]);
    w->root = ot_alloc((size_t)(n_rules + 1) * sizeof *w->root);
    w->part = ot_alloc(MOST_PARTS * sizeof *w->part);
    for (int k = 0; k < n_knobs; k++) /* those that nobody needs are of no level's cut */
        add_part(w, (part){.kind = OT_PART_KNOB, .a = k});
    for (int r = 0; r < n_rules; r++) {
        w->root[r] =
            w->n_parts < MOST_PARTS / 2 ? part_of(w, &rule[r], rule[r].expr->root) : -1;
        if (w->root[r] < 0)
            w->root[r] = add_part(w, (part){.kind = OT_PART_GENERIC, .a = r});
    }
    choose_order(w);
    settle_levels(w);
    ot_where_settle_ahead(w);
    w->rest[n_knobs] = 1;
    for (int level = n_knobs - 1; level >= 0; level--)
        if (__builtin_mul_overflow(w->rest[level + 1], w->knob[w->order[level]].n,
                                   &w->rest[level]))
            w->rest[level] = INT64_MAX / 2;
    return w;
}

void ot_where_close(ot_where *w)
{
    if (!w)
        return;
    for (int level = 0; level <= w->n_knobs; level++) {
        free(w->at_level[level]);
        free(w->cut[level]);
        free(w->rule_at[level]);
    }
    ot_arena_release(&w->arena);
    free(w->rule);
    free(w->root);
    free(w->part);
    free(w->kept);
    free(w);
}

/* ---- computing --------------------------------------------------------------------------- */

static void compute_generic(ot_where *w, part *p)
{
    const ot_where_rule *rule = &w->rule[p->a];
    ot_expr_value value[OT_EXPR_MOST_NAMES], result;
    ot_arena arena = {0};
    for (int i = 0; i < rule->expr->n_names; i++) {
        const int k = rule->knob[i];
        value[i] = k < 0 ? rule->value[i] : w->knob[k].value[w->digit[w->place[k]]];
    }
    p->bad = ot_expr_eval(rule->expr, value, &arena, &result, NULL) < 0;
    p->value = !p->bad && ot_value_true(&result);
    ot_arena_release(&arena);
}

static bool compare(int what, int64_t a, int64_t b)
{
    switch (what) {
    case OT_EQ:
        return a == b;
    case OT_NE:
        return a != b;
    case OT_LT:
        return a < b;
    case OT_LE:
        return a <= b;
    case OT_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static void divide(part *p, int64_t a, int64_t b)
{
    p->bad = b == 0 || (a == INT64_MIN && b == -1);
    if (p->bad)
        return;
    p->value = p->kind == OT_NODE_FLOOR ? a / b : a % b;
    if (a % b != 0 && (a % b < 0) != (b < 0)) /* towards less, as in Python */
        p->value += p->kind == OT_NODE_FLOOR ? -1 : b;
}

/* A part that fails makes what needs it fail; `and` and `or` need the second only where the first
 * leaves it open. */
static void compute(ot_where *w, part *p)
{
    const part *a = &w->part[p->a], *b = &w->part[p->b];
    if (p->kind == OT_NODE_AND || p->kind == OT_NODE_OR) {
        const part *of = (p->kind == OT_NODE_AND) == (a->value != 0) ? b : a;
        p->bad = a->bad || of->bad;
        p->value = of->value;
        return;
    }
    if (p->kind == OT_PART_GENERIC) {
        compute_generic(w, p);
        return;
    }
    p->bad = a->bad || b->bad;
    if (p->bad)
        return;
    switch (p->kind) {
    case OT_NODE_NOT:
        p->value = !a->value;
        break;
    case OT_NODE_CHAIN:
        p->value = compare(p->what, a->value, b->value);
        break;
    case OT_NODE_ADD:
        p->bad = __builtin_add_overflow(a->value, b->value, &p->value);
        break;
    case OT_NODE_SUBTRACT:
        p->bad = __builtin_sub_overflow(a->value, b->value, &p->value);
        break;
    case OT_NODE_TIMES:
        p->bad = __builtin_mul_overflow(a->value, b->value, &p->value);
        break;
    case OT_NODE_MIN:
        p->value = a->value < b->value ? a->value : b->value;
        break;
    case OT_NODE_MAX:
        p->value = a->value > b->value ? a->value : b->value;
        break;
    default:
        divide(p, a->value, b->value);
    }
}

typedef enum verdict { AGREED, REFUSED, UNDEFINED } verdict;

/* The knob of this level gets a value: what that decides. */
static verdict set(ot_where *w, int level, int64_t digit)
{
    const int n = w->n_at[level + 1];
    const int *at = w->at_level[level + 1];
    verdict says = AGREED;
    if (level >= 0)
        w->digit[level] = digit;
    for (int i = 0; i < n; i++) {
        part *p = &w->part[at[i]];
        if (p->kind == OT_PART_KNOB) {
            const ot_expr_value *value = &w->knob[p->a].value[digit];
            p->value = ot_where_is_whole(value) ? value->i : digit;
        } else {
            compute(w, p);
        }
    }
    const int *root = w->rule_at[level + 1];
    for (int r = 0; r < w->n_rule_at[level + 1]; r++) {
        const part *p = &w->part[root[r]];
        if (p->bad)
            says = UNDEFINED;
        else if (!p->value)
            return says == UNDEFINED ? UNDEFINED : REFUSED;
    }
    return says;
}

/* ---- states ------------------------------------------------------------------------------ */

static uint64_t key_of(const ot_where *w, int level)
{
    uint64_t h = 0x9e3779b97f4a7c15u * (uint64_t)(level + 2);
    for (int i = 0; i < w->n_cut[level + 1]; i++) {
        const part *p = &w->part[w->cut[level + 1][i]];
        h ^= p->bad ? 0x5851f42d4c957f2du : (uint64_t)p->value;
        h *= 0xff51afd7ed558ccdu;
        h ^= h >> 32;
        h *= 0xc4ceb9fe1a85ec53u;
        h ^= h >> 29;
    }
    return h | 1;
}

static state *find(const ot_where *w, uint64_t key)
{
    const uint64_t mask = (uint64_t)w->capacity - 1;
    uint64_t at = key >> 7 & mask;
    while (w->kept[at].key && w->kept[at].key != key)
        at = (at + 1) & mask;
    return &w->kept[at];
}

static void keep(ot_where *w, uint64_t key, const ot_where_count *count)
{
    if (2 * (w->n_kept + 1) > w->capacity) {
        state *old = w->kept;
        const int64_t before = w->capacity;
        w->capacity = before ? 2 * before : 1024;
        w->kept = ot_alloc((size_t)w->capacity * sizeof *w->kept);
        for (int64_t i = 0; i < before; i++)
            if (old[i].key)
                *find(w, old[i].key) = old[i];
        free(old);
    }
    *find(w, key) = (state){key, count->valid, count->undefined};
    w->n_kept++;
}

static ot_where_count count_behind(ot_where *w, int level);

static bool step(ot_where *w)
{
    return w->exact = w->exact && (w->counted_all || ++w->steps < MOST_STEPS);
}

/* Of what this level's values between these leave. */
static void count_within(ot_where *w, int level, int64_t from, int64_t to, ot_where_count *all)
{
    enum { FEW = 4 };
    const int64_t *digit = w->split[level].digit, middle = from + (to - from) / 2;
    if (to - from > FEW && ot_where_is_split(w, level)) {
        if (!step(w) || ot_where_is_hopeless_within(w, level, from, to))
            return;
        count_within(w, level, from, middle, all);
        count_within(w, level, middle, to, all);
        return;
    }
    for (int64_t i = from; i < to && w->exact; i++) {
        const verdict says = set(w, level, digit ? digit[i] : i);
        step(w);
        if (says == UNDEFINED)
            all->undefined += w->rest[level + 1];
        if (says != AGREED)
            continue;
        const ot_where_count more = count_behind(w, level);
        all->valid += more.valid;
        all->undefined += more.undefined;
    }
}

/* Of what can follow once this level has its value. */
static ot_where_count count_behind(ot_where *w, int level)
{
    if (level >= w->deepest)
        return (ot_where_count){.valid = w->rest[level + 1]};
    const bool kept = w->keeps[level + 1];
    const uint64_t key = kept ? key_of(w, level) : 0;
    const state *known = kept && w->capacity ? find(w, key) : NULL;
    if (known && known->key)
        return (ot_where_count){known->valid, known->undefined};
    ot_where_count all = {0};
    if (ot_where_is_hopeless(w, level))
        return all;
    count_within(w, level + 1, 0, w->knob[w->order[level + 1]].n, &all);
    w->exact = w->exact && w->n_kept < MOST_KEPT;
    if (w->exact && kept)
        keep(w, key, &all);
    return all;
}

bool ot_where_counted(ot_where *w, ot_where_count *count)
{
    if (!w->counted) {
        w->exact = w->counted = true;
        const verdict says = set(w, -1, 0);
        w->all = says == AGREED      ? count_behind(w, -1)
                 : says == UNDEFINED ? (ot_where_count){.undefined = w->rest[0]}
                                     : (ot_where_count){0};
        w->counted_all = w->exact;
        if (!w->exact) {
            free(w->kept);
            w->kept = NULL;
            w->capacity = w->n_kept = 0;
        }
    }
    *count = w->all;
    return w->exact;
}

/* ---- numbers ----------------------------------------------------------------------------- */

void ot_where_nth(ot_where *w, int64_t k, int64_t *digit)
{
    set(w, -1, 0);
    for (int level = 0; level < w->n_knobs; level++) {
        const int64_t n = w->knob[w->order[level]].n;
        int64_t d = 0;
        if (level > w->deepest) {
            d = k / w->rest[level + 1];
            k %= w->rest[level + 1];
        }
        for (; level <= w->deepest && d < n; d++) {
            const int64_t behind =
                set(w, level, d) == AGREED ? count_behind(w, level).valid : 0;
            if (k < behind) {
                set(w, level, d); /* counting may have gone further */
                break;
            }
            k -= behind;
        }
        digit[w->order[level]] = d;
    }
}

int64_t ot_where_rank(ot_where *w, const int64_t *digit)
{
    int64_t rank = 0;
    if (set(w, -1, 0) != AGREED)
        return -1;
    for (int level = 0; level < w->n_knobs; level++) {
        const int64_t own = digit[w->order[level]];
        if (level > w->deepest) {
            rank += own * w->rest[level + 1];
            continue;
        }
        for (int64_t d = 0; d < own; d++)
            rank += set(w, level, d) == AGREED ? count_behind(w, level).valid : 0;
        if (set(w, level, own) != AGREED)
            return -1;
    }
    return rank;
}

bool ot_where_holds(ot_where *w, const int64_t *digit)
{
    if (set(w, -1, 0) != AGREED)
        return false;
    for (int level = 0; level <= w->deepest; level++)
        if (set(w, level, digit[w->order[level]]) != AGREED)
            return false;
    return true;
}

/* ---- what cannot be counted -------------------------------------------------------------- */

/* Which of n values is tried as the i-th: outwards from one. */
static int64_t outwards(int64_t n, int64_t from, int64_t i)
{
    const int64_t below = from, above = n - 1 - from, both = below < above ? below : above;
    if (i <= 2 * both)
        return i % 2 ? from - (i + 1) / 2 : from + i / 2;
    return below < above ? from + (i - both) : from - (i - both);
}

/* `near`: the digits that are wanted; NULL: whatever `rng` begins with. */
static bool some_behind(ot_where *w, int level, int64_t *steps, uint64_t *rng,
                        const int64_t *near)
{
    if (level >= w->deepest)
        return true;
    if (ot_where_is_hopeless(w, level))
        return false;
    const int knob = w->order[level + 1];
    const int64_t n = w->knob[knob].n, from = near ? near[knob] : optune_random_below(rng, n);
    for (int64_t i = 0; i < n && (*steps)-- > 0; i++) {
        const int64_t next = from + i < n ? from + i : from + i - n;
        const int64_t d = near ? outwards(n, from, i) : next;
        if (set(w, level + 1, d) == AGREED && some_behind(w, level + 1, steps, rng, near))
            return true;
    }
    return false;
}

bool ot_where_some(ot_where *w, int64_t steps, uint64_t *rng, int64_t *digit)
{
    if (set(w, -1, 0) != AGREED || !some_behind(w, -1, &steps, rng, NULL))
        return false;
    for (int level = 0; level < w->n_knobs; level++)
        digit[w->order[level]] = level <= w->deepest
                                     ? w->digit[level]
                                     : optune_random_below(rng, w->knob[w->order[level]].n);
    return true;
}

bool ot_where_near(ot_where *w, int64_t steps, int64_t *digit)
{
    if (set(w, -1, 0) != AGREED || !some_behind(w, -1, &steps, NULL, digit))
        return false;
    for (int level = 0; level <= w->deepest; level++)
        digit[w->order[level]] = w->digit[level];
    return true;
}
