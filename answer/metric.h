/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: figures that somebody wants of a run, as expressions over what was measured and over
 * what the call and its config say. Names are those of an objective (docs/tune.md, *Metrics*).
 */
#ifndef OPTUNE_ANSWER_METRIC_H
#define OPTUNE_ANSWER_METRIC_H

#include "answer/answer.h"

typedef struct ot_metrics {
    int n;
    const char **name; /* n, and NULL */
    struct ot_expr **expr;
    ot_arena arena;
} ot_metrics;

/* Of texts "NAME=EXPR" (NULL-terminated; NULL: none), over calls. ESYNTAX, EUSAGE: one that cannot
 * be read, or names what none of the calls has, with its place and what there is. To be released in
 * either case. */
int ot_metrics_read(const char *const *texts, const optune_call *call, int n_calls,
                    ot_metrics *metrics, optune_err *err);
void ot_metrics_release(ot_metrics *metrics);
/* Of a record of this call; NaN: it cannot be told, as something was not measured, a number is
 * divided by zero, or the value is no finite number. */
double ot_metric_value(const ot_metrics *metrics, int which, const optune_call *call,
                       const optune_record *record);

#endif
