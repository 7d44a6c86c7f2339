/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts over a graph: what its groups cost in blocks of channels, and which of them are to be so.
 *
 * A form is considered only where it was measured, under the policy of the graph, so time decides
 * how much is known: first all groups in blocks, and what stands where blocks must begin or end;
 * then what turns values over; then forms that take one layout and give another. The whole is
 * chosen exactly (graph/assign.c) among what is known. What a sum of parts promises is no word on
 * the whole, so the two graphs take turns at the end (layouts_turns.c).
 */
#include <math.h>
#include <string.h>

#include "tuner/layouts.h"

static const double SHARE = 0.25, MOST_S = 300; /* of a run's time; seconds */
/* Of that: by then the first kind is over, the second, the third; of the rest the graph in blocks
 * has so much for its last word, and then there are turns. */
static const double BY_STAGE[] = {0.5, 0.6, 0.7}, CONTEST = 0.5;

enum { STAGES = OT_COUNT(BY_STAGE) };

/* ---- what there could be ----------------------------------------------------------------- */

static int block_of(const optune *o)
{
    const int bytes = o->device.vector_bytes >= 16 ? o->device.vector_bytes : 16;
    return bytes / (int)sizeof(float);
}

static bool takes_blocks(const optune_partition *p, int block)
{
    const ot_blocks both = {block, block};
    for (int i = 0; i < p->groups.n; i++)
        if (p->groups.group[i].call->op->blocks &&
            ot_group_takes(p->graph, &p->groups.group[i], both))
            return true;
    return false;
}

double ot_layouts_share(const optune_partition *p, double seconds)
{
    if (!p || !*p->in_graph || !p->n_workloads ||
        (!p->relaid.graph && !takes_blocks(p, block_of(p->o))))
        return 0;
    return seconds > 0 ? fmin(SHARE * seconds, MOST_S) : MOST_S;
}

static int add_item(ot_laying *l, const char *text, int stage, double weight)
{
    int i = 0;
    while (i < l->n_items && strcmp(l->item[i].text, text))
        i++;
    if (i == l->n_items) {
        l->item = ot_room(l->item, i, &l->capacity, sizeof *l->item);
        l->item[l->n_items++] =
            (ot_form_item){.text = ot_strdup(text), .stage = stage, .cost = INFINITY};
    }
    l->item[i].stage = stage < l->item[i].stage ? stage : l->item[i].stage;
    l->item[i].weight += weight;
    return i;
}

static double cost_of_text(ot_run *run, const char *text)
{
    optune_call *call = ot_alloc(sizeof *call);
    const double cost = ot_call_parse(text, call, NULL) >= 0
                            ? ot_context_cost(run->o, call, run->policy.name)
                            : (double)INFINITY;
    free(call);
    return cost;
}

/* Blocks must begin here, as a value that it reads is made plain. */
static bool reads_plain(const ot_laying *l, int i)
{
    const ot_group *group = &l->plain->groups.group[i];
    for (int k = 0; k < group->n_in; k++) {
        const int maker = l->maker[group->in[k].node];
        if (ot_group_wants(l->plain->graph, group, k, l->form[1]) &&
            (maker < 0 || !l->cost[maker][1].takes))
            return true;
    }
    return false;
}

/* They must end: somebody reads it plain whatever happens. */
static bool read_plain(const ot_laying *l, int i)
{
    const ot_groups *groups = &l->plain->groups;
    const int last = groups->group[i].node[groups->group[i].n_nodes - 1];
    bool plain = l->given[last];
    for (int j = i + 1; j < groups->n && !plain; j++)
        for (int k = 0; k < groups->group[j].n_in; k++)
            plain = plain || (groups->group[j].in[k].node == last && !l->cost[j][1].takes);
    return plain;
}

/* The group of the graph in blocks that is this one of the plain one; -1: it is cut otherwise. */
static int same_group(const optune_partition *plain, int i, const optune_partition *blocked)
{
    const ot_group *group = &plain->groups.group[i];
    for (int j = 0; j < blocked->groups.n; j++) {
        const ot_group *other = &blocked->groups.group[j];
        if (blocked->relaid.origin[other->node[0]] != group->node[0])
            continue;
        bool same = other->n_nodes == group->n_nodes;
        for (int k = 0; k < group->n_nodes && same; k++)
            same = blocked->relaid.origin[other->node[k]] == group->node[k];
        return same ? j : -1;
    }
    return -1;
}

static void take_form(ot_laying *l, int which, const optune_partition *blocked)
{
    for (int i = 0; i < l->n; i++) {
        ot_form_cost *own = &l->cost[i][which];
        if (!own->takes)
            continue;
        const int j = same_group(l->plain, i, blocked);
        own->takes = j >= 0;
        own->item = -1;
        if (j < 0 || blocked->places.idle[j] != OT_RUNS)
            continue;
        /* What cannot be in blocks on both sides may begin or end them. */
        const bool first = which == 1 || !l->cost[i][1].takes ||
                           (which == 2 && reads_plain(l, i)) ||
                           (which == 3 && read_plain(l, i));
        own->item = add_item(l, blocked->row[j].text, first ? 0 : 2, l->alone[i]);
    }
}

/* The graph with every group in one form that takes it: so the cutting into groups says what each
 * one's workload is. */
static int look_at_form(ot_laying *l, int which, optune_err *err)
{
    ot_blocks *form = ot_alloc((size_t)(l->n + 1) * sizeof *form);
    optune_partition *blocked = NULL;
    int taken = 0;
    for (int i = 0; i < l->n; i++) {
        ot_form_cost *own = &l->cost[i][which];
        own->takes =
            ot_group_takes(l->plain->graph, &l->plain->groups.group[i], l->form[which]);
        form[i] = own->takes ? l->form[which] : (ot_blocks){0, 0};
        taken += own->takes;
    }
    int status = OPTUNE_OK;
    if (taken)
        status = ot_partition_open_relaid(l->plain, form, &blocked, err);
    if (taken && status >= 0)
        take_form(l, which, blocked);
    optune_partition_close(blocked);
    free(form);
    return status;
}

static void look_at_values(ot_laying *l)
{
    const ot_groups *groups = &l->plain->groups;
    optune_call *call = ot_alloc(sizeof *call);
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < groups->group[i].n_in; k++) {
            const ot_value value = groups->group[i].in[k];
            const int maker = l->maker[value.node];
            const bool reads =
                l->cost[i][1].takes &&
                ot_group_wants(l->plain->graph, &groups->group[i], k, l->form[1]);
            const bool made = maker >= 0 && l->cost[maker][1].takes;
            for (int back = 0; back < 2; back++) {
                if (back ? !made : !reads)
                    continue;
                if (!ot_value_turned(l->plain->graph, value, back ? l->block : 0,
                                     back ? 0 : l->block, call))
                    continue;
                ot_text text = {0};
                ot_call_print(call, &text);
                add_item(l, ot_text_str(&text), made && reads ? 1 : 0, 0);
                ot_text_release(&text);
            }
        }
    for (int id = 0; id < l->plain->graph->n; id++)
        if (l->given[id] && l->maker[id] >= 0 && l->cost[l->maker[id]][1].takes &&
            ot_value_turned(l->plain->graph, (ot_value){id, 0}, l->block, 0, call)) {
            ot_text text = {0};
            ot_call_print(call, &text);
            add_item(l, ot_text_str(&text), 0, 0);
            ot_text_release(&text);
        }
    free(call);
}

static int look(ot_laying *l, optune_err *err)
{
    const optune_graph *g = l->plain->graph;
    const ot_groups *groups = &l->plain->groups;
    const size_t n = (size_t)g->n + 1;
    l->n = groups->n;
    l->cost = ot_alloc((size_t)(l->n + 1) * sizeof *l->cost);
    l->alone = ot_alloc((size_t)(l->n + 1) * sizeof *l->alone);
    l->maker = ot_alloc(n * sizeof *l->maker);
    l->given = ot_alloc(n * sizeof *l->given);
    l->readers = ot_alloc(n * sizeof *l->readers);
    for (size_t id = 0; id < n; id++)
        l->maker[id] = -1;
    const int n_out = ot_graph_output_values(g, NULL, 0);
    ot_value *out = ot_alloc((size_t)(n_out + 1) * sizeof *out);
    ot_graph_output_values(g, out, n_out);
    for (int i = 0; i < n_out; i++)
        l->given[out[i].node] = true;
    free(out);
    for (int i = 0; i < l->n; i++) {
        const ot_group *group = &groups->group[i];
        const ot_node *last = &g->node[group->node[group->n_nodes - 1]];
        if (last->n_out == 1)
            l->maker[group->node[group->n_nodes - 1]] = i;
        for (int k = 0; k < group->n_in; k++)
            l->readers[group->in[k].node]++;
        const bool runs = l->plain->places.idle[i] == OT_RUNS;
        l->alone[i] = runs ? ot_context_cost(l->run->o, group->call, l->run->policy.name) : 0;
        l->cost[i][0] = (ot_form_cost){.takes = true, .item = -1};
        if (!isfinite(l->alone[i]))
            return optune_fail(err, OPTUNE_EPARTIAL, "not every group was measured as it is");
    }
    int status = OPTUNE_OK;
    for (int which = 1; which < OT_FORMS && status >= 0; which++)
        status = look_at_form(l, which, err);
    if (status >= 0)
        look_at_values(l);
    return status;
}

/* ---- measuring --------------------------------------------------------------------------- */

static bool has_time(const ot_run *run, double end)
{
    return ot_now() < end && !ot_context_stopped(run->o);
}

/* One trial for each, then what is left of the time in turn. */
static int measure_stage(ot_laying *l, int stage, double end, int from, optune_err *err)
{
    ot_run *run = l->run;
    ot_tuned *tuned = ot_alloc((size_t)run->n_workloads * sizeof *tuned);
    const int n = run->n_workloads;
    ot_shares shares = {.n = n - from};
    run->end = run->last = run->first_last = end;
    int status = ot_tune_first(run, from, tuned, err);
    for (int i = from; i < n && status >= 0 && stage != 1; i++)
        shares.weights += l->item[i - from].weight;
    for (int i = from; i < n && status >= 0 && stage != 1 && has_time(run, end); i++) {
        optune_err own = {0};
        const double seconds =
            ot_shares_next(&shares, l->item[i - from].weight, end - ot_now());
        if (!tuned[i].failed)
            status = ot_tune(run, i, seconds, &tuned[i], &own);
        if (status < 0 && ot_run_ends_all(run, status))
            optune_fail(err, status, "%s", own.text);
        else
            status = OPTUNE_OK;
    }
    free(tuned);
    return status;
}

/* The run's workloads are for the while this stage's, so that the report stays the graph's. */
static int measure(ot_laying *l, int stage, double end, optune_err *err)
{
    ot_run *run = l->run;
    optune_call *const own = run->call;
    const int n_own = run->n_workloads;
    const double run_end = run->end, last = run->last, first_last = run->first_last;
    ot_laying part = {.run = run};
    for (int i = 0; i < l->n_items; i++)
        if (l->item[i].stage == stage)
            add_item(&part, l->item[i].text, stage, l->item[i].weight);
    run->call = ot_alloc((size_t)(part.n_items + 1) * sizeof *run->call);
    run->n_workloads = 0;
    int status = OPTUNE_OK;
    for (int i = 0; i < part.n_items && status >= 0; i++)
        status = ot_call_parse(part.item[i].text, &run->call[run->n_workloads++], err);
    if (status >= 0 && part.n_items && has_time(run, end))
        status = measure_stage(&part, stage, end, 0, err);
    free(run->call);
    run->call = own;
    run->n_workloads = n_own;
    run->end = run_end;
    run->last = last;
    run->first_last = first_last;
    for (int i = 0; i < part.n_items; i++)
        free(part.item[i].text);
    free(part.item);
    return status < 0 || !ot_context_stopped(run->o) ? status : OPTUNE_EINTERRUPTED;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void recall_costs(ot_laying *l)
{
    for (int i = 0; i < l->n_items; i++)
        l->item[i].cost = cost_of_text(l->run, l->item[i].text);
}

/* The graph in blocks has its own last word, of which only the choices are kept. */
static int contend(ot_laying *l, const ot_blocks *form, double contest_end, double end,
                   double *best, optune_err *err)
{
    ot_run *run = l->run;
    optune_partition *blocked = NULL;
    ot_layouts told = {0};
    const ot_in_graph kept = run->in_graph;
    int status = ot_partition_open_relaid(l->plain, form, &blocked, err);
    if (status >= 0)
        status = ot_in_graph_finals(run, blocked, contest_end, err);
    run->in_graph = kept;
    if (status >= 0)
        status = ot_layouts_turns(run, l->plain, blocked, form, end, *best, &told, err);
    if (status >= 0 && told.blocked / told.plain < *best) {
        *best = told.blocked / told.plain;
        run->layouts.told = told;
    }
    optune_partition_close(blocked);
    return status;
}

/* What was used until now; what costs say; and, as few trials may be far off and the turns are what
 * decides, the same as if no form were slower by itself than the plain one. */
enum { AS_IT_WAS, AS_MEASURED, HOPEFUL, TRIES };

static bool choose(ot_laying *l, int which, ot_blocks *form)
{
    ot_layouts told = {0};
    if (which == AS_IT_WAS)
        return ot_layouts_recall(l->plain, form, &told) && told.kept;
    const double saved = ot_layouts_choose(l, which == HOPEFUL, form);
    ot_layouts_count(l->plain, form, &told);
    return told.in_blocks && saved > 0;
}

/* Each has its turns with the graph as it is, and who is the most ahead of it is remembered. */
static int choose_and_contend(ot_laying *l, double end, optune_err *err)
{
    const size_t bytes = (size_t)(l->plain->groups.n + 1) * sizeof(ot_blocks);
    ot_blocks *form[TRIES];
    double best = INFINITY;
    int n = 0, status = OPTUNE_OK;
    for (int i = 0; i < TRIES; i++)
        form[i] = ot_alloc(bytes);
    for (int which = 0; which < TRIES; which++) {
        bool fresh = choose(l, which, form[n]);
        for (int i = 0; i < n; i++)
            fresh = fresh && memcmp(form[i], form[n], bytes);
        n += fresh;
    }
    for (int i = 0; i < n && status >= 0; i++) {
        const double now = ot_now(), share = (end - now) / (n - i);
        status = contend(l, form[i], now + CONTEST * share, now + share, &best, err);
    }
    for (int i = 0; i < TRIES; i++)
        free(form[i]);
    return status;
}

static int find(ot_laying *l, double end, optune_err *err)
{
    const double start = ot_now();
    int status = look(l, err);
    for (int stage = 0; stage < STAGES && status >= 0; stage++)
        status = measure(l, stage, start + BY_STAGE[stage] * (end - start), err);
    if (status < 0)
        return status;
    recall_costs(l);
    l->run->layouts.done = true;
    return choose_and_contend(l, end, err);
}

/* Nothing was measured since it was found out. */
static bool is_known(ot_run *run, optune_partition *plain)
{
    ot_blocks *form = ot_alloc((size_t)(plain->groups.n + 1) * sizeof *form);
    const bool known = !run->new_trials && !run->options->again &&
                       ot_layouts_recall(plain, form, &run->layouts.told);
    free(form);
    run->layouts.done = known;
    return known;
}

int ot_layouts_finals(ot_run *run, optune_partition *partition, double end, optune_err *err)
{
    const int block = block_of(run->o);
    optune_partition *plain = NULL;
    optune_err own = {0};
    int status = ot_partition_open_plain(run->o, partition->given, &plain, &own);
    if (status >= 0 && !is_known(run, plain)) {
        ot_laying l = {.run = run,
                       .plain = plain,
                       .block = block,
                       .form = {{0, 0}, {block, block}, {0, block}, {block, 0}}};
        status = find(&l, end, &own);
        for (int i = 0; i < l.n_items; i++)
            free(l.item[i].text);
        free(l.item);
        free(l.cost);
        free(l.alone);
        free(l.maker);
        free(l.given);
        free(l.readers);
    }
    optune_partition_close(plain);
    if (status < 0 && status != OPTUNE_EINTERRUPTED && !run->broken) {
        ot_copy(run->layouts.problem, sizeof run->layouts.problem, own.text);
        return OPTUNE_OK; /* the graph as it is stands */
    }
    return status < 0 ? optune_fail(err, status, "%s", own.text) : OPTUNE_OK;
}

void ot_in_layouts_say(const ot_in_layouts *told, ot_text *to)
{
    if (*told->problem)
        ot_text_printf(to, "layouts were not compared: %s\n", told->problem);
    else if (told->done && !told->told.block)
        ot_text_add(to, "layouts: no choice of blocks promises to be faster\n");
    ot_layouts_say(&told->told, to);
}
