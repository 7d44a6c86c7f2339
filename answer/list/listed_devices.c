/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that are known: this machine's, which are probed, and those of the database's
 * records. The one idea: a kind of target that has no device here is a row, too, and says why.
 */
#include <string.h>

#include "answer/list/list.h"
#include "base/fenv.h"

struct optune_devices {
    ot_arena arena;
    int n;
    optune_listed_device *row;
};

static bool among(const optune_device *device, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (strcmp(device[i].key, key) == 0)
            return true;
    return false;
}

/* What this machine has of one kind of target; the reason when it has nothing. */
static int probe(const optune *o, const char *kind, optune_device *device, optune_err *err)
{
    optune_target target = o->target;
    if (strcmp(target.kind, kind) != 0) {
        const int status = ot_target_parse(kind, &target, err);
        if (status < 0)
            return status;
    }
    return ot_target_probe(&target, device, err);
}

/* NULL: none. */
static const char *unmade(optune_devices *d, const optune_device *device)
{
    ot_text words = {0};
    const char *copy = NULL;
    if (strcmp(device->kind, "cpu") == 0 && ot_cpu_unmade(device, &words))
        copy = ot_arena_copy(&d->arena, words.s);
    ot_text_release(&words);
    return copy;
}

static void add(optune_devices *d, optune_listed_device row)
{
    row.size = sizeof row;
    d->row[d->n++] = row;
}

/* Devices of this machine, stored ones, absent kinds, in this order. */
static void gather(const optune *o, optune_devices *d, const optune_device *stored,
                   int n_stored)
{
    int n, n_found = 0, n_absent = 0;
    const optune_target_row *const *target = ot_targets(&n);
    optune_device *found = ot_arena_alloc(&d->arena, (size_t)(n + 1) * sizeof *found);
    optune_listed_device *absent = ot_arena_alloc(&d->arena, (size_t)(n + 1) * sizeof *absent);
    d->row = ot_arena_alloc(&d->arena, (size_t)(n + n_stored + 1) * sizeof *d->row);
    for (int i = 0; i < n; i++) {
        optune_err why = {0};
        if (probe(o, target[i]->name, &found[n_found], &why) >= 0) {
            const optune_device *device = &found[n_found];
            if (among(found, n_found, device->key))
                continue; /* a kind that runs on another's, as programs do */
            n_found++;
            add(d, (optune_listed_device){.device = device,
                                          .here = true,
                                          .unmade = unmade(d, device),
                                          .stored = among(stored, n_stored, device->key)});
        } else {
            absent[n_absent++] = (optune_listed_device){
                .target = target[i]->name, .why = ot_arena_copy(&d->arena, why.text)};
        }
    }
    for (int i = 0; i < n_stored; i++)
        if (!among(found, n_found, stored[i].key))
            add(d, (optune_listed_device){.device = &stored[i], .stored = true});
    for (int i = 0; i < n_absent; i++)
        add(d, absent[i]);
}

int optune_devices_open(optune *o, optune_devices **devices, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"devices", devices});
    *devices = NULL;
    optune_devices *d = ot_alloc(sizeof *d);
    optune_device *stored = NULL;
    optune_err why = {0};
    ot_store *store;
    const unsigned turn = ot_context_enter(o);
    int n_stored = 0, status = ot_context_reader(o, &store, NULL, &why);
    if (status >= 0)
        status = ot_store_devices(store, &d->arena, &stored, &n_stored, &why);
    ot_context_leave(o, turn);
    if (status < 0 && status != OPTUNE_ENOENT) { /* without a database none are stored */
        optune_devices_close(d);
        return optune_fail(err, status, "%s", why.text);
    }
    gather(o, d, stored, n_stored);
    *devices = d;
    return OPTUNE_OK;
}

void optune_devices_close(optune_devices *d)
{
    if (!d)
        return;
    ot_arena_release(&d->arena);
    free(d);
}

int optune_list_device(const optune_devices *d, int index, optune_listed_device *device,
                       optune_err *err)
{
    OT_ENTER(err, {"devices", d}, {"device", device});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_device, device));
    if (index < 0 || index >= d->n)
        return 1;
    ot_sized_give(&d->row[index], sizeof d->row[index], device);
    return OPTUNE_OK;
}
