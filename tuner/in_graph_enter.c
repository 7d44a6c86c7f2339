/* SPDX-License-Identifier: Apache-2.0 */
/* Who competes in the last word on a graph, workload by workload (in_graph.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"
#include "tuner/in_graph.h"

enum {
    MOST = 6,        /* candidates of a workload, without those that are lighter */
    MOST_OF_ONE = 3, /* of one implementation */
    MOST_LIGHTER = OT_ENTRANTS - MOST
};
/* A candidate may be so much slower by itself: another implementation's best, another config. */
static const double FAR = 2, NEAR = 1.25;
/* So much slower, where it holds so much less than all that is there, and so many bytes less. */
static const double SLOWER = 1.4, LIGHTER = 0.75, WORTH = 1 << 18;

static bool may_be_selected(const optune_task *task, const ot_choice *choice, const char *impl)
{
    for (int i = 0; i < choice->n; i++)
        if (!strcmp(choice->row[i].candidate.impl->name, impl))
            return ot_choice_refusal(task, choice, i) == OT_VALID;
    return false;
}

static int of_impl(const ot_seat *s, const optune_impl *impl)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->item[i].impl == impl;
    return n;
}

static void enter(ot_seat *s, const optune_impl *impl, const optune_config *config,
                  double error, int most)
{
    for (int i = 0; i < s->n; i++)
        if (s->item[i].impl == impl && ot_config_equal(&s->item[i].config, config))
            return;
    if (s->n < most)
        s->item[s->n++] = (ot_entrant){.impl = impl, .config = *config, .error = error};
}

/* The implementation of a fact that may compete, at most so many times slower; NULL: it may not. */
static const optune_impl *competes(const optune_task *task, const ot_choice *choice,
                                   const ot_fact *fact, double most)
{
    const optune_record *r = &fact->record;
    return fact->currency != OT_STALE && r->outcome == OPTUNE_OUTCOME_OK && r->cost <= most &&
                   may_be_selected(task, choice, r->impl)
               ? ot_impl_find(r->impl)
               : NULL;
}

/* What the cheapest costs that still counts: facts come cheapest first. */
static double cheapest(const optune_task *task, const ot_choice *choice, const ot_fact *fact,
                       int n)
{
    for (int i = 0; i < n; i++)
        if (competes(task, choice, &fact[i], INFINITY))
            return fact[i].record.cost;
    return 0;
}

/* Each implementation's best, then what else is near; `untuned` has one beside these. */
static void enter_facts(ot_seat *s, const optune_task *task, const ot_choice *choice,
                        const ot_fact *fact, int n, const optune_impl *untuned)
{
    const double least = cheapest(task, choice, fact, n);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            const optune_record *r = &fact[i].record;
            const optune_impl *impl =
                competes(task, choice, &fact[i], least * (pass ? NEAR : FAR));
            if (impl && of_impl(s, impl) - (impl == untuned) < (pass ? MOST_OF_ONE : 1))
                enter(s, impl, &r->config, r->error, MOST);
        }
}

/* What the graph would be computed with untuned, however slow its trials were: so the whole is
 * never slower for having been tuned. Returns its implementation, which has this beside the
 * others; NULL: it was there, or cannot compete. */
static const optune_impl *enter_untuned(ot_seat *s, const optune_task *task,
                                        const ot_choice *choice, const ot_fact *fact, int n)
{
    const int there = s->n, row = ot_choice_default(task, choice);
    const optune_impl *impl = row < 0 ? NULL : choice->row[row].candidate.impl;
    optune_space *space = NULL;
    optune_config *config = ot_alloc(sizeof *config);
    if (impl && ot_space_open(task, impl, &space, NULL) >= 0 &&
        ot_space_fallback(space, config, NULL))
        for (int i = 0; i < n; i++)
            if (competes(task, choice, &fact[i], INFINITY) == impl &&
                ot_config_equal(&fact[i].record.config, config))
                enter(s, impl, config, fact[i].record.error, MOST);
    ot_space_close(space);
    free(config);
    return s->n > there ? impl : NULL;
}

/* ---- what is held ------------------------------------------------------------------------ */

double ot_plan_packed(const optune_plan *plan)
{
    double bytes = 0;
    for (int i = 0; i < plan->n_scratch; i++)
        bytes += plan->scratch[i].constant ? (double)ot_scratch_bytes(plan, i) : 0;
    return bytes;
}

double ot_plan_held(const optune_call *call, const optune_impl *impl, const optune_plan *plan)
{
    double bytes = ot_plan_packed(plan);
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (call->input[i].is_const && ot_plan_reads_again(impl, plan, i))
            bytes += (double)optune_tensor_bytes(&call->input[i].type);
    return bytes;
}

/* INFINITY: it has no plan any more. */
static double held_of(const optune_task *task, const optune_impl *impl,
                      const optune_config *config)
{
    optune_plan *plan = ot_alloc(sizeof *plan);
    const double held = ot_plan_make(task, impl, config, plan, NULL) < 0
                            ? INFINITY
                            : ot_plan_held(task->call, impl, plan);
    free(plan);
    return held;
}

static void enter_lighter(ot_seat *s, const optune_task *task, const ot_choice *choice,
                          const ot_fact *fact, int n)
{
    const int there = s->n;
    const double most = SLOWER * cheapest(task, choice, fact, n);
    double least = INFINITY;
    for (int i = 0; i < there; i++)
        least = fmin(least, held_of(task, s->item[i].impl, &s->item[i].config));
    for (int i = 0; i < n && s->n < there + MOST_LIGHTER && least > WORTH; i++) {
        const optune_record *r = &fact[i].record;
        const optune_impl *impl = competes(task, choice, &fact[i], most);
        const double held = impl ? held_of(task, impl, &r->config) : INFINITY;
        if (held < LIGHTER * least && least - held >= WORTH) {
            enter(s, impl, &r->config, r->error, OT_ENTRANTS);
            least = held;
        }
    }
}

/* ---- all of it --------------------------------------------------------------------------- */

static int cheaper(const void *a, const void *b)
{
    const double x = ((const ot_fact *)a)->record.cost, y = ((const ot_fact *)b)->record.cost;
    return (x > y) - (x < y);
}

static void enter_winner(ot_seat *s, const ot_choice *choice)
{
    const ot_choice_row *winner = &choice->row[choice->winner];
    s->measured = s->measured || ot_choice_measured(choice);
    enter(s, winner->candidate.impl, choice->config,
          winner->fact ? winner->fact->record.error : 0, MOST);
}

/* What an earlier last word chose is what the graph is computed with until now. */
static int enter_chosen_before(ot_run *run, const optune_partition *partition, ot_seat *s,
                               const optune_task *task, optune_err *err)
{
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_fact *fact;
    int n = 0;
    const int status =
        ot_context_choose(run->o, task, partition->in_graph, &s->arena, &fact, &n, choice, err);
    if (status >= 0 && ot_choice_measured(choice))
        enter_winner(s, choice);
    ot_choice_free(choice);
    return status;
}

int ot_seat_enter(ot_run *run, const optune_partition *partition, ot_seat *s, optune_err *err)
{
    optune *o = run->o;
    const optune_task task = {s->call, &o->target, &o->device};
    OT_RETURN_UNLESS_OK(enter_chosen_before(run, partition, s, &task, err));
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_fact *fact;
    int n = 0;
    const int status =
        ot_context_choose(o, &task, run->policy.name, &s->arena, &fact, &n, choice, err);
    if (status >= 0) {
        enter_winner(s, choice);
        if (n)
            qsort(fact, (size_t)n, sizeof *fact, cheaper);
        if (ot_choice_measured(choice)) {
            const optune_impl *untuned = enter_untuned(s, &task, choice, fact, n);
            enter_facts(s, &task, choice, fact, n, untuned);
            enter_lighter(s, &task, choice, fact, n);
        }
    }
    ot_choice_free(choice);
    return status;
}
