/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a graph's time goes: each group while the whole runs, and by itself in the same process on
 * the same buffers, beside what it was measured to take. The whole against the first says what lies
 * between groups, the first against the second what neighbours cost (caches, a team that must be
 * woken), the second against the third what differs from where it was measured.
 *
 * The one idea: both are taken in turns, a group by itself right where it stands in the run, so
 * that its inputs are what they are there and what drifts hits all alike. The fastest counts, as a
 * machine that is shared makes runs longer, never shorter. By itself a group also restores what it
 * reads of its outputs, which no measurement counts. Where dims are ranges all of it is at sizes in
 * their middle, and a group's time in the model has that of finding its sizes.
 */
#include <math.h>
#include <sys/resource.h>

#include "answer/graph.h"
#include "base/fenv.h"
#include "graph/look.h"

enum { MOST = 31, FEWEST = 5, MOST_RUNS = 100 };
static const double MOST_S = 5, ALONE_S = 3e-4; /* of all; of one group in one turn */

typedef struct group_times {
    double in_model[MOST], alone[MOST];
} group_times;

typedef struct profile {
    optune_program *program;
    optune_tensor *given; /* of each input, a choice of ours where `sized` */
    bool sized;
    group_times *group;
    double whole[MOST];
    int n;
    double faults, waits, preempted; /* in all runs of the whole */
} profile;

static bool runs(const optune_program *p, int i)
{
    return p->partition->places.idle[i] == OT_RUNS;
}

/* ---- turns --------------------------------------------------------------------------------- */

/* `turn` -1: nobody looks between groups. */
static int run_whole(profile *f, int turn, double *seconds, optune_err *err)
{
    optune_program *p = f->program;
    int status = OPTUNE_OK;
    const double start = ot_now();
    double before = start;
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++) {
        if (!runs(p, i))
            continue;
        if (p->by_values) /* as a run does */
            status = ot_program_shapes(p, i, err);
        if (status >= 0)
            status = ot_kernel_run(ot_program_kernel(p, i), err);
        if (turn < 0)
            continue;
        const double after = ot_now();
        f->group[i].in_model[turn] = after - before;
        before = after;
    }
    *seconds = ot_now() - start;
    return status;
}

static int run_counted(profile *f, int turn, optune_err *err)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    const int status = run_whole(f, -1, &f->whole[turn], err);
    getrusage(RUSAGE_SELF, &after);
    f->faults += (double)(after.ru_minflt - before.ru_minflt);
    f->waits += (double)(after.ru_nvcsw - before.ru_nvcsw);
    f->preempted += (double)(after.ru_nivcsw - before.ru_nivcsw);
    return status;
}

static const optune_plan *no_plan(void *unused, int group)
{
    (void)unused;
    (void)group;
    return NULL;
}

/* Each group several times: none of them lies over what it reads meanwhile. */
static int run_alone(profile *f, int turn, optune_err *err)
{
    optune_program *p = f->program;
    int status = ot_program_arrange(p, no_plan, NULL, err);
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++) {
        if (!runs(p, i))
            continue;
        ot_kernel *k = ot_program_kernel(p, i);
        if (k->nothing)
            continue; /* 0 s */
        const double each = fmax(f->group[i].in_model[turn], 1e-9);
        const int64_t count = (int64_t)fmin(fmax(ceil(ALONE_S / each), 3), MOST_RUNS);
        status = ot_kernel_run(k, err);
        if (status < 0)
            break;
        const double seconds =
            p->machine.row->time(p->machine.state, k->bound->launch[OPTUNE_TIMED],
                                 k->bound->n[OPTUNE_TIMED], count, err);
        f->group[i].alone[turn] = seconds / (double)count;
        status = seconds < 0 ? OPTUNE_EIO : OPTUNE_OK;
    }
    return status < 0 ? status : ot_program_arrange(p, NULL, NULL, err);
}

static int take_turns(profile *f, optune_err *err)
{
    double unused;
    int status = run_whole(f, -1, &unused, err);
    const double start = ot_now();
    for (; status >= 0 && f->n < MOST && (f->n < FEWEST || ot_now() - start < MOST_S); f->n++) {
        status = run_whole(f, -1, &unused, err); /* behind groups alone caches are others' */
        if (status >= 0)
            status = run_counted(f, f->n, err);
        if (status >= 0)
            status = run_whole(f, f->n, &unused, err);
        if (status >= 0)
            status = run_alone(f, f->n, err);
    }
    return status;
}

/* ---- what is said -------------------------------------------------------------------------- */

typedef struct sums {
    double in_model, alone, measured;
} sums;

static double fastest(const double *sample, int n)
{
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        least = fmin(least, sample[i]);
    return least;
}

static json_t *times_json(double *sample, int n)
{
    const double least = fastest(sample, n);
    const ot_interval of = ot_median_interval(sample, n);
    return json_pack("{s:f, s:f, s:f, s:f}", "fastest", least, "median", of.median, "low",
                     of.low, "high", of.high);
}

static json_t *report_group(const profile *f, int i, sums *sum, ot_text *text)
{
    const ot_partition_row *row = &f->program->partition->row[i];
    group_times *own = &f->group[i];
    const double here = fastest(own->in_model, f->n), hot = fastest(own->alone, f->n);
    const double cost = row->selection ? optune_selection_cost(row->selection) : INFINITY;
    const char *impl = ot_program_kernel(f->program, i)->impl->name;
    ot_text_printf(text, "%11.1f %11.1f ", here * 1e6, hot * 1e6);
    if (isfinite(cost))
        ot_text_printf(text, "%11.1f", cost * 1e6);
    else
        ot_text_printf(text, "%11s", "-");
    ot_text_printf(text, " %11.2f  %s: %s\n", hot > 0 ? here / hot : 1, row->nodes, impl);
    sum->in_model += here;
    sum->alone += hot;
    sum->measured += cost;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "nodes", row->nodes, "workload",
                     row->text, "impl", impl, "in_model", times_json(own->in_model, f->n),
                     "alone", times_json(own->alone, f->n), "measured",
                     isfinite(cost) ? json_real(cost) : json_null());
}

static optune_result *report(profile *f)
{
    const optune_partition *p = f->program->partition;
    const double n = f->n, whole = fastest(f->whole, f->n);
    ot_text text = {0};
    json_t *groups = json_array();
    sums sum = {0};
    json_t *inputs = f->sized ? ot_graph_say_sizes(p->given, f->given, &text) : NULL;
    ot_text_add(&text, "in model us    alone us measured us model/alone  group\n");
    for (int i = 0; i < p->groups.n; i++)
        if (runs(f->program, i))
            json_array_append_new(groups, report_group(f, i, &sum, &text));
    ot_text_printf(&text, "the whole takes %.4g us at best; its groups %.4g in it, %.4g alone",
                   whole * 1e6, sum.in_model * 1e6, sum.alone * 1e6);
    if (isfinite(sum.measured))
        ot_text_printf(&text, ", %.4g as they were measured", sum.measured * 1e6);
    ot_text_printf(&text,
                   "\na run meets %.1f page faults, waits %.1f times for another thread and "
                   "loses its core %.1f times\n",
                   f->faults / n, f->waits / n, f->preempted / n);
    return ot_result_new(
        text.s, json_pack("{s:o*, s:o, s:f, s:f, s:o, s:i, s:f, s:f, s:f, s:o}", "inputs",
                          inputs, "whole", times_json(f->whole, f->n), "in_model", sum.in_model,
                          "alone", sum.alone, "measured",
                          isfinite(sum.measured) ? json_real(sum.measured) : json_null(),
                          "turns", f->n, "faults", f->faults / n, "waits", f->waits / n,
                          "preempted", f->preempted / n, "groups", groups));
}

int optune_partition_profile(optune_partition *p, uint64_t seed, optune_result **result,
                             optune_err *err)
{
    OT_ENTER(err, {"partition", p}, {"result", result});
    *result = NULL;
    optune_program *program = NULL;
    profile f = {.n = 0};
    f.given = ot_alloc((size_t)(optune_graph_inputs(p->given) + 1) * sizeof *f.given);
    int status = ot_graph_choose_sizes(p->given, f.given, &f.sized, err);
    if (status >= 0)
        status = ot_partition_fill(p, seed, err);
    if (status >= 0)
        status = optune_partition_select(p, err);
    if (status >= 0)
        status = optune_program_open(p, &program, err);
    if (status >= 0 && f.sized)
        status = optune_program_resize(program, f.given, err);
    if (status >= 0)
        status = ot_program_fill_inputs(program, seed, err);
    if (status >= 0) {
        f.program = program;
        f.group = ot_alloc((size_t)(p->groups.n + 1) * sizeof *f.group);
        status = take_turns(&f, err);
    }
    if (status >= 0)
        *result = report(&f);
    free(f.group);
    free(f.given);
    optune_program_close(program);
    return status;
}
