/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided_slice row by row where dims are known at run time: what its ends cut off at some sizes is
 * computed by the body, so any sizes do. Host code only.
 */
#ifndef OPTUNE_KERNELS_MOVE_SLICE_ROWS_H
#define OPTUNE_KERNELS_MOVE_SLICE_ROWS_H

#include "kernels/host/generic.h"

/* False: it is another operator, or has more loops than a body. */
bool slice_rows_apply(const optune_call *call);

/* PIECE0, and what it is made of; S0 ... are the dims in the order of generic_symbols_of. */
void slice_rows_define(const optune_call *call, optune_plan *plan, int module);

#endif
