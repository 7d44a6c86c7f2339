/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for values that are alive at different times. */
#ifndef OPTUNE_ANSWER_LIFETIMES_H
#define OPTUNE_ANSWER_LIFETIMES_H

#include <stdint.h>

typedef struct ot_lifetime {
    int64_t bytes;
    int first, last; /* the steps in which it is alive, both included */
    int64_t offset;  /* where it is put, a multiple of 64 */
} ot_lifetime;
/* Puts each where nothing else is that is alive in one of its steps; what is largest is put first,
 * each into the smallest gap that holds it. Returns the bytes of the whole. */
int64_t ot_lifetimes_place(ot_lifetime *item, int n);

#endif
