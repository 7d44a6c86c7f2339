/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reading of a store leaves for the next one: the snapshot, where a thread holds it, and
 * what was seen of what records share, which most of a record is, and each part of it is a search.
 * A number may come to mean another text when its records are gone: a record's checksum covers
 * what it shares, and where that does not fit, all is looked up anew.
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
    parts->expected.used = false;
    parts->carried = true;
    if (parts->kept + parts->scratch.capacity <= MOST_KEPT &&
        atomic_compare_exchange_strong(&store->parts, &idle, parts))
        return;
    ot_parts_release(parts);
    free(parts);
}

/* Who reads without a place may go on to a later snapshot: nothing is held. */
void ot_store_hold(ot_store *store)
{
    ot_snapshot reader;
    if (ot_snapshot_begin(store, &reader, NULL) >= 0 &&
        (reader.lent || reader.view || !ot_hold_put(&reader)))
        ot_snapshot_end(&reader);
}

void ot_store_let_go(ot_store *store)
{
    ot_snapshot reader;
    if (ot_hold_take(store, &reader))
        ot_snapshot_end(&reader);
}
