/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concatenate row by row where dims are known at run time: each input is so many runs, one for each
 * place in front of the axis, whatever sizes there are. Host code only.
 */
#ifndef OPTUNE_KERNELS_MOVE_JOIN_ROWS_H
#define OPTUNE_KERNELS_MOVE_JOIN_ROWS_H

#include "kernels/host/generic.h"

/* How many pieces it has, one for each input; 0: it is another operator, or has more tensors and
 * sizes than a stage has arguments. */
int join_rows_pieces(const optune_call *call);

/* PIECEi, and what they are made of; S0 ... are the dims in the order of generic_symbols_of. */
void join_rows_define(const optune_call *call, optune_plan *plan, int module);

#endif
