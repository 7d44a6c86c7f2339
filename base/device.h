/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a device, each once: the store's bytes, the log's line, the worker's protocol and
 * the lists go through this table, so that a field added to it is in all of them.
 */
#ifndef OPTUNE_DEVICE_H
#define OPTUNE_DEVICE_H

#include "base/base.h"

typedef enum ot_field_kind {
    OT_FIELD_TEXT,
    OT_FIELD_INT,
    OT_FIELD_INT64,
    OT_FIELD_BOOL
} ot_field_kind;

typedef struct ot_device_field {
    const char *name; /* in JSON */
    ot_field_kind kind;
    size_t offset;
    size_t size; /* of a text, its end included */
} ot_device_field;

/* Texts first. New ones are added at the end: that is the order of the bytes in a store. */
extern const ot_device_field ot_device_fields[];
enum { OT_DEVICE_TEXTS = 4, OT_DEVICE_FIELDS = 22 };

const char *ot_device_text(const optune_device *device, const ot_device_field *field);
/* false: it is too long, or holds a control character. */
bool ot_device_set_text(optune_device *device, const ot_device_field *field, const char *text);
/* 0 is what unknown means. */
int64_t ot_device_number(const optune_device *device, const ot_device_field *field);
/* false: it is negative, or more than the field holds. */
bool ot_device_set_number(optune_device *device, const ot_device_field *field, int64_t value);

#endif
