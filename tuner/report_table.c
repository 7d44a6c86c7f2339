/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table at the end of a run, and the lines below it. The one idea: it reads what every program
 * is given, rows and total and the document's dispatch tables, and nothing else.
 */
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

static void add_columns(ot_table *table, bool all_move, bool unitless,
                        const optune_run_total *total)
{
    const ot_column column[] = {
        [WORKLOAD] = {.name = "workload", .left = true},
        [WINNER] = {.name = "winner", .left = true, .least = 9},
        [TIME] = {.name = unitless ? "cost" : "time us"},
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
    for (int i = 0; i < total->n_metrics; i++)
        ot_table_column(table, &(ot_column){.name = total->metrics[i]});
}

static void add_metrics(ot_table *table, const optune_run_row *r, int n)
{
    char text[32];
    for (int i = 0; i < n; i++) {
        ot_format(text, sizeof text, "%.4g", r->metrics[i]);
        ot_table_cell(table, FAILED + 1 + i, isfinite(r->metrics[i]) ? text : "-");
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

/* A cost as the column has it; one without a unit as it stands. */
static const char *cost_text(const optune_run_row *r, double cost, char text[32])
{
    if (r->unitless)
        ot_format(text, 32, "%.6g", cost);
    else
        ot_format(text, 32, "%.2f", cost * 1e6);
    return text;
}

static void add_failures(ot_table *table, const optune_run_row *r)
{
    ot_text text = {0};
    for (int k = 0; k < OT_COUNT(r->failures); k++)
        if (r->failures[k])
            ot_text_printf(&text, "%s%d %s", text.n ? ", " : "", r->failures[k],
                           ot_outcome_name(k));
    ot_table_cell(table, FAILED, text.n ? ot_text_str(&text) : "0");
    ot_text_release(&text);
}

/* Why a workload has no winner. */
static void add_nothing(ot_table *table, const optune_run_row *r)
{
    ot_text text = {0};
    if (r->known) {
        char name[128];
        ot_record_library(r->known, name, sizeof name);
        ot_text_printf(&text,
                       "of what may be selected nothing was measured; %s (%s) takes "
                       "%.2f us",
                       r->known->impl, name, r->known->cost * 1e6);
    } else {
        ot_text_add(&text, r->problem);
    }
    ot_table_rest(table, ot_text_str(&text));
    ot_text_release(&text);
}

static void add_below(ot_table *table, const optune_run_row *r, ot_table_form form)
{
    ot_text text = {0};
    char cost[32];
    for (int i = 0; i < r->n_ties; i++)
        ot_text_printf(&text, "%s %s, %s%s", text.n ? " and" : "tied with", r->ties[i]->impl,
                       cost_text(r, r->ties[i]->cost, cost), r->unitless ? "" : " us");
    if (r->failed)
        ot_text_printf(&text, "%sit ended early: %s", text.n ? "; " : "", r->problem);
    if (r->disturbance && form != OT_TABLE_TEXT) { /* a mark in a figure is for eyes only */
        ot_text_add(&text, text.n ? "; " : "");
        ot_text_add(&text, r->disturbance);
    }
    if (text.n)
        ot_table_below(table, ot_text_str(&text));
    ot_text_release(&text);
}

static void add_row(ot_table *table, const optune_run_row *r, bool all_move, ot_table_form form)
{
    char text[128];
    const optune_record *best = r->winner;
    ot_table_row(table);
    ot_table_cell(table, WORKLOAD, r->label);
    if (!best) {
        add_nothing(table, r);
        return;
    }
    ot_table_cell(table, WINNER, best->impl);
    ot_table_cell(table, TIME, cost_text(r, best->cost, text));
    ot_format(text, sizeof text, "%.1f%s", 50 * (best->high - best->low) / best->cost,
              r->disturbance && form == OT_TABLE_TEXT ? "!" : "");
    ot_table_cell(table, WIDTH, text);
    ot_format(text, sizeof text, "%.1f%s", r->rate * 1e-9, r->moves && !all_move ? "GB" : "");
    ot_table_cell(table, RATE, r->rate > 0 ? text : "-");
    ot_format(text, sizeof text, "%.0f%%%s", 100 * r->share, r->effective ? "e" : "");
    ot_table_cell(table, PEAK, r->share <= 0 ? "-" : r->cached ? "caches" : text);
    add_times(table, DEFAULT, r->fallback ? r->fallback->cost / best->cost : NAN, "");
    add_times(table, LIBRARY, r->library ? r->library->cost / best->cost : NAN,
              r->reference && form == OT_TABLE_TEXT ? "r" : "");
    if (r->library)
        ot_table_cell(table, WHICH, r->library_name ? r->library_name : "");
    snprintf(text, sizeof text, "%d", r->trials);
    ot_table_cell(table, TRIALS, text);
    add_failures(table, r);
    add_below(table, r, form);
}

/* ---- dispatch tables: what is used where, a row each -------------------------------------- */

static const char *member(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

/* "where n <= 8: BM=4,BN=16" */
static void add_where(const json_t *row, ot_text *to)
{
    const char *when = member(row, "when"), *tier = member(row, "tier");
    char *text = json_dumps(json_object_get(row, "config"), JSON_COMPACT);
    optune_config config;
    ot_text_printf(to, "dispatch table, %s%s", when ? "where " : "otherwise", when ? when : "");
    if (tier && strcmp(tier, "tuned"))
        ot_text_printf(to, ", by %s", tier);
    if (text && ot_config_parse(text, &config, NULL) >= 0 && config.n) {
        ot_text_add(to, ": ");
        ot_config_print_short(&config, to);
    }
    free(text);
}

static void add_tables(ot_table *table, const json_t *tables)
{
    size_t i, k;
    json_t *one, *row;
    json_array_foreach(tables, i, one)
    {
        const json_t *rows = json_object_get(one, "rows");
        const char *call = member(one, "call"), *problem = member(one, "problem");
        ot_text note = {0};
        json_array_foreach(rows, k, row)
        {
            ot_text_clear(&note);
            add_where(row, &note);
            ot_table_row(table);
            ot_table_cell(table, WORKLOAD, call);
            ot_table_cell(table, WINNER, member(row, "impl"));
            ot_table_below(table, ot_text_str(&note));
        }
        if (!json_array_size(rows)) {
            ot_text_clear(&note);
            ot_text_printf(&note, "no dispatch table: %s", problem ? problem : "interrupted");
            ot_table_row(table);
            ot_table_cell(table, WORKLOAD, call);
            ot_table_rest(table, ot_text_str(&note));
        }
        ot_text_release(&note);
    }
}

/* ---- the lines below it ------------------------------------------------------------------ */

static void add_line(ot_text *line, int width, ot_text *to)
{
    if (line->n)
        ot_table_wrap(line->s, width, 2, to);
    ot_text_clear(line);
}

static void add_means(const ot_run_rows *rows, int width, ot_text *to)
{
    double *to_default = ot_alloc((size_t)(rows->total.workloads + 1) * sizeof *to_default);
    ot_baselines libraries = {0};
    ot_text line = {0};
    int n_default = 0;
    for (int i = 0; i < rows->total.workloads; i++) {
        const optune_run_row *r = &rows->row[i];
        if (r->winner && r->fallback)
            to_default[n_default++] = r->fallback->cost / r->winner->cost;
        if (r->winner && r->library)
            ot_baseline_add(&libraries, r->library, r->library->cost / r->winner->cost);
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

static void add_tolerance(const optune_run_row *r, ot_text *to)
{
    const double part[] = {r->absolute, r->relative};
    if (r->absolute < 0 && r->relative < 0) {
        ot_text_add(to, "what is usual for the type of each");
        return;
    }
    for (int i = 0; i < OT_COUNT(part); i++) {
        ot_text_add(to, i ? " + " : "");
        if (part[i] < 0)
            ot_text_add(to, "what is usual for its type");
        else
            ot_text_add_real(to, part[i]);
    }
    ot_text_add(to, " of it");
}

/* Of an operator whose meaning is code: which config won, and what its outputs were compared
 * with. */
static void add_standard(const optune_run_row *r, int width, ot_text *to)
{
    ot_text line = {0};
    if (!r->standard || !r->winner)
        return;
    ot_text_printf(&line, "best of %s: ", r->op);
    ot_config_print_short(&r->winner->config, &line);
    if (r->judged)
        ot_text_printf(&line, "; judged by %s; minimised: %s", r->standard, r->minimised);
    if (!r->judged)
        ot_text_printf(&line, "; outputs checked against %s, ", r->standard);
    if (!r->judged && r->absolute == 0 && r->relative == 0) {
        ot_text_add(&line, "equal to it");
    } else if (!r->judged) {
        ot_text_add(&line, "within ");
        add_tolerance(r, &line);
    }
    if (r->unwritten > 0)
        ot_text_printf(&line, ", but for %lld elements that it does not write",
                       (long long)r->unwritten);
    add_line(&line, width, to);
    ot_text_release(&line);
}

static void footer(const ot_run_rows *rows, ot_table_form form, int width, ot_text *to)
{
    const optune_run_total *total = &rows->total;
    const int threads = total->threads;
    bool cached = false, fewer = false, beyond = false;
    ot_text line = {0};
    for (int i = 0; i < total->workloads; i++) {
        cached = cached || rows->row[i].cached;
        fewer = fewer || rows->row[i].effective;
        beyond = beyond || (rows->row[i].moves && !rows->row[i].cached &&
                            rows->row[i].share > 1.005 && !threads);
    }
    ot_text_add(to, "\n");
    add_means(rows, width, to);
    for (int i = 0; i < total->workloads; i++)
        add_standard(&rows->row[i], width, to);
    ot_text_printf(&line, "%d new trials, %d failed, %.1f s on %s", total->new_trials,
                   total->failures, total->seconds, total->device_name);
    if (threads) /* a GPU has none to choose */
        ot_text_printf(&line, ", %d thread%s", threads, threads == 1 ? "" : "s");
    add_line(&line, width, to);
    ot_text_add(&line, total->counters_why ? total->counters_why : "");
    add_line(&line, width, to);
    if (total->peak_flops > 0)
        ot_text_printf(&line, "%s: %.0f GFLOP/s%s, ",
                       ot_peak_told() ? "peak by OPTUNE_PEAK" : "measured peak",
                       total->peak_flops * 1e-9, threads ? "" : " in float32");
    if (total->peak_flops > 0 && total->peak_tensor > 0)
        ot_text_printf(&line, "%.0f in bfloat16 on tensor cores, ", total->peak_tensor * 1e-9);
    if (total->peak_flops > 0)
        ot_text_printf(&line, "%.1f GB/s %s", total->peak_bandwidth * 1e-9,
                       threads ? "read" : "copied");
    if (total->peak_flops > 0 && fewer)
        ot_text_add(&line, "; \"e\": effective, counted as if all the operator's operations "
                           "were done; fewer are, so it may pass 100 %");
    if (total->peak_flops > 0 && cached)
        ot_text_add(&line, "; \"caches\": the data stays in them");
    if (total->peak_flops > 0 && beyond)
        ot_text_add(&line, "; what mostly reads may pass what is copied");
    add_line(&line, width, to);
    if (form == OT_TABLE_TEXT && total->disturbance)
        ot_text_printf(
            &line,
            "\"!\": %s while this was measured; figures may be off, --again measures "
            "once more",
            total->disturbance);
    add_line(&line, width, to);
    ot_text_release(&line);
}

void ot_run_table(const ot_run_rows *rows, const json_t *tables, const char *named, int width,
                  ot_text *to)
{
    ot_table_form form = OT_TABLE_TEXT;
    ot_table table = {0};
    const optune_run_total nothing = {0};
    const optune_run_total *total = rows ? &rows->total : &nothing;
    const int n = total->workloads;
    int n_move = 0, n_unitless = 0;
    ot_table_form_named(named, &form, NULL); /* checked when the run began */
    for (int i = 0; i < n; i++)
        n_move += rows->row[i].moves;
    for (int i = 0; i < n; i++)
        n_unitless += rows->row[i].unitless;
    const bool all_move = n_move > 0 && n_move == n;
    add_columns(&table, all_move, n_unitless == n && n > 0, total);
    for (int i = 0; i < n; i++) {
        add_row(&table, &rows->row[i], all_move, form);
        if (rows->row[i].winner)
            add_metrics(&table, &rows->row[i], total->n_metrics);
    }
    add_tables(&table, tables);
    width = form == OT_TABLE_TEXT ? width : 0;
    ot_table_print(&table, form, width, to);
    if (form != OT_TABLE_CSV && rows)
        footer(rows, form, width, to);
    ot_table_release(&table);
}
