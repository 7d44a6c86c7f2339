/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that take a graph share. */
#ifndef OPTUNE_CLI_GRAPH_WORDS_H
#define OPTUNE_CLI_GRAPH_WORDS_H

#include <stdio.h>

#include "cli/cli.h"
#include "optune/graph.h"

/* What is said of a graph beside its file. */
typedef struct ot_graph_words {
    ot_repeats bind;
    const char *precision;
    bool partial;
} ot_graph_words;
#define OT_GRAPH_OPTIONS(values, words)                                                        \
    {.name = "bind",                                                                           \
     .type = OT_OPTION_REPEATS,                                                                \
     .offset = offsetof(values, words.bind),                                                   \
     .argument = "DIM=N",                                                                      \
     .help = "give the graph's symbolic dim ?DIM a value, or a range LOW..HIGH"},              \
        {.name = "precision",                                                                  \
         .type = OT_OPTION_TEXT,                                                               \
         .offset = offsetof(values, words.precision),                                          \
         .argument = "DTYPE",                                                                  \
         .help = "compute the graph's products in bfloat16 or float16, not in float32"},       \
    {                                                                                          \
        .name = "partial", .type = OT_OPTION_FLAG, .offset = offsetof(values, words.partial),  \
        .help = "what can be of a model, which computes something else; the rest is named"     \
    }
bool ot_graph_words_given(const ot_graph_words *words);

/* Reads, infers, gives symbolic dims their values (`m=128`), infers again, and narrows. Of a model
 * in part, the nodes that have no counterpart are named on stderr. */
int ot_open_graph(const char *path, const ot_graph_words *words, optune_graph **graph,
                  optune_err *err);
/* A path, not an operator's name or call: it has a '.' or a '/'. */
bool ot_is_file(const char *word);

#endif
