/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of layouts: what layouts.c found out and layouts_choose.c chooses by. */
#ifndef OPTUNE_TUNER_LAYOUTS_H
#define OPTUNE_TUNER_LAYOUTS_H

#include "tuner/tune.h"

enum { OT_FORMS = OT_STATES }; /* plain; in blocks; into blocks; out of blocks */

typedef struct ot_form_cost {
    bool takes;
    int item; /* -1: nothing runs, and it costs nothing */
} ot_form_cost;

typedef struct ot_form_item { /* a workload beside the graph's own */
    char *text;
    int stage;
    double weight; /* what it is about, seconds */
    double cost;   /* measured; infinity: not yet */
} ot_form_item;

typedef struct ot_laying {
    ot_run *run;
    optune_partition *plain;
    int block, n; /* of channels; groups */
    ot_blocks form[OT_FORMS];
    ot_form_cost (*cost)[OT_FORMS]; /* by group */
    double *alone;                  /* of each group as it is */
    int *maker;                     /* by node: the group that ends with it, or -1 */
    bool *given;                    /* by node: an output of the graph */
    int *readers;                   /* by node */
    ot_form_item *item;
    int n_items, capacity;
} ot_laying;

/* The forms of all groups that cost least together, of those whose costs are known; returns what
 * they save, seconds. `hopeful`: as if no form were slower than the plain one. */
double ot_layouts_choose(const ot_laying *l, bool hopeful, ot_blocks *form);

#endif
