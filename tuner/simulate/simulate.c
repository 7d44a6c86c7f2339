/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune simulate`: searches replayed on recorded spaces, many times each, and scored. Nothing is
 * compiled, measured, or written to a database.
 */
#include "tuner/simulate/simulate.h"
#include "base/fenv.h"
#include "tuner/simulate/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_REPEATS = 25, MAX_SEARCHES = 64 };

typedef struct outcome {
    double score, error; /* of runs of so many trials: the best there is over what they found */
    double trials;       /* per run */
    double ratio;        /* of the best found to the best there is, median over runs */
    double cpu;          /* seconds of our own per trial */
} outcome;

typedef struct simulation {
    optune *o;
    const optune_simulate_options *options;
    int repeats;
    int n_searches;
    const optune_search *search[MAX_SEARCHES];
    int n_spaces;
    ot_recorded **space;
    ot_yardstick *yardstick;
    outcome *outcome; /* n_spaces x n_searches */
    ot_curve *curve;  /* likewise */
    ot_records records;
} simulation;

static int by_time(const void *a, const void *b)
{
    const ot_score_point *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->run > y->run) - (x->run < y->run);
}

static void report(const simulation *s, int space, int search, int run)
{
    const optune_progress progress = {
        .phase = "replaying",
        .workload = space + 1,
        .workloads = s->n_spaces,
        .call = s->space[space]->name,
        .impl = s->search[search]->name,
        .trial = run,
        .trials = s->repeats,
        .best = INFINITY,
        .left = -1,
    };
    if (s->options->progress)
        s->options->progress(s->options->progress_arg, &progress);
}

/* The mean over runs, and its standard error, of the best there is over the best found; nothing
 * found is 0. */
static void share_of(const double *ratio, int n, outcome *to)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += 1 / ratio[i];
    to->score = sum / n;
    for (int i = 0; i < n; i++)
        squares += (1 / ratio[i] - to->score) * (1 / ratio[i] - to->score);
    to->error = n > 1 ? sqrt(squares / (n - 1) / n) : NAN;
}

/* All runs of one search on one space. */
static int play(simulation *s, int space, int search, const optune_source *source,
                int n_sources)
{
    const ot_recorded *recorded = s->space[space];
    const ot_yardstick *y = &s->yardstick[space];
    outcome *to = &s->outcome[space * s->n_searches + search];
    ot_score_point *points = NULL;
    double *ratio = ot_alloc((size_t)s->repeats * sizeof *ratio);
    double trials = 0, cpu = 0;
    int n = 0, capacity = 0, status = OPTUNE_OK;
    for (int run = 0; run < s->repeats && status >= 0; run++) {
        if (capacity - n < recorded->n_trials) {
            capacity = 2 * n + recorded->n_trials;
            points = realloc(points, (size_t)capacity * sizeof *points);
            if (!points)
                abort();
        }
        ot_replay replay;
        report(s, space, search, run);
        const int more = ot_replay_run(
            recorded, y, s->search[search], source, n_sources, s->options->seed + (uint64_t)run,
            run, s->options->trials, points + n, recorded->n_trials, &replay);
        if (more < 0 || ot_context_stopped(s->o)) {
            status = more < 0 ? more : OPTUNE_EINTERRUPTED;
            break;
        }
        n += more;
        trials += replay.trials;
        cpu += replay.cpu;
        ratio[run] = replay.best / y->best;
    }
    if (status >= 0) {
        qsort(points, (size_t)n, sizeof *points, by_time);
        qsort(ratio, (size_t)s->repeats, sizeof *ratio, ot_ascending);
        *to = (outcome){.score = ot_score(y, points, n, s->repeats, 1, -1, NULL),
                        .error = ot_score_error(y, points, n, s->repeats),
                        .trials = trials / s->repeats,
                        .ratio = ratio[s->repeats / 2],
                        .cpu = trials > 0 ? cpu / trials : 0};
        if (s->options->trials)
            share_of(ratio, s->repeats, to);
        ot_curve_of(y, points, n, s->repeats, &s->curve[space * s->n_searches + search]);
    }
    free(points);
    free(ratio);
    return status;
}

static int play_all(simulation *s, int space)
{
    optune_source *source = ot_alloc((size_t)s->n_spaces * sizeof *source);
    int status = OPTUNE_OK;
    const int n =
        s->options->transfer ? ot_recorded_sources(s->space, s->n_spaces, space, source) : 0;
    for (int k = 0; k < s->n_searches && status >= 0; k++)
        status = play(s, space, k, source, n);
    ot_sources_free(source, n);
    return status;
}

/* Over all spaces: the mean score, its standard error, and our own time per trial. The mean of
 * shares is the geometric one. */
static outcome mean_of(const simulation *s, int search, double *lowest)
{
    outcome mean = {0};
    const bool shares = s->options->trials > 0;
    double cpu = 0;
    *lowest = INFINITY;
    for (int i = 0; i < s->n_spaces; i++) {
        const outcome *o = &s->outcome[i * s->n_searches + search];
        const double error = shares ? o->error / o->score : o->error;
        mean.score += (shares ? log(o->score) : o->score) / s->n_spaces;
        mean.error += error * error;
        mean.trials += o->trials;
        cpu += o->cpu * o->trials;
        *lowest = fmin(*lowest, o->score);
    }
    mean.score = shares ? exp(mean.score) : mean.score;
    mean.error = sqrt(mean.error) / s->n_spaces * (shares ? mean.score : 1);
    mean.cpu = mean.trials > 0 ? cpu / mean.trials : 0;
    return mean;
}

/* ---- telling ------------------------------------------------------------------------------- */

static void cell(ot_text *to, double score, double error)
{
    if (isfinite(error))
        ot_text_printf(to, "  %6.3f +- %.3f", score, error);
    else
        ot_text_printf(to, "  %6.3f         ", score);
}

static void tell_rest(const simulation *s, ot_text *to)
{
    double lowest;
    ot_text_printf(to, "%-34s %7s %8s", "lowest", "", "");
    for (int k = 0; k < s->n_searches; k++) {
        mean_of(s, k, &lowest);
        cell(to, lowest, NAN);
    }
    ot_text_printf(to, "\n%-34s %7s %8s", "own CPU time, ms a trial", "", "");
    for (int k = 0; k < s->n_searches; k++)
        ot_text_printf(to, "  %6.3f         ", 1e3 * mean_of(s, k, &lowest).cpu);
    if (s->options->trials) {
        ot_text_printf(to,
                       "\n\nthe best there is over the best of %d trials, on the mean of %d "
                       "runs; %d trials out at a time.\nmean: the geometric one.\n",
                       s->options->trials, s->repeats, ot_queue_depth(0));
        return;
    }
    ot_text_printf(
        to,
        "\n\nscore: 0 is random search, 1 the optimum at once; %d runs each, %d trials out "
        "at a time.\ntrials: what random search needs for 95 %% of the way from the "
        "median to the best.\n",
        s->repeats, ot_queue_depth(0));
}

/* Spaces of our own records are named by their implementations alone: what they are of. */
static void tell_records(const simulation *s, ot_text *to)
{
    for (int i = 0; i < s->n_spaces; i++) {
        const ot_recorded *r = s->space[i];
        json_t *own = s->records.space && r->origin ? json_loads(r->origin, 0, NULL) : NULL;
        const char *call = json_string_value(json_object_get(own, "call"));
        const char *target = json_string_value(json_object_get(own, "target"));
        const char *policy = json_string_value(json_object_get(own, "policy"));
        if (call && target && policy)
            ot_text_printf(to, "\n%s: %d configs are measured, %d failed, of %s on %s, %s, %s",
                           r->name, r->n_trials, r->n_trials - r->n_good, call, r->device,
                           target, policy);
        json_decref(own);
    }
    if (s->records.left_out.n)
        ot_text_printf(to, "\nleft out: %s", s->records.left_out.s);
    if (s->records.space)
        ot_text_add(to, "\n");
}

static char *text_of(const simulation *s)
{
    ot_text text = {0};
    double lowest;
    ot_text_printf(&text, "%-34s %7s %8s", "space", "configs", "trials");
    for (int k = 0; k < s->n_searches; k++)
        ot_text_printf(&text, "  %-15.15s", s->search[k]->name);
    for (int i = 0; i < s->n_spaces; i++) {
        const ot_recorded *r = s->space[i];
        ot_text_printf(&text, "\n%-34s %7d %8d", r->name, r->n_trials, s->yardstick[i].trials);
        for (int k = 0; k < s->n_searches; k++) {
            const outcome *o = &s->outcome[i * s->n_searches + k];
            cell(&text, o->score, o->error);
        }
    }
    ot_text_printf(&text, "\n%-34s %7s %8s", "mean", "", "");
    for (int k = 0; k < s->n_searches; k++) {
        const outcome mean = mean_of(s, k, &lowest);
        cell(&text, mean.score, mean.error);
    }
    ot_text_add(&text, "\n");
    tell_rest(s, &text);
    tell_records(s, &text);
    return text.s;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *costs(const double *value)
{
    json_t *list = json_array();
    for (int i = 0; i < OT_CURVE_MOMENTS; i++)
        json_array_append_new(list, json_real(value[i]));
    return list;
}

static json_t *curve_json(const ot_curve *curve)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "mean", costs(curve->mean), "low", costs(curve->low),
                     "high", costs(curve->high), "scored", costs(curve->scored));
}

/* What curves are drawn over, and beside. */
static void add_axis(const ot_yardstick *y, json_t *to)
{
    double time[OT_CURVE_MOMENTS], random[OT_CURVE_MOMENTS];
    for (int i = 0; i < OT_CURVE_MOMENTS; i++) {
        time[i] = y->time[ot_curve_step(i)];
        random[i] = y->random[ot_curve_step(i)];
    }
    json_object_set_new(to, "time", costs(time));
    json_object_set_new(to, "random", costs(random));
}

static json_t *json_of(const simulation *s)
{
    const char *const value = s->options->trials ? "share" : "score";
    json_t *spaces = json_array(), *searches = json_array();
    for (int i = 0; i < s->n_spaces; i++) {
        const ot_recorded *r = s->space[i];
        const ot_yardstick *y = &s->yardstick[i];
        json_t *scores = json_array();
        for (int k = 0; k < s->n_searches; k++) {
            const outcome *o = &s->outcome[i * s->n_searches + k];
            json_array_append_new(
                scores,
                json_pack("{s:s,s:o,s:o,s:f,s:o,s:f,s:o}", "search", s->search[k]->name, value,
                          real(o->score), "error", real(o->error), "trials", o->trials,
                          "best_ratio", real(o->ratio), "cpu_seconds_per_trial", o->cpu,
                          "curve", curve_json(&s->curve[i * s->n_searches + k])));
        }
        json_t *space =
            json_pack("{s:s,s:s?,s:s?,s:i,s:i,s:i,s:f,s:f,s:f,s:o}", "name", r->name, "kernel",
                      r->kernel, "device", r->device, "configs", r->n_trials, "failing",
                      r->n_trials - r->n_good, "random_trials", y->trials, "budget_seconds",
                      y->budget, "best", y->best, "median", y->median, "searches", scores);
        add_axis(y, space);
        json_t *origin = r->origin ? json_loads(r->origin, 0, NULL) : NULL;
        json_object_set_new(space, "origin", origin ? origin : json_null());
        json_array_append_new(spaces, space);
    }
    for (int k = 0; k < s->n_searches; k++) {
        double lowest;
        const outcome mean = mean_of(s, k, &lowest);
        json_array_append_new(
            searches, json_pack("{s:s,s:o,s:o,s:o,s:f}", "search", s->search[k]->name, value,
                                real(mean.score), "error", real(mean.error), "lowest",
                                real(lowest), "cpu_seconds_per_trial", mean.cpu));
    }
    return json_pack("{s:i,s:I,s:i,s:i,s:o,s:o,s:s?}", "repeats", s->repeats, "seed",
                     (json_int_t)s->options->seed, "trials", s->options->trials, "pending",
                     ot_queue_depth(0), "spaces", spaces, "mean", searches, "left_out",
                     s->records.left_out.s);
}

static int plot(const simulation *s, optune_err *err)
{
    const char *name[MAX_SEARCHES];
    ot_panel *panel = ot_alloc((size_t)s->n_spaces * sizeof *panel);
    for (int k = 0; k < s->n_searches; k++)
        name[k] = s->search[k]->name;
    for (int i = 0; i < s->n_spaces; i++)
        panel[i] =
            (ot_panel){s->space[i]->name, &s->yardstick[i], &s->curve[i * s->n_searches]};
    const int status = ot_plot(s->options->plot, panel, s->n_spaces, name, s->n_searches, err);
    free(panel);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Of records some spaces may not tell searches apart, as all their configs are alike: what there
 * is of the others is replayed, and these are named. */
static int take_records(simulation *s, int files, optune_err *err)
{
    ot_records *r = &s->records;
    for (int i = 0; i < r->n; i++) {
        optune_err own = {0};
        if (ot_yardstick_open(r->space[i], &s->yardstick[s->n_spaces], &own) >= 0) {
            s->space[s->n_spaces++] = r->space[i];
            r->space[i] = NULL;
            continue;
        }
        ot_text_printf(&r->left_out, "%s%s: %d configs, too much alike",
                       r->left_out.n ? ", " : "", r->space[i]->name, r->space[i]->n_trials);
    }
    if (r->n && s->n_spaces == files)
        return optune_fail(err, OPTUNE_ENOENT, "no records tell searches apart: %.600s",
                           ot_text_str(&r->left_out));
    return OPTUNE_OK;
}

static int open_all(simulation *s, optune_err *err)
{
    const optune_simulate_options *options = s->options;
    static const char *const fallback[] = {OT_DEFAULT_SEARCH, NULL};
    const char *const *names =
        options->searches && options->searches[0] ? options->searches : fallback;
    int status = OPTUNE_OK, n = 0;
    for (; status >= 0 && names[s->n_searches]; s->n_searches++) {
        if (s->n_searches == MAX_SEARCHES)
            return optune_fail(err, OPTUNE_ELIMIT, "more than %d searches", MAX_SEARCHES);
        status = ot_search_get(names[s->n_searches], &s->search[s->n_searches], err);
    }
    while (options->files && options->files[n])
        n++;
    if (status >= 0 && (options->workload || options->log))
        status = ot_records_open(s->o, options->workload, options->log, &s->records, err);
    if (status < 0)
        return status;
    const int most = n + s->records.n;
    s->space = ot_alloc((size_t)most * sizeof *s->space);
    s->yardstick = ot_alloc((size_t)most * sizeof *s->yardstick);
    s->curve = ot_alloc((size_t)(most * s->n_searches) * sizeof *s->curve);
    s->outcome = ot_alloc((size_t)(most * s->n_searches) * sizeof *s->outcome);
    for (; status >= 0 && s->n_spaces < n; s->n_spaces++) {
        const char *path = options->files[s->n_spaces];
        status = ot_recorded_read(path, &s->space[s->n_spaces], err);
        if (status >= 0)
            status = ot_recorded_searchable(s->space[s->n_spaces], path, err);
        if (status >= 0)
            status = ot_yardstick_open(s->space[s->n_spaces], &s->yardstick[s->n_spaces], err);
    }
    return status < 0 ? status : take_records(s, n, err);
}

static int check_space(const ot_recorded *recorded, optune_err *err)
{
    const ot_recorded_task task = {{NULL, NULL, NULL}, recorded};
    optune_space *space;
    optune_err own = {0};
    const int status = ot_space_open(&task.task, &ot_recorded_impl, &space, &own);
    if (status < 0)
        return optune_fail(err, status, "'%s': %s", recorded->name, own.text);
    ot_space_close(space);
    return status;
}

int optune_simulate(optune *handle, const optune_simulate_options *options,
                    optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", handle}, {"options", options}, {"result", result});
    *result = NULL;
    optune_simulate_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_simulate_options, options, &own));
    options = &own;
    if ((!options->files || !options->files[0]) && !options->workload && !options->log)
        return optune_fail(err, OPTUNE_EUSAGE, "no recorded space named");
    if (options->trials < 0)
        return optune_fail(err, OPTUNE_EUSAGE, "runs of %d trials", options->trials);
    simulation s = {.o = handle,
                    .options = options,
                    .repeats = options->repeats ? options->repeats : DEFAULT_REPEATS};
    int status = options->plot ? ot_plot_check(options->plot, err) : OPTUNE_OK;
    if (status >= 0)
        status = open_all(&s, err);
    for (int i = 0; i < s.n_spaces && status >= 0; i++)
        status = check_space(s.space[i], err);
    for (int i = 0; i < s.n_spaces && status >= 0; i++)
        status = play_all(&s, i);
    if (status >= 0)
        *result = ot_result_new(text_of(&s), json_of(&s));
    else if (status == OPTUNE_EINTERRUPTED)
        optune_fail(err, status, "interrupted");
    if (status >= 0 && options->plot)
        status = plot(&s, err);
    for (int i = 0; i < s.n_spaces; i++) {
        ot_recorded_free(s.space[i]);
        ot_yardstick_close(&s.yardstick[i]);
    }
    ot_records_release(&s.records);
    free(s.space);
    free(s.yardstick);
    free(s.outcome);
    free(s.curve);
    return status;
}
