/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs whose variables are ranges, opened as programs and run at sizes. */
#ifndef OPTUNE_TESTS_SIZED_H
#define OPTUNE_TESTS_SIZED_H

#include "answer/graph.h"
#include "graph/graph.h"

enum { SIZED_MOST = 100 };

typedef struct sized {
    optune *o;
    optune_graph *g;
    optune_partition *partition;
    optune_program *program;
} sized;

/* Inferred, with elements for its constants. */
optune_graph *sized_parse(const char *text);
/* A program of it on the database "sized"; target NULL: one thread of this machine. */
sized sized_open(const char *target, const char *text);
void sized_close(sized *of); /* what is not NULL */
/* "f32[2,3] i32[4]": a type for each input, a space between two; returns how many. */
int sized_types(const char *text, optune_tensor *type);
/* Runs at these sizes of the inputs; fails the test unless all outputs are what the references
 * give, and nothing is written behind them. */
void sized_run(optune_graph *g, optune_program *p, const char *sizes);

#endif
