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

enum { LINE_VERSION = 1, DEEPEST = 16 };

typedef struct reading {
    const char *at, *end;
    ot_arena *arena;
} reading;

/* ---- tokens ------------------------------------------------------------------------------ */

static bool skip_n(reading *r, const char *bytes, size_t n)
{
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, bytes, n) != 0)
        return false;
    r->at += n;
    return true;
}

#define SKIP(reading_, literal) skip_n(reading_, literal, sizeof(literal) - 1)

/* A string of printable ASCII in which nothing is escaped; s[n] is without its quotes. */
static bool span_text(reading *r, const char **s, size_t *n)
{
    if (!SKIP(r, "\""))
        return false;
    *s = r->at;
    while (r->at < r->end && *r->at >= ' ' && *r->at < 0x7f && *r->at != '"' && *r->at != '\\')
        r->at++;
    *n = (size_t)(r->at - *s);
    return SKIP(r, "\"");
}

static char *copy_n(reading *r, const char *s, size_t n)
{
    char *copy = ot_arena_alloc(r->arena, n + 1);
    memcpy(copy, s, n);
    return copy;
}

static bool read_text(reading *r, const char **text)
{
    const char *s;
    size_t n;
    if (!span_text(r, &s, &n))
        return false;
    *text = copy_n(r, s, n);
    return true;
}

static bool is_digit(const reading *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?(e[+-]?[0-9]+)? ; *whole: nothing behind the first digits. */
static bool span_number(reading *r, bool *whole)
{
    SKIP(r, "-");
    const char *digits = r->at;
    while (is_digit(r))
        r->at++;
    if (r->at == digits || (*digits == '0' && r->at > digits + 1))
        return false;
    *whole = true;
    if (SKIP(r, ".")) {
        digits = r->at;
        while (is_digit(r))
            r->at++;
        *whole = false;
        if (r->at == digits)
            return false;
    }
    if (SKIP(r, "e")) {
        if (!SKIP(r, "-"))
            SKIP(r, "+");
        digits = r->at;
        while (is_digit(r))
            r->at++;
        *whole = false;
        if (r->at == digits)
            return false;
    }
    return r->at < r->end;
}

static bool read_real(reading *r, double *value)
{
    const char *from = r->at;
    bool whole;
    return span_number(r, &whole) && !whole &&
           ot_read_real(from, value) == (size_t)(r->at - from) && isfinite(*value);
}

static bool read_int(reading *r, int64_t *value)
{
    const char *from = r->at;
    bool whole;
    if (!span_number(r, &whole) || !whole || r->at - from > 18 || (*from == '-' && from[1] == '0'))
        return false;
    const bool minus = *from == '-';
    *value = 0;
    for (from += minus; from < r->at; from++)
        *value = *value * 10 + (*from - '0');
    *value = minus ? -*value : *value;
    return true;
}

/* Either, and none that JSON's reader has no room for. */
static bool span_any_number(reading *r)
{
    const char *const from = r->at;
    double real;
    int64_t whole;
    if (read_int(r, &whole))
        return true;
    r->at = from;
    return read_real(r, &real);
}

/* Any JSON of such tokens, but objects with something in them: names could be there twice. */
static bool span_value(reading *r, int depth)
{
    const char *s;
    size_t n;
    if (r->at >= r->end || depth > DEEPEST)
        return false;
    if (*r->at == '"')
        return span_text(r, &s, &n);
    if (SKIP(r, "null") || SKIP(r, "true") || SKIP(r, "false") || SKIP(r, "{}") || SKIP(r, "[]"))
        return true;
    if (!SKIP(r, "["))
        return span_any_number(r);
    do
        if (!span_value(r, depth + 1))
            return false;
    while (SKIP(r, ",") && (SKIP(r, " ") || true));
    return SKIP(r, "]");
}

/* ---- AutoTVM's part ---------------------------------------------------------------------- */

/* [target, task, args, kwargs], kept as it is. */
static bool read_task(reading *r, const char **task)
{
    const char *from = r->at, *s;
    size_t n;
    if (!SKIP(r, "[") || !span_text(r, &s, &n) || !SKIP(r, ","))
        return false;
    SKIP(r, " ");
    if (!span_text(r, &s, &n) || !SKIP(r, ","))
        return false;
    SKIP(r, " ");
    if (r->at >= r->end || *r->at != '[' || !span_value(r, 0) || !SKIP(r, ","))
        return false;
    SKIP(r, " ");
    if (!SKIP(r, "{}") || !SKIP(r, "]") || (size_t)(r->at - from) > OT_LONG_TEXT)
        return false;
    *task = copy_n(r, from, (size_t)(r->at - from));
    return true;
}

static bool read_config(reading *r, ot_log_line *line)
{
    int64_t index;
    optune_config *config = &line->record.config;
    if (!SKIP(r, "{\"index\":") || !read_int(r, &index) ||
        !SKIP(r, ",\"code_hash\":null,\"entity\":"))
        return false;
    line->entities = r->at;
    line->n_entities = ot_config_read(r->at, (size_t)(r->end - r->at), config);
    r->at += line->n_entities;
    config->index = index;
    return line->n_entities && SKIP(r, "}");
}

static bool read_costs(reading *r, double **sample, int *n)
{
    if (!SKIP(r, "["))
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
        if (*n >= room || !read_real(r, &(*sample)[(*n)++]))
            return false;
    while (SKIP(r, ","));
    return SKIP(r, "]");
}

static bool read_result(reading *r, optune_record *record)
{
    double *sample;
    int n;
    int64_t outcome;
    if (!SKIP(r, "[") || !read_costs(r, &sample, &n) || !SKIP(r, ",") || !read_int(r, &outcome) ||
        !SKIP(r, ",") || !read_real(r, &record->all_cost) || !SKIP(r, ",") ||
        !read_real(r, &record->time) || !SKIP(r, "]"))
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

static bool read_lines(reading *r, const char **lines)
{
    if (!SKIP(r, "{"))
        return false;
    /* What stands between the braces is longer than what becomes of it. */
    const char *close = memchr(r->at, '}', (size_t)(r->end - r->at)), *s;
    size_t n;
    if (!close)
        return false;
    char *to = copy_n(r, r->at, (size_t)(close - r->at) + 1), *at = to;
    const char *const end = to + (close - r->at) + 1;
    bool first = true;
    while (!SKIP(r, "}")) {
        if ((!first && !SKIP(r, ",")) || !span_text(r, &s, &n) || memchr(s, '=', n) ||
            !SKIP(r, ":") || (size_t)(end - at) < n + 1)
            return false;
        memcpy(at, s, n);
        at += n;
        if (!SKIP(r, "null")) {
            if (!span_text(r, &s, &n) || (size_t)(end - at) < n + 2)
                return false;
            *at++ = '=';
            memcpy(at, s, n);
            at += n;
        }
        *at++ = '\n';
        first = false;
    }
    *at = 0;
    *lines = to;
    return true;
}

static bool read_bits(reading *r, uint64_t *bits)
{
    const char *s;
    size_t n;
    if (!span_text(r, &s, &n) || n == 0 || n > 16 || strspn(s, "0123456789abcdef") != n)
        return false;
    *bits = strtoull(s, NULL, 16);
    return true;
}

static bool read_outcome(reading *r, int outcome)
{
    const char *name = ot_outcome_name(outcome), *s;
    size_t n;
    return span_text(r, &s, &n) && strlen(name) == n && memcmp(s, name, n) == 0;
}

static bool read_field(reading *r, optune_record *record, const ot_record_field *f)
{
    void *to = ot_record_to(record, f);
    switch (f->kind) {
    case OT_RECORD_REAL:
        *(double *)to = INFINITY;
        return SKIP(r, "null") || read_real(r, to);
    case OT_RECORD_COUNT:
        return read_int(r, to);
    case OT_RECORD_BITS:
        return read_bits(r, to);
    case OT_RECORD_OUTCOME:
        return read_outcome(r, record->outcome);
    case OT_RECORD_FLAG:
        *(bool *)to = SKIP(r, "true");
        return *(bool *)to || SKIP(r, "false");
    case OT_RECORD_LINES:
        return read_lines(r, to);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_JSON:
        return read_text(r, to);
    case OT_RECORD_SAMPLES:
    case OT_RECORD_CONFIG: /* AutoTVM's own */
        break;
    }
    return false;
}

static bool at_field(reading *r, const ot_record_field *f)
{
    const char *const before = r->at;
    if (SKIP(r, ",\"") && skip_n(r, f->name, strlen(f->name)) && SKIP(r, "\":"))
        return true;
    r->at = before;
    return false;
}

static bool read_ours(reading *r, optune_record *record)
{
    int64_t version;
    if (!SKIP(r, "{\"v\":") || !read_int(r, &version) || version != LINE_VERSION)
        return false;
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->log != OT_LOG_OURS)
            continue;
        if (at_field(r, f)) {
            if (!read_field(r, record, f))
                return false;
        } else if (ot_record_is_text(f)) {
            *(const char **)ot_record_to(record, f) = NULL;
        } else if (i < OT_RECORD_FIRST) {
            return false;
        }
    }
    return SKIP(r, "}");
}

bool ot_line_own(const char *text, size_t n, ot_arena *arena, ot_log_line *line)
{
    reading r = {.at = text, .end = text + n, .arena = arena};
    optune_record *record = &line->record;
    char why[OPTUNE_WHY_SIZE];
    if (n == 0 || n > OT_LONGEST_LINE || text[n - 1] != '}')
        return false;
    if (!SKIP(&r, "{\"input\":") || !read_task(&r, &record->task) || !SKIP(&r, ",\"config\":") ||
        !read_config(&r, line) || !SKIP(&r, ",\"result\":") || !read_result(&r, record) ||
        !SKIP(&r, ",\"version\":0.2,\"tvm_version\":") || !read_text(&r, &record->tool) ||
        !SKIP(&r, ",\"optune\":") || !read_ours(&r, record) || !SKIP(&r, "}") || r.at != r.end)
        return false;
    line->ours = record->call && record->target && record->device && record->impl &&
                 ot_record_sound_read(record, why);
    line->text = text;
    line->n_text = n;
    return line->ours;
}
