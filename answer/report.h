/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files behind optune_report share: report.c asks, report_trials.c tells of trials. */
#ifndef OPTUNE_ANSWER_REPORT_H
#define OPTUNE_ANSWER_REPORT_H

#include "answer/answer.h"

/* Of one workload: what of its history goes into a report, at most. */
typedef struct ot_report_limits {
    int trials;  /* beyond these only what improved on all before, and finalists */
    int samples; /* of each finalist, evenly chosen in the order taken */
} ot_report_limits;

/* Adds to `to`: "trials" in the order of time, "left_out", "stale", "stale_why", "failed" by
 * kind with an example each, "impls" with what their knobs explain. */
void ot_report_trials(const ot_fact *fact, int n, const ot_report_limits *limits, json_t *to);

#endif
