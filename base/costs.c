/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of targets whose costs are of another kind than seconds. Whoever knows targets tells their
 * names, whoever judges records asks; neither knows the other. Names are added, never taken away.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/record.h"

typedef struct kind {
    struct kind *next;
    size_t length;
    char name[OPTUNE_NAME_SIZE];
} kind;

static _Atomic(kind *) kinds;

bool ot_costs_are(const char *target)
{
    const size_t length = target ? strcspn(target, " ") : 0;
    for (const kind *k = atomic_load_explicit(&kinds, memory_order_acquire); k; k = k->next)
        if (k->length == length && memcmp(k->name, target, length) == 0)
            return true;
    return false;
}

void ot_costs_add(const char *name)
{
    if (ot_costs_are(name))
        return;
    kind *k = ot_alloc(sizeof *k); /* for ever, as rows are */
    ot_copy(k->name, sizeof k->name, name);
    k->length = strlen(k->name);
    k->next = atomic_load_explicit(&kinds, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&kinds, &k->next, k, memory_order_release,
                                                  memory_order_relaxed))
        ;
}
