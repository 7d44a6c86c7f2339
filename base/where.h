/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints over knobs as data: how many combinations of values satisfy all of them, which is the
 * k-th, which number one has. The product is never walked and never held.
 *
 * The one idea: knobs get their values one after the other, and each part of an expression is
 * computed as soon as its last knob has one. What is still to come depends on the parts that it
 * uses alone; two beginnings that agree in these have as many ends, so each such state is counted
 * once. Where no rule can fail, a beginning is given up as soon as a comparison cannot become
 * true any more, whatever its other knobs are, and of a knob's values, by halves, those with which
 * none can.
 */
#ifndef OPTUNE_BASE_WHERE_H
#define OPTUNE_BASE_WHERE_H

#include "base/expr.h"

typedef struct ot_where_knob {
    const ot_expr_value *value; /* of its entities; must outlive what is opened */
    int64_t n;
} ot_where_knob;
typedef struct ot_where_rule { /* a config is valid where all are true and none fails */
    const ot_expr *expr; /* must outlive what is opened, and so must words among the values */
    int knob[OT_EXPR_MOST_NAMES]; /* of each name; -1: it is no knob */
    ot_expr_value
        value[OT_EXPR_MOST_NAMES]; /* of those that are none; lists of numbers are copied */
} ot_where_rule;

typedef struct ot_where ot_where;
ot_where *ot_where_open(const ot_where_knob *knob, int n_knobs, const ot_where_rule *rule,
                        int n_rules);
void ot_where_close(ot_where *w);

typedef struct ot_where_count {
    int64_t valid;
    int64_t undefined; /* of the others: a rule could not be computed */
} ot_where_count;
/* false: more states than are kept (32 MB), or than there is time for (about a second): nothing is
 * known. Asked once, known afterwards. Not for two threads at once. */
bool ot_where_counted(ot_where *w, ot_where_count *count);
/* The k-th of the valid ones, 0 .. valid - 1, in an order of its own; once they are counted. */
void ot_where_nth(ot_where *w, int64_t k, int64_t *digit);
/* Which one that is; -1: it is not valid. Once they are counted. */
int64_t ot_where_rank(ot_where *w, const int64_t *digit);
/* Whether it satisfies all rules. */
bool ot_where_holds(ot_where *w, const int64_t *digit);
/* A valid one, found by going back where a beginning has no end; far from equally likely. false:
 * none was found in `steps` tries of a value. For what cannot be counted. */
bool ot_where_some(ot_where *w, int64_t steps, uint64_t *rng, int64_t *digit);
/* One close to these digits, in their place: each knob in its turn tries values outwards from its
 * own. The same at each call. false: none was found in `steps` tries, and they are as they were. */
bool ot_where_near(ot_where *w, int64_t steps, int64_t *digit);

#endif
