/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking into a data file without LMDB: for who may only read. LMDB wants a place in the lock
 * file of every reader; without one a writer may use the pages of an old snapshot again. Here
 * pages are copied, looked at before they are believed, and what two later commits may have
 * overwritten is read again: no lock, no map, so nothing that happens to the file is a signal.
 */
#ifndef OPTUNE_DB_PEEK_H
#define OPTUNE_DB_PEEK_H

#include "db/kv.h"

typedef struct ot_peek ot_peek; /* an open data file; for any number of threads and processes */
typedef struct ot_peek_view ot_peek_view; /* a snapshot of it, of one reader */

int ot_peek_open(const char *data, ot_peek **peek, optune_err *err);
void ot_peek_close(ot_peek *peek);
int64_t ot_peek_size(const ot_peek *peek);
int64_t ot_peek_last(const ot_peek *peek);  /* the last commit; -1: the file is no database */
int64_t ot_peek_bytes(const ot_peek *peek); /* of the file that are in use; -1: likewise */

/* A table's name is its name in the file. EDAMAGED with the reason. */
int ot_peek_begin(ot_peek *peek, struct ot_vetted *vetted, const char *const names[OT_TABLES],
                  ot_peek_view **view, optune_err *err);
void ot_peek_end(ot_peek_view *view);
int64_t ot_peek_snapshot(const ot_peek_view *view);
/* The first entry at or, with `behind`, behind `from`; 1: there is none. *key and *value are valid
 * until the next look into the same table. */
int ot_peek_seek(ot_peek_view *view, ot_kv_table table, ot_bytes from, bool behind,
                 ot_bytes *key, ot_bytes *value, optune_err *err);

#endif
