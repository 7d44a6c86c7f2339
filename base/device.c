/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is known of a device, from the one list of it. */
#include <string.h>

#include "base/device.h"

#define TEXT(name)                                                                             \
    {#name, OT_FIELD_TEXT, offsetof(optune_device, name), sizeof((optune_device *)0)->name},
#define PLAIN(kind, name) {#name, OT_FIELD_##kind, offsetof(optune_device, name), 0},
#define ITEM(name, axis, i)                                                                    \
    {#name axis, OT_FIELD_INT, offsetof(optune_device, name) + (i) * sizeof(int), 0},

#define ROW_LABEL(name) TEXT(name)
#define ROW_WORD(name) TEXT(name)
#define ROW_COUNT(name) PLAIN(INT, name)
#define ROW_BYTES(name) PLAIN(INT64, name)
#define ROW_EXTENT(name) ITEM(name, "_x", 0) ITEM(name, "_y", 1) ITEM(name, "_z", 2)
#define ROW_FLAG(name) PLAIN(BOOL, name)
#define ROW(kind, name, ...) ROW_##kind(name)

const ot_device_field ot_device_fields[OT_DEVICE_FIELDS] = {OPTUNE_DEVICE_MAP(ROW)};

const char *ot_device_text(const optune_device *device, const ot_device_field *field)
{
    return (const char *)device + field->offset;
}

bool ot_device_set_text(optune_device *device, const ot_device_field *field, const char *text)
{
    char *to = (char *)device + field->offset;
    if (!ot_copy(to, field->size, text ? text : ""))
        return false;
    return ot_text_is_plain(to);
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
