/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of spaces that were open, for those that are opened next. Each question has a space of its
 * own, but those of one implementation mostly differ in a few values: what is declared as it was
 * before is there already (space_knobs.c). Each knob is compared with what is declared, so nothing
 * hangs on whose space it was.
 */
#include <stdlib.h>

#include "strategy/inside.h"

enum { PLACE_BITS = 6 };

static _Atomic(optune_space *) places[1 << PLACE_BITS];

static _Atomic(optune_space *) *place_of(const optune_impl *impl)
{
    return &places[(uint64_t)(uintptr_t)impl * 0x9e3779b97f4a7c15u >> (64 - PLACE_BITS)];
}

/* Nothing is kept where there is no memory: it is not to be taken of the reserve. */
optune_space *ot_space_lend(const optune_impl *impl, optune_space *own)
{
    optune_space *space = atomic_exchange(place_of(impl), NULL);
    if (space)
        return space;
    space = ot_try_alloc(sizeof *space, "a config space", NULL);
    space = space ? space : own;
    ot_space_forget(space);
    return space;
}

void ot_space_take_back(const optune_impl *impl, optune_space *space, const optune_space *own)
{
    optune_space *none = NULL; /* another thread's may be there meanwhile */
    if (space != own && !atomic_compare_exchange_strong(place_of(impl), &none, space))
        free(space);
}
