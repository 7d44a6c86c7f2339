/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More than fits into memory, in the order of its keys: what is full is sorted and written behind
 * what was before, into a file without a name in the folder, and all are merged when they are
 * taken. Nothing outside db/ includes this.
 */
#ifndef OPTUNE_DB_SORTER_H
#define OPTUNE_DB_SORTER_H

#include "db/kv.h"

typedef struct ot_sorter ot_sorter;
/* Keys of `key` bytes, at least 8; `memory`: bytes that it holds before it writes. The folder is
 * to stay as long as the sorter. */
ot_sorter *ot_sorter_new(const char *folder, size_t key, size_t memory);
void ot_sorter_free(ot_sorter *sorter); /* NULL is fine */
/* Removes what sorters of this user left in the folder when they were killed. */
void ot_sorter_sweep(const char *folder);
/* Not once it was rewound. A value is `head` and then `tail`. ESTORE: it cannot be written. */
int ot_sorter_add(ot_sorter *sorter, const void *key, ot_bytes head, ot_bytes tail,
                  optune_err *err);
int64_t ot_sorter_count(const ot_sorter *sorter);
/* To the first one, also again. */
int ot_sorter_rewind(ot_sorter *sorter, optune_err *err);
/* The next one, of equal ones the one that was added first; 1: there is none. The bytes are valid
 * until the next call. */
int ot_sorter_next(ot_sorter *sorter, ot_bytes *key, ot_bytes *value, optune_err *err);

#endif
