/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of a store have seen of what its records share, from one snapshot to the next. Most
 * of a record is such, and each part of it is a search through the table. A number may come to mean
 * another text when its records are gone: a record's checksum covers what it shares, and where that
 * does not fit, all is looked up anew.
 */
#include "db/env.h"

ot_parts *ot_parts_borrow(ot_store *store, ot_snapshot *reader)
{
    ot_parts *parts = atomic_exchange(&store->parts, NULL);
    if (!parts)
        parts = ot_alloc(sizeof *parts);
    parts->reader = reader;
    return parts;
}

void ot_parts_give_back(ot_store *store, ot_parts *parts)
{
    enum { MOST_KEPT = 256 << 10 };
    ot_parts *idle = NULL;
    parts->reader = NULL;
    parts->carried = true;
    if (parts->kept + parts->scratch.capacity <= MOST_KEPT &&
        atomic_compare_exchange_strong(&store->parts, &idle, parts))
        return;
    ot_parts_release(parts);
    free(parts);
}
