/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot for several readings of a thread. To begin one asks the system how long the file is,
 * takes a place among LMDB's readers and reads the meta pages; an answer reads three to five times.
 * It is lent to one reader at a time, so that no two move one cursor.
 */
#include "db/kv.h"

typedef struct ot_hold {
    ot_snapshot snapshot;
    bool lent;
} hold;

enum { MOST = 4 }; /* stores at once; of further ones nothing is held */

static _Thread_local hold held[MOST];

static hold *hold_of(const ot_store *store)
{
    for (int i = 0; i < MOST; i++)
        if (held[i].snapshot.store == store)
            return &held[i];
    return NULL;
}

bool ot_hold_put(const ot_snapshot *snapshot)
{
    hold *h = hold_of(NULL);
    if (!h || hold_of(snapshot->store))
        return false;
    *h = (hold){.snapshot = *snapshot};
    return true;
}

bool ot_hold_take(const ot_store *store, ot_snapshot *snapshot)
{
    hold *h = hold_of(store);
    if (!h || h->lent)
        return false;
    *snapshot = h->snapshot;
    *h = (hold){0};
    return true;
}

bool ot_hold_lend(const ot_store *store, ot_snapshot *reader)
{
    hold *h = hold_of(store);
    if (!h || h->lent)
        return false;
    h->lent = true;
    *reader = h->snapshot;
    reader->lent = h;
    return true;
}

void ot_hold_take_back(const ot_snapshot *reader)
{
    hold *h = reader->lent;
    h->snapshot = *reader;
    h->snapshot.lent = NULL;
    h->lent = false;
}
