/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AutoTVM asks while TVM compiles: the best config of one template for one call on one target.
 * AutoTVM compares templates by the cost that each answers, so here only records of the template
 * asked for count, where optune_query takes the best of all. Its lookups know neither device nor
 * processor; here a target that says it means another machine than the handle's gets no answer.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "base/record.h"

typedef struct asking {
    optune *o;
    const optune_impl *impl;
    optune_target target; /* the handle's, with the libraries that are asked for */
    optune_call call;
    optune_err nothing; /* why there is no answer, as far as was seen */
    ot_text line;       /* the best so far */
    char *found_call;
    const char *tier;
    double cost;
} asking;

/* The first word behind `name` in a target's text or JSON, up to its first dash: the machine of a
 * triple. Empty: it is not there. */
static void machine_of(const char *text, const char *name, char *to, size_t size)
{
    const char *at = strstr(text, name);
    at = at ? at + strlen(name) + strspn(at + strlen(name), "=\"': ") : "";
    snprintf(to, size, "%.*s", (int)strcspn(at, "- \"',}"), at);
}

static const char *own_machine(const optune_device *device)
{
    return strncmp(device->arch, "x86-64", 6) == 0 ? "x86_64" : device->arch;
}

static int other(optune_err *err, const char *what, const char *theirs, const char *ours)
{
    return optune_fail(
        err, OPTUNE_ENOENT,
        "its target asks for %s '%s', and this handle's is '%s': open one on such "
        "a target",
        what, theirs, *ours ? ours : "not said");
}

/* ENOENT: the target is not what this handle has records of. */
static int take_target(asking *a, const char *text, optune_err *err)
{
    const optune *o = a->o;
    optune_target *t = &a->target, theirs;
    OT_RETURN_UNLESS_OK(ot_target_from_tvm(text, &theirs, NULL, NULL, err));
    *t = o->target;
    const char *arch = *t->arch ? t->arch : o->device.arch;
    char machine[OPTUNE_NAME_SIZE], has[16], wants[16];
    machine_of(text, "mtriple", machine, sizeof machine);
    if (strcmp(theirs.kind, t->kind))
        return other(err, "kind", theirs.kind, t->kind);
    const bool host = strcmp(t->kind, "cpu") == 0;
    if (host && *machine && strcmp(machine, own_machine(&o->device)))
        return other(err, "machine", machine, own_machine(&o->device));
    if (!host && *theirs.arch && strcmp(theirs.arch, arch))
        return other(err, "arch", theirs.arch, arch);
    if (*theirs.model && strcmp(theirs.model, t->model))
        return other(err, "model", theirs.model, t->model);
    snprintf(wants, sizeof wants, "%d", theirs.threads);
    snprintf(has, sizeof has, "%d", t->threads);
    if (theirs.threads && theirs.threads != t->threads)
        return other(err, "num-cores", wants, has);
    t->n_libs = theirs.n_libs;
    memcpy(t->lib, theirs.lib, sizeof t->lib);
    return OPTUNE_OK;
}

/* Why the template has nothing, where there are records of the call. */
static void remember_why(asking *a, const ot_fact *fact, int n)
{
    const ot_fact *stale = NULL;
    char why[OPTUNE_WHY_SIZE];
    for (int i = 0; i < n; i++)
        if (fact[i].currency == OT_STALE && (fact[i].remeasured || *fact[i].why) &&
            !strcmp(fact[i].record.impl, a->impl->name) &&
            (!stale || fact[i].record.cost < stale->record.cost))
            stale = &fact[i];
    if (n && !a->nothing.status)
        optune_fail(&a->nothing, OPTUNE_ENOENT, "%s",
                    stale ? ot_fact_why(stale, why) : "no trial of this template succeeded");
}

static void keep(asking *a, const ot_choice *choice, ot_arena *arena)
{
    const optune_record *best = &choice->row[choice->winner].fact->record;
    if (a->found_call && !(best->cost < a->cost))
        return;
    optune_record *own = ot_alloc(sizeof *own);
    ot_record_copy(own, best);
    own->task = ot_task_for_tvm(a->o->stores->store, best, arena);
    ot_text_clear(&a->line);
    ot_record_line(own, &a->line);
    free(own);
    free(a->found_call);
    a->found_call = ot_strdup(best->call);
    a->tier = ot_tier_name(choice->tier);
    a->cost = best->cost;
}

static bool compiles(asking *a, const optune_record *r)
{
    char why[OPTUNE_WHY_SIZE];
    if (ot_tvm_compiles(r, why))
        return true;
    if (r->outcome == OPTUNE_OUTCOME_OK)
        optune_fail(&a->nothing, OPTUNE_ENOENT, "%s", why);
    return false;
}

static int ask_call(asking *a, optune_err *err)
{
    const optune_task task = {&a->call, &a->target, &a->o->device};
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    int n = 0, kept = 0;
    int status = ot_context_facts(a->o, &task, &arena, &fact, &n, err);
    if (status >= 0)
        remember_why(a, fact, n);
    for (int i = 0; i < n && status >= 0; i++)
        if (!strcmp(fact[i].record.impl, a->impl->name) && ot_record_for_tvm(&fact[i].record) &&
            compiles(a, &fact[i].record))
            fact[kept++] = fact[i];
    if (status >= 0 && kept) {
        ot_choice *choice = ot_alloc(sizeof *choice);
        status = ot_select(&task, fact, kept, choice, err);
        if (status >= 0 && ot_choice_measured(choice))
            keep(a, choice, &arena);
        ot_choice_free(choice);
    }
    ot_arena_release(&arena);
    return status;
}

/* AutoTVM knows nothing of constness and asks one question where we keep several. */
static int ask_all(asking *a, optune_err *err)
{
    const int n = a->call.n_inputs < 4 ? a->call.n_inputs : 4;
    unsigned usual = 0;
    for (int i = 0; i < n; i++)
        usual |= (unsigned)a->call.input[i].is_const << i;
    int status = OPTUNE_OK;
    for (unsigned k = 0; k < 1u << n && status >= 0; k++) {
        for (int i = 0; i < n; i++)
            a->call.input[i].is_const = (k ^ usual) >> i & 1;
        status = ask_call(a, err);
    }
    for (int i = 0; i < n; i++)
        a->call.input[i].is_const = usual >> i & 1;
    return status;
}

static int take_task(asking *a, const json_t *task, optune_err *err)
{
    const json_t *args = json_array_get(task, 2), *target = json_array_get(task, 0);
    const char *name = json_string_value(json_array_get(task, 1));
    if (!json_is_array(args) || !name || !(json_is_string(target) || json_is_object(target)))
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "no task: [TARGET, TEMPLATE, [ARGUMENT...], {}] is expected, as the "
                           "\"input\" of an AutoTVM line");
    a->impl = ot_impl_find(name);
    if (!a->impl || !a->impl->task_args)
        return optune_fail(
            err, OPTUNE_ENOENT,
            "no template '%s' here: `optune export --tvm` writes those there are", name);
    char *text = json_is_string(target) ? ot_strdup(json_string_value(target))
                                        : json_dumps(target, JSON_COMPACT);
    const int status = take_target(a, text, err);
    free(text);
    OT_RETURN_UNLESS_OK(status);
    return ot_call_from_args(a->impl, args, &a->call, err);
}

static int answer(asking *a, optune_result **result, optune_err *err)
{
    if (!a->found_call) {
        ot_text call = {0};
        ot_call_print(&a->call, &call);
        optune_fail(err, OPTUNE_ENOENT, "no current record of %s for %s: %s", a->impl->name,
                    ot_text_str(&call),
                    a->nothing.status ? a->nothing.text
                                      : "it was never tuned here; `optune run` does that");
        *result = ot_result_new(NULL, json_pack("{s:s, s:s, s:n}", "call", ot_text_str(&call),
                                                "impl", a->impl->name, "record"));
        ot_text_release(&call);
        return OPTUNE_ENOENT;
    }
    json_t *json = json_pack("{s:s, s:s, s:s, s:f}", "call", a->found_call, "impl",
                             a->impl->name, "tier", a->tier, "cost", a->cost);
    json_object_set_new(json, "record", json_loads(ot_text_str(&a->line), 0, NULL));
    *result = ot_result_new(a->line.s, json);
    a->line.s = NULL;
    return OPTUNE_OK;
}

int optune_query_tvm(optune *o, const char *task, optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"task", task}, {"result", result});
    *result = NULL;
    json_error_t problem;
    json_t *json = json_loads(task, JSON_REJECT_DUPLICATES, &problem);
    if (!json)
        return optune_fail(err, OPTUNE_ESYNTAX, "the task is no JSON: %s", problem.text);
    asking *a = ot_alloc(sizeof *a);
    a->o = o;
    const unsigned turn = ot_context_enter(o);
    int status = ot_context_asked(o, err);
    if (status >= 0)
        status = take_task(a, json, err);
    if (status >= 0)
        status = ask_all(a, err);
    if (status >= 0)
        status = answer(a, result, err);
    ot_context_leave(o, turn);
    ot_text_release(&a->line);
    free(a->found_call);
    free(a);
    json_decref(json);
    return status;
}
