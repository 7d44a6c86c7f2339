/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of one workload for people who look: in the order of time, failures by kind, and how
 * much of the times each knob explains. Stale records are counted, never shown among the others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/list/list.h"
#include "answer/report.h"

enum { FEWEST_FOR_EFFECTS = 8, MESSAGE = 240 };

/* ---- one trial --------------------------------------------------------------------------- */

/* {knob: value}: scalars as they are, lists as their text, so that a value is one mark of an
 * axis. */
static json_t *values_json(const optune_config *config)
{
    ot_text text = {0};
    ot_config_print(config, &text);
    json_t *all = json_loads(ot_text_str(&text), 0, NULL), *values = json_object(), *knob;
    size_t i;
    json_array_foreach(all, i, knob)
    {
        json_t *value = json_array_get(knob, 2);
        char *list = json_is_array(value) ? json_dumps(value, JSON_COMPACT) : NULL;
        json_object_set_new(values, json_string_value(json_array_get(knob, 0)),
                            list ? json_string(list) : json_incref(value));
        free(list);
    }
    json_decref(all);
    ot_text_release(&text);
    return values;
}

static json_t *samples_json(const optune_record *r, int limit)
{
    json_t *list = json_array();
    const int n = r->n_samples < limit ? r->n_samples : limit;
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_real(r->sample[(int64_t)i * r->n_samples / n]));
    return list;
}

/* A text of somebody else's: no longer than a line or two, and UTF-8 whatever it was. */
static json_t *message_json(const char *message)
{
    char text[MESSAGE];
    snprintf(text, sizeof text, "%.*s", MESSAGE - 1, message ? message : "");
    for (size_t n = strlen(text); n && !ot_text_is_utf8(text); n--)
        text[n - 1] = '\0';
    return json_string(text);
}

static json_t *trial_json(const optune_record *r, double at, int samples)
{
    const bool ok = r->outcome == OPTUNE_OUTCOME_OK;
    json_t *json = json_pack("{s:s, s:s, s:f, s:f, s:o}", "impl", r->impl, "outcome",
                             ot_outcome_name(r->outcome), "at", at, "seconds", r->all_cost,
                             "values", values_json(&r->config));
    if (ok) {
        json_object_set_new(json, "cost", json_real(r->cost));
        json_object_set_new(json, "low", json_real(r->low));
        json_object_set_new(json, "high", json_real(r->high));
    }
    if (r->final)
        json_object_set_new(json, "final", json_true());
    if (r->final && ok)
        json_object_set_new(json, "samples", samples_json(r, samples));
    return json;
}

/* ---- what knobs explain ------------------------------------------------------------------ */

typedef struct level { /* trials with one value of a knob */
    char *value;
    int n;
    double sum; /* of the logarithms of their times */
} level;

static level *level_of(level *all, int *n, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    for (int i = 0; i < *n; i++)
        if (!strcmp(all[i].value, text)) {
            free(text);
            return &all[i];
        }
    all[*n] = (level){.value = text};
    return &all[(*n)++];
}

/* Omega squared of a one-way analysis of variance: the share of the variance of the logarithm of
 * the time that the knob's value explains by itself, without what as many groups of any trials
 * would explain by chance. -1: every trial, or none, has the same value. */
static double explained(const char *knob, json_t *const *values, const double *log_cost, int n)
{
    level *all = ot_alloc((size_t)n * sizeof *all);
    int levels = 0, used = 0;
    double sum = 0, total = 0, between = 0;
    for (int i = 0; i < n; i++) {
        const json_t *value = json_object_get(values[i], knob);
        if (!value)
            continue;
        level *of = level_of(all, &levels, value);
        of->n++;
        of->sum += log_cost[i];
        sum += log_cost[i];
        used++;
    }
    const double mean = used ? sum / used : 0;
    for (int i = 0; i < n; i++)
        if (json_object_get(values[i], knob))
            total += (log_cost[i] - mean) * (log_cost[i] - mean);
    for (int i = 0; i < levels; i++) {
        const double off = all[i].sum / all[i].n - mean;
        between += all[i].n * off * off;
        free(all[i].value);
    }
    free(all);
    if (levels < 2 || levels >= used || total <= 0)
        return -1;
    const double within = (total - between) / (used - levels);
    return fmin(1, fmax(0, (between - (levels - 1) * within) / (total + within)));
}

/* ---- implementations --------------------------------------------------------------------- */

static bool shown(const ot_fact *fact)
{
    return fact->currency != OT_STALE;
}

static json_t *effects_json(const char *impl, const ot_fact *const *fact, int n)
{
    json_t **values = ot_alloc((size_t)(n + 1) * sizeof *values), *effects = json_array();
    double *log_cost = ot_alloc((size_t)(n + 1) * sizeof *log_cost);
    json_t *knobs = json_object();
    const char *knob;
    json_t *any;
    int used = 0;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i]->record;
        if (r->outcome != OPTUNE_OUTCOME_OK || r->final || r->cost <= 0 ||
            strcmp(r->impl, impl))
            continue;
        values[used] = values_json(&r->config);
        log_cost[used] = log(r->cost);
        json_object_update(knobs, values[used++]);
    }
    if (used >= FEWEST_FOR_EFFECTS)
        json_object_foreach(knobs, knob, any)
        {
            const double share = explained(knob, values, log_cost, used);
            json_array_append_new(effects,
                                  json_pack("{s:s, s:o}", "knob", knob, "share",
                                            share < 0 ? json_null() : json_real(share)));
        }
    for (int i = 0; i < used; i++)
        json_decref(values[i]);
    json_decref(knobs);
    free(values);
    free(log_cost);
    return effects;
}

static json_t *impls_json(const ot_fact *const *fact, int n)
{
    json_t *impls = json_array(), *seen = json_object();
    for (int i = 0; i < n; i++) {
        const char *name = fact[i]->record.impl;
        if (json_object_get(seen, name))
            continue;
        json_object_set_new(seen, name, json_true());
        const optune_impl *impl = ot_impl_find(name);
        json_t *json = json_object();
        ot_set_text(json, "name", name);
        ot_set_text(json, "summary", impl ? impl->summary : NULL);
        ot_set_text(json, "library", impl ? impl->library : NULL);
        ot_set_bool(json, "fewer_operations", impl && impl->fewer_operations);
        json_object_set_new(json, "effects", effects_json(name, fact, n));
        json_array_append_new(impls, json);
    }
    json_decref(seen);
    return impls;
}

/* ---- all --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const ot_fact *x = *(const ot_fact *const *)a, *y = *(const ot_fact *const *)b;
    return (x->record.time > y->record.time) - (x->record.time < y->record.time);
}

static void count_failure(json_t *failed, const optune_record *r)
{
    const char *kind = ot_outcome_name(r->outcome);
    json_t *of = json_object_get(failed, kind);
    if (!of) {
        of = json_pack("{s:i, s:s, s:o}", "n", 0, "impl", r->impl, "example",
                       message_json(r->message));
        json_object_set_new(failed, kind, of);
    }
    ot_set_int(of, "n", json_integer_value(json_object_get(of, "n")) + 1);
}

static json_t *trials_json(const ot_fact *const *fact, int n, const ot_report_limits *limits,
                           json_t *failed, int *left_out)
{
    json_t *trials = json_array();
    double at = 0, last = -INFINITY, best = INFINITY;
    for (int i = 0; i < n; i++) {
        const optune_record *r = &fact[i]->record;
        /* What was between two trials, other workloads or a night, was not spent on this one. */
        const double since = r->time - last, cost = fmax(0, r->all_cost);
        at += fmax(0, fmin(since, cost));
        last = r->time;
        const bool ok = r->outcome == OPTUNE_OUTCOME_OK, better = ok && r->cost < best;
        if (!ok)
            count_failure(failed, r);
        if (better)
            best = r->cost;
        const bool drawn =
            (int64_t)(i + 1) * limits->trials / n > (int64_t)i * limits->trials / n;
        if (n <= limits->trials || drawn || better || r->final)
            json_array_append_new(trials, trial_json(r, at, limits->samples));
        else
            ++*left_out;
    }
    return trials;
}

void ot_report_trials(const ot_fact *fact, int n, const ot_report_limits *limits, json_t *to)
{
    const ot_fact **kept = ot_alloc((size_t)(n + 1) * sizeof *kept);
    json_t *failed = json_object();
    const char *why = NULL;
    char text[OPTUNE_WHY_SIZE];
    int used = 0, left_out = 0;
    for (int i = 0; i < n; i++)
        if (shown(&fact[i]))
            kept[used++] = &fact[i];
        else if (!why)
            why = ot_fact_why(&fact[i], text);
    qsort(kept, (size_t)used, sizeof *kept, by_time);
    json_object_set_new(to, "trials", trials_json(kept, used, limits, failed, &left_out));
    json_object_set_new(to, "failed", failed);
    json_object_set_new(to, "impls", impls_json(kept, used));
    ot_set_int(to, "left_out", left_out);
    ot_set_int(to, "stale", n - used);
    ot_set_text(to, "stale_why", why);
    free(kept);
}
