/* SPDX-License-Identifier: Apache-2.0 */
/* What reading a graph file shares: a place in its text, and the words from there on. */
#ifndef OPTUNE_GRAPH_READER_H
#define OPTUNE_GRAPH_READER_H

#include "graph/graph.h"

typedef struct ot_reader {
    optune_graph *g;
    const char *p;
    int depth;    /* open brackets: a newline is then a space */
    size_t *line; /* where each starts; freed by who reads */
    int n_lines;
    int64_t elements; /* of all constants so far */
    optune_err *err;
} ot_reader;

void ot_read_find_lines(ot_reader *r);
ot_text_spot ot_read_place(const ot_reader *r, const char *at);
/* Fails and shows the place; returns status. */
int ot_read_fail(const ot_reader *r, const char *at, int status, const char *format, ...)
    OPTUNE_PRINTF(4, 5);
/* What the builder refused, at its place; other statuses are handed through. */
int ot_read_pass_on(const ot_reader *r, const char *at, int status, const optune_err *inner);
void ot_read_skip(ot_reader *r); /* spaces, comments, and newlines inside brackets */
/* Each skips, and consumes the character if it is the next one. */
bool ot_read_eat(ot_reader *r, char what);
bool ot_read_open(ot_reader *r, char what);
bool ot_read_close(ot_reader *r, char what);
size_t ot_read_identifier(const char *p); /* its length; 0: none here */
int ot_read_word(ot_reader *r, const char *what, char word[OPTUNE_NAME_SIZE]);

#endif
