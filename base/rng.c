/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only randomness in the house: SplitMix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). The state is one number, any seed is good,
 * and the sequence is the same on every machine, which makes searches and inputs repeatable.
 */
#include <assert.h>

#include "base/base.h"

uint64_t optune_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t optune_random_below(uint64_t *state, int64_t n)
{
    assert(n > 0);
    /* 2^64 mod n values are refused, so that every remainder is equally likely. */
    uint64_t range = (uint64_t)n;
    uint64_t refused = (0 - range) % range;
    uint64_t value;
    do
        value = optune_random(state);
    while (value < refused);
    return (int64_t)(value % range);
}

double optune_random_unit(uint64_t *state)
{
    return (double)(optune_random(state) >> 11) * 0x1p-53;
}
