/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a record's fields, and what needs nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"

#define FIELD(kind_, name_, who_, log_, identity_, shown_, unit_, about_)                      \
    {.name = #name_,                                                                           \
     .kind = OT_RECORD_##kind_,                                                                \
     .offset = offsetof(optune_record, name_),                                                 \
     .who = OT_RECORD_##who_,                                                                  \
     .log = OT_LOG_##log_,                                                                     \
     .identity = OT_IDENTITY_##identity_,                                                      \
     .shown = OT_SHOWN_##shown_,                                                               \
     .unit = unit_,                                                                            \
     .about = about_},

const ot_record_field ot_record_fields[] = {OPTUNE_RECORD_MAP(FIELD)};

bool ot_record_is_set(const optune_record *record, const ot_record_field *f)
{
    const void *at = ot_record_at(record, f);
    switch (f->kind) {
    case OT_RECORD_SAMPLES:
        return record->n_samples > 0;
    case OT_RECORD_OUTCOME:
        return *(const int *)at != 0;
    case OT_RECORD_REAL:
    case OT_RECORD_COUNT:
    case OT_RECORD_BITS:
        return *(const uint64_t *)at != 0; /* of a real: not even -0.0 */
    case OT_RECORD_FLAG:
        return *(const bool *)at;
    case OT_RECORD_CONFIG:
        return ((const optune_config *)at)->n > 0;
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        break;
    }
    return ot_record_text(record, f) != NULL;
}

/* ---- copies ------------------------------------------------------------------------------ */

void ot_record_copy(optune_record *to, const optune_record *from)
{
    const size_t head = offsetof(optune_record, config.entity) +
                        (size_t)from->config.n * sizeof from->config.entity[0];
    const size_t tail = offsetof(optune_record, config) + sizeof from->config;
    memcpy(to, from, head);
    memcpy((char *)to + tail, (const char *)from + tail, sizeof *from - tail);
}

void ot_record_keep(ot_arena *arena, optune_record *to, const optune_record *from)
{
    *to = *from;
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_is_text(&ot_record_fields[i]))
            *(const char **)ot_record_to(to, &ot_record_fields[i]) =
                ot_arena_copy(arena, ot_record_text(from, &ot_record_fields[i]));
    if (from->n_samples > 0 && from->sample) {
        const size_t size = (size_t)from->n_samples * sizeof *from->sample;
        double *sample = ot_arena_alloc(arena, size);
        memcpy(sample, from->sample, size);
        to->sample = sample;
    }
}

/* ---- JSON -------------------------------------------------------------------------------- */

json_t *ot_text_json(const char *text)
{
    json_t *json = text ? json_string(text) : json_null();
    if (json)
        return json;
    ot_text clean = {0};
    ot_text_add_json(&clean, text);
    json = json_loads(ot_text_str(&clean), JSON_DECODE_ANY, NULL);
    ot_text_release(&clean);
    return json ? json : json_null();
}

json_t *ot_config_json(const optune_config *config)
{
    ot_text text = {0};
    ot_config_print(config, &text);
    json_t *json = json_loads(ot_text_str(&text), 0, NULL);
    ot_text_release(&text);
    return json ? json : json_array();
}

static json_t *samples_json(const optune_record *record)
{
    json_t *list = json_array();
    for (int i = 0; i < record->n_samples; i++)
        json_array_append_new(list, json_real(record->sample[i]));
    return list;
}

json_t *ot_record_value(const optune_record *record, const ot_record_field *f)
{
    const void *at = ot_record_at(record, f);
    char hex[24];
    switch (f->kind) {
    case OT_RECORD_SAMPLES:
        return samples_json(record);
    case OT_RECORD_REAL:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    case OT_RECORD_COUNT:
        return json_integer(*(const int64_t *)at);
    case OT_RECORD_BITS: /* as text: JSON's integers end before 64 bits do */
        snprintf(hex, sizeof hex, "%llx", (unsigned long long)*(const uint64_t *)at);
        return json_string(hex);
    case OT_RECORD_OUTCOME:
        return json_integer(*(const int *)at);
    case OT_RECORD_FLAG:
        return json_boolean(*(const bool *)at);
    case OT_RECORD_CONFIG:
        return ot_config_json(at);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        break;
    }
    return ot_text_json(ot_record_text(record, f));
}

static const char *set_bits(const char *text, uint64_t *bits, const char *name, ot_arena *arena)
{
    const size_t n = text ? strspn(text, "0123456789abcdefABCDEF") : 0;
    if (n == 0 || n > 16 || text[n])
        return ot_arena_printf(arena, "its %s is no hexadecimal number of 64 bits", name);
    *bits = strtoull(text, NULL, 16);
    return NULL;
}

static void set_samples(optune_record *record, const json_t *list, ot_arena *arena)
{
    const size_t n = json_array_size(list);
    double *sample = ot_arena_alloc(arena, (n + 1) * sizeof *sample);
    for (size_t i = 0; i < n; i++)
        sample[i] = json_number_value(json_array_get(list, i));
    record->sample = sample;
    record->n_samples = (int)n;
}

static const char *set_config(optune_config *config, const json_t *value, ot_arena *arena)
{
    optune_err err = {0};
    char *text = json_dumps(value, JSON_COMPACT);
    const int status = ot_config_parse(text ? text : "", config, &err);
    free(text);
    return status < 0 ? ot_arena_copy(arena, err.text) : NULL;
}

const char *ot_record_set(optune_record *record, const ot_record_field *f, const json_t *value,
                          ot_arena *arena)
{
    void *to = ot_record_to(record, f);
    if (!value)
        return NULL;
    switch (f->kind) {
    case OT_RECORD_SAMPLES:
        set_samples(record, value, arena);
        break;
    case OT_RECORD_REAL:
        *(double *)to = json_is_number(value) ? json_number_value(value) : INFINITY;
        break;
    case OT_RECORD_COUNT:
        *(int64_t *)to = json_integer_value(value);
        break;
    case OT_RECORD_BITS:
        return set_bits(json_string_value(value), to, f->name, arena);
    case OT_RECORD_OUTCOME:
        *(int *)to = (int)json_integer_value(value);
        break;
    case OT_RECORD_FLAG:
        *(bool *)to = json_is_true(value);
        break;
    case OT_RECORD_CONFIG:
        return set_config(to, value, arena);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        *(const char **)to = ot_arena_copy(arena, json_string_value(value));
        break;
    }
    return NULL;
}

void ot_record_show(const optune_record *record, ot_record_shown where, json_t *to)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!(f->shown & where))
            continue;
        if (f->kind == OT_RECORD_SAMPLES)
            json_object_set_new(to, "samples", json_integer(record->n_samples));
        else
            json_object_set_new(to, f->name, ot_record_value(record, f));
    }
}
