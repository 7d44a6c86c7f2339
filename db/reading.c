/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What logs say on its way into a store. A transaction costs milliseconds however little it
 * changes, so what many small logs say is stored together: records in batches, and what devices are
 * and which records were forgotten a good many at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "db/bulk.h"
#include "db/kv.h"

enum { MOST_DEVICES = 64, MOST_FORGOTTEN = 1 << 16 }; /* that wait until they are stored */
enum { DROPPED_AT_ONCE = 1024 };

struct ot_reading {
    ot_store *store;
    ot_bulk *bulk; /* into it, not the store; NULL: there is none so far */
    bool given;    /* `bulk` is another's, and knows of nothing in the store */
    bool own;      /* the log that is read now is */
    ot_intake *in;
    optune_device seen; /* the last one that a line told of; key empty: none */
    optune_device *device;
    int n_devices, devices_capacity;
    ot_digest *forgotten;
    int n_forgotten, forgotten_capacity;
    int64_t added, refused;
    optune_err failed; /* to store anything; status 0: nothing did */
    optune_err *err;   /* of who reads now */
};

static int fail_of(ot_reading *r, int status, const optune_err *why)
{
    if (status < 0 && r->failed.status >= 0)
        r->failed = *why;
    return status;
}

static int write_into(ot_reading *r, ot_batch *batch, optune_err *err)
{
    int added = 0;
    if (r->given)
        return ot_batch_count(batch) ? ot_bulk_take(r->bulk, batch, err) : OPTUNE_OK;
    if (!ot_batch_settle(batch, r->store))
        return OPTUNE_OK;
    if (!r->bulk && ot_batch_full(batch))
        OT_RETURN_UNLESS_OK(
            ot_bulk_open(ot_store_dir(r->store), ot_store_stopped_by(r->store), &r->bulk, err));
    if (r->bulk)
        return ot_bulk_take(r->bulk, batch, err);
    const int status = ot_batch_put(batch, r->store, &added, err);
    r->added += added;
    return status;
}

/* By the intake's thread, or while that waits. */
static int write_batch(void *arg, ot_batch *batch, optune_err *err)
{
    optune_err why = {0};
    const int status = fail_of(arg, write_into(arg, batch, &why), &why);
    return status < 0 ? optune_fail(err, status, "%s", why.text) : status;
}

ot_reading *ot_reading_open(ot_store *store, ot_bulk *given)
{
    ot_reading *r = ot_alloc(sizeof *r);
    *r = (ot_reading){.store = store, .bulk = given, .given = given};
    r->in = ot_intake_open(false, write_batch, r);
    return r;
}

void ot_reading_close(ot_reading *r)
{
    if (!r)
        return;
    ot_intake_close(r->in);
    if (!r->given)
        ot_bulk_close(r->bulk);
    free(r->device);
    free(r->forgotten);
    free(r);
}

/* ---- what is no record ------------------------------------------------------------------- */

static int put_devices(ot_reading *r, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_intake_wait(r->in, err));
    if (r->n_devices == 0)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_store_put_devices(r->store, r->device, r->n_devices, err));
    r->n_devices = 0;
    return OPTUNE_OK;
}

static int drop_forgotten(ot_reading *r, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_intake_wait(r->in, err));
    while (r->n_forgotten > 0) { /* others may write in between */
        const int n = r->n_forgotten < DROPPED_AT_ONCE ? r->n_forgotten : DROPPED_AT_ONCE;
        OT_RETURN_UNLESS_OK(
            ot_store_drop(r->store, r->forgotten + r->n_forgotten - n, n, true, err));
        r->n_forgotten -= n;
    }
    return OPTUNE_OK;
}

/* Records that wait, or come later, are not stored once this is known of them. */
static int take_forgotten(ot_reading *r, const ot_digest *digest)
{
    r->forgotten =
        ot_room(r->forgotten, r->n_forgotten, &r->forgotten_capacity, sizeof *r->forgotten);
    r->forgotten[r->n_forgotten++] = *digest;
    return r->n_forgotten < MOST_FORGOTTEN ? OPTUNE_OK : drop_forgotten(r, r->err);
}

static optune_device *waiting(const ot_reading *r, const char *key)
{
    for (int i = 0; i < r->n_devices; i++)
        if (!strcmp(r->device[i].key, key))
            return &r->device[i];
    return NULL;
}

static int take_device(ot_reading *r, const optune_device *device)
{
    optune_device known;
    if (*r->seen.key && ot_device_order(&r->seen, device) == 0)
        return OPTUNE_OK;
    r->seen = *device;
    optune_device *there = waiting(r, device->key);
    if (there) {
        if (ot_device_order(there, device) < 0)
            *there = *device;
        return OPTUNE_OK;
    }
    OT_RETURN_UNLESS_OK(ot_intake_wait(r->in, r->err));
    if (ot_store_device(r->store, device->key, &known, NULL) >= 0 &&
        ot_device_order(&known, device) >= 0)
        return OPTUNE_OK;
    r->device = ot_room(r->device, r->n_devices, &r->devices_capacity, sizeof *r->device);
    r->device[r->n_devices++] = *device;
    return r->n_devices < MOST_DEVICES ? OPTUNE_OK : put_devices(r, r->err);
}

/* ---- logs -------------------------------------------------------------------------------- */

static int on_line(void *arg, const ot_log_line *line)
{
    ot_reading *r = arg;
    if (line->forgotten)
        return r->own ? take_forgotten(r, line->forgotten) : OPTUNE_OK;
    if (line->device)
        return take_device(r, line->device);
    if (line->problem || !line->ours) {
        r->refused++;
        return OPTUNE_OK;
    }
    ot_batch *batch = ot_intake_batch(r->in);
    const int status = ot_batch_add(batch, &line->record, line, r->err);
    return status >= 0 && ot_batch_full(batch) ? ot_intake_full(r->in, r->err) : status;
}

int ot_reading_take(ot_reading *r, const char *path, bool own, optune_err *err)
{
    const ot_log_source source = {.path = path, .stop = ot_store_stopped_by(r->store)};
    r->own = own;
    r->err = err;
    return ot_log_read_from(&source, on_line, r, err);
}

int ot_reading_failed(ot_reading *r, optune_err *err)
{
    ot_intake_wait(r->in, NULL);
    return r->failed.status < 0 ? optune_fail(err, r->failed.status, "%s", r->failed.text)
                                : OPTUNE_OK;
}

static int store_all(ot_reading *r, optune_err *err)
{
    bool replaced;
    int64_t added = 0;
    OT_RETURN_UNLESS_OK(ot_intake_flush(r->in, err));
    OT_RETURN_UNLESS_OK(put_devices(r, err));
    OT_RETURN_UNLESS_OK(drop_forgotten(r, err));
    if (r->given || !r->bulk)
        return OPTUNE_OK;
    const int status = ot_bulk_store(r->bulk, &added, &replaced, err);
    ot_bulk_close(r->bulk);
    r->bulk = NULL;
    r->added += added;
    return status;
}

int ot_reading_store(ot_reading *r, optune_err *err)
{
    optune_err why = {0};
    OT_RETURN_UNLESS_OK(ot_reading_failed(r, err));
    const int status = fail_of(r, store_all(r, &why), &why);
    return status < 0 ? optune_fail(err, status, "%s", why.text) : status;
}

int64_t ot_reading_added(const ot_reading *r)
{
    return r->added;
}

int64_t ot_reading_refused(const ot_reading *r)
{
    return r->refused;
}

/* What was read of one that ends in a fault is stored, too. */
int ot_store_read_log(ot_store *store, const char *path, bool own, int64_t *added,
                      int64_t *refused, optune_err *err)
{
    ot_reading *r = ot_reading_open(store, NULL);
    const int status = ot_reading_take(r, path, own, err);
    const int stored = ot_reading_store(r, status < 0 ? NULL : err);
    *added += ot_reading_added(r);
    if (refused)
        *refused += ot_reading_refused(r);
    ot_reading_close(r);
    return status < 0 ? status : stored;
}
