/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what a record says it answers can be asked at all: its workload, target and policy are
 * ones that this version reads, or of an operator, an attribute or a kind of target that is not
 * here.
 */
#ifndef OPTUNE_ANSWER_ASKABLE_H
#define OPTUNE_ANSWER_ASKABLE_H

#include "answer/answer.h"

typedef struct ot_askable ot_askable;
/* Remembers what it was asked; of one thread. */
ot_askable *ot_askable_new(void);
void ot_askable_free(ot_askable *askable); /* NULL is fine */
/* False with the reason in why[OPTUNE_WHY_SIZE]. True: that is empty, or says what its question
 * cannot be asked for here, once. */
bool ot_askable_record(ot_askable *askable, const optune_record *record, char *why);

#endif
