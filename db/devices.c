/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in the store's table, by their keys. */
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/kv.h"

int ot_store_put_devices(ot_store *store, const optune_device *device, int n, optune_err *err)
{
    ot_writer writer;
    ot_text text = {0};
    int status = ot_writer_begin(store, &writer, err);
    if (status < 0)
        return status;
    for (int i = 0; status == OPTUNE_OK && i < n; i++) {
        status = ot_device_encode(&device[i], &text, err);
        if (status == OPTUNE_OK)
            status = ot_writer_put(&writer, OT_TABLE_DEVICE,
                                   (ot_bytes){device[i].key, strlen(device[i].key)},
                                   (ot_bytes){text.s, text.n}, NULL, err);
    }
    if (status == OPTUNE_OK)
        status = ot_writer_commit(&writer, err);
    else
        ot_writer_abort(&writer);
    ot_text_release(&text);
    return status;
}

int ot_store_put_device(ot_store *store, const optune_device *device, optune_err *err)
{
    return ot_store_put_devices(store, device, 1, err);
}

int ot_store_devices(ot_store *store, ot_arena *arena, optune_device **device, int *n,
                     optune_err *err)
{
    *device = NULL;
    *n = 0;
    ot_snapshot reader;
    int status = ot_snapshot_begin(store, &reader, err);
    if (status < 0)
        return status;
    int capacity = 0;
    optune_device *known = NULL;
    ot_bytes key = {0}, value;
    status = ot_snapshot_seek(&reader, OT_TABLE_DEVICE, &key, &value, err);
    while (status == OPTUNE_OK) {
        known = ot_room(known, *n, &capacity, sizeof *known);
        if (ot_device_decode(value.data, value.n, &known[*n], NULL) == OPTUNE_OK)
            ++*n;
        status = ot_snapshot_next(&reader, OT_TABLE_DEVICE, &key, &value, err);
    }
    ot_snapshot_end(&reader);
    if (*n) {
        *device = ot_arena_alloc(arena, (size_t)*n * sizeof **device);
        memcpy(*device, known, (size_t)*n * sizeof **device);
    }
    free(known);
    return status < 0 ? status : OPTUNE_OK;
}

static int no_device(ot_store *store, const char *key, optune_err *err)
{
    ot_arena arena = {0};
    optune_device *known;
    ot_text keys = {0};
    int n;
    int status = ot_store_devices(store, &arena, &known, &n, err);
    for (int i = 0; status == OPTUNE_OK && i < n; i++)
        ot_text_printf(&keys, "%s'%s'", i ? ", " : "", known[i].key);
    if (status == OPTUNE_OK)
        status = optune_fail(err, OPTUNE_ENOENT, "device '%s' is not known; known are: %s", key,
                             n ? keys.s : "none");
    ot_text_release(&keys);
    ot_arena_release(&arena);
    return status;
}

int ot_store_device(ot_store *store, const char *key, optune_device *device, optune_err *err)
{
    ot_snapshot reader;
    ot_bytes value;
    int status =
        *key && strlen(key) < sizeof device->key ? ot_snapshot_begin(store, &reader, err) : 1;
    if (status == OPTUNE_OK) {
        status = ot_snapshot_get(&reader, OT_TABLE_DEVICE, (ot_bytes){key, strlen(key)}, &value,
                                 err);
        if (status == OPTUNE_OK && ot_device_decode(value.data, value.n, device, NULL) < 0)
            status = 1;
        ot_snapshot_end(&reader);
    }
    return status == 1 ? err ? no_device(store, key, err) : OPTUNE_ENOENT : status;
}
