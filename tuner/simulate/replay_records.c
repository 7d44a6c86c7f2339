/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spaces from our own records, of a store or a log: what was measured of an implementation, for one
 * call, on one device, target and policy, by one version of it. The one idea: they are the same
 * recorded spaces as others' files give, so a config that was never measured is not there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/simulate/simulate.h"

enum { FEWEST = 20 }; /* configs that ran: fewer are no space to search */

typedef struct taking {
    const char *call, *device; /* NULL: any */
    json_t *spaces;            /* by what they are of: {"origin", "trials": by their config} */
} taking;

/* Splits are told apart by their inner parts, each a number of its own, as searches see them. */
static json_t *values_of(const char *op, const optune_config *config)
{
    json_t *values = json_object();
    int knobs = config->n;
    for (int i = 0; i < config->n; i++)
        knobs += config->entity[i].kind == OPTUNE_KNOB_SPLIT ? config->entity[i].n - 2 : 0;
    for (int i = 0; i < config->n; i++) {
        const optune_entity *e = &config->entity[i];
        const bool apart =
            e->kind == OPTUNE_KNOB_SPLIT && e->n > 1 && knobs <= OPTUNE_MAX_KNOBS;
        for (int k = 1; apart && k < e->n; k++) {
            char name[OPTUNE_KNOB_NAME_SIZE + 16];
            snprintf(name, sizeof name, "%s.%d", e->name, k);
            json_object_set_new(values, name, json_integer(e->v[k]));
        }
        if (!apart)
            json_object_set_new(values, e->name, ot_tuner_value(op, e));
    }
    return values;
}

static json_t *text_of(const char *text)
{
    return json_string(text ? text : "");
}

/* The space that a record belongs to, made when it is the first. */
static json_t *space_of(taking *t, const optune_record *r, const json_t *values)
{
    const char *policy = r->policy ? r->policy : "warm", *name;
    json_t *value;
    ot_text key = {0};
    ot_text_printf(&key, "%s|%s|%s|%s|%s|%s", r->impl, r->call, r->device, r->target, policy,
                   r->digest ? r->digest : "");
    json_object_foreach((json_t *)values, name, value) ot_text_printf(&key, "|%s", name);
    json_t *space = json_object_get(t->spaces, ot_text_str(&key));
    if (!space) {
        space = json_pack("{s:{s:o,s:o,s:o,s:o,s:s},s:{}}", "origin", "impl", text_of(r->impl),
                          "call", text_of(r->call), "device", text_of(r->device), "target",
                          text_of(r->target), "policy", policy, "trials");
        json_object_set_new(t->spaces, ot_text_str(&key), space);
    }
    ot_text_release(&key);
    return space;
}

/* A finalist's figure counts, else the latest; what the trial took is told by the first kind, as
 * the time of finals is shared by all that are in them. */
static void put(json_t *trial, const optune_record *r)
{
    const bool known = json_object_get(trial, "time") != NULL;
    const bool final = json_is_true(json_object_get(trial, "final"));
    const double time = json_number_value(json_object_get(trial, "time"));
    const bool took = isfinite(r->all_cost) && r->all_cost > 0;
    if (!r->final || !json_object_get(trial, "seconds"))
        json_object_set_new(trial, "seconds", json_real(took ? r->all_cost : 0));
    if (known && (final != r->final ? final : time > r->time))
        return;
    const bool ran = r->outcome == OPTUNE_OUTCOME_OK && isfinite(r->cost) && r->cost > 0;
    json_object_set_new(trial, "time", json_real(isfinite(r->time) ? r->time : 0));
    json_object_set_new(trial, "final", json_boolean(r->final));
    json_object_set_new(trial, "cost", ran ? json_real(r->cost) : json_null());
    json_object_set_new(trial, "outcome", json_integer(r->outcome));
}

static int take(void *arg, const optune_record *r)
{
    taking *t = arg;
    if (!r->op || !r->call || !r->impl || (t->call && strcmp(t->call, r->call) != 0) ||
        (t->device && (!r->device || strcmp(t->device, r->device) != 0)))
        return 0;
    json_t *values = values_of(r->op, &r->config);
    json_t *trials = json_object_get(space_of(t, r, values), "trials");
    char *key = json_dumps(values, JSON_COMPACT);
    json_t *trial = key ? json_object_get(trials, key) : NULL;
    if (key && !trial) {
        trial = json_pack("{s:O}", "config", values);
        json_object_set_new(trials, key, trial);
    }
    if (trial)
        put(trial, r);
    free(key);
    json_decref(values);
    return 0;
}

static int take_line(void *arg, const ot_log_line *line)
{
    return line->problem || line->device || line->forgotten ? 0 : take(arg, &line->record);
}

/* ---- spaces ------------------------------------------------------------------------------ */

static int ran(const json_t *trials)
{
    const char *key;
    json_t *trial;
    int n = 0;
    json_object_foreach((json_t *)trials, key, trial) n +=
        json_is_number(json_object_get(trial, "cost"));
    return n;
}

static const char *origin_text(const json_t *space, const char *name)
{
    return json_string_value(json_object_get(json_object_get(space, "origin"), name));
}

/* "dense_pack.x86", and " #2" where there is one of that name. */
static void name_it(const ot_records *to, const char *impl, ot_text *name)
{
    int same = 1;
    for (int i = 0; i < to->n; i++)
        same += strcmp(to->space[i]->kernel, impl) == 0;
    ot_text_add(name, impl);
    if (same > 1)
        ot_text_printf(name, " #%d", same);
}

static int add_space(ot_records *to, const json_t *space, const json_t *trials, optune_err *err)
{
    json_t *list = json_array(), *trial;
    const char *key;
    ot_text name = {0};
    ot_recorded *recorded = NULL;
    json_object_foreach((json_t *)trials, key, trial) json_array_append(list, trial);
    name_it(to, origin_text(space, "impl"), &name);
    const int status = ot_recorded_make(ot_text_str(&name), list, &recorded, err);
    ot_text_release(&name);
    json_decref(list);
    if (status < 0)
        return status;
    recorded->kernel = ot_strdup(origin_text(space, "impl"));
    recorded->device = ot_strdup(origin_text(space, "device"));
    recorded->origin = json_dumps(json_object_get(space, "origin"), JSON_COMPACT);
    to->space[to->n++] = recorded;
    return OPTUNE_OK;
}

/* Which serve; the others with how many there are. */
static int make_spaces(const json_t *spaces, ot_records *to, optune_err *err)
{
    const char *key;
    json_t *space;
    int status = OPTUNE_OK;
    to->space = ot_alloc((json_object_size(spaces) + 1) * sizeof(ot_recorded *));
    json_object_foreach((json_t *)spaces, key, space)
    {
        const json_t *trials = json_object_get(space, "trials");
        const int n = ran(trials);
        if (n >= FEWEST)
            status = add_space(to, space, trials, err);
        else
            ot_text_printf(&to->left_out, "%s%s: %d config%s ran", to->left_out.n ? ", " : "",
                           origin_text(space, "impl"), n, n == 1 ? "" : "s");
        if (status < 0)
            return status;
    }
    if (to->n)
        return OPTUNE_OK;
    return to->left_out.n
               ? optune_fail(
                     err, OPTUNE_ENOENT,
                     "too few configs are measured to replay a search on: %.600s; %d of "
                     "one implementation are needed",
                     to->left_out.s, FEWEST)
               : optune_fail(err, OPTUNE_ENOENT, "there are no records to replay a search on");
}

int ot_records_open(optune *o, const char *workload, const char *log, ot_records *to,
                    optune_err *err)
{
    taking t = {.device = *o->device_key ? o->device_key : NULL};
    ot_text call = {0};
    int status = OPTUNE_OK;
    *to = (ot_records){0};
    if (workload) {
        optune_call *parsed = ot_alloc(sizeof *parsed);
        status = ot_call_parse(workload, parsed, err);
        if (status >= 0)
            ot_call_print(parsed, &call);
        t.call = ot_text_str(&call);
        free(parsed);
    }
    t.spaces = json_object();
    if (status >= 0 && log)
        status = ot_log_read(log, take_line, &t, err);
    else if (status >= 0) {
        ot_store *store;
        const unsigned turn = ot_context_enter(o);
        status = ot_context_reader(o, &store, NULL, err);
        if (status >= 0)
            status = ot_store_walk(store, take, &t, err);
        ot_context_leave(o, turn);
    }
    if (status >= 0)
        status = make_spaces(t.spaces, to, err);
    json_decref(t.spaces);
    ot_text_release(&call);
    return status;
}

void ot_records_release(ot_records *records)
{
    for (int i = 0; i < records->n; i++)
        ot_recorded_free(records->space[i]); /* what somebody took is NULL */
    free(records->space);
    ot_text_release(&records->left_out);
    *records = (ot_records){0};
}
