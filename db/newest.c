/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a config was last measured. Of one that was tried again the newest record counts, by the
 * times that records say: whoever adds one asks here what it must not lie in front of.
 */
#include <math.h>
#include <stdlib.h>

#include "db/deciding.h"

double ot_store_newest(ot_store *store, const optune_record *record, bool any)
{
    const ot_question question = ot_record_question(record);
    const ot_digest asked = ot_question_digest(&question), none = {{0}};
    ot_index_entry entry;
    ot_briefs all = {0};
    ot_snapshot reader;
    double newest = -INFINITY;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return newest;
    ot_index_entry_of(record, &none, &entry);
    const ot_bytes key = {entry.key, OT_BEST_KEY}, value = {entry.value, OT_BEST_VALUE};
    if (ot_briefs_read(&reader, &asked, &all, NULL) >= 0) {
        ot_briefs_add(&all, &key, &value); /* the record's own, behind the others */
        const ot_brief *own = &all.at[all.n - 1];
        for (int i = 0; i < all.n - 1; i++)
            if (all.at[i].told && (any || all.at[i].tried == own->tried))
                newest = fmax(newest, all.at[i].time);
    }
    ot_snapshot_end(&reader);
    free(all.at);
    return newest;
}
