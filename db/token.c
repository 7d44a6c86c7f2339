/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of lines as they are written here: tokens, and the fields of a record. What deviates is
 * not taken, and left to a reader of any JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/token.h"

/* ---- tokens ------------------------------------------------------------------------------ */

/* A string of printable ASCII in which nothing is escaped; s[n] is without its quotes. */
bool ot_token_span(ot_tokens *r, const char **s, size_t *n)
{
    if (!OT_SKIP(r, "\""))
        return false;
    *s = r->at;
    while (r->at < r->end && *r->at >= ' ' && *r->at < 0x7f && *r->at != '"' && *r->at != '\\')
        r->at++;
    *n = (size_t)(r->at - *s);
    return OT_SKIP(r, "\"");
}

char *ot_token_copy(ot_tokens *r, const char *s, size_t n)
{
    char *copy = ot_arena_alloc(r->arena, n + 1);
    memcpy(copy, s, n);
    return copy;
}

bool ot_token_text(ot_tokens *r, const char **text)
{
    const char *s;
    size_t n;
    if (!ot_token_span(r, &s, &n))
        return false;
    *text = ot_token_copy(r, s, n);
    return true;
}

static bool is_digit(const ot_tokens *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?(e[+-]?[0-9]+)? ; *whole: nothing behind the first digits. */
bool ot_token_number(ot_tokens *r, bool *whole)
{
    OT_SKIP(r, "-");
    const char *digits = r->at;
    while (is_digit(r))
        r->at++;
    if (r->at == digits || (*digits == '0' && r->at > digits + 1))
        return false;
    *whole = true;
    if (OT_SKIP(r, ".")) {
        digits = r->at;
        while (is_digit(r))
            r->at++;
        *whole = false;
        if (r->at == digits)
            return false;
    }
    if (OT_SKIP(r, "e")) {
        if (!OT_SKIP(r, "-"))
            OT_SKIP(r, "+");
        digits = r->at;
        while (is_digit(r))
            r->at++;
        *whole = false;
        if (r->at == digits)
            return false;
    }
    return r->at < r->end;
}

bool ot_token_real(ot_tokens *r, double *value)
{
    const char *from = r->at;
    bool whole;
    return ot_token_number(r, &whole) && !whole &&
           ot_read_real(from, value) == (size_t)(r->at - from) && isfinite(*value);
}

bool ot_token_int(ot_tokens *r, int64_t *value)
{
    const char *from = r->at;
    bool whole;
    if (!ot_token_number(r, &whole) || !whole || (*from == '-' && from[1] == '0'))
        return false;
    const bool minus = *from == '-';
    uint64_t n = 0;
    if (r->at - (from + minus) > 19) /* as many digits always fit 64 bits without a sign */
        return false;
    for (from += minus; from < r->at; from++)
        n = n * 10 + (uint64_t)(*from - '0');
    *value = (int64_t)(minus ? 0 - n : n);
    return n <= (uint64_t)INT64_MAX + minus;
}

/* ---- our own part ------------------------------------------------------------------------ */

static bool read_lines(ot_tokens *r, const char **lines)
{
    if (!OT_SKIP(r, "{"))
        return false;
    /* What stands between the braces is longer than what becomes of it. */
    const char *close = memchr(r->at, '}', (size_t)(r->end - r->at)), *s;
    size_t n;
    if (!close)
        return false;
    char *to = ot_token_copy(r, r->at, (size_t)(close - r->at) + 1), *at = to;
    const char *const end = to + (close - r->at) + 1;
    bool first = true;
    while (!OT_SKIP(r, "}")) {
        if ((!first && !OT_SKIP(r, ",")) || !ot_token_span(r, &s, &n) || memchr(s, '=', n) ||
            !OT_SKIP(r, ":") || (size_t)(end - at) < n + 1)
            return false;
        memcpy(at, s, n);
        at += n;
        if (!OT_SKIP(r, "null")) {
            if (!ot_token_span(r, &s, &n) || (size_t)(end - at) < n + 2)
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

static bool read_bits(ot_tokens *r, uint64_t *bits)
{
    const char *s;
    size_t n;
    if (!ot_token_span(r, &s, &n) || n == 0 || n > 16 || strspn(s, "0123456789abcdef") != n)
        return false;
    *bits = strtoull(s, NULL, 16);
    return true;
}

static bool read_outcome(ot_tokens *r, int outcome)
{
    const char *name = ot_outcome_name(outcome), *s;
    size_t n;
    return ot_token_span(r, &s, &n) && strlen(name) == n && memcmp(s, name, n) == 0;
}

bool ot_token_field(ot_tokens *r, optune_record *record, const ot_record_field *f)
{
    void *to = ot_record_to(record, f);
    switch (f->kind) {
    case OT_RECORD_REAL:
        *(double *)to = INFINITY;
        return OT_SKIP(r, "null") || ot_token_real(r, to);
    case OT_RECORD_COUNT:
        return ot_token_int(r, to);
    case OT_RECORD_BITS:
        return read_bits(r, to);
    case OT_RECORD_OUTCOME:
        return read_outcome(r, record->outcome);
    case OT_RECORD_FLAG:
        *(bool *)to = OT_SKIP(r, "true");
        return *(bool *)to || OT_SKIP(r, "false");
    case OT_RECORD_LINES:
        return read_lines(r, to);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_JSON:
        return ot_token_text(r, to);
    case OT_RECORD_SAMPLES:
    case OT_RECORD_CONFIG: /* AutoTVM's own */
        break;
    }
    return false;
}

bool ot_token_at(ot_tokens *r, const ot_record_field *f, bool first)
{
    const char *const before = r->at;
    if ((first || OT_SKIP(r, ",")) && OT_SKIP(r, "\"") &&
        ot_skip_n(r, f->name, strlen(f->name)) && OT_SKIP(r, "\":"))
        return true;
    r->at = before;
    return false;
}
