/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short line: a trial without what it shares with others, which a head in front of it says.
 *
 *   ["<head>",<index>,[<value of each knob>],<error number>,[<samples>],<seconds>,<time>,
 *    {<fields that are not at their default>},"<checksum>"]
 *
 * Samples that are decimals of few digits are integers: how many decimals they have, the first one,
 * and how far the others are from it; else they are reals. Cost and interval are those of the
 * samples unless they are told. The checksum covers what is in front of it: a byte that changed is
 * told, not believed. What is read of it is the record that the full line says, byte for byte.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/head.h"
#include "db/token.h"

enum {
    HEX = 16,
    SUM_HEX = 8,
    SUM = SUM_HEX + 3,   /* with its quotes and the bracket behind it */
    FRONT = 2 + HEX + 2, /* ["<head>", */
    MOST_DECIMALS = 22,  /* 10^22 is the largest power of ten that a double is */
};
static const double exact = 9007199254740992; /* 2^53: doubles hold all integers up to it */
static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* What stands in the braces. */
static bool in_braces(const ot_record_field *f)
{
    return f->log == OT_LOG_OURS && !ot_head_has(f) && f->kind != OT_RECORD_OUTCOME;
}

static uint32_t sum_of(const char *text, size_t n)
{
    return (uint32_t)ot_hash64(text, n);
}

/* What a record has of its fields in braces when nothing is told. */
static void set_defaults(optune_record *r)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!in_braces(f))
            continue;
        void *to = ot_record_to(r, f);
        if (ot_record_is_text(f))
            *(const char **)to = NULL;
        else if (f->kind == OT_RECORD_FLAG)
            *(bool *)to = false;
        else
            memset(to, 0, sizeof(int64_t));
    }
    const ot_interval interval = ot_median_interval(r->sample, r->n_samples);
    r->cost = interval.median;
    r->low = interval.low;
    r->high = interval.high;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void add_hex(ot_text *to, uint64_t value, int n)
{
    char hex[HEX];
    for (int i = n - 1; i >= 0; i--, value >>= 4)
        hex[i] = "0123456789abcdef"[value & 15];
    ot_text_add_n(to, hex, (size_t)n);
}

static bool is_decimal(double value, int decimals)
{
    const double whole = value * power[decimals];
    return value > 0 && whole < exact &&
           (double)(int64_t)(whole + 0.5) / power[decimals] == value;
}

/* In how few decimals all of them are; -1: in none. */
static int decimals_of(const double *sample, int n)
{
    int decimals = 0;
    for (int i = 0; i < n; i++)
        while (!is_decimal(sample[i], decimals))
            if (++decimals > MOST_DECIMALS)
                return -1;
    for (int i = 0; i < n; i++) /* 1e12 has no room for the decimals of 1e-12 */
        if (!is_decimal(sample[i], decimals))
            return -1;
    return decimals;
}

static void add_samples(ot_text *to, const double *sample, int n)
{
    const int decimals = n ? decimals_of(sample, n) : -1;
    if (decimals >= 0)
        ot_text_add_int(to, decimals);
    const int64_t first = decimals >= 0 ? (int64_t)(sample[0] * power[decimals] + 0.5) : 0;
    for (int i = 0; i < n; i++) {
        ot_text_add_n(to, ",", i || decimals >= 0);
        if (decimals < 0)
            ot_text_add_real(to, sample[i]);
        else
            ot_text_add_int(to, (int64_t)(sample[i] * power[decimals] + 0.5) - (i ? first : 0));
    }
}

static bool same_field(const optune_record *a, const optune_record *b, const ot_record_field *f)
{
    const void *x = ot_record_at(a, f), *y = ot_record_at(b, f);
    if (f->kind == OT_RECORD_FLAG)
        return *(const bool *)x == *(const bool *)y;
    if (f->kind == OT_RECORD_REAL && !isfinite(*(const double *)x)) /* it is read as infinity */
        return !isfinite(*(const double *)y);
    return memcmp(x, y, sizeof(int64_t)) == 0;
}

static void add_braces(ot_text *to, const optune_record *record, const double *sample, int n)
{
    optune_record usual; /* but for its config, which is most of it */
    usual.sample = sample;
    usual.n_samples = n;
    set_defaults(&usual);
    ot_text_add(to, "{");
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (in_braces(f) && (ot_record_is_text(f) ? ot_record_text(record, f) != NULL
                                                  : !same_field(record, &usual, f)))
            ot_line_add_field(to, record, f);
    }
    ot_text_add(to, "}");
}

void ot_line_add_short(const optune_record *r, uint64_t head, ot_text *to)
{
    const size_t start = to->n;
    const bool good = r->outcome == OPTUNE_OUTCOME_OK;
    /* As a full line has it: what failed has no samples, what is good has one at least. */
    const double *sample = r->n_samples ? r->sample : &r->cost;
    const int n = !good ? 0 : r->n_samples ? r->n_samples : 1;
    ot_text_add_n(to, "[\"", 2);
    add_hex(to, head, HEX);
    ot_text_add_n(to, "\",", 2);
    ot_text_add_int(to, r->config.index);
    ot_text_add(to, ",[");
    for (int i = 0; i < r->config.n; i++) {
        ot_text_add(to, i ? "," : "");
        ot_config_print_value(&r->config.entity[i], to);
    }
    ot_text_add(to, "],");
    ot_text_add_int(to, r->outcome);
    ot_text_add(to, ",[");
    add_samples(to, sample, n);
    ot_text_add(to, "],");
    ot_text_add_real(to, r->all_cost);
    ot_text_add(to, ",");
    ot_text_add_real(to, r->time);
    ot_text_add(to, ",");
    add_braces(to, r, sample, n);
    ot_text_add(to, ",");
    const uint32_t sum = sum_of(to->s + start, to->n - start);
    ot_text_add_n(to, "\"", 1);
    add_hex(to, sum, SUM_HEX);
    ot_text_add_n(to, "\"]\n", 3);
}

/* ---- reading ----------------------------------------------------------------------------- */

bool ot_line_is_short(const char *text, size_t n)
{
    return n >= 2 && text[0] == '[' && text[1] == '"';
}

/* Any, as JSON has it, into the config; its text is printed anew. */
static bool read_any_values(ot_tokens *t, const ot_head *head, optune_config *config,
                            ot_text *text)
{
    const size_t n = ot_line_value_length(t->at, (size_t)(t->end - t->at));
    json_t *values = n ? json_loadb(t->at, n, 0, NULL) : NULL;
    bool good = json_array_size(values) == (size_t)head->n_knobs && values;
    ot_text_clear(text);
    ot_text_add(text, "[");
    for (int i = 0; good && i < head->n_knobs; i++) {
        char *value =
            json_dumps(json_array_get(values, (size_t)i), JSON_COMPACT | JSON_ENCODE_ANY);
        ot_text_add(text, i ? "," : "");
        ot_text_add_n(text, head->knob[i].before, head->knob[i].n_before);
        ot_text_add(text, value ? value : "");
        ot_text_add(text, "]");
        free(value);
    }
    ot_text_add(text, "]");
    json_decref(values);
    t->at += n;
    good = good && ot_config_parse(text->s, config, NULL) >= 0;
    ot_text_clear(text);
    ot_config_print(config, text);
    return good;
}

/* [[1,8],true], as ot_config_print has them. */
static bool read_values(ot_tokens *t, const ot_head *head, optune_config *config, ot_text *text)
{
    const char *const start = t->at;
    bool good = OT_SKIP(t, "[");
    ot_text_clear(text);
    ot_text_add_n(text, "[", 1);
    config->n = head->n_knobs;
    for (int i = 0; good && i < head->n_knobs; i++) {
        const ot_knob_head *knob = &head->knob[i];
        optune_entity *entity = &config->entity[i];
        good = !i || OT_SKIP(t, ",");
        memcpy(entity->name, knob->name, sizeof entity->name);
        entity->kind = knob->kind;
        const size_t n =
            good ? ot_config_read_value(t->at, (size_t)(t->end - t->at), entity) : 0;
        ot_text_add_n(text, ",", i > 0);
        ot_text_add_n(text, knob->before, knob->n_before);
        ot_text_add_n(text, t->at, n);
        ot_text_add_n(text, "]", 1);
        t->at += n;
        good = n > 0;
    }
    ot_text_add_n(text, "]", 1);
    if (good && OT_SKIP(t, "]"))
        return true;
    t->at = start;
    return read_any_values(t, head, config, text);
}

/* Whole numbers; the first one, of decimals, is behind us. */
static bool read_decimals(ot_tokens *t, int64_t decimals, double *sample, int room, int *n)
{
    int64_t first = 0, one;
    if (decimals < 0 || decimals > MOST_DECIMALS)
        return false;
    while (OT_SKIP(t, ",")) {
        if (*n >= room || !ot_token_int(t, &one))
            return false;
        if (!(fabs((double)one) < exact)) /* nor do two of them overflow */
            return false;
        first = *n ? first : one;
        one = *n ? first + one : one;
        if (!(fabs((double)one) < exact))
            return false;
        sample[(*n)++] = (double)one / power[decimals];
    }
    return *n > 0;
}

static bool read_samples(ot_tokens *t, optune_record *r)
{
    int64_t decimals;
    int room = 1, n = 0;
    if (!OT_SKIP(t, "["))
        return false;
    if (OT_SKIP(t, "]")) {
        r->n_samples = 0;
        return true;
    }
    const char *const start = t->at, *const close =
                                         memchr(start, ']', (size_t)(t->end - start));
    for (const char *at = start; close && at < close; at++)
        room += *at == ',';
    if (!close || room > OT_MOST_RECORD_SAMPLES + 1)
        return false;
    double *sample = ot_arena_raw(t->arena, (size_t)room * sizeof *sample);
    if (ot_token_int(t, &decimals)) {
        if (!read_decimals(t, decimals, sample, room, &n))
            return false;
    } else {
        t->at = start;
        do
            if (n >= room || !ot_token_real(t, &sample[n++]))
                return false;
        while (OT_SKIP(t, ","));
    }
    r->sample = sample;
    r->n_samples = n;
    return OT_SKIP(t, "]");
}

/* Those that are there, in order. */
static bool read_plain_braces(ot_tokens *t, optune_record *r)
{
    bool first = true;
    if (!OT_SKIP(t, "{"))
        return false;
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!in_braces(f) || !ot_token_at(t, f, first))
            continue;
        if (!ot_token_field(t, r, f))
            return false;
        first = false;
    }
    return OT_SKIP(t, "}");
}

/* Up to the end, in any order, with others among them that a later version knows. */
static const char *read_any_braces(ot_tokens *t, optune_record *r)
{
    const char *problem = NULL;
    json_t *json = json_loadb(t->at, (size_t)(t->end - t->at), JSON_REJECT_DUPLICATES, NULL);
    set_defaults(r);
    for (int i = 0; json_is_object(json) && !problem && i < OT_RECORD_FIELDS; i++)
        if (in_braces(&ot_record_fields[i]) && json_object_get(json, ot_record_fields[i].name))
            problem = ot_line_read_field(json, i, t->arena, r);
    if (!json_is_object(json))
        problem = "what it tells in braces is no JSON object";
    json_decref(json);
    return problem;
}

static const char *read_braces(ot_tokens *t, optune_record *r)
{
    ot_tokens plain = *t;
    set_defaults(r);
    return read_plain_braces(&plain, r) && plain.at == plain.end ? NULL : read_any_braces(t, r);
}

static const char *read_trial(ot_tokens *t, const ot_head *head, ot_text *config,
                              optune_record *r)
{
    int64_t outcome, index;
    if (!ot_token_int(t, &index) || !OT_SKIP(t, ",") ||
        !read_values(t, head, &r->config, config) || !OT_SKIP(t, ",") ||
        !ot_token_int(t, &outcome) || outcome < 0 || outcome > OPTUNE_OUTCOME_CRASH ||
        !OT_SKIP(t, ",") || !read_samples(t, r) || !OT_SKIP(t, ",") ||
        !ot_token_real(t, &r->all_cost) || !OT_SKIP(t, ",") || !ot_token_real(t, &r->time) ||
        !OT_SKIP(t, ","))
        return "it is not laid out as a short line";
    r->config.index = index;
    r->outcome = (int)outcome;
    if ((outcome == OPTUNE_OUTCOME_OK) != (r->n_samples > 0))
        return "its samples and its error number disagree";
    ot_head_fill(head, r);
    return read_braces(t, r);
}

const char *ot_line_short(const char *text, size_t n, ot_heads *heads, ot_arena *arena,
                          ot_log_line *line)
{
    char why[OPTUNE_WHY_SIZE];
    uint64_t name, sum;
    while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    if (n > OT_LONGEST_LINE)
        return "it is too long";
    if (n < FRONT + SUM || !ot_head_hex(text + 2, HEX, &name) ||
        memcmp(text + 2 + HEX, "\",", 2) != 0)
        return "it is no whole short line";
    const char *const end = text + n - SUM;
    if (*end != '"' || memcmp(end + 1 + SUM_HEX, "\"]", 2) != 0 ||
        !ot_head_hex(end + 1, SUM_HEX, &sum) || sum != sum_of(text, n - SUM))
        return "it is not what its checksum says";
    const ot_head *head = ot_heads_find(heads, name);
    if (!head)
        return ot_arena_printf(
            arena,
            "it leans on head %016llx, which nothing in front of it in this log declares",
            (unsigned long long)name);
    ot_text config = {0};
    ot_tokens t = {.at = text + FRONT, .end = text + n - SUM - 1, .arena = arena};
    const char *problem = read_trial(&t, head, &config, &line->record);
    if (!problem && !ot_record_sound_told(&line->record, why))
        problem = ot_arena_copy(arena, why);
    if (!problem) {
        line->entities = ot_arena_copy(arena, config.s);
        line->n_entities = config.n;
        line->text = text;
        line->n_text = n;
        line->head = head;
        line->ours = true;
    }
    ot_text_release(&config);
    return problem;
}
