/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune_report: what is known of workloads, or of all of a graph, as one document to draw from:
 * the history of the search, the finalists' samples, what knobs explain, what was chosen and why,
 * beside what the machine could do at most. Reads stored records only and measures nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/figures.h"
#include "answer/graph.h"
#include "answer/list/list.h"
#include "answer/report.h"
#include "base/fenv.h"

/* So that a page stays well below 2 MB. */
enum {
    MOST_TRIALS = 3500,
    MOST_SAMPLES = 6000,
    SAMPLES = 120,
    FINALISTS = 10,
    MOST_WORKLOADS = 250, /* of an operator */
};

typedef struct found_workload {
    char *call;
    double last; /* when it was measured */
} found_workload;

typedef struct reporting {
    optune *o;
    const optune_report_options *options;
    const char *policy;
    const char *target;    /* as records name it */
    found_workload *found; /* workloads with records, for options->op */
    int n_found, capacity;
    json_t *place;         /* of each, by its call */
    const char **named;    /* those of them that are reported, NULL behind */
    int n_unread;          /* workloads that are not of this version, or of the operator */
    optune_err unread_why; /* the last of them */
    int n_records;         /* of all workloads */
    ot_text *text;
} reporting;

/* ---- the workloads ----------------------------------------------------------------------- */

static int collect(void *arg, const optune_record *r)
{
    reporting *all = arg;
    const char *policy = r->policy ? r->policy : "warm";
    if (!r->op || strcmp(r->op, all->options->op) || strcmp(r->device, all->o->device.key) ||
        strcmp(policy, all->policy) || strcmp(r->target, all->target))
        return 0;
    const json_t *known = json_object_get(all->place, r->call);
    if (known) {
        found_workload *at = &all->found[json_integer_value(known)];
        at->last = fmax(at->last, r->time);
        return 0;
    }
    all->found = ot_room(all->found, all->n_found, &all->capacity, sizeof *all->found);
    json_object_set_new(all->place, r->call, json_integer(all->n_found));
    all->found[all->n_found++] = (found_workload){ot_strdup(r->call), r->time};
    return 0;
}

/* A call that a report can tell of; `op`: of this operator, NULL: of any. */
static int read_workload(const char *workload, const char *op, optune_call *call,
                         optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_parse(workload, call, err));
    if (op && strcmp(call->op->name, op))
        return optune_fail(err, OPTUNE_EUSAGE, "%s is not of '%s'", workload, op);
    if (!ot_call_static(call))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "%s has unknown dims: a report is of constant sizes", workload);
    return OPTUNE_OK;
}

/* What another version stored is there for that one. */
static void pass_over_unread(reporting *all)
{
    optune_call *call = ot_alloc(sizeof *call);
    const int n = all->n_found;
    all->n_found = 0;
    for (int i = 0; i < n; i++) {
        if (read_workload(all->found[i].call, all->options->op, call, &all->unread_why) >= 0) {
            all->found[all->n_found++] = all->found[i];
            continue;
        }
        free(all->found[i].call);
        all->n_unread++;
    }
    free(call);
}

static int by_last(const void *a, const void *b)
{
    const found_workload *x = a, *y = b;
    return (x->last < y->last) - (x->last > y->last);
}

/* Those that were measured last, where there are more than a page holds. */
static void name_found(reporting *all)
{
    int n = all->n_found;
    if (n > MOST_WORKLOADS) {
        qsort(all->found, (size_t)n, sizeof *all->found, by_last);
        n = MOST_WORKLOADS;
    }
    all->named = ot_alloc((size_t)(n + 1) * sizeof *all->named);
    for (int i = 0; i < n; i++)
        all->named[i] = all->found[i].call;
    all->named[n] = NULL;
}

static int find_workloads(reporting *all, const char *const **workloads, optune_err *err)
{
    const optune_report_options *how = all->options;
    const optune_op *op;
    if (how->partition)
        return optune_partition_workloads(how->partition, workloads, err);
    *workloads = how->workloads;
    if (!how->op)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_op_get(how->op, &op, err));
    const unsigned turn = ot_context_enter(all->o);
    int status = ot_context_store(all->o, OT_STORE_READ, err);
    ot_store *store;
    for (int i = 0; status >= 0 && (store = ot_context_nth(all->o, i)); i++)
        status = ot_store_walk(store, collect, all, err);
    ot_context_leave(all->o, turn);
    if (status < 0 && status != OPTUNE_ENOENT)
        return status;
    pass_over_unread(all);
    if (all->n_unread && !all->n_found)
        return optune_fail(err, OPTUNE_ENOENT, "no record of '%s' can be read here: %s",
                           how->op, all->unread_why.text);
    if (!all->n_found)
        return optune_fail(err, OPTUNE_ENOENT,
                           "no record of '%s' on %s, %s, %s; `optune run` makes some", how->op,
                           all->o->device.key, all->target, all->policy);
    name_found(all);
    *workloads = all->named;
    return OPTUNE_OK;
}

/* ---- one workload ------------------------------------------------------------------------ */

static json_t *beside_json(const optune_record *r)
{
    if (!r)
        return json_null();
    char name[OPTUNE_TEXT_SIZE];
    ot_record_library(r, name, sizeof name);
    return json_pack("{s:s, s:s, s:f, s:f, s:f}", "impl", r->impl, "name", name, "cost",
                     r->cost, "low", r->low, "high", r->high);
}

static void say(reporting *all, const ot_choice *choice, const char *call, bool unitless,
                int trials)
{
    const ot_choice_row *winner = &choice->row[choice->winner];
    ot_text_printf(all->text, "%s\n  %d record%s", call, trials, trials == 1 ? "" : "s");
    if (ot_choice_measured(choice) && winner->fact)
        ot_text_printf(all->text, ", %s: %.4g%s", winner->candidate.impl->name,
                       winner->fact->record.cost * (unitless ? 1 : 1e6), unitless ? "" : " us");
    ot_text_add(all->text, "\n");
}

static int add_workload(reporting *all, const char *workload, const ot_report_limits *limits,
                        json_t *list, optune_err *err)
{
    optune *o = all->o;
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice *choice = ot_alloc(sizeof *choice);
    ot_arena arena = {0};
    ot_text text = {0};
    ot_fact *fact = NULL;
    int n = 0;
    const optune_task task = {call, &o->target, &o->device};
    int status = read_workload(workload, NULL, call, err);
    if (status >= 0)
        status = ot_context_choose(o, &task, all->policy, &arena, &fact, &n, choice, err);
    if (status >= 0) {
        ot_beside beside;
        ot_call_print(call, &text);
        ot_choice_beside(&task, choice, fact, n, &beside);
        json_t *json = json_object();
        ot_set_text(json, "call", ot_text_str(&text));
        ot_set_text(json, "op", call->op->name);
        json_object_set_new(json, "flops", json_real(ot_call_flops(call)));
        json_object_set_new(json, "bytes", json_real(ot_call_bytes(call)));
        json_object_set_new(json, "units", json_real(ot_call_units(&o->device, call)));
        json_object_set_new(json, "selection", ot_choice_json(&task, choice));
        json_object_set_new(json, "default", beside_json(beside.fallback));
        json_object_set_new(json, "library", beside_json(beside.library));
        ot_report_trials(fact, n, limits, json);
        json_array_append_new(list, json);
        say(all, choice, ot_text_str(&text), call->op->unitless, n);
        all->n_records += n;
    }
    ot_text_release(&text);
    ot_arena_release(&arena);
    ot_choice_free(choice);
    free(call);
    return status;
}

/* ---- all --------------------------------------------------------------------------------- */

static json_t *graph_json(const optune_partition *p)
{
    if (!p)
        return json_null();
    json_t *groups = json_array();
    for (int i = 0; i < p->groups.n; i++)
        if (p->places.idle[i] == OT_RUNS)
            json_array_append_new(groups, json_pack("{s:s, s:i}", "nodes", p->row[i].nodes,
                                                    "workload", p->row[i].workload));
    return json_pack("{s:o, s:o}", "groups", groups, "layouts", ot_layouts_json(&p->layouts));
}

static json_t *document(const reporting *all, json_t *workloads)
{
    const optune *o = all->o;
    const ot_peak_known peak = ot_peak_recall(o);
    ot_text target = {0};
    ot_target_print(&o->target, false, &target);
    const int others = all->n_found > MOST_WORKLOADS ? all->n_found - MOST_WORKLOADS : 0;
    json_t *json = json_pack(
        "{s:i, s:s, s:f, s:s, s:s, s:s, s:s, s:s?, s:{s:f, s:f, s:b}, s:o, s:i, s:i, "
        "s:s?, s:o}",
        "optune_report", 1, "version", optune_version(), "time", ot_unix_time(), "device",
        o->device.key, "device_name", o->device.name, "target", ot_text_str(&target), "policy",
        all->policy, "title", all->options->title, "peak", "flops", peak.flops, "bandwidth",
        peak.bandwidth, "settled", (int)peak.settled, "graph",
        graph_json(all->options->partition), "others", others, "unread", all->n_unread,
        "unread_why", all->n_unread ? all->unread_why.text : NULL, "workloads", workloads);
    if (others)
        ot_text_printf(all->text, "%d more, which were measured longer ago, are not in it\n",
                       others);
    if (all->n_unread)
        ot_text_printf(all->text, "%d left out, as they cannot be read here: %s\n",
                       all->n_unread, all->unread_why.text);
    ot_text_release(&target);
    return json;
}

static int report(reporting *all, optune_result **result, optune_err *err)
{
    const char *const *workload = NULL;
    all->policy = all->options->partition ? optune_partition_policy(all->options->partition)
                                          : all->o->policy->name;
    OT_RETURN_UNLESS_OK(find_workloads(all, &workload, err));
    int n = 0, status = OPTUNE_OK;
    while (workload && workload[n])
        n++;
    if (!n)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a report needs workloads, an operator or a graph");
    const int each = MOST_SAMPLES / (n * FINALISTS);
    const ot_report_limits limits = {MOST_TRIALS / n, each > SAMPLES ? SAMPLES : each + 4};
    json_t *list = json_array();
    for (int i = 0; i < n && status >= 0; i++)
        status = add_workload(all, workload[i], &limits, list, err);
    if (status >= 0 && !all->n_records) {
        optune_err why = {0};
        status = ot_context_store(all->o, OT_STORE_READ, &why);
        status =
            ot_context_unreadable(status)
                ? optune_fail(err, status, "%s", why.text)
                : optune_fail(err, OPTUNE_ENOENT,
                              "no record of %s%s on %s; `optune run` makes some", workload[0],
                              n > 1 ? " and the others" : "", all->o->device.key);
    }
    if (status >= 0) {
        json_t *json = document(all, list);
        *result = ot_result_new(ot_strdup(ot_text_str(all->text)), json);
    } else
        json_decref(list);
    return status;
}

int optune_report(optune *o, const optune_report_options *options, optune_result **result,
                  optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_report_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_report_options, options, &own));
    options = &own;
    ot_text text = {0}, target = {0};
    reporting all = {.o = o, .options = options, .text = &text, .place = json_object()};
    int status = ot_context_asked(o, err);
    ot_target_print(&o->target, true, &target);
    all.target = ot_text_str(&target);
    if (status >= 0)
        status = report(&all, result, err);
    ot_text_release(&target);
    for (int i = 0; i < all.n_found; i++)
        free(all.found[i].call);
    free(all.found);
    free(all.named);
    json_decref(all.place);
    ot_text_release(&text);
    return status;
}
