/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: optune_select (what would be used, and why) and optune_query (the best current
 * record). Both parse the words, fetch what the store knows, and hand it to strategy/select.c,
 * which decides. They read the store without a lock and never measure.
 */
#include <math.h>
#include <string.h>

#include "tuner/tuner.h"

struct optune_selection {
    optune_call call;
    optune_target target;
    optune_device device;
    optune_task task; /* points at the three above */
    ot_arena arena;
    ot_fact *fact;
    int n_facts;
    ot_choice choice;
    ot_text config, text;
    char *json;
};

static int answer(optune *o, const char *workload, optune_selection **out, optune_err *err)
{
    optune_selection *s = ot_alloc(sizeof *s);
    int status = ot_context_device(o, err);
    if (status >= 0)
        status = ot_call_parse(workload, &s->call, err);
    if (status < 0)
        goto out;
    s->target = o->target;
    s->device = o->device;
    s->task = (optune_task){&s->call, &s->target, &s->device};
    status = ot_context_facts(o, &s->task, &s->arena, &s->fact, &s->n_facts, err);
    if (status >= 0)
        status = ot_select(&s->task, s->fact, s->n_facts, &s->choice, err);
out:
    if (status < 0) {
        optune_selection_free(s);
        return status;
    }
    *out = s;
    return OPTUNE_OK;
}

int optune_select(optune *o, const char *workload, optune_selection **selection,
                  optune_err *err)
{
    *selection = NULL;
    const int status = answer(o, workload, selection, err);
    if (status >= 0 && o->log && o->log_level >= OPTUNE_LOG_INFO) {
        ot_text lines = {0};
        ot_choice_log(&(*selection)->task, &(*selection)->choice, &lines);
        for (char *line = lines.s, *end; line && *line; line = end) {
            end = line + strcspn(line, "\n");
            end += *end ? (*end = 0, 1) : 0;
            ot_context_log(o, OPTUNE_LOG_INFO, "%s", line);
        }
        ot_text_release(&lines);
    }
    return status;
}

void optune_selection_free(optune_selection *s)
{
    if (!s)
        return;
    ot_arena_release(&s->arena);
    ot_text_release(&s->config);
    ot_text_release(&s->text);
    free(s->json);
    free(s);
}

static const ot_choice_row *winner(const optune_selection *s)
{
    return &s->choice.row[s->choice.winner];
}

const char *optune_selection_impl(const optune_selection *s)
{
    return winner(s)->candidate.impl->name;
}

const char *optune_selection_tier(const optune_selection *s)
{
    return ot_tier_name(s->choice.tier);
}

const char *optune_selection_config(const optune_selection *s)
{
    /* Filled on first use; a selection belongs to one thread. */
    ot_text *config = (ot_text *)&s->config;
    if (!config->n)
        ot_config_print(&s->choice.config, config);
    return ot_text_str(config);
}

double optune_selection_cost(const optune_selection *s)
{
    const ot_choice_row *row = winner(s);
    return s->choice.tier == OT_TIER_PLEVEL || !row->fact ? INFINITY : row->fact->record.cost;
}

const char *optune_selection_text(optune_selection *s, bool explain)
{
    ot_text_clear(&s->text);
    ot_choice_text(&s->task, &s->choice, explain, &s->text);
    return ot_text_str(&s->text);
}

const char *optune_selection_json(optune_selection *s)
{
    if (!s->json) {
        json_t *json = ot_choice_json(&s->task, &s->choice);
        s->json = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        json_decref(json);
    }
    return s->json;
}

/* The record behind a tuned answer, as a person and as JSON see it. */
static optune_result *record_result(const optune_selection *s)
{
    const optune_record *r = &winner(s)->fact->record;
    ot_text line = {0}, config = {0}, text = {0};
    ot_record_line(r, &line);
    ot_config_print_short(&r->config, &config);
    const double flops = ot_call_flops(&s->call);
    ot_text_printf(&text, "%s\n", r->call);
    ot_text_printf(&text, "  %s %s\n", r->impl, ot_text_str(&config));
    ot_text_printf(&text, "  %.4g us [%.4g, %.4g], %d samples", r->cost * 1e6, r->low * 1e6,
                   r->high * 1e6, r->n_samples);
    if (flops > 0)
        ot_text_printf(&text, ", %.1f GFLOP/s", flops / r->cost * 1e-9);
    ot_text_printf(&text, "\n  on %s, %s\n", r->device, r->target);
    for (const char *d = r->depends; d && *d;) {
        const size_t n = strcspn(d, "\n");
        ot_text_printf(&text, "  %.*s\n", (int)n, d);
        d += n + (d[n] == '\n');
    }
    if (s->choice.tier == OT_TIER_UNVERIFIED)
        ot_text_printf(&text, "  unverified here: %s\n", winner(s)->fact->why);
    json_t *json = json_object();
    json_object_set_new(json, "call", json_string(r->call));
    json_object_set_new(json, "impl", json_string(r->impl));
    json_object_set_new(json, "tier", json_string(ot_tier_name(s->choice.tier)));
    json_object_set_new(json, "cost", json_real(r->cost));
    json_object_set_new(json, "low", json_real(r->low));
    json_object_set_new(json, "high", json_real(r->high));
    json_object_set_new(json, "record", json_loads(ot_text_str(&line), 0, NULL));
    ot_text_release(&line);
    ot_text_release(&config);
    return ot_result_new(text.s, json);
}

int optune_query(optune *o, const char *workload, optune_result **result, optune_err *err)
{
    *result = NULL;
    optune_selection *s = NULL;
    int status = answer(o, workload, &s, err);
    if (status < 0)
        return status;
    if (s->choice.tier != OT_TIER_PLEVEL) {
        *result = record_result(s);
    } else {
        const char *why = s->n_facts ? "no trial of what may be selected here succeeded"
                                     : "it was never tuned here; `optune run` does that";
        const optune_record *stale = NULL;
        for (int i = 0; i < s->choice.n; i++) {
            const ot_choice_row *row = &s->choice.row[i];
            if (row->stale && (!stale || row->stale->record.cost < stale->cost)) {
                stale = &row->stale->record;
                why = row->stale_why;
            }
        }
        ot_text call = {0};
        ot_call_print(&s->call, &call);
        status = optune_fail(err, OPTUNE_ENOENT, "no current record of %s: %s",
                             ot_text_str(&call), why);
        ot_text_release(&call);
    }
    optune_selection_free(s);
    return status;
}
