/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spaces that others measured and wrote down: Kernel Tuner's cache files and T4 results, plain or
 * gzipped. What is kept is what a search can be replayed on: the knobs with their values, and of
 * every config what it cost, what trying it took, and how it failed.
 */
#ifndef OPTUNE_RECORDED_H
#define OPTUNE_RECORDED_H

#include "base/base.h"

struct json_t;

typedef enum ot_recorded_kind {
    OT_RECORDED_INTS,
    OT_RECORDED_BOOLS,
    OT_RECORDED_WORDS
} ot_recorded_kind;

typedef struct ot_recorded_knob {
    char *name;
    ot_recorded_kind kind;
    int n, capacity;
    char **word; /* every value as its JSON text, strings without their quotes */
} ot_recorded_knob;

typedef struct ot_recorded_trial {
    int64_t index;  /* mixed radix, first knob least significant */
    double cost;    /* seconds; infinity: it failed */
    double seconds; /* what the trial took: compile, run, check */
    int outcome;    /* optune_outcome_kind */
} ot_recorded_trial;

typedef struct ot_recorded {
    char *name;   /* "convolution/A100", from its path */
    char *kernel; /* as the file says; NULL: it does not */
    char *device; /* likewise */
    char *
        origin; /* what we wrote of it, JSON: impl, call, device, target, policy; NULL: nothing */
    int n_knobs;
    ot_recorded_knob knob[OPTUNE_MAX_KNOBS];
    int64_t size; /* product of the knobs' values */
    int n_trials, capacity;
    ot_recorded_trial *trial; /* ascending indices, each once */
    int n_good;               /* of them, without failure */
} ot_recorded;

/* Whether a file, gzipped or not, begins like one of these. What is no file (a pipe, a device) is
 * not touched. */
bool ot_recorded_begins(const char *path);
/* ENOENT, EIO: it cannot be read; ESYNTAX: neither of the formats, or damaged; ELIMIT: too long.
 * The message names the file and the entry. A cache that lacks only its closing braces is whole,
 * as for Kernel Tuner. */
int ot_recorded_read(const char *path, ot_recorded **recorded, optune_err *err);
/* ESYNTAX: fewer than two of its configs ran, so that no search can be replayed on it. */
int ot_recorded_searchable(const ot_recorded *recorded, const char *path, optune_err *err);
/* Of trials at hand: an array of {"config": {knob: number, boolean or word}, "cost": seconds or
 * null, "outcome": optune_outcome_kind, "seconds": what it took}, all with the same knobs. Its
 * kernel, device and origin are left to the caller. ESYNTAX, ELIMIT: they are no such space. */
int ot_recorded_make(const char *name, const struct json_t *trials, ot_recorded **recorded,
                     optune_err *err);
void ot_recorded_free(ot_recorded *recorded); /* NULL is fine */
/* The trial of that index; NULL: it is not there. */
const ot_recorded_trial *ot_recorded_find(const ot_recorded *recorded, int64_t index);

#endif
