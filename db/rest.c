/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was looked at of a data file stays mapped, and counts as the process's memory although it is
 * the page cache's. Whoever has all answers gives it back; what is read again is there again.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "db/env.h"
#include "db/format.h"

/* LMDB does not say where its map begins. A page begins with its number, and the first is known by
 * what it begins with. */
static char *find_map(const env *e, const void *in_a_leaf, size_t *bytes)
{
    MDB_envinfo info;
    MDB_stat stat;
    ot_meta meta;
    if (mdb_env_info(e->mdb, &info) || mdb_env_stat(e->mdb, &stat) ||
        stat.ms_psize > (size_t)sysconf(_SC_PAGESIZE)) /* the map may begin within one */
        return NULL;
    char *page = (char *)((uintptr_t)in_a_leaf & ~((uintptr_t)stat.ms_psize - 1));
    size_t number;
    memcpy(&number, page, sizeof number);
    if (number > info.me_last_pgno)
        return NULL;
    char *first = page - number * stat.ms_psize;
    /* Another process may have written behind the end of this one's map. */
    *bytes = (info.me_last_pgno + 1) * stat.ms_psize;
    if (*bytes > info.me_mapsize)
        *bytes = info.me_mapsize;
    return ot_meta_read(first, 0, &meta) || meta.page_size != stat.ms_psize ? NULL : first;
}

void ot_store_rest(ot_store *store)
{
    ot_snapshot reader;
    ot_bytes key = {0}, value;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return;
    size_t bytes = 0;
    const uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    char *first = NULL;
    if (!reader.view && ot_snapshot_seek(&reader, OT_TABLE_META, &key, &value, NULL) == 0)
        first = find_map(store->env, key.data, &bytes);
    if (first && !((uintptr_t)first & unit))
        madvise(first, bytes, MADV_DONTNEED); /* of a file: no byte is lost */
    ot_snapshot_end(&reader);
}
