/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What report.c finds out of a workload for the end of a run, and run_rows.c makes rows of. What
 * people and programs are given is made of these rows alone, which every program may walk and lay
 * out in its own way.
 */
#ifndef OPTUNE_REPORT_H
#define OPTUNE_REPORT_H

#include "tuner/tune.h"

typedef struct ot_row {
    char label[OPTUNE_TEXT_SIZE];
    ot_arena arena; /* the facts that the choice refers to */
    ot_choice choice;
    bool chosen;                   /* there is a choice */
    const optune_record *best;     /* the winner's */
    const optune_record *fallback; /* plevel default with its fallback config */
    const optune_record *library;  /* the fastest library */
    const optune_record *known;    /* the fastest of all that were measured */
    double flops, bytes;
    bool moves;             /* less than one operation a byte: its rate is bytes per second */
    double units;           /* its peak as a part of float32's; 0: it has another one */
    bool tensor;            /* its peak is that of tensor cores */
    bool cacheable;         /* what it moves fits into the last cache */
    ot_disturbance trouble; /* while its figures were measured */
    bool troubled;
} ot_row;

bool ot_row_effective(const ot_row *r); /* fewer operations are done than its rate counts */
/* Whether there is what was asked for: a winner, or, where only libraries were named, what they
 * take. */
bool ot_row_answered(const ot_run *run, const ot_row *r);
double
ot_row_rate(const ot_row *r); /* what one run moves or computes in a second; 0: unknown */
/* Of the measured peak; 0: unknown. Above 1 only where fewer operations are done, where the data
 * stays in caches, whose bandwidth is another, or where bytes move faster than those that the peak
 * was measured with, as where all are read. */
double ot_row_share(const ot_run *run, const ot_row *r);
bool ot_row_cached(const ot_run *run, const ot_row *r); /* the data stays in caches */
/* The worst of what disturbed the figures of all; false: nothing did. */
bool ot_rows_trouble(const ot_row *all, int n, ot_disturbance *worst);

/* run_rows.c: what a program sees of it, and what the document is made of. */
typedef struct ot_run_rows {
    ot_arena arena;
    optune_run_total total;
    optune_run_row *row; /* total.workloads */
} ot_run_rows;
ot_run_rows *ot_run_rows_of(const ot_run *run, const ot_row *all, const ot_tuned *tuned);
void ot_run_rows_drop(void *rows);

/* report_table.c: in the form that is named, which there is; for a terminal of `width` columns, 0:
 * as wide as it wants. `rows` (NULL: none) are of workloads of constants; `tables` (NULL: none) is
 * a list of dispatch tables as a run's document has it, whose rows stand behind them. */
void ot_run_table(const ot_run_rows *rows, const json_t *tables, const char *form, int width,
                  ot_text *to);

#endif
