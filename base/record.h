/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a record as a table made of OPTUNE_RECORD_MAP (optune/types.h): the store's bytes,
 * the log's line, the worker's protocol, lists and copies go through it, so that a field added to
 * that list is in all of them.
 */
#ifndef OPTUNE_RECORD_H
#define OPTUNE_RECORD_H

#include <jansson.h>

#include "base/base.h"

/* In the order of the bytes in a store; texts, WORD to JSON, are one there. */
typedef enum ot_record_kind {
    OT_RECORD_SAMPLES,
    OT_RECORD_REAL,
    OT_RECORD_COUNT,
    OT_RECORD_BITS,
    OT_RECORD_OUTCOME,
    OT_RECORD_FLAG,
    OT_RECORD_CONFIG,
    OT_RECORD_WORD,
    OT_RECORD_PROSE,
    OT_RECORD_LINES,
    OT_RECORD_JSON,
} ot_record_kind;

typedef enum ot_record_who { OT_RECORD_ASKER, OT_RECORD_WORKER } ot_record_who;
typedef enum ot_record_log { OT_LOG_NONE, OT_LOG_OURS, OT_LOG_LINE } ot_record_log;
typedef enum ot_record_identity { OT_IDENTITY_REST, OT_IDENTITY_KEY } ot_record_identity;
typedef enum ot_record_shown {
    OT_SHOWN_NONE,
    OT_SHOWN_ANSWER = 1,
    OT_SHOWN_RUN = 2,
    OT_SHOWN_BOTH = OT_SHOWN_ANSWER | OT_SHOWN_RUN
} ot_record_shown;

typedef struct ot_record_field {
    const char *name; /* in C and in JSON */
    ot_record_kind kind;
    size_t offset; /* SAMPLES: of the pointer */
    ot_record_who who;
    ot_record_log log;
    ot_record_identity identity;
    ot_record_shown shown;
    const char *unit, *about;
} ot_record_field;

#define OT_RECORD_ONE(...) +1
enum {
    OT_RECORD_FIELDS = 0 OPTUNE_RECORD_MAP(OT_RECORD_ONE),
    /* So many had a place when the store's version 1 and the log's was made. What came later is
     * absent, or 0, where nobody said it, and is not written then. */
    OT_RECORD_FIRST = 25,
};
#undef OT_RECORD_ONE
extern const ot_record_field ot_record_fields[];

static inline bool ot_record_is_text(const ot_record_field *field)
{
    return field->kind >= OT_RECORD_WORD;
}

static inline const void *ot_record_at(const optune_record *record,
                                       const ot_record_field *field)
{
    return (const char *)record + field->offset;
}

static inline void *ot_record_to(optune_record *record, const ot_record_field *field)
{
    return (char *)record + field->offset;
}

/* Of a text; NULL: absent. */
static inline const char *ot_record_text(const optune_record *record,
                                         const ot_record_field *field)
{
    return *(const char *const *)ot_record_at(record, field);
}

/* Anything but 0, false, absent, empty. */
bool ot_record_is_set(const optune_record *record, const ot_record_field *field);

/* Into a zeroed record; texts and samples are shared. A config is mostly room that is not used:
 * copying that costs more than all the rest. */
void ot_record_copy(optune_record *to, const optune_record *from);
/* costs.c: kinds of targets whose costs are of another kind than seconds, so that no clock bounds
 * them. Whoever takes in targets adds them; a target's text, or its kind, is asked about. */
void ot_costs_add(const char *kind);
bool ot_costs_are(const char *target);

/* Likewise, with texts and samples of its own, in the arena. */
void ot_record_keep(ot_arena *arena, optune_record *to, const optune_record *from);

/* A field as JSON (new reference): samples as an array, lines as a text, an outcome as its number,
 * bits in hex, what is absent or not finite as null. */
json_t *ot_record_value(const optune_record *record, const ot_record_field *field);
/* The reverse, texts and samples into the arena; what is absent stays 0, a real that is no number
 * is infinite. NULL, or the problem. */
const char *ot_record_set(optune_record *record, const ot_record_field *field,
                          const json_t *value, ot_arena *arena);
/* Sets in `to` (an object) what is shown there: fields by name, but of samples how many. */
void ot_record_show(const optune_record *record, ot_record_shown where, json_t *to);
/* A text as JSON; bytes that are no UTF-8 become U+FFFD; NULL gives null. */
json_t *ot_text_json(const char *text);
json_t *ot_config_json(const optune_config *config);

#endif
