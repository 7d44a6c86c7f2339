/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was looked at of a data file stays mapped, and counts as the process's memory although it is
 * the page cache's. Whoever has all answers gives it back; what is read again is there again.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "db/env.h"

void ot_store_rest(ot_store *store)
{
    ot_snapshot reader;
    MDB_envinfo info;
    const env *e = store->env;
    if (ot_snapshot_begin(store, &reader, NULL) < 0)
        return;
    const uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    if (reader.walks && mdb_env_info(e->mdb, &info) == 0 && !((uintptr_t)e->map & unit)) {
        /* Another process may have written behind the end of this one's map. */
        const size_t used = (info.me_last_pgno + 1) * e->page_size;
        madvise((void *)(uintptr_t)e->map, used < info.me_mapsize ? used : info.me_mapsize,
                MADV_DONTNEED); /* of a file: no byte is lost */
    }
    ot_snapshot_end(&reader);
}
