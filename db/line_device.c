/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of a log that describes a device, `# optune device {...}`: a comment to AutoTVM. What
 * is not known of a device is left out; what is out of range is a problem to report.
 */
#include <string.h>

#include "base/device.h"
#include "db/line.h"

void ot_device_line(const optune_device *device, ot_text *to)
{
    ot_text_printf(to, "%s{", OT_DEVICE_PREFIX);
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const int64_t number = ot_device_number(device, f);
        if (f->kind != OT_FIELD_TEXT && !number)
            continue;
        ot_text_printf(to, "%s\"%s\":", i ? "," : "", f->name);
        if (f->kind == OT_FIELD_TEXT)
            ot_text_add_json(to, ot_device_text(device, f));
        else
            ot_text_printf(to, "%lld", (long long)number);
    }
    ot_text_add(to, "}\n");
}

int ot_device_order(const optune_device *a, const optune_device *b)
{
    ot_text one = {0}, two = {0};
    ot_device_line(a, &one);
    ot_device_line(b, &two);
    const int order = one.n != two.n ? (one.n > two.n) - (one.n < two.n) : strcmp(one.s, two.s);
    ot_text_release(&one);
    ot_text_release(&two);
    return order;
}

const char *ot_device_read(const json_t *json, ot_arena *arena, const optune_device **read)
{
    optune_device *device = ot_arena_alloc(arena, sizeof *device);
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const json_t *value = json_object_get(json, f->name);
        if (f->kind == OT_FIELD_TEXT &&
            !ot_device_set_text(device, f, json_string_value(value)))
            return "a text of the device is too long or holds a control character";
        if (f->kind != OT_FIELD_TEXT &&
            !ot_device_set_number(device, f, json_integer_value(value)))
            return "a number of the device is out of range";
    }
    if (!*device->key)
        return "the device has no key";
    *read = device;
    return NULL;
}
