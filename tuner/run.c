/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run: words become workloads, the time is shared among them, each is tuned, and the end is
 * one report. Whatever ends it, everything measured so far is in the log and the store.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "tuner/transfer.h"

enum { DEFAULT_TRIALS = 64 };
static const double FIRST_S = 1; /* a first trial, before one was seen: most of it compiling */

static const optune_preset *find_preset(const optune_op *op, const char *name, optune_err *err)
{
    const char *names[64];
    int n = 0;
    for (const optune_preset *p = op->presets; p && p->name; p++) {
        if (!name || !strcmp(p->name, name))
            return p;
        if (n < OT_COUNT(names))
            names[n++] = p->name;
    }
    if (name)
        ot_no_such(err, "preset", name, names, n);
    else
        optune_fail(err, OPTUNE_EUSAGE, "operator '%s' has no presets: name a workload",
                    op->name);
    return NULL;
}

/* Words become calls; the same call is tuned once. */
static int gather(ot_run *run, optune_err *err)
{
    const char *const *text = run->options->workloads;
    if (!run->op && (!text || !text[0] || run->options->preset)) {
        return optune_fail(err, OPTUNE_EUSAGE, "no operator named");
    } else if (!text || !text[0]) {
        const optune_preset *preset = find_preset(run->op, run->options->preset, err);
        if (!preset)
            return run->options->preset ? OPTUNE_ENOENT : OPTUNE_EUSAGE;
        text = preset->workloads;
    } else if (run->options->preset) {
        return optune_fail(err, OPTUNE_EUSAGE, "a preset and workloads exclude each other");
    }
    int n = 0;
    while (text[n])
        n++;
    run->call = ot_alloc((size_t)n * sizeof *run->call);
    for (int i = 0; i < n; i++) {
        optune_call *call = &run->call[run->n_workloads];
        const int status = ot_call_parse(text[i], call, err);
        if (status < 0)
            return status;
        if (run->op && call->op != run->op)
            return optune_fail(err, OPTUNE_EUSAGE, "workload '%s' is not a call of '%s'",
                               text[i], run->op->name);
        if (!ot_call_static(call))
            return optune_fail(err, OPTUNE_EUSAGE,
                               "workload '%s' has unknown dims: a run needs constants, "
                               "`optune dispatch` tunes for ranges",
                               text[i]);
        bool known = false;
        for (int k = 0; k < run->n_workloads && !known; k++) {
            ot_text a = {0}, b = {0};
            ot_call_print(&run->call[k], &a);
            ot_call_print(call, &b);
            known = !strcmp(ot_text_str(&a), ot_text_str(&b));
            ot_text_release(&a);
            ot_text_release(&b);
        }
        run->n_workloads += !known;
    }
    return OPTUNE_OK;
}

static bool has_op(const ot_run *run, const char *name)
{
    for (int i = 0; i < run->n_workloads; i++)
        if (!strcmp(run->call[i].op->name, name))
            return true;
    return false;
}

static int check_impls(const ot_run *run, optune_err *err)
{
    const char *names[256];
    int n_impls, n = 0;
    const optune_impl *const *impl = ot_impls(&n_impls);
    for (int i = 0; i < n_impls && n < OT_COUNT(names); i++)
        if (has_op(run, impl[i]->op))
            names[n++] = impl[i]->name;
    for (int i = 0; run->options->impls && run->options->impls[i]; i++) {
        const optune_impl *found = ot_impl_find(run->options->impls[i]);
        if (!found || !has_op(run, found->op))
            return ot_no_such(err, "implementation", run->options->impls[i], names, n);
    }
    return OPTUNE_OK;
}

/* What was measured before, here and elsewhere; TVM's logs come in this way, too. */
static int collect(void *arg, const optune_record *record)
{
    ot_run *run = arg;
    if (has_op(run, record->op))
        ot_transfer_add(run->transfer, record, false);
    return 0;
}

static void waiting(void *arg, double seconds)
{
    ot_run *run = arg;
    const double more = seconds - (seconds > run->waiting_s ? run->waiting_s : 0);
    run->waiting_s = seconds;
    run->waited_s += more;
    run->last += more; /* first trials still get their time */
    run->first_last += more;
    if (run->until > 0 && !isfinite(run->progress.best))
        run->until += more;
    snprintf(run->waiting_note, sizeof run->waiting_note,
             "another run is measuring on this device; waiting for a turn (%.0f s)", seconds);
    ot_run_report(run, "waiting", run->waiting_note);
}

static void idle(void *arg)
{
    ot_builder_pump(((ot_run *)arg)->builder);
}

/* Compilers that may go on while something is measured: one per core that it leaves. */
static int spare(const ot_run *run)
{
    const int cores = run->o->device.cores - run->o->target.threads;
    return cores > 0 ? cores : 0;
}

static void alone(void *arg, bool begins)
{
    ot_run *run = arg;
    ot_builder_allow(run->builder, begins ? spare(run) : INT_MAX);
    if (begins)
        ot_watch_begin(run);
}

static void measured(void *arg)
{
    ot_watch_end(arg);
}

static int open_builder(ot_run *run, optune_err *err)
{
    optune *o = run->o;
    char cache[4096 + 64];
    ot_context_cache(o, cache, sizeof cache);
    const size_t n = strlen(o->db);
    if (n && strncmp(cache, o->db, n) == 0 && cache[n] == '/') /* there for want of another */
        OT_RETURN_UNLESS_OK(ot_context_make(cache, err));
    const ot_build_options build = {
        .target = &o->target, .device = &o->device, .row = o->row, .cache_dir = cache};
    return ot_builder_open(&build, &run->builder, err);
}

static int open_tools(ot_run *run, optune_err *err)
{
    optune *o = run->o;
    char name[4096 + 128];
    int status = open_builder(run, err);
    const ot_worker_options worker = {.target_text = o->target_text,
                                      .target = &o->target,
                                      .device = &o->device,
                                      .plugins = o->plugins,
                                      .stop = &o->stop,
                                      .until = &run->until,
                                      .waiting = waiting,
                                      .idle = idle,
                                      .alone = alone,
                                      .measured = measured,
                                      .spare = spare(run) > 0,
                                      .arg = run};
    if (status >= 0)
        status = ot_worker_open(&worker, &run->worker, err);
    if (status >= 0) /* a store that refuses is told before anything is measured or logged */
        status = ot_context_store(o, OT_STORE_WRITE, err);
    if (status >= 0)
        status = ot_context_log_path(o, "", name, sizeof name, err);
    if (status >= 0)
        status = ot_log_open(name, OT_LOG_SHORT, &run->log, err);
    if (status >= 0)
        ot_log_device(run->log, &o->device);
    if (status >= 0 && run->options->log) {
        status = ot_log_open(run->options->log, OT_LOG_FULL, &run->extra_log, err);
        if (status >= 0)
            ot_log_device(run->extra_log, &o->device);
    }
    if (status >= 0)
        status = ot_context_put_devices(o, &o->device, 1, err);
    if (status >= 0 && !run->options->no_transfer) {
        run->transfer = ot_transfer_open();
        const unsigned turn = ot_context_enter(o);
        ot_context_store(o, OT_STORE_READ, NULL); /* and those that are consulted after it */
        ot_store *store;
        for (int i = 0; status >= 0 && (store = ot_context_nth(o, i)); i++)
            status = ot_store_walk(store, collect, run, err);
        ot_context_leave(o, turn);
    }
    return status;
}

int ot_run_open(ot_run *run, optune_err *err)
{
    if (run->policy.in_graph)
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "policy '%s' is of what `run --graph` measured in a graph: it can be "
            "asked about, not measured under",
            run->policy.name);
    if (*run->o->device_key)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a run measures this machine: --device is for asking about others");
    run->memory_root = "";
    const int status = ot_context_device(run->o, err);
    if (status < 0)
        return status;
    ot_watch_open(run);
    return open_tools(run, err);
}

void ot_run_close(ot_run *run)
{
    if (run->log)
        ot_log_sync(run->log, NULL);
    if (run->log && run->o->stores->store && !run->broken)
        ot_context_log_done(run->o, ot_log_name(run->log), NULL);
    ot_log_close(run->log);
    ot_log_close(run->extra_log);
    ot_worker_close(run->worker);
    ot_builder_close(run->builder);
    ot_transfer_close(run->transfer);
    ot_metrics_release(&run->metrics);
    free(run->call);
}

static int start(ot_run *run, optune_err *err)
{
    const optune_run_options *options = run->options;
    ot_table_form form;
    if (options->trials < 0)
        return optune_fail(err, OPTUNE_EUSAGE, "trials is %d: 1 or more, or 0 for the default",
                           options->trials);
    if (isnan(options->seconds))
        return optune_fail(err, OPTUNE_EUSAGE, "seconds is no number");
    int status = ot_table_form_named(options->table, &form, err);
    if (status >= 0 && options->policy)
        status = ot_policy_find(options->policy, &run->policy, err);
    if (status >= 0 && options->op)
        status = ot_op_get(options->op, &run->op, err);
    if (status >= 0)
        status = ot_search_get(options->search ? options->search : OT_DEFAULT_SEARCH,
                               &run->search, err);
    if (status >= 0)
        status = gather(run, err);
    if (status >= 0)
        status = check_impls(run, err);
    if (status >= 0)
        status =
            ot_metrics_read(options->metrics, run->call, run->n_workloads, &run->metrics, err);
    if (status < 0)
        return status;
    if (run->metrics.n && options->compile_only)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "metrics are over what is measured, and compile_only measures "
                           "nothing");
    ot_run_report(run, "starting", NULL); /* what follows may take seconds */
    if (options->compile_only) {
        status = ot_compile_device(run, err);
        return status < 0 ? status : open_builder(run, err);
    }
    return ot_run_open(run, err);
}

/* Of each workload of a graph what all its groups take as things are. */
static ot_shares weigh(ot_run *run, const optune_partition *p, double *weight)
{
    ot_shares shares = {.n = run->n_workloads};
    ot_text text = {0};
    for (int i = 0; i < run->n_workloads; i++) {
        int uses = 0;
        ot_text_clear(&text);
        ot_call_print(&run->call[i], &text);
        for (int k = 0; k < p->groups.n; k++)
            uses += p->places.idle[k] == OT_RUNS && !strcmp(p->row[k].text, ot_text_str(&text));
        /* What no group has is another way to compute some. */
        const double cost = ot_context_cost(run->o, &run->call[i], run->policy.name);
        weight[i] = isfinite(cost) ? (uses ? uses : 1) * cost : 0;
        shares.weights += weight[i];
    }
    ot_text_release(&text);
    return shares;
}

/* The first trials of the workloads from i on would take a good part of their time. */
static bool is_scarce(const ot_run *run, int i)
{
    const int left = run->n_workloads - i;
    const double each = fmax(run->first_s, FIRST_S);
    return left > 1 && left * each > (run->end - ot_now()) / 4;
}

static int tune_all(ot_run *run, ot_tuned *tuned, optune_err *err)
{
    const optune_partition *graph = run->options->graph;
    double *weight = ot_alloc((size_t)run->n_workloads * sizeof *weight);
    ot_shares shares = {.n = run->n_workloads};
    bool first = false;
    int ends = OPTUNE_OK;
    for (int i = 0; i < run->n_workloads && ends >= 0; i++) {
        optune_err own = {0};
        int status = OPTUNE_OK;
        if (!first && (is_scarce(run, i) || (graph && isfinite(run->end)))) {
            first = true;
            status = ot_tune_first(run, i, tuned, &own);
            if (status >= 0 && graph && i == 0)
                shares = weigh(run, graph, weight);
        }
        if (status >= 0 && !tuned[i].failed) {
            /* What one workload leaves, the others share. */
            const double share = ot_shares_next(&shares, weight[i], run->end - ot_now());
            status = ot_tune(run, i, isfinite(run->end) ? share : 1e9, &tuned[i], &own);
        }
        if (status < 0 && ot_run_ends_all(run, status))
            ends = optune_fail(err, status, "%s", own.text);
        else if (status < 0)
            ot_run_fail_alone(run, &tuned[i], &own);
    }
    free(weight);
    return ends;
}

/* The table of what is known, however it ended. */
static int conclude(ot_run *run, const ot_tuned *tuned, int status, optune_result **result,
                    optune_err *err)
{
    char why[OPTUNE_ERR_SIZE] = "";
    int missing = 0;
    ot_run_report(run, "done", NULL);
    *result = ot_run_result(run, tuned, &missing, why);
    if (status == OPTUNE_EINTERRUPTED)
        return optune_fail(err, status, "interrupted%s; the same command goes on from here",
                           run->new_trials ? ": everything measured so far is stored"
                                           : " before a first new trial ended");
    if (status < 0 && missing == run->n_workloads) {
        optune_result_free(*result);
        *result = NULL;
    }
    if (status >= 0 && missing)
        return run->n_workloads == 1
                   ? optune_fail(err, OPTUNE_EPARTIAL, "%s", why)
                   : optune_fail(err, OPTUNE_EPARTIAL,
                                 "%d of %d workloads failed or have no time, the first: %s",
                                 missing, run->n_workloads, why);
    return status;
}

int ot_run_constants(optune *o, const optune_run_options *options, optune_result **result,
                     optune_err *err)
{
    ot_run *run = ot_alloc(sizeof *run);
    run->o = o;
    run->options = options;
    run->policy = *o->policy;
    run->spot.policy = run->policy.name;
    run->trials = options->trials > 0 ? options->trials : DEFAULT_TRIALS;
    run->started = ot_now();
    const double seconds = options->seconds == 0 ? OT_RUN_SECONDS : options->seconds;
    const double end = seconds > 0 ? run->started + seconds : INFINITY;
    const double in_graph_s = ot_in_graph_share(options->graph, seconds);
    const double layouts_s = ot_layouts_share(options->graph, seconds);
    run->end = seconds > 0 ? end - in_graph_s - layouts_s : INFINITY;
    int status = start(run, err);
    /* Getting started is no fault of the workloads: the very first trial has all the time. */
    run->last = run->end + 0.2 * seconds;
    run->first_last = seconds > 0 ? fmax(run->last, ot_now() + seconds) : INFINITY;
    if (status >= 0 && options->compile_only) {
        status = ot_compile_only(run, result, err);
    } else if (status >= 0) {
        ot_tuned *tuned = ot_alloc((size_t)run->n_workloads * sizeof *tuned);
        ot_peak_begin(run);
        status = tune_all(run, tuned, err);
        optune_partition *graph = options->graph, *now = NULL;
        if (status >= 0 && graph)
            status = ot_sites_finals(
                run, graph,
                ot_now() + fmax(fmin(end - layouts_s - ot_now(), in_graph_s) / 2, 0), err);
        if (status >= 0 && ot_partition_outdated(graph)) {
            status = optune_partition_open(o, graph->given, &now, err);
            graph = now;
        }
        if (status >= 0 && graph) /* finals may have run over */
            status = ot_in_graph_finals(
                run, graph, ot_now() + fmax(fmin(end - ot_now(), in_graph_s), in_graph_s / 2),
                err);
        if (status >= 0 && layouts_s > 0)
            status = ot_layouts_finals(
                run, graph, ot_now() + fmax(fmin(end - ot_now(), layouts_s), layouts_s / 2),
                err);
        optune_partition_close(now);
        status = conclude(run, tuned, status, result, err);
        free(tuned);
    }
    ot_run_close(run);
    free(run);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this run that was asked to end */
    return status;
}
