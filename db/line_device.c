/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of a log that describes a device, `# optune device {...}`: a comment to AutoTVM. What
 * is not known of a device is left out; what is out of range is a problem to report.
 */
#include <string.h>

#include "db/line.h"

typedef struct number_field {
    const char *name;
    size_t offset;
    bool wide; /* int64_t, else int */
} number_field;

#define NARROW(name)                                                                           \
    {                                                                                          \
#name, offsetof(optune_device, name), false                                            \
    }
#define WIDE(name)                                                                             \
    {                                                                                          \
#name, offsetof(optune_device, name), true                                             \
    }
static const number_field device_numbers[] = {
    NARROW(cores),
    NARROW(threads),
    NARROW(vector_bytes),
    NARROW(vector_registers),
    WIDE(l1),
    WIDE(l2),
    WIDE(l3),
    WIDE(memory),
    NARROW(warp),
    NARROW(max_threads_per_block),
    {"max_block_x", offsetof(optune_device, max_block), false},
    {"max_block_y", offsetof(optune_device, max_block) + sizeof(int), false},
    {"max_block_z", offsetof(optune_device, max_block) + 2 * sizeof(int), false},
    WIDE(max_shared),
    NARROW(registers),
    NARROW(cc_major),
    NARROW(cc_minor),
};
#undef NARROW
#undef WIDE

void ot_device_line(const optune_device *device, ot_text *to)
{
    ot_text_printf(to, "%s{", OT_DEVICE_PREFIX);
    const char *const texts[] = {"key",  device->key,  "name", device->name,
                                 "kind", device->kind, "arch", device->arch};
    for (int i = 0; i < OT_COUNT(texts); i += 2) {
        ot_text_printf(to, "%s\"%s\":", i ? "," : "", texts[i]);
        ot_text_add_json(to, texts[i + 1]);
    }
    for (int i = 0; i < OT_COUNT(device_numbers); i++) {
        const number_field *f = &device_numbers[i];
        const char *at = (const char *)device + f->offset;
        int64_t value =
            f->wide ? *(const int64_t *)(const void *)at : *(const int *)(const void *)at;
        if (value) /* zero is what unknown means */
            ot_text_printf(to, ",\"%s\":%lld", f->name, (long long)value);
    }
    ot_text_add(to, "}\n");
}

const char *ot_device_read(const json_t *json, ot_arena *arena, const optune_device **read)
{
    optune_device *device = ot_arena_alloc(arena, sizeof(*device));
    const struct {
        const char *name;
        char *to;
        size_t size;
    } texts[] = {
        {"key", device->key, sizeof(device->key)},
        {"name", device->name, sizeof(device->name)},
        {"kind", device->kind, sizeof(device->kind)},
        {"arch", device->arch, sizeof(device->arch)},
    };
    for (int i = 0; i < OT_COUNT(texts); i++) {
        const char *value = json_string_value(json_object_get(json, texts[i].name));
        if (!ot_copy(texts[i].to, texts[i].size, value ? value : ""))
            return "a text of the device is too long";
        for (const char *at = texts[i].to; *at; at++)
            if ((unsigned char)*at < ' ' || *at == 0x7f)
                return "a text of the device holds a control character";
    }
    if (!*device->key)
        return "the device has no key";
    for (int i = 0; i < OT_COUNT(device_numbers); i++) {
        const number_field *f = &device_numbers[i];
        json_int_t value = json_integer_value(json_object_get(json, f->name));
        char *at = (char *)device + f->offset;
        if (value < 0 || (!f->wide && value > INT32_MAX))
            return "a number of the device is out of range";
        if (f->wide)
            *(int64_t *)(void *)at = value;
        else
            *(int *)(void *)at = (int)value;
    }
    *read = device;
    return NULL;
}
