/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What base/where.c and base/where_ahead.c share: constraints taken to parts, and knobs in the
 * order in which they get their values. Nobody else includes this.
 */
#ifndef OPTUNE_BASE_WHERE_INSIDE_H
#define OPTUNE_BASE_WHERE_INSIDE_H

#include "base/where.h"

/* Kinds of parts beside those of ot_expr_kind. */
enum {
    OT_PART_GENERIC = 200, /* a rule that is computed as a whole */
    OT_PART_KNOB,
    OT_PART_CONSTANT,
};

/* A part of an expression. Integers are computed here; whatever else a rule needs makes it
 * generic. Equal parts are one. */
typedef struct ot_where_part {
    uint8_t kind, what; /* ot_expr_kind or above; of comparisons: how */
    bool bad;           /* it cannot be computed */
    int level;          /* the knob behind which it is known, in the order below; -1: always */
    int last;           /* the last level that uses it */
    int a, b;           /* parts; of a knob: which; of a generic one: the rule */
    int64_t value;
    int64_t low, high; /* what it can be, where no rule can fail */
} ot_where_part;

typedef struct ot_where_state {
    uint64_t key; /* 0: empty */
    int64_t valid, undefined;
} ot_where_state;

/* Of a level: its knob's digits by value, NULL where no comparison tells one half of its values
 * from the other; what became of halves that were looked at. */
typedef struct ot_where_split {
    int64_t *digit;
    int *closing, n_closing; /* conditions that are decided there */
    int64_t looked, gone;
} ot_where_split;

struct ot_where {
    int n_knobs, n_rules, n_parts;
    ot_where_knob knob[OPTUNE_MAX_KNOBS];
    int order[OPTUNE_MAX_KNOBS], place[OPTUNE_MAX_KNOBS]; /* level -> knob, knob -> level */
    int deepest;                        /* the last level that any rule looks at; -1: none */
    int64_t rest[OPTUNE_MAX_KNOBS + 1]; /* product of the knobs from this level on */
    ot_where_rule *rule;
    ot_arena arena; /* lists */
    int *root;      /* of each rule */
    ot_where_part *part;
    int *at_level[OPTUNE_MAX_KNOBS + 1], n_at[OPTUNE_MAX_KNOBS + 1]; /* [level + 1]: parts */
    int *rule_at[OPTUNE_MAX_KNOBS + 1], n_rule_at[OPTUNE_MAX_KNOBS + 1]; /* roots known then */
    int *cut[OPTUNE_MAX_KNOBS + 1], n_cut[OPTUNE_MAX_KNOBS + 1]; /* known and still used */
    int64_t digit[OPTUNE_MAX_KNOBS];                             /* by level */
    bool keeps[OPTUNE_MAX_KNOBS + 1]; /* [level + 1]: what follows is remembered */
    bool safe;                        /* no part of any rule fails, whatever the values */
    int *watch[OPTUNE_MAX_KNOBS], n_watch[OPTUNE_MAX_KNOBS]; /* conditions to look ahead at */
    ot_where_split split[OPTUNE_MAX_KNOBS];
    ot_where_state *kept;
    int64_t n_kept, capacity, steps;
    bool counted, counted_all, exact;
    ot_where_count all;
};

static inline bool ot_where_is_whole(const ot_expr_value *value)
{
    return value->kind == OT_VALUE_INT || value->kind == OT_VALUE_BOOL;
}

/* Last of what opening does: what can be told before knobs have values (where_ahead.c). */
void ot_where_settle_ahead(ot_where *w);
/* Whether some condition is false whatever the knobs behind this level become. */
bool ot_where_is_hopeless(const ot_where *w, int level);
/* Whether the values of this level's knob are worth being looked at by halves: so far enough of
 * these were hopeless. */
bool ot_where_is_split(const ot_where *w, int level);
/* Whether some condition is false whichever of split[level].digit[from .. to - 1] it gets. */
bool ot_where_is_hopeless_within(ot_where *w, int level, int64_t from, int64_t to);

#endif
