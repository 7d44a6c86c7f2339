/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to numbers: a hash table with open addressing that only grows. Names are not copied and
 * outlive it. With it a graph finds a name, and one that is free, in the same time however many
 * nodes there are.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

static ot_named *slot_of(const ot_names *names, const char *name)
{
    size_t at = (size_t)ot_hash64(name, strlen(name)) & (names->capacity - 1);
    while (names->slot[at].name && strcmp(names->slot[at].name, name))
        at = (at + 1) & (names->capacity - 1);
    return &names->slot[at];
}

static void grow(ot_names *names)
{
    const ot_names was = *names;
    names->capacity = was.capacity ? 2 * was.capacity : 64;
    names->slot = ot_alloc(names->capacity * sizeof *names->slot);
    for (size_t i = 0; i < was.capacity; i++)
        if (was.slot[i].name)
            *slot_of(names, was.slot[i].name) = was.slot[i];
    free(was.slot);
}

int *ot_names_find(const ot_names *names, const char *name)
{
    ot_named *at = names->capacity ? slot_of(names, name) : NULL;
    return at && at->name ? &at->number : NULL;
}

int *ot_names_add(ot_names *names, const char *name, int number)
{
    if (2 * (names->n + 1) > names->capacity)
        grow(names);
    ot_named *at = slot_of(names, name);
    if (!at->name) {
        *at = (ot_named){name, number};
        names->n++;
    }
    return &at->number;
}

void ot_names_release(ot_names *names)
{
    free(names->slot);
    *names = (ot_names){0};
}
