/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records of a question can decide it, told by their entries alone. What was tried once, a
 * config of its own, can be neither overtaken nor refuted by another record; of two such with the
 * same basis (implementation, digest, what it depends on) the cheaper trial is usable whenever the
 * dearer one is, so the dearer one says nothing. Of failures the newest stands for all. Whatever
 * was tried more than once is read.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"

typedef struct slot {
    uint64_t key;
    int64_t n; /* how many; or an entry and 1 */
} slot;

typedef struct slots {
    slot *at;
    size_t size; /* a power of two */
} slots;

static slots make(int n)
{
    slots s = {.size = 16};
    while (s.size < 2 * (size_t)n)
        s.size *= 2;
    s.at = ot_alloc(s.size * sizeof *s.at);
    return s;
}

static slot *find(const slots *s, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (s->size - 1);
    while (s->at[at].n && s->at[at].key != key)
        at = (at + 1) & (s->size - 1);
    s->at[at].key = key;
    return &s->at[at];
}

static uint64_t basis_of(const ot_brief *b)
{
    return b->basis ^ (uint64_t)(b->good | b->final << 1) << 62;
}

void ot_deciding(ot_brief *brief, int n)
{
    slots tried = make(n), best = make(n);
    for (int i = 0; i < n; i++)
        if (brief[i].told)
            find(&tried, brief[i].tried)->n++;
    for (int i = 0; i < n; i++) {
        ot_brief *b = &brief[i];
        const bool once = b->told && find(&tried, b->tried)->n == 1;
        slot *first = once ? find(&best, basis_of(b)) : NULL;
        b->alike = 0;
        b->keep = true;
        if (!first)
            continue;
        if (first->n) {
            /* Entries are in the order of cost; those of failures in none. */
            ot_brief *other = &brief[first->n - 1];
            const bool instead = !b->good && b->time > other->time;
            (instead ? b : other)->alike = other->alike + 1;
            (instead ? other : b)->keep = false;
            if (!instead)
                continue;
        }
        first->n = i + 1;
    }
    free(tried.at);
    free(best.at);
}
