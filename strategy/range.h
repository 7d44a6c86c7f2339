/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of integers: what a condition over dims of known ranges is judged by. INT64_MIN and
 * INT64_MAX stand for the infinities and absorb what is added to them.
 */
#ifndef OPTUNE_STRATEGY_RANGE_H
#define OPTUNE_STRATEGY_RANGE_H

#include "strategy/inside.h"

typedef struct ot_range {
    int64_t lo, hi; /* both inside; lo <= hi */
} ot_range;

extern const ot_range ot_anything;

ot_range ot_range_negative(ot_range a);
ot_range ot_range_plus(ot_range a, ot_range b);
ot_range ot_range_product(ot_range a, ot_range b);
/* Rounded towards minus infinity; anything where b may be 0, or the remainder's b below 1. */
ot_range ot_range_quotient(ot_range a, ot_range b);
ot_range ot_range_remainder(ot_range a, ot_range b);

/* OT_TRUE, OT_FALSE, or OT_UNKNOWN where it depends on which members are meant. */
int ot_range_less(ot_range a, ot_range b);
int ot_range_equal(ot_range a, ot_range b);

#endif
