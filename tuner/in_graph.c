/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word on a graph: the best few candidates of each of its workloads, timed while the graph
 * runs, their constants where the other groups left them, their inputs just written by a neighbour.
 *
 * The one idea: a run of the graph tries one candidate of every workload at once. Each is drawn by
 * lot anew, so that none has always the same neighbours, and a hundred runs compare what would be
 * thousands of combinations. At the end the graph as it was chosen before and the graph as
 * chosen here take turns.
 *
 * It happens in the calling process, as executing does: all candidates were verified before, and
 * everything measured is stored by then.
 */
#include <math.h>
#include <string.h>

#include "tuner/in_graph.h"

enum {
    FIRST = 9,   /* samples before one is given up */
    ENOUGH = 31, /* and before the next one of the same tells nothing new */
    KNOWN = 3,   /* before its least one says what is quick */
    LEVELS = 128 /* runs that are remembered, for what is slow */
};
static const double SHARE = 0.1, MOST_S = 20; /* of a run's time; seconds */
static const double COMPARING = 0.25;         /* of the time, for the whole against the whole */
static const double JUDGING_S = 0.02;         /* in between nobody looks who is slower */
static const double GIVEN =
    0.01; /* of the whole's time, for candidates that hold less memory */

typedef struct contest {
    ot_run *run;
    optune_partition *partition;
    optune_program *program;
    ot_seat *seat; /* by workload */
    int n;
    int *nth;                     /* by group: which one of its workload's */
    bool *ours;                   /* by node: a constant that had no elements */
    int turns;                    /* of the whole */
    double level[LEVELS], *ratio; /* how slow a run was; for each seat, of the run at hand */
    int n_levels, n_slow;
    uint64_t random;
    double held; /* bytes of what is loaded */
} contest;

/* ---- on the machine ---------------------------------------------------------------------- */

static int take(contest *c, ot_seat *s, ot_entrant *e, optune_err *err)
{
    e->kernel = ot_alloc((size_t)s->n_groups * sizeof *e->kernel);
    int status = OPTUNE_OK;
    for (int g = 0; g < s->n_groups && status >= 0; g++) {
        if (g && ot_call_static(s->call))
            ot_kernel_like(&c->program->machine, &e->kernel[0], &e->kernel[g]);
        else
            status = ot_kernel_take(&c->program->machine, s->call, e->impl, &e->config,
                                    &e->kernel[g], err);
        c->held += (double)e->kernel[g].scratch;
    }
    return status;
}

/* As a program loads it: modules once, and what was packed of equal constants. */
static int load_like(contest *c, const ot_seat *s, ot_entrant *e, int g, optune_err *err)
{
    const optune_plan *plan = &e->kernel[0].bound->loaded->plan;
    int like = 0;
    bool same = false;
    for (int k = 0; k < g && !same; k++) {
        same = ot_groups_pack_alike(c->partition, plan, s->group[k], s->group[g]);
        like = same ? k : 0;
    }
    e->held += ot_plan_held(s->call, e->impl, plan) - (same ? ot_plan_packed(plan) : 0);
    ot_program_bind(c->program, s->group[g], &e->kernel[g]);
    return ot_kernel_load_like(&e->kernel[g], &e->kernel[like], same, err);
}

static int load(contest *c, ot_seat *s, ot_entrant *e, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int g = 0; g < s->n_groups && status >= 0; g++) {
        if (g && ot_call_static(s->call)) {
            status = load_like(c, s, e, g, err);
            continue;
        }
        status = ot_program_load(c->program, s->group[g], &e->kernel[g], err);
        if (status >= 0)
            e->held += ot_plan_held(s->call, e->impl, &e->kernel[g].bound->loaded->plan);
    }
    return status;
}

/* Another candidate is worth no more than half of the memory that is there. */
static bool has_room(const contest *c, const ot_seat *s)
{
    const double there = (double)ot_memory_available(c->run->memory_root);
    double each = 0;
    for (int g = 0; g < s->n_groups; g++)
        each += (double)s->item[0].kernel[g].scratch;
    return there <= 0 || c->held + each <= there / 2;
}

/* Compilers first, all at once. Who chose by itself must load; anybody else is left out. */
static int open_all(contest *c, optune_err *err)
{
    optune_err own = {0};
    int status = OPTUNE_OK;
    for (int i = 0; i < c->n && status >= 0; i++)
        for (int k = 0; k < c->seat[i].n && status >= 0; k++) {
            ot_entrant *e = &c->seat[i].item[k];
            e->out = k && (!has_room(c, &c->seat[i]) || take(c, &c->seat[i], e, &own) < 0);
            if (k == 0)
                status = take(c, &c->seat[i], e, err);
        }
    for (int i = 0; i < c->n && status >= 0; i++)
        for (int k = 0; k < c->seat[i].n && status >= 0; k++) {
            ot_entrant *e = &c->seat[i].item[k];
            if (k == 0)
                status = load(c, &c->seat[i], e, err);
            else
                e->out = e->out || load(c, &c->seat[i], e, &own) < 0;
            if (ot_context_stopped(c->run->o))
                status = OPTUNE_EINTERRUPTED;
        }
    return status;
}

/* ---- runs -------------------------------------------------------------------------------- */

static const optune_plan *plan_at(void *contest_of, int group)
{
    const contest *c = contest_of;
    const ot_seat *s = &c->seat[c->partition->row[group].workload];
    return &s->item[s->now].kernel[c->nth[group]].bound->loaded->plan;
}

static int run_once(contest *c, double *seconds, optune_err *err)
{
    int status = ot_program_arrange(c->program, plan_at, c, err);
    for (int i = 0; i < c->n; i++)
        c->seat[i].spent = 0;
    const double start = ot_now();
    double before = start;
    for (int i = 0; i < c->partition->groups.n && status >= 0; i++) {
        if (c->partition->places.idle[i] != OT_RUNS)
            continue;
        ot_seat *s = &c->seat[c->partition->row[i].workload];
        status = ot_kernel_run(&s->item[s->now].kernel[c->nth[i]], err);
        const double after = ot_now();
        s->spent += after - before;
        before = after;
    }
    *seconds = before - start;
    return status < 0 || !ot_context_stopped(c->run->o) ? status : OPTUNE_EINTERRUPTED;
}

/* The next one of a round, in which each that is left has one turn. */
static void draw_one(contest *c, ot_seat *s)
{
    do {
        if (s->turn == 0) {
            for (int i = 0; i < s->n; i++) {
                const int k = (int)optune_random_below(&c->random, i + 1);
                s->order[i] = s->order[k];
                s->order[k] = i;
            }
        }
        s->now = s->order[s->turn];
        s->turn = (s->turn + 1) % s->n;
    } while (s->item[s->now].out);
}

/* Whether most groups took longer in the run at hand than they do when the machine is at full
 * speed: what was measured then would count against whoever had the turn. Half of all runs count in
 * any case. Of few workloads it cannot be told. */
static bool was_slow(contest *c)
{
    double sorted[LEVELS];
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        const ot_seat *s = &c->seat[i];
        const ot_entrant *e = &s->item[s->now];
        if (e->n >= KNOWN && e->least > 0)
            c->ratio[n++] = s->spent / s->n_groups / e->least;
    }
    if (n < KNOWN || n < c->n / 2)
        return false;
    const double level = ot_median_interval(c->ratio, n).median;
    c->level[c->n_levels++ % LEVELS] = level;
    const int known = c->n_levels < LEVELS ? c->n_levels : LEVELS;
    memcpy(sorted, c->level, (size_t)known * sizeof *sorted);
    qsort(sorted, (size_t)known, sizeof *sorted, ot_ascending);
    const bool slow = known >= FIRST && 2 * c->n_slow < c->n_levels &&
                      level > OT_SLOWED * ot_quantile(sorted, known, 0.25);
    c->n_slow += slow;
    return slow;
}

static void note(ot_seat *s)
{
    ot_entrant *e = &s->item[s->now];
    const double sample = s->spent / s->n_groups;
    if (e->begun && e->n < OT_ENTRANT_SAMPLES) {
        e->least = e->n ? fmin(e->least, sample) : sample;
        e->sample[e->n++] = sample;
    }
    e->begun = true; /* the first time it is cold in a way that it never is again */
}

/* Leaves out who is slower than the best for certain. False: somebody has few samples yet. */
static bool judge(ot_seat *s)
{
    int best = -1, least = ENOUGH;
    for (int i = 0; i < s->n; i++) {
        ot_entrant *e = &s->item[i];
        if (e->out)
            continue;
        least = e->n < least ? e->n : least;
        if (e->n < FIRST)
            continue;
        e->interval = ot_median_interval(e->sample, e->n);
        if (best < 0 || e->interval.median < s->item[best].interval.median)
            best = i;
    }
    s->decided = best >= 0;
    s->best = s->decided ? best : s->alone;
    for (int i = 0; i < s->n && least >= FIRST; i++)
        s->item[i].out =
            s->item[i].out || s->item[i].interval.low > s->item[best].interval.high;
    return least >= ENOUGH;
}

static int try_all(contest *c, double end, optune_err *err)
{
    int status = OPTUNE_OK;
    bool enough = false;
    double judged = 0;
    while (status >= 0 && !enough && ot_now() < end) {
        double seconds;
        for (int i = 0; i < c->n; i++)
            draw_one(c, &c->seat[i]);
        status = run_once(c, &seconds, err);
        const bool slow = was_slow(c);
        for (int i = 0; i < c->n && status >= 0 && !slow; i++)
            note(&c->seat[i]);
        if (status < 0 || ot_now() < judged + JUDGING_S)
            continue;
        ot_run_report(c->run, "in the graph", NULL);
        enough = true;
        for (int i = 0; i < c->n; i++)
            enough = judge(&c->seat[i]) && enough;
        judged = ot_now();
    }
    for (int i = 0; i < c->n; i++)
        judge(&c->seat[i]);
    return status;
}

/* What holds less memory instead, as far as the whole loses next to nothing by it. */
static void choose_lighter(contest *c, ot_in_graph *told)
{
    const ot_weight **weight = ot_alloc((size_t)c->n * sizeof *weight);
    int *n_weights = ot_alloc((size_t)c->n * sizeof *n_weights);
    int *chosen = ot_alloc((size_t)c->n * sizeof *chosen);
    ot_arena arena = {0};
    double whole = 0;
    for (int i = 0; i < c->n; i++) {
        const ot_seat *s = &c->seat[i];
        ot_weight *own = ot_arena_alloc(&arena, (size_t)s->n * sizeof *own);
        for (int k = 0; k < s->n; k++) {
            const ot_entrant *e = &s->item[k];
            own[k].bytes = e->held;
            own[k].seconds = e->n < FIRST ? INFINITY : e->interval.median * s->n_groups;
        }
        weight[i] = own;
        n_weights[i] = s->n;
        chosen[i] = s->best;
        whole += own[s->best].seconds;
    }
    told->lighter = ot_lighten(weight, n_weights, c->n, GIVEN * whole, chosen);
    for (int i = 0; i < c->n; i++)
        c->seat[i].best = chosen[i];
    ot_arena_release(&arena);
    free(weight);
    free(n_weights);
    free(chosen);
}

/* Leaves out the turns in which both were slow. Returns how many are left. */
static int turns_of_one_speed(contest *c, double sample[2][OT_WHOLE_TURNS], int n)
{
    bool taken[OT_WHOLE_TURNS];
    int left = 0;
    ot_one_speed((const double *const[]){sample[0], sample[1]}, 2, n, taken);
    for (int r = 0; r < n; r++) {
        if (!taken[r])
            continue;
        for (int which = 0; which < 2; which++) {
            sample[which][left] = sample[which][r];
            for (int i = 0; i < c->n; i++)
                c->seat[i].whole[which][left] = c->seat[i].whole[which][r];
        }
        left++;
    }
    return left;
}

/* The graph as it is chosen until now and as chosen here, in turns, which also tell what each
 * group takes: by what they were chosen from they look faster than they are. */
static int take_turns(contest *c, double end, ot_in_graph *told, optune_err *err)
{
    double sample[2][OT_WHOLE_TURNS];
    int status = OPTUNE_OK, n = 0;
    for (; n < OT_WHOLE_TURNS && status >= 0 && (n < FIRST || ot_now() < end); n++)
        for (int which = 0; which < 2 && status >= 0; which++) {
            for (int i = 0; i < c->n; i++)
                c->seat[i].now = which ? c->seat[i].best : c->seat[i].alone;
            status = run_once(c, &sample[which][n], err);
            for (int i = 0; i < c->n; i++)
                c->seat[i].whole[which][n] = c->seat[i].spent / c->seat[i].n_groups;
        }
    if (status < 0)
        return status;
    n = turns_of_one_speed(c, sample, n);
    told->alone = ot_median_interval(sample[0], n);
    told->together = ot_median_interval(sample[1], n);
    for (int i = 0; i < c->n; i++)
        told->others += c->seat[i].best != c->seat[i].alone;
    told->kept = !told->others ||
                 told->together.low <= told->alone.high * (1 + (told->lighter > 0 ? GIVEN : 0));
    c->turns = n;
    return status;
}

/* ---- what is written down ---------------------------------------------------------------- */

/* `sample[n]` of one run of one group. */
static int record(const contest *c, const ot_seat *s, const ot_entrant *e, const double *sample,
                  int n, const char *lines, optune_err *err)
{
    const optune *o = c->run->o;
    const optune_task task = {s->call, &o->target, &o->device};
    const ot_contender who = {
        .task = &task, .impl = e->impl, .config = &e->config, .policy = c->partition->in_graph};
    const ot_interval interval = ot_median_interval(sample, n);
    double spent = 0;
    for (int i = 0; i < n; i++)
        spent += sample[i] * s->n_groups;
    const ot_trial_result result = {.outcome = OPTUNE_OUTCOME_OK,
                                    .cost = interval.median,
                                    .low = interval.low,
                                    .high = interval.high,
                                    .n_samples = n,
                                    .sample = sample,
                                    .inner = 1,
                                    .counters = lines,
                                    .error = e->error,
                                    .seed = c->run->options->seed};
    return ot_record_trial(c->run, &who, &result, spent, true, err);
}

/* All who were tried, and then who was chosen, by its turns in the whole: that record says so, and
 * the newest that does decides (answer/facts.c). Of a combination that is slower as a whole nothing
 * but what stays instead is written down. */
static int conclude(const contest *c, const ot_in_graph *told, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < c->n && status >= 0; i++) {
        const ot_seat *s = &c->seat[i];
        const int chosen = told->kept ? s->best : s->alone;
        if (!s->measured)
            continue;
        for (int k = 0; k < s->n && status >= 0 && told->kept; k++)
            if (s->item[k].n >= FIRST && k != chosen)
                status = record(c, s, &s->item[k], s->item[k].sample, s->item[k].n, NULL, err);
        if (status >= 0)
            status = record(c, s, &s->item[chosen], s->whole[told->kept], c->turns,
                            OT_CHOSEN "=1\n", err);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------- */

static void seat_groups(contest *c)
{
    const ot_groups *groups = &c->partition->groups;
    c->n = c->partition->n_workloads;
    c->seat = ot_alloc((size_t)c->n * sizeof *c->seat);
    c->nth = ot_alloc((size_t)(groups->n + 1) * sizeof *c->nth);
    c->ours = ot_alloc((size_t)(c->partition->given->n + 1) * sizeof *c->ours);
    c->ratio = ot_alloc((size_t)(c->n + 1) * sizeof *c->ratio);
    for (int i = 0; i < groups->n; i++) {
        if (c->partition->places.idle[i] != OT_RUNS)
            continue;
        ot_seat *s = &c->seat[c->partition->row[i].workload];
        if (!s->group)
            s->group = ot_alloc((size_t)groups->n * sizeof *s->group);
        s->call = groups->group[i].call;
        c->nth[i] = s->n_groups;
        s->group[s->n_groups++] = i;
    }
}

/* A constant without elements gets some for the while. */
static int fill(contest *c, optune_err *err)
{
    const optune_graph *g = c->partition->given;
    for (int id = 0; id < g->n; id++)
        c->ours[id] = g->node[id].kind == OT_NODE_CONST && !g->node[id].data;
    return ot_partition_fill(c->partition, c->run->options->seed, err);
}

static void close_all(contest *c)
{
    optune_graph *graph = c->partition->given;
    for (int id = 0; id < graph->n; id++)
        if (c->ours[id])
            optune_graph_set_data(graph, id, NULL, NULL);
    ot_partition_share(c->partition);
    for (int i = 0; i < c->n; i++) {
        ot_seat *s = &c->seat[i];
        for (int k = 0; k < s->n; k++) {
            for (int g = s->n_groups - 1; g >= 0 && s->item[k].kernel; g--) /* users first */
                ot_kernel_release(&s->item[k].kernel[g]);
            free(s->item[k].kernel);
        }
        ot_arena_release(&s->arena);
        free(s->group);
    }
    optune_program_close(c->program);
    free(c->seat);
    free(c->nth);
    free(c->ours);
    free(c->ratio);
}

static int contend(contest *c, double end, ot_in_graph *told, optune_err *err)
{
    const double start = ot_now();
    int status = fill(c, err);
    for (int i = 0; i < c->n && status >= 0; i++)
        status = ot_seat_enter(c->run, c->partition, &c->seat[i], err);
    if (status >= 0)
        status = ot_program_prepare(c->partition, &c->program, err);
    if (status >= 0)
        status = open_all(c, err);
    if (status >= 0)
        status = ot_program_fill_inputs(c->program, c->run->options->seed, err);
    if (status >= 0)
        status = try_all(c, end - COMPARING * (end - start), err);
    for (int i = 0; i < c->n && status >= 0; i++)
        if (!c->seat[i].decided)
            return optune_fail(err, OPTUNE_EPARTIAL, "no time was left for it");
    if (status >= 0)
        choose_lighter(c, told);
    if (status >= 0)
        status = take_turns(c, end, told, err);
    if (status >= 0)
        status = conclude(c, told, err);
    told->done = status >= 0;
    return status;
}

double ot_in_graph_share(const optune_partition *partition, double seconds)
{
    if (!partition || !*partition->in_graph || !partition->n_workloads)
        return 0;
    return seconds > 0 ? fmin(SHARE * seconds, MOST_S) : MOST_S;
}

/* Nothing was measured since the last time. */
static bool is_known(const ot_run *run, const optune_partition *p)
{
    bool known = !run->new_trials && !run->options->again;
    for (int i = 0; i < p->groups.n && known; i++) {
        const ot_answer *answer = NULL;
        if (p->places.idle[i] != OT_RUNS)
            continue;
        known =
            ot_answer_call_at(run->o, p->groups.group[i].call, p->asked, &answer, NULL) >= 0 &&
            ot_choice_measured(&answer->choice) &&
            !strcmp(answer->choice.row[answer->choice.winner].fact->record.policy, p->in_graph);
        ot_answer_drop(answer);
    }
    return known;
}

int ot_in_graph_finals(ot_run *run, optune_partition *partition, double end, optune_err *err)
{
    ot_in_graph *told = &run->in_graph;
    if (partition->o != run->o)
        return optune_fail(err, OPTUNE_EUSAGE, "the graph is another handle's");
    if (ot_in_graph_share(partition, -1) <= 0 || is_known(run, partition))
        return OPTUNE_OK;
    contest c = {.run = run, .partition = partition, .random = run->options->seed + 1};
    seat_groups(&c);
    optune_err own = {0};
    int lock = -1;
    const ot_worker_options whose = {.device = &run->o->device, .stop = &run->o->stop};
    const double before = ot_now();
    int status = ot_device_lock(&whose, &lock, &own);
    if (status >= 0)
        status = contend(&c, end + ot_now() - before, told, &own);
    ot_device_unlock(lock);
    told->workloads = c.n;
    close_all(&c);
    if (status < 0 && status != OPTUNE_EINTERRUPTED && !run->broken) {
        ot_copy(told->problem, sizeof told->problem, own.text);
        return OPTUNE_OK; /* what was measured before stands */
    }
    return status < 0 ? optune_fail(err, status, "%s", own.text) : OPTUNE_OK;
}

void ot_in_graph_say(const ot_in_graph *told, ot_text *to)
{
    if (*told->problem)
        ot_text_printf(to, "\nthe whole graph was not measured: %s\n", told->problem);
    if (!told->done)
        return;
    ot_text_printf(to,
                   "\nthe whole graph, in turns: %.4g us [%.4g, %.4g] as chosen before, "
                   "%.4g us [%.4g, %.4g] as chosen while it ran",
                   told->alone.median * 1e6, told->alone.low * 1e6, told->alone.high * 1e6,
                   told->together.median * 1e6, told->together.low * 1e6,
                   told->together.high * 1e6);
    if (told->kept)
        ot_text_printf(to, " (%d of %d workloads by another config", told->others,
                       told->workloads);
    if (told->kept && told->lighter > 0)
        ot_text_printf(to, ", %.3g MB of constants saved", told->lighter / 1e6);
    if (told->kept)
        ot_text_add(to, ")\n");
    else
        ot_text_add(to, ": the former stays\n");
}

json_t *ot_in_graph_json(const ot_in_graph *told)
{
    if (!told->done)
        return json_null();
    return json_pack("{s:[f,f,f], s:[f,f,f], s:b, s:i, s:i, s:f}", "one_by_one",
                     told->alone.median, told->alone.low, told->alone.high, "in_graph",
                     told->together.median, told->together.low, told->together.high, "kept",
                     (int)told->kept, "others", told->others, "workloads", told->workloads,
                     "lighter", told->kept ? told->lighter : 0.0);
}
