/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same graph with some groups in blocks of channels: which forms a group has, what each of its
 * operands must be in, the rewriting, and the choice among forms. Costs come from the caller.
 */
#ifndef OPTUNE_GRAPH_LAYOUT_H
#define OPTUNE_GRAPH_LAYOUT_H

#include "graph/rebuild.h"

/* How a group is computed: it takes blocks of `in` channels and gives blocks of `out`; 0: plain,
 * as the graph has it. A graph has blocks of one size. */
typedef struct ot_blocks {
    int in, out;
} ot_blocks;

/* ---- layout.c ---------------------------------------------------------------------------- */
/* Whether a group can be computed so, with the same meaning. Plain: always. */
bool ot_group_takes(const optune_graph *g, const ot_group *group, ot_blocks form);
/* In blocks of how many channels operand k (of group->in) is then read; 0: it is plain, or its
 * elements lie in the same order either way. */
int ot_group_wants(const optune_graph *g, const ot_group *group, int k, ot_blocks form);
/* A value of one pixel is in any blocks what it is without. */
bool ot_value_flat(const optune_graph *g, ot_value value);

/* What turns a value over, as a settled call; false: nothing does, or nothing has to. */
bool ot_value_turned(const optune_graph *g, ot_value value, int from, int to,
                     optune_call *call);

/* Equal to `g`, whose types are inferred and known, with group i in form[i], which it takes.
 * Transforms stand where a value is read in another layout than it is made in, one for all its
 * readers. Constants have no elements yet. */
int ot_graph_relayout(const optune_graph *g, const ot_groups *groups, const ot_blocks *form,
                      ot_relaid *to, optune_err *err);
/* Forms as text, "8>0,8*3,0": group by group, `in>out` or both in one, a row of equal ones with
 * their number. False: it is no such text for n groups. */
void ot_forms_print(const ot_blocks *form, int n, ot_text *to);
bool ot_forms_parse(const char *text, ot_blocks *form, int n);

/* ---- assign.c ---------------------------------------------------------------------------- */
enum { OT_STATES = 4 };
typedef struct ot_pair { /* what states of two different variables cost together */
    int a, b;
    double cost[OT_STATES][OT_STATES]; /* by a's, then by b's */
} ot_pair;
typedef struct ot_assignment {
    int n;
    int *states;               /* of each variable, 1 .. OT_STATES */
    double (*cost)[OT_STATES]; /* of each; infinity: it must not be */
    int n_pairs;
    const ot_pair *pair; /* several of the same two add up */
} ot_assignment;
/* A state for each variable, and the sum; infinity: there is none. *exact: no better one exists,
 * which is so where pairs form chains, trees and what is series and parallel; else it is good. */
double ot_assign(const ot_assignment *problem, int *state, bool *exact);

#endif
