/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets in one arena, greedily by size: in networks the largest values decide how large the
 * arena must be, and smaller ones fit between and beside them.
 */
#include "answer/program/lifetimes.h"

#include <stdlib.h>

#include "base/base.h"

enum { ALIGNMENT = 64 };

static int64_t room(const ot_lifetime *item)
{
    return (item->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int larger_first(const void *a, const void *b)
{
    const ot_lifetime *x = *(ot_lifetime *const *)a, *y = *(ot_lifetime *const *)b;
    if (room(x) != room(y))
        return room(x) < room(y) ? 1 : -1;
    return (x > y) - (x < y); /* as they were given */
}

/* The place in front of which the smallest gap is that holds it, or the end; `placed` is ordered by
 * offset. */
static int64_t find_gap(ot_lifetime *const *placed, int n, const ot_lifetime *item)
{
    int64_t end = 0, best = -1, smallest = INT64_MAX;
    for (int i = 0; i < n; i++) {
        const ot_lifetime *other = placed[i];
        if (other->first > item->last || other->last < item->first || !room(other))
            continue;
        const int64_t gap = other->offset - end;
        if (gap >= room(item) && gap < smallest) {
            smallest = gap;
            best = end;
        }
        if (other->offset + room(other) > end)
            end = other->offset + room(other);
    }
    return best < 0 ? end : best;
}

int64_t ot_lifetimes_place(ot_lifetime *item, int n)
{
    ot_lifetime **order = ot_alloc((size_t)(n + 1) * sizeof(ot_lifetime *));
    ot_lifetime **placed = ot_alloc((size_t)(n + 1) * sizeof(ot_lifetime *));
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        order[i] = &item[i];
    qsort(order, (size_t)n, sizeof *order, larger_first);
    for (int i = 0; i < n; i++) {
        ot_lifetime *at = order[i];
        at->offset = find_gap(placed, i, at);
        if (at->offset + room(at) > bytes)
            bytes = at->offset + room(at);
        int k = i;
        for (; k > 0 && placed[k - 1]->offset > at->offset; k--)
            placed[k] = placed[k - 1];
        placed[k] = at;
    }
    free(order);
    free(placed);
    return bytes;
}
