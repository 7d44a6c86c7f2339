/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add and quantized_multiply as numbers, for their rows. Host code only. */
#ifndef OPTUNE_KERNELS_QUANTIZED_PAIR_H
#define OPTUNE_KERNELS_QUANTIZED_PAIR_H

#include "kernels/quantized/quantized.h"

typedef struct qpair {
    bool times, merged;
    int zero[2]; /* of the sides */
    float scale
        [3]; /* of the sides and the output; merged: factors of the sides, or of a product */
    float shift;       /* merged: what is added */
    quantized_end end; /* its zero is 0 where `shift` has it */
} qpair;

qpair qpair_of(const optune_call *call);

/* A product with it rounds as the quotient by the output's scale does, for all pairs of integers of
 * the sides' dtypes; 0: none was found, or there is no quotient. */
float qpair_factor(const optune_call *call);

/* To the last bit. */
void qpair_define_float(optune_plan *plan, int module, const char *macro, float value);

/* IS_PRODUCT MERGED A_SCALE B_SCALE SCALE INVERSE (1 / SCALE) SHIFT, to the last bit, A_ZERO
 * B_ZERO, and those of quantized_define. */
void qpair_define(optune_plan *plan, int module, const optune_call *call);

#endif
