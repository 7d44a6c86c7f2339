/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables: ordered rows, each a condition over the symbolic dims of one call and what is
 * used where it holds. A table is read, checked and compiled here, and asked in nanoseconds; how
 * its rows were found is the business of answer/ and tuner/. docs/formats.md has its text.
 */
#ifndef OPTUNE_DISPATCH_H
#define OPTUNE_DISPATCH_H

#include "strategy/strategy.h"

typedef struct ot_dispatch_row {
    const char *when; /* NULL: always; the last row only */
    ot_symbols range; /* what its plan is made for: holds wherever the row is used */
    const optune_impl *impl;
    const char *digest; /* the implementation's, when the row was made */
    const char *tier;   /* "tuned", "plevel" */
    optune_config config;
} ot_dispatch_row;

/* Decided cells of the sizes' product: what a call costs is one search per dim and one load. */
typedef struct ot_dispatch_flat {
    int n_dims;
    int64_t min[OT_MAX_SYMBOLS], max[OT_MAX_SYMBOLS];
    int n_cuts[OT_MAX_SYMBOLS];
    const int64_t
        *cut[OT_MAX_SYMBOLS]; /* where a new cell begins, ascending, the first left out */
    int stride[OT_MAX_SYMBOLS];
    const int16_t *cell; /* a row; -1: none; -2 - r: undecided, to be asked from row r on */
} ot_dispatch_flat;

typedef struct ot_dispatch {
    ot_dispatch_flat flat; /* first: the hot part */
    ot_arena arena;
    optune_call call;
    ot_symbols dims;
    const char *target, *device, *depends; /* as in records */
    int n;
    ot_dispatch_row *row;
    ot_condition **when; /* parsed */
    json_t *measured;    /* object: points, regret; kept, never understood here */
} ot_dispatch;

/* Empty, for one call. Errors are those of ot_symbols_of. */
int ot_dispatch_new(const optune_call *call, ot_dispatch **dispatch, optune_err *err);
void ot_dispatch_free(ot_dispatch *dispatch);
/* Copies the row behind the others. */
void ot_dispatch_add(ot_dispatch *dispatch, const ot_dispatch_row *row);
/* After the last row: parses the conditions and decides the cells. ESYNTAX for a condition that
 * is malformed or names no dim of the call; EUSAGE for a row that is used outside the range its
 * plan is for, or a condition-free row that is not the last; ELIMIT for too many cells. */
int ot_dispatch_compile(ot_dispatch *dispatch, optune_err *err);
/* The row for these sizes, in the order of dims; -1: outside the table. Thread-safe. */
int ot_dispatch_find(const ot_dispatch *dispatch, const int64_t *size);
/* Of a compiled table: says which rows overlap (the last one, without a condition, is there to do
 * so) and which are never used, a line each; returns how many lines. `used` (NULL: not wanted) gets
 * which rows are. */
int ot_dispatch_check(const ot_dispatch *dispatch, ot_text *to, bool *used);
/* Implementations, digests and configs against the present: EVERSION naming the row and what
 * changed. */
int ot_dispatch_current(const ot_dispatch *dispatch, const optune_target *target,
                        const optune_device *device, optune_err *err);
json_t *ot_dispatch_json(const ot_dispatch *dispatch); /* new reference */
/* Compiled. ESYNTAX, EVERSION, and those of the functions above. */
int ot_dispatch_read(const char *text, ot_dispatch **dispatch, optune_err *err);
void ot_dispatch_print(const ot_dispatch *dispatch, ot_text *to);

#endif
