/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of elementwise and broadcast ops share: the call as loops over the
 * output with a stride for each operand, and the macros of the expression. Rows only.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_H
#define OPTUNE_KERNELS_BROADCAST_H

#include "kernels/host/pattern.h"

/* Tensors 0.. are the inputs, the last one is the output. Rank is at least 1. */
pattern_loops broadcast_loops(const optune_call *call);

bool broadcast_applies(const optune_task *task, char *why);

/* The expression and the types of its operands. */
void broadcast_define(optune_plan *plan, int m, const optune_call *call);

#endif
