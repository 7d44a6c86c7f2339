/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of quantized_add as macros, for its rows. Host code only. */
#ifndef OPTUNE_KERNELS_QUANTIZED_ADD_H
#define OPTUNE_KERNELS_QUANTIZED_ADD_H

#include "kernels/quantized/quantized.h"

/* A_SCALE B_SCALE SCALE, to the last bit, A_ZERO B_ZERO, and those of quantized_define. */
void qadd_define(optune_plan *plan, int module, const optune_call *call);

#endif
