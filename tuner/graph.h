/* SPDX-License-Identifier: Apache-2.0 */
/* A graph on a machine: what graph.c, function.c and program.c share. */
#ifndef OPTUNE_TUNER_GRAPH_H
#define OPTUNE_TUNER_GRAPH_H

#include "graph/graph.h"
#include "tuner/tuner.h"

typedef struct ot_partition_row {
    const char *nodes; /* names, separated by spaces */
    int workload;
    optune_selection *selection; /* NULL: not asked yet */
} ot_partition_row;

struct optune_partition {
    optune *o;
    optune_graph *graph;
    ot_groups groups;
    ot_partition_row *row; /* of each group */
    int n_workloads, n_nodes;
    const char **workloads; /* distinct, NULL-terminated */
    ot_arena arena;
    ot_text text;
};

#endif
