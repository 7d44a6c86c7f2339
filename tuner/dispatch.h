/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of symbolic shapes share: tables, their pieces, tuning them, and their source. */
#ifndef OPTUNE_TUNER_DISPATCH_H
#define OPTUNE_TUNER_DISPATCH_H

#include "strategy/dispatch.h"
#include "tuner/tune.h"

/* ---- dispatch.c -------------------------------------------------------------------------- */
/* DB/dispatch/<digest of device, target and call>.json */
int ot_dispatch_path(optune *o, const optune_call *call, char *path, size_t size,
                     optune_err *err);
optune_dispatch *ot_dispatch_wrap(ot_dispatch *table); /* takes a compiled table */

/* ---- dispatch_pieces.c: boxes of sizes in which the same implementations may be used ------- */
enum { OT_MAX_PIECES = 32 };
typedef struct ot_piece {
    ot_symbols range; /* as the table's dims, narrowed */
    optune_call call; /* over this range; constants when the box is one size */
    char *text;       /* its text, from malloc */
    bool fixed;       /* one size */
} ot_piece;
/* ENOENT: a piece that nothing computes, with every refusal; ELIMIT: more than OT_MAX_PIECES. */
int ot_pieces_make(const optune_task *task, const ot_symbols *dims, ot_piece **piece, int *n,
                   optune_err *err);
void ot_pieces_free(ot_piece *piece, int n);

/* ---- dispatch_points.c: one shape tuned, two configs compared at one ----------------------- */
typedef struct ot_entry {
    const optune_impl *impl;
    optune_config config;
} ot_entry;
typedef struct ot_pool { /* what was found to be best somewhere in one piece */
    const ot_piece *piece;
    int n;
    ot_entry entry[24];
} ot_pool;
typedef struct ot_point {
    int64_t size[OT_MAX_SYMBOLS];
    int entry;   /* of the pool */
    double cost; /* infinity: nothing worked */
} ot_point;
typedef struct ot_shaping { /* the making of one table */
    optune *o;
    const optune_dispatch_options *options;
    ot_run *run;
    optune_run_options run_options;
    optune_call call;
    ot_dispatch *table;
    ot_piece *piece;
    int n_pieces, points, shapes; /* shapes to tune, and to compare */
    int done;                     /* of both */
    double point_s, compare_s;
    json_t *said; /* array: every tuned point */
} ot_shaping;
/* Tunes at the point's size and adds what is best there, or what was hinted when it is as good. */
int ot_point_tune(ot_shaping *s, ot_pool *pool, ot_point *point, const int *hint, int n_hints,
                  optune_err *err);
/* Which of the pool's entries is fastest at a size; measured unless it is known. */
int ot_point_fastest(ot_shaping *s, const ot_pool *pool, const int64_t *size, const int *entry,
                     int n, int *fastest, optune_err *err);
/* Shapes that were never tuned: what the table says against tuning of their own. Fills
 * table->measured.regret. */
int ot_regret_measure(ot_shaping *s, ot_text *said, optune_err *err);
json_t *ot_sizes_json(const ot_symbols *dims, const int64_t *size); /* {"m": 128} */

/* ---- dispatch_source.c: the table as C ----------------------------------------------------- */
/* Whether the table can be written there, as far as names tell. */
int ot_dispatch_writable(const ot_dispatch *table, const char *path, optune_err *err);
/* FILE.c, FILE.h and FILE.json for `path` FILE.c; says the names. */
int ot_dispatch_write(optune *o, const ot_dispatch *table, const char *path, ot_text *said,
                      optune_err *err);

#endif
