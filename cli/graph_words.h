/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that take a graph share. */
#ifndef OPTUNE_CLI_GRAPH_WORDS_H
#define OPTUNE_CLI_GRAPH_WORDS_H

#include <stdio.h>

#include "cli/cli.h"
#include "optune/graph.h"

/* Reads, infers, gives symbolic dims their values (`m=128`) and infers again. */
int ot_open_graph(const char *path, const ot_repeats *bind, optune_graph **graph,
                  optune_err *err);
/* The same of a model without the nodes that have no counterpart, which are named on stderr. */
int ot_open_partial(const char *path, const ot_repeats *bind, optune_graph **graph,
                    optune_err *err);
/* A path, not an operator's name or call: it has a '.' or a '/'. */
bool ot_is_file(const char *word);

#endif
