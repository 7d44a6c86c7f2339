/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures that the table at the end of a run and a report share: what a winner is compared with,
 * and what the machine could do at most. Everything comes from records; nothing is measured here.
 */
#ifndef OPTUNE_ANSWER_FIGURES_H
#define OPTUNE_ANSWER_FIGURES_H

#include "answer/answer.h"

/* What stands beside the winner of a choice: borrowed from the facts; NULL: not measured. */
typedef struct ot_beside {
    const optune_record *fallback; /* of the plevel default with its fallback config */
    const optune_record *library;  /* the fastest library's */
} ot_beside;
void ot_choice_beside(const optune_task *task, const ot_choice *choice, const ot_fact *fact,
                      int n, ot_beside *beside);

/* The name that a library gave itself when it was measured. */
void ot_record_library(const optune_record *library, char *to, size_t size);

/* Less than one operation a byte: its rate is bytes per second. */
bool ot_call_moves(const optune_call *call);
/* The call's peak as a part of that of multiply-adds in float32; 0: it has a peak of its own. */
double ot_call_units(const optune_device *device, const optune_call *call);

/* It is for tensor cores: its numbers are floats of 16 bits, and it does so much with each that no
 * other unit would be asked. */
bool ot_call_tensor(const optune_call *call);
/* Whether what it moves may stay in the device's last cache between two runs. */
bool ot_call_fits_cache(const optune_device *device, const optune_call *call);

/* What was measured and remembered of the handle's device and threads; 0: not known. */
typedef struct ot_peak_known {
    double flops, bandwidth, tensor; /* as in ot_peaks */
    bool settled;                    /* measured while the machine was ours, or told */
    bool told;                       /* by OPTUNE_PEAK: nothing is to be measured */
} ot_peak_known;
void ot_peak_path(const optune *o, char *path, size_t size);
enum { OT_PEAK_VERSION = 2 };
/* $OPTUNE_PEAK, where it is "FLOPS,BYTES" or "FLOPS,BYTES,FLOPS" (float32; memory; 16-bit floats on
 * tensor cores), each a second; else the file. */
ot_peak_known ot_peak_recall(const optune *o);
/* What is wrong with $OPTUNE_PEAK, which then counts for nothing; NULL: nothing. */
const char *ot_peak_untold(void);
bool ot_peak_told(void);

#endif
