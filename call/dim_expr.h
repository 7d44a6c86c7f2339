/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that are computed of named ones, as far as rooms above this one know of them: read, asked
 * for the names in them, and settled when these are learned. Relations make them
 * (optune/define.h, optune_dim_compute).
 */
#ifndef OPTUNE_CALL_DIM_EXPR_H
#define OPTUNE_CALL_DIM_EXPR_H

#include <string.h>

#include "call/call.h"

/* What is known of a name; false: nothing, and `is` is left alone. */
typedef bool ot_dim_of_name(const void *arg, const char *name, optune_dim *is);

/* Reads `2*n` or `(h+1)/2` into a dim's name, in normal form; its range is left alone. ESYNTAX or
 * ELIMIT with *end where it is wrong and *why it is. */
int ot_dim_read(const char *text, const char **end, optune_dim *dim, const char **why);
/* True of one whose name is an expression. */
static inline bool ot_name_computed(const char *name)
{
    return strpbrk(name, "#+-*/(") != NULL;
}
static inline bool ot_dim_computed(const optune_dim *dim)
{
    return ot_name_computed(dim->name);
}
/* Whether this name is the dim's own, or is in its expression. */
bool ot_dim_mentions(const optune_dim *dim, const char *name);
/* The first name in the text of a dim, of *n characters; NULL: there is none. */
const char *ot_dim_next_name(const char *text, int *n);
/* Whether it is computed, of names of which all are told. */
bool ot_dim_follows(const optune_dim *dim, ot_dim_of_name *of, const void *arg);
/* Puts what names are (numbers, other names) into the expression of a computed dim and narrows its
 * range to what their ranges allow. False: that leaves nothing, and it is as it was. */
bool ot_dim_settle(optune_dim *dim, ot_dim_of_name *of, const void *arg);

enum { OT_DIM_TERMS = 8, OT_DIM_FACTORS = 4 };
/* One term of a dim that is computed: times factor * factor ..., each a name, or where by > 1 a dim
 * over that, rounded down. A number has no factors. */
typedef struct ot_dim_term {
    int64_t times;
    int n;
    optune_dim factor[OT_DIM_FACTORS];
    int64_t by[OT_DIM_FACTORS];
} ot_dim_term;
/* The terms of a dim with a name, the number last; 0: it has none. */
int ot_dim_terms(const optune_dim *dim, ot_dim_term term[OT_DIM_TERMS]);
/* Whether a number divides a dim. */
typedef bool ot_dim_divided(const void *arg, const optune_dim *dim, int64_t by);
/* Whether both products are one number wherever no quotient in them has a remainder, of those that
 * `divided` says so of; NULL: of all. */
bool ot_dims_agree(int n, const optune_dim *a, int m, const optune_dim *b,
                   ot_dim_divided *divided, const void *arg);

#endif
