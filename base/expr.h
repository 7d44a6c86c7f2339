/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as autotuners write them, a subset of Python's: integers, reals, words, lists,
 * ranges, one comprehension, arithmetic with `//`, `%` and `**`, comparisons in chains, `in`,
 * `and`, `or`, `not`, `min`, `max`, and values picked from lists. Read once, evaluated often, by
 * us alone: whatever else is written is refused at its place.
 *
 * The one idea: values mean what they mean in Python (a quotient is floored, `and` gives an
 * operand), but an integer that leaves 64 bits, a list that grows long and a computation that
 * takes long are errors, so that text from anywhere costs little.
 */
#ifndef OPTUNE_BASE_EXPR_H
#define OPTUNE_BASE_EXPR_H

#include "base/base.h"

/* Where a text begins: the first byte of it is in this column. Without a line (0), `file` goes
 * on to say where, as a path in a document; without a file only columns are told. */
typedef struct ot_spot {
    const char *file;
    int line, column; /* from 1 */
    const char *said; /* not in a file, but in this text, which `file` is a name for */
    bool whole;       /* of what was said no place is known: no column is told */
} ot_spot;
/* Where in a text that begins at the place its byte `at` is. */
ot_spot ot_spot_in(const ot_spot *place, const char *text, size_t at);
/* Formats "file:line:column: ..." into err and returns the status; without a file, "column ...". */
int ot_fail_at(ot_spot place, int status, optune_err *err, const char *format, ...)
    OPTUNE_PRINTF(4, 5);

typedef enum ot_value_kind {
    OT_VALUE_NONE, /* nothing is known: using it is an error */
    OT_VALUE_BOOL, /* i: 0 or 1; a number like any other */
    OT_VALUE_INT,
    OT_VALUE_REAL,
    OT_VALUE_WORD,
    OT_VALUE_LIST,
} ot_value_kind;
typedef struct ot_expr_value {
    uint8_t kind;
    int n; /* LIST: items */
    union {
        int64_t i;
        double f;
        const char *s;
        const struct ot_expr_value *item;
    };
} ot_expr_value;
#define ot_int_value(v) ((ot_expr_value){.kind = OT_VALUE_INT, .i = (v)})
const char *ot_value_kind_name(int kind);                     /* "an integer" */
bool ot_value_true(const ot_expr_value *value);               /* Python's truth */
bool ot_value_number(const ot_expr_value *value);             /* BOOL, INT or REAL */
double ot_value_real(const ot_expr_value *value);             /* of a number */
void ot_value_print(const ot_expr_value *value, ot_text *to); /* as it would be written */

enum {
    OT_EXPR_MOST_NODES = 4096,
    OT_EXPR_MOST_NAMES = 64,
    OT_EXPR_MOST_ITEMS = 1 << 16, /* of one list */
    OT_EXPR_MOST_STEPS = 1 << 20, /* of one evaluation */
};

typedef struct ot_expr ot_expr;
/* ESYNTAX with the place. The text is copied; place->file must outlive the expression. NULL place:
 * columns only. */
int ot_expr_parse(const char *text, const ot_spot *place, ot_expr **expr, optune_err *err);
bool ot_expr_reserved(const char *name); /* it is a word of expressions, and no name */
void ot_expr_free(ot_expr *expr);
const char *ot_expr_text(const ot_expr *expr);
/* The names that it needs, in the order of their first use. */
int ot_expr_names(const ot_expr *expr, const char *const **names);
/* Its value, with value[k] for the k-th name. Lists live in the arena, words in the expression or
 * in what was handed over. ETYPE, EUSAGE (a division by zero, a name without a value), ELIMIT. */
int ot_expr_eval(const ot_expr *expr, const ot_expr_value *value, ot_arena *arena,
                 ot_expr_value *result, optune_err *err);
/* What a name stands for; false: it is none there. `value` NONE: it is, without a value yet. */
typedef bool ot_expr_meaning(const void *arg, const char *name, ot_expr_value *value);
/* EUSAGE for the first name that means nothing, with its place; `others` says what there is. */
int ot_expr_check_names(const ot_expr *expr, ot_expr_meaning *meaning, const void *arg,
                        const char *others, optune_err *err);
/* Its value as a number. ETYPE: it is none; else as ot_expr_eval. */
int ot_expr_number(const ot_expr *expr, ot_expr_meaning *meaning, const void *arg,
                   double *number, optune_err *err);

/* ---- for expr_parse.c and expr_eval.c only ----------------------------------------------- */
typedef enum ot_expr_kind {
    OT_NODE_VALUE,
    OT_NODE_NAME,  /* i: which */
    OT_NODE_LOCAL, /* the comprehension's own, i: how deep */
    OT_NODE_LIST,  /* first child and its brothers */
    OT_NODE_EACH,  /* children: what, of which list, under which condition (or none); i: deep */
    OT_NODE_INDEX,
    OT_NODE_NEGATIVE,
    OT_NODE_POSITIVE,
    OT_NODE_NOT,
    OT_NODE_AND,
    OT_NODE_OR,
    OT_NODE_CHAIN, /* a child for each operand; `what` of the second and later says how it
                      compares */
    OT_NODE_ADD,
    OT_NODE_SUBTRACT,
    OT_NODE_TIMES,
    OT_NODE_DIVIDE,
    OT_NODE_FLOOR,
    OT_NODE_MODULO,
    OT_NODE_POWER,
    OT_NODE_MIN,
    OT_NODE_MAX,
    OT_NODE_RANGE,
    OT_NODE_TO_LIST,
} ot_expr_kind;
typedef enum ot_compares {
    OT_EQ = 1,
    OT_NE,
    OT_LT,
    OT_LE,
    OT_GT,
    OT_GE,
    OT_IN,
    OT_NOT_IN,
} ot_compares;
typedef struct ot_expr_node {
    uint8_t kind, what;
    int at;          /* in the text */
    int child, next; /* 0: none */
    int64_t i;
    ot_expr_value value;
} ot_expr_node;
enum { OT_EXPR_MOST_LOCALS = 4 };
struct ot_expr {
    ot_arena arena;
    char *text;
    ot_spot place;
    int root, n_nodes, n_names;
    const char *name[OT_EXPR_MOST_NAMES];
    ot_expr_node *node; /* [0] is none */
};

#endif
