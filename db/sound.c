/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a record can be what it says it is. What this program measures always satisfies certain
 * rules: the cost is the median of the samples, the interval is the one that base/stats draws
 * around it, a good trial's error is within its bound, its texts survive a journey through a log.
 * A record that breaks one was forged or damaged, and is believed nowhere: neither from a line
 * nor from the store, and it is never written.
 *
 * Everything stored is looked at whenever it is read, so the samples are counted, not sorted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/db.h"

/* A cycle of a clock of 10 GHz: no run is shorter. What a clock tells at once is a nanosecond. */
static const double least_run_s = 1e-10, tick_s = 1e-9;
enum { MOST_NAMES = 256 };
static const double slack = 1e-9; /* decimals that another program left out */

/* ---- figures ----------------------------------------------------------------------------- */

/* Two samples at once: comparing gives -1 for each of which it is so. */
typedef double two __attribute__((vector_size(16)));
typedef int64_t two_signs __attribute__((vector_size(16)));

static two two_at(const double *sample)
{
    two both;
    memcpy(&both, sample, sizeof both);
    return both;
}

/* Whether `value` lies where the k-th to the m-th smallest sample are, k and m from 1. */
static bool between(const optune_record *r, double value, int k, int m)
{
    const double least = value * (1 - slack), most = value * (1 + slack);
    two_signs below = {0, 0}, up_to = {0, 0};
    int i = 0;
    for (; i + 1 < r->n_samples; i += 2) {
        const two sample = two_at(&r->sample[i]);
        below += sample < (two){least, least};
        up_to += sample <= (two){most, most};
    }
    for (; i < r->n_samples; i++) {
        below[0] -= r->sample[i] < least;
        up_to[0] -= r->sample[i] <= most;
    }
    return -(up_to[0] + up_to[1]) >= k && -(below[0] + below[1]) < m;
}

/* Whether none is odd, which is so of most records; NaN is not above 0. */
static bool all_sound(const optune_record *r)
{
    const double runs = (double)r->inner, tick = tick_s * (1 - slack);
    two_signs sound = {-1, -1};
    int i = 0;
    for (; i + 1 < r->n_samples; i += 2) {
        const two s = two_at(&r->sample[i]);
        sound &= (s >= (two){least_run_s, least_run_s}) & (s < (two){INFINITY, INFINITY}) &
                 (s * (two){runs, runs} >= (two){tick, tick});
    }
    for (; i < r->n_samples; i++)
        sound[0] &= r->sample[i] >= least_run_s && r->sample[i] < INFINITY &&
                            r->sample[i] * runs >= tick
                        ? -1
                        : 0;
    return sound[0] & sound[1];
}

static bool sound_samples(const optune_record *r, char *why)
{
    if (all_sound(r))
        return true;
    for (int i = 0; i < r->n_samples; i++) {
        const double s = r->sample[i];
        if (!(s > 0) || !isfinite(s))
            return optune_refuse(why, "sample %d, %g, is no positive number", i + 1, s);
        const bool tiny =
            s < least_run_s || (r->inner > 0 && s * (double)r->inner < tick_s * (1 - slack));
        if (tiny && !ot_costs_are(r->target))
            return optune_refuse(why, "sample %d, %g s of a run, is shorter than a clock tells",
                                 i + 1, s);
    }
    return true;
}

static bool sound_cost(const optune_record *r, char *why)
{
    const int n = r->n_samples, k = ot_median_rank(n);
    if (!(r->cost > 0) || !isfinite(r->cost))
        return optune_refuse(why, "its cost is no positive number");
    if (!between(r, r->cost, (n + 1) / 2, n / 2 + 1))
        return optune_refuse(why, "its cost, %g s, is not the median of its %d samples, %g s",
                             r->cost, n, ot_median_interval(r->sample, n).median);
    if (r->low == 0 && r->high == 0)
        return true; /* none was written; the cost stands alone */
    if (!(r->low <= r->high))
        return optune_refuse(why, "its interval, %g to %g s, is upside down", r->low, r->high);
    if (!(r->low <= r->cost * (1 + slack) && r->high >= r->cost * (1 - slack)))
        return optune_refuse(why, "its cost, %g s, lies outside its interval, %g to %g s",
                             r->cost, r->low, r->high);
    if (!between(r, r->low, k, k) || !between(r, r->high, n + 1 - k, n + 1 - k))
        return optune_refuse(why, "its interval, %g to %g s, is not that of its %d samples",
                             r->low, r->high, n);
    return true;
}

bool ot_record_figures(const optune_record *r, char *why)
{
    if (r->n_samples < 0 || r->n_samples > OT_MOST_RECORD_SAMPLES)
        return optune_refuse(why, "it has %d samples, 0 to %d are possible", r->n_samples,
                             OT_MOST_RECORD_SAMPLES);
    if (!isfinite(r->time) || r->time < 0 || !isfinite(r->all_cost) || r->all_cost < 0)
        return optune_refuse(why, "its time or its duration is no time");
    if (r->outcome < 0 || r->outcome > OPTUNE_OUTCOME_CRASH)
        return optune_refuse(why, "its outcome %d is not known", r->outcome);
    if (r->outcome != OPTUNE_OUTCOME_OK)
        return !isfinite(r->cost) ||
               optune_refuse(why, "it failed as '%s' and has a cost, %g s",
                             ot_outcome_name(r->outcome), r->cost);
    if (r->n_samples == 0 || r->inner < 0)
        return optune_refuse(why, "it is good and has %d samples of %lld runs", r->n_samples,
                             (long long)r->inner);
    if (!(r->error >= 0 && r->error <= 1))
        return optune_refuse(why, "it is good and its error is %g times its bound", r->error);
    return sound_samples(r, why) && sound_cost(r, why);
}

/* ---- texts ------------------------------------------------------------------------------- */

static bool sound_text(const char *name, const char *text, size_t most, bool one_line,
                       char *why)
{
    if (!text)
        return true;
    if (strnlen(text, most + 1) > most)
        return optune_refuse(why, "its %s is longer than %zu bytes", name, most);
    const char *plain = text; /* printable ASCII is most, and obeyed by nobody */
    while (*plain >= ' ' && *plain < 0x7f)
        plain++;
    if (!*plain)
        return true;
    for (const char *at = plain; *at; at++)
        if (ot_text_obeyed(at) && (one_line || (*at != '\n' && *at != '\t')))
            return optune_refuse(why, "its %s holds a control character", name);
    return ot_text_is_utf8(text) || optune_refuse(why, "its %s is no UTF-8", name);
}

/* "name=value" lines become a JSON object, which has each name once. */
static bool sound_lines(const char *name, const char *lines, char *why)
{
    if (!sound_text(name, lines, OT_LONG_TEXT, false, why))
        return false;
    int names = 0;
    for (const char *a = lines; a && *a; a += strcspn(a, "\n"), a += *a == '\n') {
        const size_t n = strcspn(a, "=\n");
        if (++names > MOST_NAMES)
            return optune_refuse(why, "its %s have more than %d names", name, MOST_NAMES);
        for (const char *b = lines; b < a; b += strcspn(b, "\n") + 1)
            if (strcspn(b, "=\n") == n && memcmp(a, b, n) == 0)
                return optune_refuse(why, "its %s name '%.*s' twice", name, (int)n, a);
    }
    return true;
}

/* It is written into the line as it is. */
static bool sound_task(const char *task, char *why)
{
    if (!sound_text("task", task, OT_LONG_TEXT, false, why))
        return false;
    json_t *json = task ? json_loads(task, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *target = json_array_get(json, 0);
    const bool sound =
        !task ||
        (json_array_size(json) == 4 && (json_is_string(target) || json_is_object(target)) &&
         json_is_string(json_array_get(json, 1)) && json_is_array(json_array_get(json, 2)));
    json_decref(json);
    return sound || optune_refuse(why, "its task is not [target, task, args, kwargs]");
}

static bool sound_config(const optune_config *config, char *why)
{
    ot_text text = {0};
    optune_config *back = ot_alloc(sizeof *back);
    optune_err err = {0};
    ot_config_print(config, &text);
    bool sound = ot_config_parse(ot_text_str(&text), back, &err) >= 0;
    if (!sound)
        optune_refuse(why, "its config cannot be read back: %s", err.text);
    else if (!ot_config_equal(back, config))
        sound = optune_refuse(why, "its config is read back as another one");
    ot_text_release(&text);
    free(back);
    return sound;
}

/* What failed may have said anything; it is written so that it can be read. */
static bool sound_prose(const char *name, const char *text, char *why)
{
    return !text || strnlen(text, OT_LONG_TEXT + 1) <= OT_LONG_TEXT ||
           optune_refuse(why, "its %s is longer than %d bytes", name, OT_LONG_TEXT);
}

static bool sound_field(const optune_record *r, const ot_record_field *f, char *why)
{
    switch (f->kind) {
    case OT_RECORD_PROSE:
        return f->log == OT_LOG_NONE || sound_prose(f->name, ot_record_text(r, f), why);
    case OT_RECORD_JSON:
        return sound_task(ot_record_text(r, f), why);
    case OT_RECORD_LINES:
        return sound_lines(f->name, ot_record_text(r, f), why);
    case OT_RECORD_CONFIG:
        return sound_config(ot_record_at(r, f), why);
    default: /* words and figures were looked at before */
        return true;
    }
}

/* Which fields are looked at. */
typedef enum looked_at { ALL, READ, ASKED, TOLD } looked_at;

static bool looks(looked_at at, const ot_record_field *f)
{
    const bool asked = f->who == OT_RECORD_ASKER && ot_record_is_text(f);
    const bool parsed = f->kind == OT_RECORD_CONFIG || f->kind == OT_RECORD_JSON;
    return at == ALL || (at == READ && !parsed) || (at == ASKED && asked) ||
           (at == TOLD && !asked && !parsed);
}

static bool sound_identity(const optune_record *r, looked_at at, char *why)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->kind == OT_RECORD_WORD && looks(at, f) &&
            !sound_text(f->name, ot_record_text(r, f), OT_LONG_TEXT, true, why))
            return false;
    }
    return (r->call && r->target && r->device && r->impl) ||
           optune_refuse(why, "its call, target, device or implementation is missing");
}

static bool sound_rest(const optune_record *r, looked_at at, char *why)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (looks(at, &ot_record_fields[i]) && !sound_field(r, &ot_record_fields[i], why))
            return false;
    return true;
}

static bool sound(const optune_record *r, looked_at at, char *why)
{
    if (!sound_identity(r, at, why))
        return false;
    if (r->config.n < 0 || r->config.n > OPTUNE_MAX_KNOBS || r->config.index < -1)
        return optune_refuse(why, "its config has %d knobs and the index %lld", r->config.n,
                             (long long)r->config.index);
    return ot_record_figures(r, why) && sound_rest(r, at, why);
}

bool ot_record_sound(const optune_record *r, char *why)
{
    return sound(r, ALL, why);
}

bool ot_record_sound_read(const optune_record *r, char *why)
{
    return sound(r, READ, why);
}

bool ot_record_sound_asked(const optune_record *r, char *why)
{
    return sound_identity(r, ASKED, why) && sound_rest(r, ASKED, why);
}

bool ot_record_sound_told(const optune_record *r, char *why)
{
    return sound(r, TOLD, why);
}
