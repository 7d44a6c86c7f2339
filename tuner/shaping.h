/* SPDX-License-Identifier: Apache-2.0 */
/* The making of a dispatch table: what dispatch_tune.c and dispatch_points.c share. */
#ifndef OPTUNE_TUNER_SHAPING_H
#define OPTUNE_TUNER_SHAPING_H

#include "answer/dispatch/dispatch.h"
#include "tuner/tune.h"

/* ---- dispatch_points.c: one shape tuned, two configs compared at one ----------------------- */
typedef struct ot_pool_entry {
    const optune_impl *impl;
    optune_config config;
} ot_pool_entry;
typedef struct ot_pool { /* what was found to be best somewhere in one piece */
    const ot_piece *piece;
    int n;
    ot_pool_entry entry[32];
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

#endif
