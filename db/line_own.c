/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line that ot_record_line wrote, read in one pass: its bytes are known but for what a record
 * fills in. Whatever deviates (white space, an escaped character, another order, a key more) is
 * left to line.c, which reads any JSON; both read the same record, or this one none. Most lines of
 * most logs are read here, so an import takes no tree of values for each.
 *
 * Nothing is read at or behind `end`; numbers end in front of the line's last byte, a brace.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/line.h"
#include "db/token.h"

enum { DEEPEST = 16 };

/* Either, and none that JSON's reader has no room for. */
static bool span_any_number(ot_tokens *r)
{
    const char *const from = r->at;
    double real;
    int64_t whole;
    if (ot_token_int(r, &whole))
        return true;
    r->at = from;
    return ot_token_real(r, &real);
}

/* Any JSON of such tokens, but objects with something in them: names could be there twice. */
static bool span_value(ot_tokens *r, int depth)
{
    const char *s;
    size_t n;
    if (r->at >= r->end || depth > DEEPEST)
        return false;
    if (*r->at == '"')
        return ot_token_span(r, &s, &n);
    if (OT_SKIP(r, "null") || OT_SKIP(r, "true") || OT_SKIP(r, "false") || OT_SKIP(r, "{}") ||
        OT_SKIP(r, "[]"))
        return true;
    if (!OT_SKIP(r, "["))
        return span_any_number(r);
    do
        if (!span_value(r, depth + 1))
            return false;
    while (OT_SKIP(r, ",") && (OT_SKIP(r, " ") || true));
    return OT_SKIP(r, "]");
}

/* ---- AutoTVM's part ---------------------------------------------------------------------- */

/* [target, task, args, kwargs], kept as it is. */
static bool read_task(ot_tokens *r, const char **task)
{
    const char *from = r->at, *s;
    size_t n;
    if (!OT_SKIP(r, "[") || !ot_token_span(r, &s, &n) || !OT_SKIP(r, ","))
        return false;
    OT_SKIP(r, " ");
    if (!ot_token_span(r, &s, &n) || !OT_SKIP(r, ","))
        return false;
    OT_SKIP(r, " ");
    if (r->at >= r->end || *r->at != '[' || !span_value(r, 0) || !OT_SKIP(r, ","))
        return false;
    OT_SKIP(r, " ");
    if (!OT_SKIP(r, "{}") || !OT_SKIP(r, "]") || (size_t)(r->at - from) > OT_LONG_TEXT)
        return false;
    *task = ot_token_copy(r, from, (size_t)(r->at - from));
    return true;
}

static bool read_config(ot_tokens *r, ot_log_line *line)
{
    int64_t index;
    optune_config *config = &line->record.config;
    if (!OT_SKIP(r, "{\"index\":") || !ot_token_int(r, &index) ||
        !OT_SKIP(r, ",\"code_hash\":null,\"entity\":"))
        return false;
    line->entities = r->at;
    line->n_entities = ot_config_read(r->at, (size_t)(r->end - r->at), config);
    r->at += line->n_entities;
    config->index = index;
    return line->n_entities && OT_SKIP(r, "}");
}

static bool read_costs(ot_tokens *r, double **sample, int *n)
{
    if (!OT_SKIP(r, "["))
        return false;
    const char *close = memchr(r->at, ']', (size_t)(r->end - r->at));
    int64_t room = 1;
    for (const char *at = r->at; close && at < close; at++)
        room += *at == ',';
    if (!close || room > OT_MOST_RECORD_SAMPLES)
        return false;
    *sample = ot_arena_alloc(r->arena, (size_t)room * sizeof **sample);
    *n = 0;
    do
        if (*n >= room || !ot_token_real(r, &(*sample)[(*n)++]))
            return false;
    while (OT_SKIP(r, ","));
    return OT_SKIP(r, "]");
}

static bool read_result(ot_tokens *r, optune_record *record)
{
    double *sample;
    int n;
    int64_t outcome;
    if (!OT_SKIP(r, "[") || !read_costs(r, &sample, &n) || !OT_SKIP(r, ",") ||
        !ot_token_int(r, &outcome) || !OT_SKIP(r, ",") ||
        !ot_token_real(r, &record->all_cost) || !OT_SKIP(r, ",") ||
        !ot_token_real(r, &record->time) || !OT_SKIP(r, "]"))
        return false;
    if (outcome < 0 || outcome > OPTUNE_OUTCOME_CRASH)
        return false;
    record->outcome = (int)outcome;
    if (outcome == OPTUNE_OUTCOME_OK) {
        record->sample = sample;
        record->n_samples = n;
    }
    return true;
}

/* ---- our own part ------------------------------------------------------------------------ */

static bool read_ours(ot_tokens *r, optune_record *record)
{
    int64_t version;
    if (!OT_SKIP(r, "{\"v\":") || !ot_token_int(r, &version) || version != OT_LINE_VERSION)
        return false;
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->log != OT_LOG_OURS)
            continue;
        if (ot_token_at(r, f, false)) {
            if (!ot_token_field(r, record, f))
                return false;
        } else if (ot_record_is_text(f)) {
            *(const char **)ot_record_to(record, f) = NULL;
        } else if (i < OT_RECORD_FIRST) {
            return false;
        }
    }
    return OT_SKIP(r, "}");
}

bool ot_line_own(const char *text, size_t n, ot_arena *arena, ot_log_line *line)
{
    ot_tokens r = {.at = text, .end = text + n, .arena = arena};
    optune_record *record = &line->record;
    char why[OPTUNE_WHY_SIZE];
    if (n == 0 || n > OT_LONGEST_LINE || text[n - 1] != '}')
        return false;
    if (!OT_SKIP(&r, "{\"input\":") || !read_task(&r, &record->task) ||
        !OT_SKIP(&r, ",\"config\":") || !read_config(&r, line) ||
        !OT_SKIP(&r, ",\"result\":") || !read_result(&r, record) ||
        !OT_SKIP(&r, ",\"version\":0.2,\"tvm_version\":") ||
        !ot_token_text(&r, &record->tool) || !OT_SKIP(&r, ",\"optune\":") ||
        !read_ours(&r, record) || !OT_SKIP(&r, "}") || r.at != r.end)
        return false;
    line->ours = record->call && record->target && record->device && record->impl &&
                 ot_record_sound_read(record, why);
    line->text = text;
    line->n_text = n;
    return line->ours;
}
