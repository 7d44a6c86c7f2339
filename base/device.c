/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of what is known of a device. */
#include <string.h>

#include "base/device.h"

#define TEXT(name)                                                                             \
    {                                                                                          \
#name, OT_FIELD_TEXT, offsetof(optune_device, name), sizeof((optune_device *)0)->name  \
    }
#define FIELD(kind, name)                                                                      \
    {                                                                                          \
#name, OT_FIELD_##kind, offsetof(optune_device, name), 0                               \
    }
#define ITEM(name, field, i)                                                                   \
    {                                                                                          \
        name, OT_FIELD_INT, offsetof(optune_device, field) + (i) * sizeof(int), 0              \
    }

const ot_device_field ot_device_fields[OT_DEVICE_FIELDS] = {
    TEXT(key),
    TEXT(name),
    TEXT(kind),
    TEXT(arch),
    FIELD(INT, cores),
    FIELD(INT, threads),
    FIELD(INT, vector_bytes),
    FIELD(INT, vector_registers),
    FIELD(INT64, l1),
    FIELD(INT64, l2),
    FIELD(INT64, l3),
    FIELD(INT64, memory),
    FIELD(INT, warp),
    FIELD(INT, max_threads_per_block),
    ITEM("max_block_x", max_block, 0),
    ITEM("max_block_y", max_block, 1),
    ITEM("max_block_z", max_block, 2),
    FIELD(INT64, max_shared),
    FIELD(INT, registers),
    FIELD(INT, cc_major),
    FIELD(INT, cc_minor),
    FIELD(BOOL, no_float64),
};

const char *ot_device_text(const optune_device *device, const ot_device_field *field)
{
    return (const char *)device + field->offset;
}

bool ot_device_set_text(optune_device *device, const ot_device_field *field, const char *text)
{
    char *to = (char *)device + field->offset;
    if (!ot_copy(to, field->size, text ? text : ""))
        return false;
    for (const char *at = to; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    return true;
}

int64_t ot_device_number(const optune_device *device, const ot_device_field *field)
{
    const void *at = (const char *)device + field->offset;
    switch (field->kind) {
    case OT_FIELD_INT:
        return *(const int *)at;
    case OT_FIELD_INT64:
        return *(const int64_t *)at;
    case OT_FIELD_BOOL:
        return *(const bool *)at;
    case OT_FIELD_TEXT:
        break;
    }
    return 0;
}

bool ot_device_set_number(optune_device *device, const ot_device_field *field, int64_t value)
{
    void *at = (char *)device + field->offset;
    const int64_t most = field->kind == OT_FIELD_INT64 ? INT64_MAX
                         : field->kind == OT_FIELD_INT ? INT32_MAX
                                                       : 1;
    if (value < 0 || value > most || field->kind == OT_FIELD_TEXT)
        return false;
    if (field->kind == OT_FIELD_INT)
        *(int *)at = (int)value;
    else if (field->kind == OT_FIELD_INT64)
        *(int64_t *)at = value;
    else
        *(bool *)at = value != 0;
    return true;
}
