/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention that a graph spells out, softmax(scale Q K^T + mask) V, found again and written as one
 * call. Whether it is to be one is the caller's to say: what is faster differs.
 */
#ifndef OPTUNE_GRAPH_ATTEND_H
#define OPTUNE_GRAPH_ATTEND_H

#include "graph/rebuild.h"

#define OT_ATTEND_FLAT "newshape=[-1,-2,-2]" /* the first two of four dims as one */

enum { OT_ATTEND_MASKS = 4 };
enum { OT_ATTEND_Q, OT_ATTEND_K, OT_ATTEND_V, OT_ATTEND_SIDES };

typedef struct ot_attend_side {
    ot_value from;
    int n_axes; /* of a transpose of `from`; 0: none. The last two dims are rows and columns then,
                   those in front the heads, one dim or several */
    int axes[OPTUNE_MAX_RANK];
    int64_t heads, rows, columns;
    int64_t shared; /* by so many query heads that are neighbours, for which it is repeated */
} ot_attend_side;

/* scores + value, scores - value, where(value, scores, fill), or scores * factor + value, of which
 * a triangle alone can be a call. */
typedef struct ot_attend_mask {
    ot_value value, factor;
    bool where, other; /* other: where(value, fill, scores) */
    bool minus, times;
    double fill;
    int n_wide; /* dims that it is broadcast to first, where the batch is two of them; or 0 */
    int64_t wide[5];
    int64_t dim[4]; /* of `value` as it is broadcast to [b, hq, sq, skv] */
} ot_attend_mask;

typedef struct ot_attend {
    int root; /* multiplies the weights with V */
    int softmax, product; /* along the keys; of queries and keys */
    ot_attend_side side[OT_ATTEND_SIDES];
    ot_attend_mask mask[OT_ATTEND_MASKS]; /* the last one first */
    int n_masks;
    bool causal;  /* is all that the mask says */
    bool guarded; /* where no weight is a number they are 0 */
    double scale;
    int64_t b, hq, hkv, sq, skv, d, dv;
    optune_dtype dtype;
    bool open; /* batches, queries or keys are known at run time: the numbers are of one size of
                  them, operands have four dims as they are, and the call is of these types */
    optune_tensor type[4];
    bool flat; /* open: the root has batches and heads as one dim */
} ot_attend;

/* All of them, in order; free(). */
int ot_graph_attends(const optune_graph *g, ot_attend **sites);
/* The same of a graph whose types are all known constants. */
int ot_attends_known(const optune_graph *g, ot_attend **sites);
/* No more than that many: its softmaxes. */
int ot_attends_at_most(const optune_graph *g);
/* The call that would be made of it, settled. */
int ot_attend_call(const ot_attend *site, optune_call *call, optune_err *err);
/* Equal to `g`, whose types are inferred, with these sites as calls of attention. What only they
 * needed is left out. */
int ot_graph_attend(const optune_graph *g, const ot_attend *sites, int n, ot_relaid *to,
                    optune_err *err);

#endif
