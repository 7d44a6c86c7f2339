/* SPDX-License-Identifier: Apache-2.0 */
/* The handle's device: probed, or, where a key was given, as the store has it. */
#include <pthread.h>

#include "answer/answer.h"

void ot_context_settle(optune *o)
{
    if (!o->target.threads)
        o->target.threads = o->device.threads ? o->device.threads : o->device.cores;
    o->device.threads = o->target.threads;
}

int ot_context_device(optune *o, optune_err *err)
{
    int status = OPTUNE_OK;
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
    }
    if (status >= 0)
        o->have_device = true;
    pthread_mutex_unlock(o->lock);
    return status;
}
