/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: workloads of constants are tuned one by one, and of a graph the workloads of ranges get
 * dispatch tables, which its programs and its C use; what can have none is told with the reason.
 * The time is shared; whatever ends it, what was measured is stored, and the tables that were made
 * are in the database.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "tuner/report.h"

/* A table is of several shapes. */
static const double TABLE_WEIGHT = 3;

typedef struct tables {
    const optune_run_options *options;
    int n, n_all; /* those that can be made; with what is left out, and why */
    ot_ranged *all;
    ot_arena arena;
    ot_text text;
    json_t *list;
    int new_trials, failures, failed;
    char why[OPTUNE_ERR_SIZE]; /* of the first that failed */
} tables;

static int count_of(const json_t *json, const char *key)
{
    return (int)json_integer_value(json_object_get(json, key));
}

/* What came of one, whatever ended it. */
static void take_told(tables *t, const char *workload, const optune_result *told,
                      const optune_err *err, int status)
{
    json_t *json = told ? json_loads(optune_result_json(told), 0, NULL) : NULL;
    json = json ? json : json_object();
    t->new_trials += count_of(json, "new_trials");
    t->failures += count_of(json, "failures");
    json_object_set_new(json, "call", json_string(workload));
    if (told)
        ot_text_printf(&t->text, "\n%s", optune_result_text(told));
    else
        ot_text_printf(&t->text, "\n%s\n", workload);
    if (status < 0 && status != OPTUNE_EINTERRUPTED) {
        json_object_set_new(json, "problem", json_string(err->text));
        ot_text_printf(&t->text, "  no table: %s\n", err->text);
        if (!t->failed++)
            ot_format(t->why, sizeof t->why, "%.300s: %.600s", workload, err->text);
    }
    json_array_append_new(t->list, json);
}

/* Those that are not made, which is no failure. */
static void take_left_out(tables *t, int begun)
{
    for (int i = 0, n = 0; i < t->n_all; i++) {
        const ot_ranged *one = &t->all[i];
        const char *why = one->problem;
        if (!why && n++ < begun)
            continue;
        why = why ? why : "not begun: the run was interrupted before; it goes on from here";
        json_array_append_new(t->list,
                              json_pack("{s:s, s:s}", "call", one->workload, "problem", why));
        ot_text_printf(&t->text, "\n%s\n  no table: %s\n", one->workload, why);
    }
}

/* A table gets its share of what is left until `end` (infinity: no limit), or a second, and is not
 * begun behind it. */
static int make_tables(optune *o, tables *t, double end, optune_err *err)
{
    const optune_run_options *options = t->options;
    int status = OPTUNE_OK, n = 0;
    for (int i = 0; i < t->n_all && status != OPTUNE_EINTERRUPTED; i++) {
        if (t->all[i].problem)
            continue;
        const double left = (end - ot_now()) / (t->n - n++);
        const optune_dispatch_options how = {
            .size = sizeof how,
            .workload = t->all[i].workload,
            .search = options->search,
            .trials = options->trials,
            .seconds = end < INFINITY ? (left > 1 ? left : 1) : -1,
            .regret = -1,
            .seed = options->seed,
            .log = options->log,
            .progress = options->progress,
            .progress_arg = options->progress_arg,
        };
        optune_result *told = NULL;
        optune_err own = {0};
        status = left > 0 ? optune_dispatch_tune(o, &how, &told, &own)
                          : optune_fail(&own, OPTUNE_EPARTIAL,
                                        "no time was left; give more with --time");
        take_told(t, t->all[i].workload, told, &own, status);
        optune_result_free(told);
        if (status == OPTUNE_EINTERRUPTED)
            optune_fail(err, status, "%s", own.text);
    }
    take_left_out(t, n);
    return status == OPTUNE_EINTERRUPTED ? status : OPTUNE_OK;
}

/* The document of a run of no workloads of constants. */
static optune_result *nothing_constant(const optune *o, const char *search, double began)
{
    ot_text target = {0};
    ot_target_print(&o->target, true, &target);
    json_t *json =
        json_pack("{s:n, s:s, s:s, s:s, s:f, s:n, s:n, s:n, s:s, s:n, s:n, s:n, s:n, s:o}", "op",
                  "target", ot_text_str(&target), "device", o->device.key, "search",
                  search ? search : OT_DEFAULT_SEARCH, "seconds", ot_now() - began,
                  "peak_flops", "peak_bandwidth", "peak_tensor", "counters_why", "",
                  "disturbance", "graph", "sites", "layouts", "workloads", json_array());
    ot_text_release(&target);
    return ot_result_new(NULL, json);
}

/* What both parts found as one result. */
static optune_result *together(const optune *o, optune_result *constants, const tables *t,
                               double began, bool interrupted)
{
    const optune_run_options *options = t->options;
    optune_result *all = constants ? constants : nothing_constant(o, options->search, began);
    json_t *json = json_loads(optune_result_json(all), 0, NULL);
    const bool text = !options->table || !strcmp(options->table, "text");
    json_t *more = json_pack("{s:O, s:i, s:i, s:b, s:f}", "tables", t->list, "new_trials",
                             t->new_trials + count_of(json, "new_trials"), "failures",
                             t->failures + count_of(json, "failures"), "interrupted",
                             (int)interrupted, "seconds", ot_now() - began);
    json_decref(json);
    ot_result_extend(all, text ? ot_text_str(&t->text) : "", more);
    if (!text) { /* one table of both */
        ot_text table = {0};
        ot_run_table(ot_result_rows(all, ot_run_rows_drop), t->list, options->table,
                     options->width, &table);
        ot_result_retell(all, table.s);
    }
    return all;
}

static int check(const optune_run_options *options, const tables *t, optune_err *err)
{
    int first = 0; /* that there can be */
    while (first < t->n_all && t->all[first].problem)
        first++;
    if (t->n && options->impls && options->impls[0])
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "the implementations of %s, which has ranges, are chosen by a dispatch "
            "table: leave '%s' out, or give dims values with --bind",
            t->all[first].workload, options->impls[0]);
    if (options->metrics && options->metrics[0] && !options->workloads[0])
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "metrics are of workloads of constants, and %s has ranges: give dims "
            "values with --bind",
            t->all[0].workload);
    return OPTUNE_OK;
}

static int run_both(optune *o, tables *t, optune_result **result, optune_err *err)
{
    optune_run_options constants = *t->options;
    const double began = ot_now();
    const double seconds = constants.seconds == 0 ? OT_RUN_SECONDS : constants.seconds;
    int n = 0, status = check(&constants, t, err);
    while (constants.workloads[n])
        n++;
    optune_err first = {0};
    if (status >= 0 && n) {
        constants.seconds =
            seconds > 0 ? seconds * n / (n + TABLE_WEIGHT * t->n) : constants.seconds;
        status = ot_run_constants(o, &constants, result, &first);
        if (status == OPTUNE_EINTERRUPTED) {
            take_left_out(t, 0);
            *result = together(o, *result, t, began, true);
        }
        if (status < 0 && status != OPTUNE_EPARTIAL)
            return optune_fail(err, status, "%s", first.text);
    }
    if (status < 0 && status != OPTUNE_EPARTIAL)
        return status;
    OT_RETURN_UNLESS_OK(ot_context_device(o, err)); /* no table may be begun */
    const int made = make_tables(o, t, seconds > 0 ? began + seconds : INFINITY, err);
    *result = together(o, *result, t, began, made < 0);
    if (made < 0)
        return made;
    if (status < 0)
        return optune_fail(err, status, "%s", first.text);
    return t->failed ? optune_fail(err, OPTUNE_EPARTIAL,
                                   "%d of %d dispatch tables failed, the first: %s", t->failed,
                                   t->n, t->why)
                     : OPTUNE_OK;
}

int optune_run(optune *o, const optune_run_options *options, optune_result **result,
               optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_run_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_run_options, options, &own));
    static const char *const none[] = {NULL};
    tables t = {.options = &own};
    if (own.graph) {
        own.workloads = own.workloads ? own.workloads : none;
        t.all = ot_alloc((size_t)(own.graph->groups.n + 1) * sizeof *t.all);
        t.n_all = ot_partition_ranges(own.graph, &t.arena, t.all);
        for (int i = 0; i < t.n_all; i++)
            t.n += !t.all[i].problem;
    }
    int status = OPTUNE_OK;
    if (own.graph && !own.workloads[0] && (!t.n_all || own.compile_only)) {
        status = t.n_all
                     ? optune_fail(err, OPTUNE_EUSAGE,
                                   "compiling alone is for workloads of constants, and %s has "
                                   "ranges: give dims values with --bind",
                                   t.all[0].workload)
                     : optune_fail(err, OPTUNE_EUSAGE,
                                   "nothing of the graph runs: there is nothing to measure");
    } else if (t.n_all && !own.compile_only) {
        t.list = json_array();
        status = run_both(o, &t, result, err);
        json_decref(t.list);
    } else {
        status = ot_run_constants(o, &own, result, err);
        if (t.n_all && *result)
            ot_result_extend(*result, "workloads of ranges are not compiled alone\n",
                             json_object());
    }
    ot_text_release(&t.text);
    ot_arena_release(&t.arena);
    free(t.all);
    return status;
}
