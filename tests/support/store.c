/* SPDX-License-Identifier: Apache-2.0 */
/* Several transactions a fill, so that there are free pages too. */
#include "support/store.h"

#include "support/check.h"

#include "db/db.h"

char store_dir[4096], store_data[4200];

int store_fresh(void **state)
{
    (void)state;
    if (ot_temp_dir(store_dir, sizeof store_dir, NULL) < 0)
        return -1;
    snprintf(store_data, sizeof store_data, "%s/store/data.mdb", store_dir);
    return 0;
}

int store_gone(void **state)
{
    (void)state;
    ot_remove_tree(store_dir);
    return 0;
}

void store_fill(int n)
{
    optune_err err;
    ot_store *store;
    optune_record *record = ot_alloc((size_t)n * sizeof *record);
    for (int i = 0; i < n; i++)
        record[i] = some_record(i);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    for (int i = 0; i < n; i += 7)
        check_ok(ot_store_put(store, record + i, n - i < 7 ? n - i : 7, NULL, &err));
    ot_store_close(store);
    free(record);
}

int store_count(void *arg, const optune_record *record)
{
    (void)record;
    ++*(int *)arg;
    return 0;
}
