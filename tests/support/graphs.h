/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from their text. */
#ifndef OPTUNE_TESTS_GRAPHS_H
#define OPTUNE_TESTS_GRAPHS_H

#include "optune/graph.h"

/* The graph that `text` is, under `name` in errors, with the types of its nodes: where that fails
 * the test does, with the text and the error. The caller closes it. */
optune_graph *graph_named(const char *text, const char *name);
optune_graph *graph_of(const char *text); /* under the name "test" */

#endif
