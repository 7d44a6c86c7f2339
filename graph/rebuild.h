/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph made anew from another that means the same: names, leaves and what takes one of several
 * outputs, for those who decide what becomes of its calls.
 */
#ifndef OPTUNE_GRAPH_REBUILD_H
#define OPTUNE_GRAPH_REBUILD_H

#include "graph/graph.h"

typedef struct ot_relaid {
    optune_graph
        *graph;     /* inferred; inputs and outputs as the original's, tuples taken apart */
    int *origin;    /* by its nodes: the one of the original that it is or, of a constant
                            in another shape, was made of; -1: a transform, a view, what takes one
                            of several outputs, what has no node of its own there */
    int transforms; /* between layouts */
} ot_relaid;

typedef struct ot_rebuild {
    const optune_graph *g;
    int *home; /* by node of g, in `to`; -1: not there yet */
    ot_relaid *to;
    ot_names stems; /* the last number that was given behind each */
    optune_err *err;
} ot_rebuild;

/* `origin` gets room for so many nodes. */
void ot_rebuild_start(ot_rebuild *r, const optune_graph *g, size_t most, ot_relaid *to,
                      optune_err *err);
void ot_rebuild_end(ot_rebuild *r, int status); /* releases `to` of a negative one */
/* One that neither graph has; `to` [OPTUNE_NAME_SIZE]. */
const char *ot_rebuild_name(ot_rebuild *r, const char *stem, const char *what, char *to);
/* What was made stands for this node; hands negative statuses through. */
int ot_rebuild_note(ot_rebuild *r, int made, int origin);
/* A variable or a constant as `origin` is one, of this type. */
int ot_rebuild_leaf(ot_rebuild *r, int origin, const char *name, const optune_tensor *type);
/* As dims, with a view. */
int ot_rebuild_view(ot_rebuild *r, int of, const optune_tensor *type, const char *name);
/* The node that has the value as its maker gives it. */
int ot_rebuild_home(ot_rebuild *r, ot_value value);
/* A call as it is, on these nodes. */
int ot_rebuild_same(ot_rebuild *r, int id, const int *in);

/* Its constants that have an origin get the elements of the original's, which lie in the same
 * order; they stay the original's. */
void ot_relaid_share(const ot_relaid *relaid, const optune_graph *g);
void ot_relaid_release(ot_relaid *relaid);

#endif
