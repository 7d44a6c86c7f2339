/* SPDX-License-Identifier: Apache-2.0 */
/* Many records on their way into a store at once, see bulk.c. */
#ifndef OPTUNE_DB_BULK_H
#define OPTUNE_DB_BULK_H

#include "db/kv.h"

typedef struct ot_bulk ot_bulk;
/* For the store of DIR, as ot_store_open to write; `stop` as for ot_store_stop. */
int ot_bulk_open(const char *dir, const atomic_bool *stop, ot_bulk **bulk, optune_err *err);
void ot_bulk_close(ot_bulk *bulk); /* what was not stored is not; NULL is fine */
/* What of the batch is not known. When it fails, ot_bulk_gone says what became of what was taken
 * before. */
int ot_bulk_take(ot_bulk *bulk, ot_batch *batch, optune_err *err);
/* Stores all of it, once. *replaced: there is another store in place of what was open.
 * EINTERRUPTED also where `stop` becomes true while it does; each part of it is stored or not. */
int ot_bulk_store(ot_bulk *bulk, int64_t *added, bool *replaced, optune_err *err);
/* The store is another one by now, or of a batch only a part was taken: nothing can be stored, and
 * all has to be read again from where it came. */
bool ot_bulk_gone(const ot_bulk *bulk);
/* `old`, of the store, and what was taken, as a new one in the empty folder `path`, synced. */
int ot_bulk_merge(ot_bulk *bulk, ot_snapshot *old, const char *path, ot_store_stats *stats,
                  optune_err *err);

#endif
