/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. Bits lie in parts, which are made when a page of them is first met. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"
#include "db/format.h"

enum {
    WORD = 64,
    WORDS = 1024, /* of a part: 256 MiB of a file whose pages have 4 KiB */
    PARTS = 256,  /* pages behind these are looked at each time */
};

struct ot_vetted {
    _Atomic(_Atomic uint64_t *) part[PARTS];
};

ot_vetted *ot_vetted_new(void)
{
    return ot_alloc(sizeof(ot_vetted));
}

void ot_vetted_free(ot_vetted *v)
{
    for (int i = 0; v && i < PARTS; i++)
        free(atomic_load(&v->part[i]));
    free(v);
}

static _Atomic uint64_t *make(ot_vetted *v, uint64_t part)
{
    _Atomic uint64_t *fresh = ot_alloc(WORDS * sizeof *fresh), *there = NULL;
    if (atomic_compare_exchange_strong(&v->part[part], &there, fresh))
        return fresh;
    free(fresh); /* another thread was faster */
    return there;
}

/* NULL: there is none for it. */
static _Atomic uint64_t *word_of(ot_vetted *v, uint64_t number)
{
    const uint64_t word = number / WORD, part = word / WORDS;
    if (part >= PARTS)
        return NULL;
    _Atomic uint64_t *words = atomic_load_explicit(&v->part[part], memory_order_acquire);
    return (words ? words : make(v, part)) + word % WORDS;
}

void ot_vetted_note(ot_vetted *v, uint64_t number)
{
    _Atomic uint64_t *word = word_of(v, number);
    if (word)
        atomic_fetch_or_explicit(word, (uint64_t)1 << number % WORD, memory_order_relaxed);
}

const char *ot_vet(ot_vetted *v, const char *page, uint64_t number, size_t size, bool branch)
{
    const _Atomic uint64_t *word = word_of(v, number);
    const char *why = ot_page_check(page, number, size, branch);
    if (why || (word && atomic_load_explicit(word, memory_order_relaxed) >> number % WORD & 1))
        return why;
    why = ot_page_whole(page, size, true);
    if (!why)
        ot_vetted_note(v, number);
    return why;
}
