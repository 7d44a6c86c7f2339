/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of elementwise and broadcast ops share: the call as loops over the
 * output with a stride for each operand, and the macros of the expression. Rows only.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_H
#define OPTUNE_KERNELS_BROADCAST_H

#include "kernels/host/lead.h"
#include "kernels/host/pattern.h"

/* Tensors 0.. are the inputs, the last one is the output. Rank is at least 1. */
pattern_loops broadcast_loops(const optune_call *call);

/* The same where leading dims are known at run time: these are one loop in front of the others,
 * or all is one loop where every operand is whole or one element. Extents are the most they can
 * be. */
typedef struct broadcast_lead {
    pattern_loops loops;
    int dims;       /* how many there are; 0: all is constant */
    int input;      /* an operand that has all of them */
    int64_t inside; /* of the output, behind them */
    bool flat;      /* one loop */
} broadcast_lead;

/* False, with why, where operands do not have them all alike. */
bool broadcast_lead_of(const optune_call *call, broadcast_lead *lead, char *why);

bool broadcast_operands_fit(const optune_call *call, char *why);

bool broadcast_applies(const optune_task *task, char *why);

/* The expression and the types of its operands. */
void broadcast_define(optune_plan *plan, int m, const optune_call *call);

#endif
