/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that go, between prune.c and forget.c, which say which, and sift.c, which writes logs
 * anew without them.
 */
#ifndef OPTUNE_DB_PRUNE_H
#define OPTUNE_DB_PRUNE_H

#include "db/kv.h"

typedef struct ot_going {
    ot_digest digest; /* first: it is what they are sorted by */
    bool old;         /* a measurement that a newer one replaced; else a failure */
    bool stays;       /* a log that is left alone has it, and would bring it back */
    bool found;       /* in a log that was written anew */
} ot_going;

typedef struct ot_pruning {
    ot_store *store;
    ot_going *gone; /* ot_prune_sort sorts them; owned by who says which */
    int64_t n_gone;
    ot_stored_log *log; /* those that were written anew; names owned */
    int n_logs, logs_capacity;
    char **left; /* names of those that were left alone before any was written anew */
    int n_left, left_capacity;
    bool forget; /* whatever a log that is left alone has */
    /* why the first could not be written anew that could not; 0: all could */
    optune_err failed;
    ot_pruned *pruned;
    optune_err *err;
} ot_pruning;

/* prune.c: all that go, from the logs and then from the store. */
int ot_prune_remove(ot_pruning *p);
/* sift.c: from the logs. */
void ot_prune_sort(ot_pruning *p);
int ot_prune_logs(ot_pruning *p);

#endif
