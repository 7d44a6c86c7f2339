/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records of a question can decide it, told by their entries alone. What was tried once, a
 * config of its own, can be neither overtaken nor refuted by another record; of two such with the
 * same basis (implementation, digest, what it depends on) the cheaper trial is usable whenever the
 * dearer one is, so the dearer one says nothing. Of a config that was tried again under the same
 * basis, each time well, the newest is such a one; of all that were overtaken so, the cheapest may
 * be told of, with what overtook it: neither decides by that. Of failures the newest stands for
 * all. Whatever else was tried more than once (finals beside trials, failures, equal times) is
 * read.
 */
#include <stdlib.h>
#include <string.h>

#include "db/deciding.h"

typedef struct slot {
    uint64_t key;
    int64_t n;  /* how many; or an entry and 1 */
    int newest; /* of a config: the entry */
    bool mixed; /* of a config: not all are good ones of one basis, or two are the newest */
} slot;

enum { FEW = 16 }; /* entries, for which a table on the stack is enough */

typedef struct slots {
    slot *at;
    size_t size; /* a power of two */
    slot few[2 * FEW];
} slots;

static void make(slots *s, int n)
{
    s->size = 2 * FEW;
    while (s->size < 2 * (size_t)n)
        s->size *= 2;
    if (n <= FEW)
        memset(s->few, 0, sizeof s->few);
    s->at = n <= FEW ? s->few : ot_alloc(s->size * sizeof *s->at);
}

static void release(slots *s)
{
    if (s->at != s->few)
        free(s->at);
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

static void count(slot *config, const ot_brief *brief, int i)
{
    const ot_brief *b = &brief[i], *newest = &brief[config->newest];
    if (config->n++ == 0) {
        config->newest = i;
        return;
    }
    config->mixed |= !b->good || !newest->good || basis_of(b) != basis_of(newest);
    if (b->time > newest->time) {
        config->newest = i;
    } else if (!(b->time < newest->time)) {
        config->mixed = true; /* two of one time, which a newer one may overtake together */
    }
}

/* The cheapest that was overtaken, of each basis, and what overtook it. */
static void keep_overtaken(ot_brief *brief, int n, const slots *tried)
{
    slots over;
    make(&over, n);
    for (int i = 0; i < n; i++) {
        const slot *config = brief[i].told ? find(tried, brief[i].tried) : NULL;
        if (!config || config->n == 1 || config->mixed || config->newest == i)
            continue;
        slot *first = find(&over, basis_of(&brief[i]));
        if (first->n++ == 0)
            brief[i].tells = brief[config->newest].tells = true;
    }
    release(&over);
}

void ot_deciding(ot_brief *brief, int n)
{
    slots tried, best;
    bool again = false;
    if (!n)
        return;
    make(&tried, n);
    make(&best, n);
    for (int i = 0; i < n; i++) {
        brief[i].alike = 0;
        brief[i].keep = brief[i].tells = false;
        if (!brief[i].told)
            continue;
        slot *config = find(&tried, brief[i].tried);
        count(config, brief, i);
        again = again || config->n > 1;
    }
    if (again)
        keep_overtaken(brief, n, &tried);
    for (int i = 0; i < n; i++) {
        ot_brief *b = &brief[i];
        const slot *config = b->told ? find(&tried, b->tried) : NULL;
        if (!config || (config->n > 1 && config->mixed)) {
            b->keep = true;
            continue;
        }
        slot *first = find(&best, basis_of(b));
        if (!first->n) {
            /* Entries are in the order of cost, and an overtaken one is none of the best. */
            if (config->newest != i)
                continue;
            b->keep = true;
            first->n = i + 1;
            continue;
        }
        ot_brief *other = &brief[first->n - 1];
        const bool instead = !b->good && b->time > other->time; /* failures are in no order */
        if (instead) {
            b->keep = true;
            b->alike = other->alike + 1;
            other->keep = false;
            first->n = i + 1;
        } else if (!b->tells) {
            other->alike++;
        }
    }
    for (int i = 0; i < n; i++) {
        brief[i].spare = brief[i].tells && !brief[i].keep;
        brief[i].keep |= brief[i].tells;
    }
    release(&tried);
    release(&best);
}
