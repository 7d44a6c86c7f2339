/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a device, made from the one list in optune/types.h: the store's bytes, the log's
 * line, the worker's protocol and the lists go through this table.
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

/* OPTUNE_DEVICE_MAP's, in its order, an extent as three: the order of the bytes in a store. */
extern const ot_device_field ot_device_fields[];
enum {
    OT_DEVICE_ROWS_LABEL = 1,
    OT_DEVICE_ROWS_WORD = 1,
    OT_DEVICE_ROWS_COUNT = 1,
    OT_DEVICE_ROWS_BYTES = 1,
    OT_DEVICE_ROWS_EXTENT = 3,
    OT_DEVICE_ROWS_FLAG = 1,
#define OT_DEVICE_ROWS(kind, ...) +OT_DEVICE_ROWS_##kind
    OT_DEVICE_FIELDS = 0 OPTUNE_DEVICE_MAP(OT_DEVICE_ROWS),
#undef OT_DEVICE_ROWS
};

const char *ot_device_text(const optune_device *device, const ot_device_field *field);
/* false: it is too long, or holds a control character. */
bool ot_device_set_text(optune_device *device, const ot_device_field *field, const char *text);
/* 0 is what unknown means. */
int64_t ot_device_number(const optune_device *device, const ot_device_field *field);
/* false: it is negative, or more than the field holds. */
bool ot_device_set_number(optune_device *device, const ot_device_field *field, int64_t value);

#endif
