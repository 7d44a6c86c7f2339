/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share among themselves and nobody else may see. */
#ifndef OPTUNE_CALL_INSIDE_H
#define OPTUNE_CALL_INSIDE_H

#include "call/call.h"

/* What the build makes of op_<name>.c, and of the lists of ops_<name>.c, each of which ends at a
 * row without a name. */
extern const optune_op *const ot_op_table[], *const ot_ops_table[];

/* synonyms.c: what other projects call an operator, and what is made of it; NULL: nothing. */
const char *ot_op_synonyms(const char *op);

/* attr.c */
int ot_attr_default(const optune_op_attr *row, optune_attr *attr, optune_err *err);
const char *ot_attr_word(const char *text); /* what a word's text says: `""` is none */
/* fuse.c: optune_call_fuse before any type is looked at. */
int ot_call_append(optune_call *call, const optune_call *next, int chain, optune_err *err);

/* call_parse.c: reads a text before any type is inferred; what is wrong with it is not said. */
int ot_call_read(const char *text, optune_call *call);

/* pattern_reference.c: walking over what references compute. */
/* Moves to the next point of a region, the last dim fastest; false behind the last. */
bool ot_region_next(const optune_region *region, int64_t *at);
bool ot_region_empty(const optune_region *region);
/* Strides of an operand along the output's dims: 0 where it is broadcast. */
void ot_broadcast_strides(const optune_tensor *in, int rank, int64_t *stride);
typedef struct ot_reduced {
    int n;
    int64_t extent[OPTUNE_MAX_RANK], stride[OPTUNE_MAX_RANK];
    int64_t kept[OPTUNE_MAX_RANK]; /* by dim of the output: stride of the input */
    int64_t count;
} ot_reduced;
ot_reduced ot_reduced_of(const optune_call *call);
/* The pieces that a call moves, to be asked where an element of its output comes from. */
typedef struct ot_pieces {
    const optune_tensor *type; /* of the output */
    int n, last;               /* which one had the element asked for before */
    optune_piece piece[OPTUNE_MAX_PIECES];
} ot_pieces;
void ot_pieces_of(const optune_call *call, ot_pieces *pieces);
/* The piece of the element at this place; *from: where that is in its input, in elements. */
const optune_piece *ot_pieces_at(ot_pieces *pieces, const int64_t *at, int64_t *from);

/* types.c: names that optune_dim_unify met as those of one dim, in one call. A relation that
 * joins one dim after another to the output leaves some of them under their old names. */
enum { OT_MAX_UNIFIED = 64 };
typedef struct ot_unified {
    const optune_call *call;
    int n;
    char pair[OT_MAX_UNIFIED][2][OPTUNE_DIM_NAME_SIZE];
    int n_nameless; /* the same of ranges without a name */
    optune_dim *nameless[OT_MAX_UNIFIED][2];
} ot_unified;
/* From now on this thread's go to `to`, NULL: nowhere; returns where they went before. */
ot_unified *ot_unified_note(ot_unified *to);

#endif
