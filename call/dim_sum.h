/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of dims in normal form: sums of products of names and of quotients rounded down.
 * Seen by dim_expr.c alone, which makes names of them. What has no form here, of an operand or as a
 * result, is NULL.
 */
#ifndef OPTUNE_CALL_DIM_SUM_H
#define OPTUNE_CALL_DIM_SUM_H

#include "call/cursor.h"

enum { OT_SUM_TERMS = 8, OT_TERM_FACTORS = 4, OT_SUM_TEXT = 1024 /* of a quotient */ };

typedef struct ot_sum ot_sum;
typedef struct ot_atom {
    const char *text;
    const ot_sum *over; /* NULL: it is a name */
    int64_t by;
} ot_atom;

typedef struct ot_term {
    int64_t times; /* never 0 */
    int n;         /* 0: a number */
    const ot_atom *factor[OT_TERM_FACTORS];
} ot_term;

struct ot_sum {
    int n;
    ot_term term[OT_SUM_TERMS]; /* in order, the number last */
};

typedef struct ot_making { /* of one expression */
    ot_arena arena;
    const char *p;     /* what is read */
    const char *wrong; /* why it is none */
} ot_making;

bool ot_sum_is_number(const ot_sum *s);
ot_sum *ot_sum_number(ot_making *m, int64_t value);
ot_sum *ot_sum_of_name(ot_making *m, const char *name);
ot_sum *ot_sum_add(ot_making *m, const ot_sum *a, const ot_sum *b, int64_t by); /* a + by * b */
ot_sum *ot_sum_multiply(ot_making *m, const ot_sum *a, const ot_sum *b);
ot_sum *ot_sum_divide(ot_making *m, const ot_sum *s, int64_t by); /* rounded down */
void ot_sum_print(const ot_sum *s, ot_text *to);
/* From m->p on, which moves behind it; NULL with m->wrong. `depth`: 0. */
ot_sum *ot_sum_read(ot_making *m, int depth);

#endif
