/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table at the end of a run, and the same as JSON. Every figure comes from stored records
 * through the selection that a query would make; nothing is remembered from the search itself.
 */
#include <math.h>
#include <string.h>

#include "answer/figures.h"
#include "base/record.h"
#include "tuner/report.h"

static void fill(ot_row *r, const optune_task *task, const ot_fact *fact, int n)
{
    const ot_choice_row *winner = &r->choice.row[r->choice.winner];
    ot_beside beside;
    ot_choice_beside(task, &r->choice, fact, n, &beside);
    r->best = winner->fact ? &winner->fact->record : NULL;
    r->fallback = beside.fallback;
    r->library = beside.library;
}

static void trouble(ot_row *r, const optune_record *record)
{
    ot_disturbance d;
    if (!record || !ot_disturbance_of(record->counters, &d))
        return;
    r->troubled = true;
    if (ot_disturbance_share(&d) > ot_disturbance_share(&r->trouble))
        r->trouble = d;
}

static void open_row(const ot_run *run, const optune_call *call, ot_row *r)
{
    const optune_task task = {call, &run->o->target, &run->o->device};
    ot_fact *fact;
    int n = 0;
    ot_call_label(call, !run->op, r->label, sizeof r->label);
    r->flops = ot_call_flops(call);
    r->bytes = ot_call_bytes(call);
    r->moves = ot_call_moves(call);
    r->units = ot_call_units(&run->o->device, call);
    r->tensor = ot_call_tensor(call);
    r->cacheable = ot_call_fits_cache(&run->o->device, call);
    r->chosen = ot_context_choose(run->o, &task, run->policy.name, &r->arena, &fact, &n,
                                  &r->choice, NULL) >= 0;
    for (int i = 0; i < n; i++)
        if (fact[i].currency != OT_STALE && fact[i].record.outcome == OPTUNE_OUTCOME_OK &&
            (!r->known || fact[i].record.cost < r->known->cost))
            r->known = &fact[i].record;
    if (r->chosen)
        fill(r, &task, fact, n);
    trouble(r, r->best);
    trouble(r, r->fallback);
    trouble(r, r->library);
}

/* ---- figures ----------------------------------------------------------------------------- */

/* The most that was computed in a second, as if in float32, with all its operations; the peak
 * cannot be less. */
static void find_fastest(const ot_row *all, int n, double *fastest, const char **whose)
{
    *fastest = 0;
    *whose = "";
    for (int i = 0; i < n; i++) {
        const ot_row *r = &all[i];
        const double rate =
            r->units > 0 && !r->moves && !ot_row_effective(r) ? ot_row_rate(r) / r->units : 0;
        if (rate > *fastest) {
            *fastest = rate;
            *whose = r->best->impl;
        }
    }
}

/* ---- JSON -------------------------------------------------------------------------------- */

static json_t *record_json(const optune_record *r)
{
    if (!r)
        return json_null();
    json_t *json = json_object();
    ot_record_show(r, OT_SHOWN_RUN, json);
    return json;
}

static json_t *real_or_null(bool known, double value)
{
    return known ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static json_t *row_json(const optune_run_total *total, const optune_run_row *row)
{
    json_t *json = json_object(), *ties = json_array(), *failures = json_object();
    for (int i = 0; i < row->n_ties; i++)
        json_array_append_new(ties, record_json(row->ties[i]));
    for (int k = 0; k < OT_COUNT(row->failures); k++)
        if (row->failures[k])
            json_object_set_new(failures, ot_outcome_name(k), json_integer(row->failures[k]));
    json_object_set_new(json, "call", json_string(row->call));
    json_object_set_new(json, "winner", record_json(row->winner));
    json_object_set_new(json, "ties", ties);
    json_object_set_new(json, "default", record_json(row->fallback));
    json_object_set_new(json, "library", record_json(row->library));
    json_object_set_new(json, "library_name", text_or_null(row->library_name));
    const double rate = row->rate, share = row->share;
    const bool computes = rate > 0 && !row->moves, cached = row->cached;
    json_object_set_new(json, "flops_per_second", real_or_null(computes, rate));
    json_object_set_new(json, "bytes_per_second", real_or_null(rate > 0 && row->moves, rate));
    json_object_set_new(json, "share_of_peak",
                        real_or_null(share > 0 && !row->effective && !cached, share));
    json_object_set_new(json, "effective_share",
                        real_or_null(share > 0 && row->effective, share));
    json_object_set_new(json, "effective",
                        computes ? json_boolean(row->effective) : json_null());
    json_object_set_new(json, "cached",
                        share > 0 && row->moves ? json_boolean(cached) : json_null());
    json_object_set_new(json, "disturbed", real_or_null(row->disturbed >= 0, row->disturbed));
    json_object_set_new(json, "trials", json_integer(row->trials));
    json_object_set_new(json, "new_trials", json_integer(row->new_trials));
    json_object_set_new(json, "space", json_integer(row->space));
    json_object_set_new(json, "failures", failures);
    json_object_set_new(json, "problem", text_or_null(row->problem));
    json_object_set_new(json, "standard", text_or_null(row->standard));
    json_object_set_new(json, "unwritten",
                        row->unwritten < 0 ? json_null() : json_integer(row->unwritten));
    json_object_set_new(json, "minimised", json_string(row->minimised));
    json_object_set_new(json, "unit", row->unitless ? json_null() : json_string("s"));
    json_t *metrics = json_object();
    for (int i = 0; i < total->n_metrics; i++)
        json_object_set_new(metrics, total->metrics[i],
                            real_or_null(isfinite(row->metrics[i]), row->metrics[i]));
    json_object_set_new(json, "metrics", metrics);
    return json;
}

static json_t *run_json(const ot_run_rows *rows, const ot_run *run)
{
    const optune_run_total *total = &rows->total;
    json_t *list = json_array();
    for (int i = 0; i < total->workloads; i++)
        json_array_append_new(list, row_json(total, &rows->row[i]));
    return json_pack("{s:s?, s:s, s:s, s:s, s:i, s:i, s:b, s:f, s:f, s:f, s:f, s:s, s:o, s:o, "
                     "s:o, s:o, s:o}",
                     "op", total->op, "target", total->target, "device", total->device,
                     "search", total->search, "new_trials", total->new_trials, "failures",
                     total->failures, "interrupted", (int)total->interrupted, "seconds",
                     total->seconds, "peak_flops", total->peak_flops, "peak_bandwidth",
                     total->peak_bandwidth, "peak_tensor", total->peak_tensor, "counters_why",
                     total->counters_why ? total->counters_why : "", "disturbance",
                     text_or_null(total->disturbance), "graph",
                     ot_in_graph_json(&run->in_graph), "sites", ot_in_sites_json(&run->sites),
                     "layouts", ot_layouts_json(&run->layouts.told), "workloads", list);
}

optune_result *ot_run_result(ot_run *run, const ot_tuned *tuned, int *missing,
                             char why[OPTUNE_ERR_SIZE])
{
    const int n = run->n_workloads;
    ot_row *all = ot_alloc((size_t)n * sizeof *all);
    double fastest;
    const char *whose;
    *missing = 0;
    for (int i = 0; i < n; i++) {
        open_row(run, &run->call[i], &all[i]);
        if (ot_row_answered(run, &all[i]) && !tuned[i].failed)
            continue;
        if (!*missing)
            snprintf(why, OPTUNE_ERR_SIZE, "%.300s: %.600s", all[i].label,
                     *tuned[i].problem ? tuned[i].problem
                     : all[i].known    ? "of what may be selected nothing was measured"
                                       : "nothing measured");
        ++*missing;
    }
    find_fastest(all, n, &fastest, &whose);
    ot_peak_end(run, fastest, whose);
    ot_text table = {0};
    ot_run_rows *rows = ot_run_rows_of(run, all, tuned);
    ot_run_table(rows, NULL, run->options->table, run->options->width, &table);
    if (!run->options->table || !strcmp(run->options->table, "text")) {
        ot_in_graph_say(&run->in_graph, &table);
        ot_in_sites_say(&run->sites, &table);
        ot_in_layouts_say(&run->layouts, &table);
    }
    optune_result *result = ot_result_new(table.s, run_json(rows, run));
    ot_result_keep(result, rows, ot_run_rows_drop);
    for (int i = 0; i < n; i++) {
        ot_choice_release(&all[i].choice);
        ot_arena_release(&all[i].arena);
    }
    free(all);
    return result;
}
