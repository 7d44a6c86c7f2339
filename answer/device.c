/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handle's device: probed, or, where a key was given, as the store has it. Who only asks
 * gets an answer for a device that is not here, too: for a stored one of the architecture that
 * the target names, or for what is true of each of that architecture.
 */
#include <pthread.h>
#include <string.h>

#include "answer/answer.h"

void ot_context_settle(optune *o)
{
    if (!o->target.threads)
        o->target.threads = o->device.threads ? o->device.threads : o->device.cores;
    o->device.threads = o->target.threads;
    atomic_fetch_add(&o->described, 1);
}

int ot_context_device(optune *o, optune_err *err)
{
    int status = OPTUNE_OK;
    if (o->have_device)
        return status; /* set behind all that it is */
    pthread_mutex_lock(o->lock);
    if (!o->have_device && *o->device_key) {
        status = ot_context_open(o, OT_STORE_READ, err);
        if (status == OPTUNE_ENOENT)
            status =
                optune_fail(err, OPTUNE_ENODEV, "no device '%s': the database '%s' is empty",
                            o->device_key, o->db);
        else if (status >= 0)
            status = ot_context_stored(o, o->device_key, &o->device, err);
        if (status == OPTUNE_ENOENT)
            status = OPTUNE_ENODEV;
        if (err && status < 0)
            err->status = status;
        if (status >= 0)
            ot_context_settle(o);
    } else if (!o->have_device) {
        status = ot_target_probe(&o->target, &o->device, err);
        atomic_fetch_add(&o->described, 1);
    }
    if (status >= 0)
        o->have_device = true;
    pthread_mutex_unlock(o->lock);
    return status;
}

/* Of several, the first that a database of the list has, in the order of keys. */
static bool stored_like(optune *o, optune_device *device)
{
    ot_arena arena = {0};
    ot_store *store;
    bool found = false;
    for (int i = 0; !found && (store = ot_context_nth(o, i)); i++) {
        optune_device *all;
        int n = 0;
        if (ot_store_devices(store, &arena, &all, &n, NULL) < 0)
            continue;
        for (int k = 0; k < n && !found; k++) {
            found = !strcmp(all[k].kind, o->row->name) && !strcmp(all[k].arch, o->target.arch);
            if (found)
                *device = all[k];
        }
    }
    ot_arena_release(&arena);
    return found;
}

int ot_context_asked(optune *o, optune_err *err)
{
    if (o->assumed || o->have_device)
        return OPTUNE_OK;
    optune_err why = {0};
    int status = ot_context_device(o, &why);
    if (status != OPTUNE_ENODEV || *o->device_key || !o->row->assume || !o->target.arch[0])
        return status < 0 ? optune_fail(err, status, "%s", why.text) : status;
    pthread_mutex_lock(o->lock);
    if (!o->assumed) {
        ot_context_open(o, OT_STORE_READ, NULL);
        status = OPTUNE_OK;
        if (!stored_like(o, &o->device))
            status = o->row->assume(&o->target, &o->device, err);
        if (status >= 0) {
            ot_copy(o->device.kind, sizeof o->device.kind, o->row->name);
            ot_context_settle(o);
            o->assumed = true;
            ot_context_log(o, OPTUNE_LOG_INFO, "%s; answers are for '%s'", why.text,
                           o->device.key);
        }
    } else {
        status = OPTUNE_OK;
    }
    pthread_mutex_unlock(o->lock);
    return status;
}
