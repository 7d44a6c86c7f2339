/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table `model`: files of others that are read as graphs. */
#ifndef OPTUNE_GRAPH_MODEL_H
#define OPTUNE_GRAPH_MODEL_H

#include "graph/graph.h"

typedef struct ot_model {
    const char *suffix; /* what its files' names end in */
    /* A graph whose types are inferred as far as they can be, its named dims bound. `partial`:
     * without the nodes that it cannot have, which its `left_out` names. */
    int (*read)(const char *path, const optune_binding *bind, int n, bool partial,
                optune_graph **graph, optune_err *err);
} ot_model;

#define OT_MODEL(id)                                                                           \
    extern const ot_model ot_model_##id;                                                       \
    const ot_model ot_model_##id

extern const ot_model *const ot_model_table[];

#endif
