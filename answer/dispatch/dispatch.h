/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of symbolic shapes share: tables, their pieces, and their source. */
#ifndef OPTUNE_ANSWER_DISPATCH_H
#define OPTUNE_ANSWER_DISPATCH_H

#include "answer/answer.h"
#include "strategy/dispatch.h"

/* ---- dispatch.c -------------------------------------------------------------------------- */
/* DB/dispatch/<digest of device, target and call>.json */
int ot_dispatch_path(optune *o, const optune_call *call, char *path, size_t size,
                     optune_err *err);
/* Whether a table is of this device and target and holds here; ENOENT, EVERSION. */
int ot_dispatch_judge(optune *o, const ot_dispatch *table, optune_err *err);
/* The database's table of this very call, computed dims by other names (ot_call_rename), where it
 * holds; NULL: there is none. A stale one is told of in the log, once. */
ot_dispatch *ot_dispatch_of(optune *o, const optune_call *call);
/* The sizes of the table's dims in a call of constants that is one of its calls. */
void ot_dispatch_sizes(const ot_dispatch *table, const optune_call *call, int64_t *size);
optune_dispatch *ot_dispatch_wrap(ot_dispatch *table); /* takes a compiled table */

/* ---- dispatch_pieces.c: boxes of sizes in which the same implementations may be used ------- */
enum { OT_MAX_PIECES = 32 };
typedef struct ot_piece {
    ot_symbols range; /* as the table's dims, narrowed */
    optune_call call; /* over this range; constants when the box is one size */
    char *text;       /* its text, from malloc */
    bool fixed;       /* one size */
} ot_piece;
/* ENOENT: a piece that nothing computes, with every refusal. At most
 * OT_MAX_PIECES: adjacent ones are joined. */
int ot_pieces_make(const optune_task *task, const ot_symbols *dims, ot_piece **piece, int *n,
                   optune_err *err);
void ot_pieces_free(ot_piece *piece, int n);

/* ---- dispatch_source.c: the table as C ----------------------------------------------------- */
/* Whether the table can be written there, as far as names tell. */
int ot_dispatch_writable(const ot_dispatch *table, const char *path, optune_err *err);
/* FILE.c, FILE.h and FILE.json for `path` FILE.c; says the names. */
int ot_dispatch_write(optune *o, const ot_dispatch *table, const char *path, ot_text *said,
                      optune_err *err);

#endif
