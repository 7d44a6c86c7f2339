/* SPDX-License-Identifier: Apache-2.0 */
/* The table at the end of a run, and the lines below it. Never asks the store: rows are given. */
#include <math.h>
#include <string.h>

#include "answer/figures.h"
#include "base/table.h"
#include "tuner/report.h"

enum {
    WORKLOAD,
    WINNER,
    TIME,
    WIDTH,
    RATE,
    PEAK,
    DEFAULT,
    LIBRARY,
    WHICH,
    TRIALS,
    FAILED,
};

static void add_columns(ot_table *table, bool all_move, const ot_metrics *metrics)
{
    const ot_column column[] = {
        [WORKLOAD] = {.name = "workload", .left = true},
        [WINNER] = {.name = "winner", .left = true, .least = 9},
        [TIME] = {.name = "time us"},
        [WIDTH] = {.name = "+-%", .least = 5},
        [RATE] = {.name = all_move ? "GB/s" : "GFLOP/s", .least = 4},
        [PEAK] = {.name = "peak", .least = 6},
        [DEFAULT] = {.name = "default", .least = 8},
        [LIBRARY] = {.name = "library", .least = 7},
        [WHICH] = {.name = "which library", .left = true, .least = 3, .aside = true},
        [TRIALS] = {.name = "trials", .least = 1},
        [FAILED] = {.name = "failed", .left = true, .least = 2},
    };
    for (int i = 0; i < OT_COUNT(column); i++)
        ot_table_column(table, &column[i]);
    for (int i = 0; i < metrics->n; i++)
        ot_table_column(table, &(ot_column){.name = metrics->name[i]});
}

static void add_metrics(const ot_metrics *metrics, ot_table *table, const optune_call *call,
                        const ot_row *r)
{
    char text[32];
    for (int i = 0; i < metrics->n; i++) {
        const double value = ot_metric_value(metrics, i, call, r->best);
        ot_format(text, sizeof text, "%.4g", value);
        ot_table_cell(table, FAILED + 1 + i, isfinite(value) ? text : "-");
    }
}

/* `mark` behind it, for what a line below the table explains. */
static void add_times(ot_table *table, int column, double value, const char *mark)
{
    char text[32] = "-";
    if (isfinite(value) && value > 0)
        ot_format(text, sizeof text, value < 100 ? "%.2fx%s" : "%.0fx%s", value, mark);
    ot_table_cell(table, column, text);
}

static void add_failures(ot_table *table, const ot_tuned *tuned)
{
    ot_text text = {0};
    for (int k = 0; k < OT_COUNT(tuned->failures); k++)
        if (tuned->failures[k])
            ot_text_printf(&text, "%s%d %s", text.n ? ", " : "", tuned->failures[k],
                           ot_outcome_name(k));
    ot_table_cell(table, FAILED, text.n ? ot_text_str(&text) : "0");
    ot_text_release(&text);
}

/* Why a workload has no winner. */
static void add_nothing(const ot_run *run, ot_table *table, const ot_row *r,
                        const ot_tuned *tuned)
{
    ot_text text = {0};
    if (r->known) {
        char name[128];
        ot_record_library(r->known, name, sizeof name);
        ot_text_printf(&text,
                       "of what may be selected nothing was measured; %s (%s) takes "
                       "%.2f us",
                       r->known->impl, name, r->known->cost * 1e6);
    } else if (*tuned->problem) {
        ot_text_add(&text, tuned->problem);
    } else if (ot_context_stopped(run->o)) {
        ot_text_add(&text, "interrupted before anything was measured");
    } else {
        ot_text_add(&text, tuned->done ? "nothing measured within the limits"
                                       : "the run ended before its turn");
    }
    ot_table_rest(table, ot_text_str(&text));
    ot_text_release(&text);
}

static void add_below(ot_table *table, const ot_row *r, const ot_tuned *tuned,
                      ot_table_form form)
{
    ot_text text = {0};
    for (int i = 0; i < r->choice.n; i++) {
        const ot_choice_row *c = &r->choice.row[i];
        if (c->tied && !c->winner)
            ot_text_printf(&text, "%s %s, %.2f us", text.n ? " and" : "tied with",
                           c->candidate.impl->name, c->fact->record.cost * 1e6);
    }
    if (tuned->failed)
        ot_text_printf(&text, "%sit ended early: %s", text.n ? "; " : "", tuned->problem);
    if (r->troubled && form != OT_TABLE_TEXT) { /* a mark in a figure is for eyes only */
        ot_text_add(&text, text.n ? "; " : "");
        ot_disturbance_say(&r->trouble, &text);
    }
    if (text.n)
        ot_table_below(table, ot_text_str(&text));
    ot_text_release(&text);
}

static void add_row(const ot_run *run, ot_table *table, const ot_row *r, const ot_tuned *tuned,
                    bool all_move, ot_table_form form)
{
    char text[128];
    ot_table_row(table);
    ot_table_cell(table, WORKLOAD, r->label);
    if (!r->best) {
        add_nothing(run, table, r, tuned);
        return;
    }
    ot_table_cell(table, WINNER, r->best->impl);
    ot_format(text, sizeof text, "%.2f", r->best->cost * 1e6);
    ot_table_cell(table, TIME, text);
    ot_format(text, sizeof text, "%.1f%s", 50 * (r->best->high - r->best->low) / r->best->cost,
              r->troubled && form == OT_TABLE_TEXT ? "!" : "");
    ot_table_cell(table, WIDTH, text);
    const double rate = ot_row_rate(r), share = ot_row_share(run, r);
    ot_format(text, sizeof text, "%.1f%s", rate * 1e-9, r->moves && !all_move ? "GB" : "");
    ot_table_cell(table, RATE, rate > 0 ? text : "-");
    ot_format(text, sizeof text, "%.0f%%%s", 100 * share, ot_row_effective(r) ? "e" : "");
    ot_table_cell(table, PEAK, share <= 0 ? "-" : share > 1 && r->moves ? "caches" : text);
    add_times(table, DEFAULT, r->fallback ? r->fallback->cost / r->best->cost : NAN, "");
    add_times(table, LIBRARY, r->library ? r->library->cost / r->best->cost : NAN,
              r->library && form == OT_TABLE_TEXT && ot_baseline_is_reference(r->library) ? "r"
                                                                                          : "");
    if (r->library) {
        ot_record_library(r->library, text, sizeof text);
        ot_table_cell(table, WHICH, text);
    }
    snprintf(text, sizeof text, "%d", tuned->trials);
    ot_table_cell(table, TRIALS, text);
    add_failures(table, tuned);
    add_below(table, r, tuned, form);
}

/* ---- the lines below it ------------------------------------------------------------------ */

static void add_line(ot_text *line, int width, ot_text *to)
{
    if (line->n)
        ot_table_wrap(line->s, width, 2, to);
    ot_text_clear(line);
}

static void add_means(const ot_row *all, int n, int width, ot_text *to)
{
    double *to_default = ot_alloc((size_t)(n + 1) * sizeof *to_default);
    ot_baselines libraries = {0};
    ot_text line = {0};
    int n_default = 0;
    for (int i = 0; i < n; i++) {
        const ot_row *r = &all[i];
        if (r->best && r->fallback)
            to_default[n_default++] = r->fallback->cost / r->best->cost;
        if (r->best && r->library)
            ot_baseline_add(&libraries, r->library, r->library->cost / r->best->cost);
    }
    if (n_default)
        ot_text_printf(&line, "geometric mean over the default: %.2fx",
                       ot_geomean(to_default, n_default));
    ot_baseline_means(&libraries, !n_default, &line);
    add_line(&line, width, to);
    for (int i = 0; i < libraries.n; i++) {
        ot_baseline_note(&libraries.item[i], &line);
        add_line(&line, width, to);
    }
    ot_text_release(&line);
    free(to_default);
}

/* Of an operator whose meaning is code: which config won, and what its outputs were compared
 * with. */
static void add_standard(const optune_call *call, const ot_row *r, int width, ot_text *to)
{
    ot_text line = {0};
    const optune_op *op = call->op;
    if ((!op->standard && !op->judge) || !r->best)
        return;
    ot_text_printf(&line, "best of %s: ", call->op->name);
    ot_config_print_short(&r->best->config, &line);
    if (op->judge)
        ot_text_printf(&line, "; judged by %s", op->judge);
    if (op->standard && !op->judge) {
        ot_text_printf(&line, "; outputs checked against %s, within ", op->standard);
        ot_text_add_real(&line, op->absolute);
        ot_text_add(&line, " + ");
        ot_text_add_real(&line, op->relative);
        ot_text_add(&line, " of it");
    }
    add_line(&line, width, to);
    ot_text_release(&line);
}

static void footer(const ot_run *run, const ot_row *all, ot_table_form form, int width,
                   ot_text *to)
{
    const int n = run->n_workloads, threads = run->o->target.threads;
    bool cached = false, fewer = false;
    ot_text line = {0};
    for (int i = 0; i < n; i++) {
        cached = cached || (all[i].moves && ot_row_share(run, &all[i]) > 1);
        fewer = fewer || ot_row_effective(&all[i]);
    }
    ot_text_add(to, "\n");
    add_means(all, n, width, to);
    for (int i = 0; i < n; i++)
        add_standard(&run->call[i], &all[i], width, to);
    ot_text_printf(&line, "%d new trials, %d failed, %.1f s on %s", run->new_trials,
                   run->failures, ot_now() - run->started, run->o->device.name);
    if (threads) /* a GPU has none to choose */
        ot_text_printf(&line, ", %d thread%s", threads, threads == 1 ? "" : "s");
    add_line(&line, width, to);
    ot_text_add(&line, ot_worker_counters_why(run->worker));
    add_line(&line, width, to);
    if (run->peak_flops > 0)
        ot_text_printf(&line, "measured peak: %.0f GFLOP/s%s, %.1f GB/s %s",
                       run->peak_flops * 1e-9, threads ? "" : " in float32",
                       run->peak_bandwidth * 1e-9, threads ? "read" : "copied");
    if (run->peak_flops > 0 && fewer)
        ot_text_add(&line, "; \"e\": effective, counted as if all the operator's operations "
                           "were done; fewer are, so it may pass 100 %");
    if (run->peak_flops > 0 && cached)
        ot_text_add(&line, "; \"caches\": the data stays in them");
    add_line(&line, width, to);
    ot_disturbance worst;
    if (form == OT_TABLE_TEXT && ot_rows_trouble(all, n, &worst)) {
        ot_text_add(&line, "\"!\": ");
        ot_disturbance_say(&worst, &line);
        ot_text_add(&line, " while this was measured; figures may be off, --again measures "
                           "once more");
    }
    add_line(&line, width, to);
    ot_text_release(&line);
}

char *ot_run_table(const ot_run *run, const ot_row *all, const ot_tuned *tuned)
{
    ot_table_form form = OT_TABLE_TEXT;
    ot_table table = {0};
    ot_text text = {0};
    int n_move = 0;
    ot_table_form_named(run->options->table, &form, NULL); /* checked when the run began */
    for (int i = 0; i < run->n_workloads; i++)
        n_move += all[i].moves;
    const bool all_move = n_move > 0 && n_move == run->n_workloads;
    add_columns(&table, all_move, &run->metrics);
    for (int i = 0; i < run->n_workloads; i++) {
        add_row(run, &table, &all[i], &tuned[i], all_move, form);
        if (all[i].best)
            add_metrics(&run->metrics, &table, &run->call[i], &all[i]);
    }
    const int width = form == OT_TABLE_TEXT ? run->options->width : 0;
    ot_table_print(&table, form, width, &text);
    if (form != OT_TABLE_CSV)
        footer(run, all, form, width, &text);
    ot_table_release(&table);
    return text.s;
}
