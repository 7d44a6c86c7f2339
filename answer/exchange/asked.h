/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions (device, target, workload, policy) that records are about, under conditions, and
 * what would be selected for each as if a handle had been opened for it.
 */
#ifndef OPTUNE_ANSWER_ASKED_H
#define OPTUNE_ANSWER_ASKED_H

#include "answer/answer.h"

typedef struct ot_asked {
    const char *device, *target, *call, *policy;
    int measured, failed, hints; /* records of it: good ones, failed ones, others' */
    double time;                 /* the newest of these; unix time, 0: unknown */
    uint64_t digest;
} ot_asked;

typedef struct ot_asking {
    optune *o;
    ot_store *store; /* the handle's own */
    unsigned turn;   /* in which it was entered */
    const optune_export_options *options;
    optune_target target; /* what options->target says */
    const char *policy;   /* NULL: any */
    char *call;           /* canonical, where options->op is a workload */
    ot_arena arena;       /* the questions' texts */
    ot_asked *asked;
    int n, capacity;
    int *slot; /* of `asked` by digest, plus one, open addressing */
    int n_slots;
    optune *view; /* the handle, as if opened for the question at hand */
    const char *view_target, *view_device;
    int too_long; /* records that TVM would not come to an end with, and of the first why */
    char why[OPTUNE_WHY_SIZE];
    int view_status;
    optune_err view_err;
} ot_asking;

/* The handle and the options must outlive it. Opens the store to read, and fails with what the
 * options name and is not there, or cannot be read. To be ended in any case. */
int ot_asking_begin(ot_asking *a, optune *o, const optune_export_options *options,
                    optune_err *err);
void ot_asking_end(ot_asking *a);
/* Whether a record is one that the options want; those that only TVM's compiler has against them
 * are counted. */
bool ot_asking_takes(ot_asking *a, const optune_record *record);
/* Fills `asked`, by device, target, policy and call. EINTERRUPTED: the handle was asked to stop. */
int ot_asking_collect(ot_asking *a, optune_err *err);
/* Selects from what the options leave of the records. `call` is its own, read; the choice is to be
 * released whatever is returned, its facts live in the arena. */
int ot_asking_select(ot_asking *a, const ot_asked *asked, ot_arena *arena, optune_call *call,
                     ot_choice *choice, optune_err *err);

#endif
