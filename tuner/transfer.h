/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of other workloads, devices and situations, as what is known elsewhere of a workload that
 * is searched: gathered once a run, and as the run itself goes on.
 */
#ifndef OPTUNE_TRANSFER_H
#define OPTUNE_TRANSFER_H

#include "tuner/tune.h"

typedef struct ot_transfer ot_transfer;
ot_transfer *ot_transfer_open(void);
void ot_transfer_close(ot_transfer *transfer); /* NULL is fine */
/* Keeps what it needs of the record; finals are left out, their trial is there. Of very many
 * sources in a store the first are kept; for what the run itself measures, `own`, there is room. */
void ot_transfer_add(ot_transfer *transfer, const optune_record *record, bool own);
/* The sources of an arm's implementation that are most alike to the task, to be freed with
 * ot_sources_free; none of the question (device, policy) at hand, of which an arm knows the trials.
 * The best of the same call elsewhere are the arm's first configs. Returns how many. */
int ot_transfer_sources(ot_transfer *transfer, const optune_task *task, const char *policy,
                        ot_arm *arm, optune_source **source);
/* 0 .. 1: how much what is best for one call says of the other, by their dims and attributes; 0 for
 * calls of other operators, dtypes, ranks or layouts. */
double ot_likeness(const optune_call *a, const optune_call *b);

#endif
