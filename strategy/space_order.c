/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which AutoTVM meets the factors of a `verbose` split, which is that of a Python set:
 * list(set(divisors) | set(powers of two)). Integers hash to themselves and no seed is mixed in, so
 * the order follows from how CPython (3.7 and later) lays out its tables, and every index from it.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

enum { SMALLEST = 8, PROBES = 9, PERTURB_SHIFT = 5, LARGE = 50000 };

typedef struct set {
    int64_t *slot; /* 0: empty; factors are 1 or more */
    size_t mask, used;
} set;

/* Where the key is or belongs: runs of neighbours, then a jump that takes in all of its bits. */
static size_t place(const set *s, int64_t key)
{
    size_t perturb = (size_t)key, at = (size_t)key & s->mask;
    for (;;) {
        const size_t run = at + PROBES <= s->mask ? PROBES : 0;
        for (size_t i = at; i <= at + run; i++)
            if (!s->slot[i] || s->slot[i] == key)
                return i;
        perturb >>= PERTURB_SHIFT;
        at = (at * 5 + 1 + perturb) & s->mask;
    }
}

static void resize(set *s, size_t more_than)
{
    const set old = *s;
    size_t size = SMALLEST;
    while (size <= more_than)
        size *= 2;
    *s = (set){ot_alloc(size * sizeof *s->slot), size - 1, old.used};
    for (size_t i = 0; old.slot && i <= old.mask; i++)
        if (old.slot[i])
            s->slot[place(s, old.slot[i])] = old.slot[i];
    free(old.slot);
}

static void add(set *s, int64_t key)
{
    const size_t at = place(s, key);
    if (s->slot[at])
        return;
    s->slot[at] = key;
    if (++s->used * 5 >= s->mask * 3)
        resize(s, s->used > LARGE ? s->used * 2 : s->used * 4);
}

/* What `|` does with each of its sides: at most one growth, before anything is put in. */
static void merge(set *s, const set *other)
{
    if ((s->used + other->used) * 5 >= s->mask * 3)
        resize(s, (s->used + other->used) * 2);
    if (s->used == 0 && s->mask == other->mask) {
        memcpy(s->slot, other->slot, (s->mask + 1) * sizeof *s->slot);
        s->used = other->used;
        return;
    }
    for (size_t i = 0; i <= other->mask; i++)
        if (other->slot[i])
            add(s, other->slot[i]);
}

int ot_factors_as_set(int64_t *factor, int n, int n_divisors)
{
    set part[2] = {0}, all = {0};
    resize(&all, 0);
    for (int k = 0; k < 2; k++) {
        resize(&part[k], 0);
        for (int i = k ? n_divisors : 0; i < (k ? n : n_divisors); i++)
            add(&part[k], factor[i]);
        merge(&all, &part[k]);
        free(part[k].slot);
    }
    n = 0;
    for (size_t i = 0; i <= all.mask; i++)
        if (all.slot[i])
            factor[n++] = all.slot[i];
    free(all.slot);
    return n;
}
