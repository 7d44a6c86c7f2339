/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a graph lie in one another's memory. */
#ifndef OPTUNE_ANSWER_PLACES_H
#define OPTUNE_ANSWER_PLACES_H

#include "graph/graph.h"

/* Whether a group has anything to do, all values being where they are planned. */
typedef enum ot_idle {
    OT_RUNS,
    OT_VIEW,     /* its output is its input, or a part of it */
    OT_IN_PLACE, /* who makes its inputs writes them into its output */
} ot_idle;
/* "view", "in place"; NULL: it runs. */
const char *ot_idle_name(ot_idle idle);

/* Memory for a value and for all that are parts of it. */
typedef struct ot_home {
    int leaf;      /* the variable or constant that it holds; -1: groups write it */
    int64_t bytes; /* from the first of its values to the end of the last */
    int first,
        last; /* the groups between which it holds anything, both included: -1 for a leaf's
                        first, the number of groups where an output of the graph is in it */
} ot_home;

typedef struct ot_located {
    int home;       /* -1: inside a group */
    int64_t offset; /* bytes from the home's start: a multiple of OT_HOME_ALIGNMENT */
} ot_located;
enum { OT_HOME_ALIGNMENT = 64 }; /* as much as a buffer of its own has (optune/define.h) */

typedef struct ot_places {
    int n;
    ot_home *home;
    ot_located **value; /* by node, then by output */
    ot_idle *idle;      /* of each group */
    int n_nodes, n_run;
} ot_places;
/* A view is where its input is; the inputs of a concatenation of dense parts are where it is,
 * unless one of them must be elsewhere, too (a variable or constant, a part of two that differ) or
 * would not be aligned. `parts`: a value may begin inside another's memory; false: only where that
 * begins. Groups whose dims are not all constants run. */
void ot_places_find(const optune_graph *g, const ot_groups *groups, bool parts, ot_places *to);
void ot_places_release(ot_places *places);
/* Where a value is; its home is -1 inside a group. */
ot_located ot_places_at(const ot_places *places, ot_value value);

/* over.c: by what a group is computed; NULL: it is not known, or not by one plan alone. */
typedef const optune_plan *ot_plan_of(void *arg, int group);
/* over[h], of places->n: the home in whose memory home h lies. That is h, or, where the plan of the
 * group that writes it can, that of an operand as large that nobody reads behind this group: chains
 * of these end at the first. lasts[h]: until which group the memory of a home that is its own is
 * used. Returns how many are in another's. */
int ot_places_over(const optune_graph *g, const ot_groups *groups, const ot_places *places,
                   ot_plan_of *plan, void *arg, int *over, int *lasts);

#endif
