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

void ot_store_hold(ot_store *store)
{
    hold *h = hold_of(NULL);
    ot_snapshot reader;
    if (!h || hold_of(store) || ot_snapshot_begin(store, &reader, NULL) < 0)
        return;
    if (reader.view) { /* such a reader may go on to a later snapshot */
        ot_snapshot_end(&reader);
        return;
    }
    *h = (hold){.snapshot = reader};
}

void ot_store_let_go(ot_store *store)
{
    hold *h = hold_of(store);
    if (!h)
        return;
    ot_snapshot reader = h->snapshot;
    *h = (hold){0};
    ot_snapshot_end(&reader);
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
