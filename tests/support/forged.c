/* SPDX-License-Identifier: Apache-2.0 */
/* The run is of every implementation of one small product. */
#include "support/forged.h"

#include "support/check.h"

tuning_records forged_run;

int forged_setup(void **state)
{
    tuning_setup(state);
    optune *o = tuning_open("tuned");
    json_decref(tuning_run_one(o, "dense", FORGED_WORKLOAD, NULL, 10));
    optune_close(o);
    tuning_read("tuned", &forged_run);
    return 0;
}

int forged_teardown(void **state)
{
    ot_arena_release(&forged_run.arena);
    return tuning_teardown(state);
}

void forged_put(const char *db, const optune_record *record, int n, const optune_device *device)
{
    ot_store *store = NULL;
    optune_err err = {0};
    check_ok(ot_make_dirs(tuning_path(db), &err));
    check_ok(ot_store_open(tuning_path(db), OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, n, NULL, &err));
    if (device)
        check_ok(ot_store_put_device(store, device, &err));
    ot_store_close(store);
}

void forged_db(const char *db, void (*forge)(optune_record *), const optune_device *device)
{
    optune_record *r = ot_alloc((size_t)forged_run.n * sizeof *r);
    for (int i = 0; i < forged_run.n; i++) {
        r[i] = forged_run.record[i];
        forge(&r[i]);
    }
    forged_put(db, r, forged_run.n, device);
    free(r);
}
