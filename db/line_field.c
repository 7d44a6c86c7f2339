/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a record as JSON, for whatever kind of line they stand on: written so that numbers
 * read back as the same double, and read by whoever reads any JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/line.h"

/* ---- writing ----------------------------------------------------------------------------- */

static void add_key(ot_text *to, const char *key)
{
    ot_text_printf(to, "%s\"%s\":", to->s[to->n - 1] == '{' ? "" : ",", key);
}

static void add_text(ot_text *to, const char *key, const char *value)
{
    if (!value)
        return;
    add_key(to, key);
    ot_text_add_json(to, value);
}

static void add_real(ot_text *to, const char *key, double value)
{
    add_key(to, key);
    ot_text_add_real(to, value);
}

/* "name=value" lines as an object; a line without '=' gets null. */
static void add_lines(ot_text *to, const char *key, const char *lines)
{
    if (!lines)
        return;
    add_key(to, key);
    ot_text_add(to, "{");
    ot_text part = {0};
    while (*lines) {
        size_t n = strcspn(lines, "\n"), name = strcspn(lines, "=\n");
        ot_text_add(to, to->s[to->n - 1] == '{' ? "" : ",");
        ot_text_clear(&part);
        ot_text_add_n(&part, lines, name);
        ot_text_add_json(to, part.s);
        ot_text_add(to, ":");
        ot_text_clear(&part);
        if (name < n)
            ot_text_add_n(&part, lines + name + 1, n - name - 1);
        if (name < n)
            ot_text_add_json(to, ot_text_str(&part));
        else
            ot_text_add(to, "null");
        lines += n + (lines[n] == '\n');
    }
    ot_text_release(&part);
    ot_text_add(to, "}");
}

void ot_line_add_input(ot_text *to, const optune_record *record)
{
    if (record->task) {
        /* JSON already; a newline in it could only be white space. */
        for (const char *at = record->task; *at; at++)
            ot_text_add_n(to, *at == '\n' || *at == '\r' ? " " : at, 1);
        return;
    }
    ot_text_add(to, "[");
    ot_text_add_json(to, record->target);
    ot_text_add(to, ",");
    ot_text_add_json(to, record->impl ? record->impl : "");
    ot_text_add(to, ",[],{}]");
}

void ot_line_add_field(ot_text *to, const optune_record *record, const ot_record_field *f)
{
    const void *at = ot_record_at(record, f);
    switch (f->kind) {
    case OT_RECORD_REAL:
        add_real(to, f->name, *(const double *)at);
        return;
    case OT_RECORD_COUNT:
        add_key(to, f->name);
        ot_text_printf(to, "%lld", (long long)*(const int64_t *)at);
        return;
    case OT_RECORD_BITS: /* as text: JSON's integers end before 64 bits do */
        add_key(to, f->name);
        ot_text_printf(to, "\"%llx\"", (unsigned long long)*(const uint64_t *)at);
        return;
    case OT_RECORD_OUTCOME:
        add_text(to, f->name, ot_outcome_name(*(const int *)at));
        return;
    case OT_RECORD_FLAG:
        add_key(to, f->name);
        ot_text_add(to, *(const bool *)at ? "true" : "false");
        return;
    case OT_RECORD_LINES:
        add_lines(to, f->name, ot_record_text(record, f));
        return;
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_JSON:
        add_text(to, f->name, ot_record_text(record, f));
        return;
    case OT_RECORD_SAMPLES:
    case OT_RECORD_CONFIG: /* AutoTVM's own */
        return;
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

static const char *copy_lines(json_t *object, ot_arena *arena)
{
    if (!json_is_object(object))
        return NULL;
    ot_text lines = {0};
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        ot_text_add(&lines, name);
        if (json_is_string(value))
            ot_text_printf(&lines, "=%s", json_string_value(value));
        ot_text_add(&lines, "\n");
    }
    const char *copy = ot_arena_copy(arena, ot_text_str(&lines));
    ot_text_release(&lines);
    return copy;
}

size_t ot_line_value_length(const char *s, size_t n)
{
    int64_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && s[i] == '\\') {
            i++; /* what is behind it ends nothing */
        } else if (quoted) {
            quoted = s[i] != '"';
        } else if (s[i] == '"') {
            quoted = true;
        } else if (s[i] == '[' || s[i] == '{') {
            depth++;
        } else if ((s[i] == ']' || s[i] == '}') && --depth <= 0) {
            return i + 1;
        }
    }
    return 0;
}

/* What was written by whom all fields were there has them, absent texts aside. */
const char *ot_line_read_field(const json_t *ours, int number, ot_arena *arena,
                               optune_record *record)
{
    const ot_record_field *f = &ot_record_fields[number];
    json_t *value = json_object_get(ours, f->name);
    if (f->kind == OT_RECORD_LINES)
        *(const char **)ot_record_to(record, f) = copy_lines(value, arena);
    else if (f->kind == OT_RECORD_OUTCOME)
        return json_string_value(value) &&
                       ot_outcome_named(json_string_value(value)) == record->outcome
                   ? NULL
                   : "its outcome and its error number disagree";
    else if (f->kind == OT_RECORD_REAL && !value && number < OT_RECORD_FIRST)
        *(double *)ot_record_to(record, f) = INFINITY;
    else if (ot_record_is_text(f) && !value)
        *(const char **)ot_record_to(record, f) = NULL;
    else
        return ot_record_set(record, f, value, arena);
    return NULL;
}
