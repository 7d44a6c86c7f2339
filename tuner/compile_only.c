/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building without measuring: for each implementation its fallback and random configs, how many are
 * refused by arithmetic, which do not compile, what the compiler says the others use and what their
 * machine code tells. Needs no device where the target's options describe one; nothing is stored.
 */
#include <math.h>
#include <string.h>

#include "tuner/compiled.h"
#include "tuner/tune.h"

enum { DRAWS = 20 }; /* per config wanted: a space may be full of holes */

/* The fields of `resources` that are reported, and their range over all kernels built. */
enum { SPILLED = 1, SHARED = 2 };
static const char *const fields[] = {"registers", "spilled", "shared", "private"};

typedef struct range {
    int64_t low, high;
    bool known;
} range;

typedef struct built {
    const optune_impl *impl;
    int n, failed, refused, drawn;
    range range[OT_COUNT(fields)];
    int spilling;                                            /* configs */
    int warned;                                              /* configs */
    char refusal[OPTUNE_WHY_SIZE], failure[OPTUNE_ERR_SIZE]; /* the first of each */
    char warning[OPTUNE_WHY_SIZE];
    json_t *configs; /* that were built, the fallback first */
} built;

typedef struct attempt {
    ot_job job;
    optune_config config;
    bool fallback;
    int64_t shared; /* bytes that the plan asks for at launch: no compiler knows of them */
    int n_launches;
    ot_launched launch[OPTUNE_MAX_STAGES];
    struct attempt *next;
} attempt;

enum { MOST_LINES = 1 << 18 };

int ot_compile_device(ot_run *run, optune_err *err)
{
    optune *o = run->o;
    optune_err probed = {0};
    const bool assumes = o->row->assume != NULL;
    int status = OPTUNE_ENODEV;
    if (assumes && o->target.arch[0])
        status = o->row->assume(&o->target, &o->device, err);
    else
        status = ot_context_device(o, assumes ? &probed : err);
    if (status < 0 && probed.status)
        return optune_fail(
            err, status,
            "%s; to build without a device, name an architecture: '%s -arch=sm_90'",
            probed.text, o->target.kind);
    if (status >= 0)
        ot_copy(o->device.kind, sizeof o->device.kind, o->row->name);
    atomic_fetch_add(&o->described, 1);
    return status;
}

static int64_t value_of(const char *line, const char *field, bool *known)
{
    char pattern[OPTUNE_NAME_SIZE];
    snprintf(pattern, sizeof pattern, " %s=", field);
    const char *at = strstr(line, pattern);
    *known = at != NULL;
    return at ? strtoll(at + strlen(pattern), NULL, 10) : 0;
}

/* A line for each kernel of a module, and for each thing that its compiler warns of. */
static void add_resources(built *b, const char *lines, int64_t shared)
{
    static const char warning[] = "warning=";
    bool spills = false, warned = false;
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        if (strncmp(text, warning, strlen(warning)) == 0) {
            warned = true;
            if (!b->warning[0])
                snprintf(b->warning, sizeof b->warning, "%.*s", (int)sizeof b->warning - 1,
                         text + strlen(warning));
        }
        if (strncmp(text, "kernel=", 7) != 0)
            continue;
        for (int i = 0; i < OT_COUNT(fields); i++) {
            bool known;
            const int64_t value =
                value_of(text, fields[i], &known) + (i == SHARED ? shared : 0);
            range *r = &b->range[i];
            if (!known)
                continue;
            if (!r->known || value < r->low)
                r->low = value;
            if (!r->known || value > r->high)
                r->high = value;
            r->known = true;
            spills = spills || (i == SPILLED && value > 0);
        }
    }
    b->spilling += spills;
    b->warned += warned;
}

static void conclude(const ot_run *run, built *b, const attempt *a)
{
    const ot_job *job = &a->job;
    const optune_target_row *row = run->o->row;
    b->n += job->outcome == OPTUNE_OUTCOME_OK;
    if (job->outcome != OPTUNE_OUTCOME_OK) {
        if (!b->failed++)
            ot_copy(b->failure, sizeof b->failure, job->message);
        return;
    }
    char *lines = ot_alloc(MOST_LINES);
    json_t *config = ot_compiled_config(&a->config, a->fallback);
    for (int i = 0; i < job->n_modules; i++)
        if (row->resources && row->resources(job->module[i], lines, MOST_LINES, NULL) >= 0) {
            add_resources(b, lines, run->o->device.cc_major ? a->shared : 0);
            ot_compiled_add(config, lines, a->launch, a->n_launches, &run->o->device);
        }
    json_array_append_new(b->configs, config);
    free(lines);
}

/* `end`: of a list, where the next one goes. */
static int submit(ot_run *run, const optune_task *task, built *b, const optune_config *config,
                  attempt ***end, optune_err *err)
{
    optune_err misuse = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    int status = OPTUNE_OK;
    if (ot_plan_make(task, b->impl, config, plan, &misuse) < 0) {
        if (!b->failed++)
            ot_copy(b->failure, sizeof b->failure, misuse.text);
    } else {
        attempt *a = ot_alloc(sizeof *a);
        a->config = *config;
        for (int i = 0; i < plan->n_stages; i++) {
            const optune_stage *stage = &plan->stage[i];
            int64_t threads = 1;
            for (int k = 0; k < 3; k++)
                threads *= stage->block[k] > 0 ? stage->block[k] : 1;
            if (stage->shared > a->shared)
                a->shared = stage->shared;
            a->launch[a->n_launches++] = (ot_launched){stage->function, threads, stage->shared};
        }
        status = ot_builder_submit(run->builder, task, plan, &a->job, err);
        if (status >= 0) {
            **end = a;
            *end = &a->next;
        } else {
            free(a);
        }
    }
    free(plan);
    return status;
}

/* What the system refused to a compiler, it may grant now; if not, no candidate is to blame. */
static int renew(ot_run *run, const optune_task *task, const built *b, attempt *a,
                 optune_err *err)
{
    optune_plan *plan = ot_alloc(sizeof *plan);
    int status = ot_plan_make(task, b->impl, &a->config, plan, err);
    if (status >= 0)
        status = ot_builder_renew(run->builder, task, plan, &a->job, err);
    if (status >= 0 && a->job.status < 0)
        status = optune_fail(err, a->job.status, "cannot compile: %.900s", a->job.message);
    free(plan);
    return status;
}

/* Whether this index is there; else it is from now on. */
static bool met(int64_t *list, int *n, int64_t index)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == index)
            return true;
    list[(*n)++] = index;
    return false;
}

/* The fallback, then random configs, each once, until there are enough; arithmetic is asked
 * first. */
static int build(ot_run *run, const optune_task *task, built *b, int wanted, optune_err *err)
{
    optune_space *space = NULL;
    optune_config config;
    attempt *list = NULL, **end = &list;
    uint64_t rng = run->options->seed;
    int status = ot_space_open(task, b->impl, &space, err);
    if (status < 0)
        return status;
    char refusal[OPTUNE_WHY_SIZE] = "";
    int64_t *had = ot_alloc((size_t)(wanted + 1) * sizeof *had);
    int n_had = 0;
    if (ot_space_fallback(space, &config, refusal) && !met(had, &n_had, config.index))
        status = submit(run, task, b, &config, &end, err);
    else if (!b->failed++)
        optune_refuse(b->failure, "its fallback config is refused: %.200s", refusal);
    if (list)
        list->fallback = true;
    for (int have = 1; have < wanted && b->drawn < DRAWS * wanted && status >= 0; b->drawn++) {
        char why[OPTUNE_WHY_SIZE] = "";
        const int64_t index = ot_space_random(space, &rng);
        ot_space_nth(space, index, &config);
        if (!ot_space_valid(space, &config, why)) {
            if (!b->refused++)
                ot_copy(b->refusal, sizeof b->refusal, why);
            continue;
        }
        if (met(had, &n_had, index))
            continue;
        status = submit(run, task, b, &config, &end, err);
        have++;
    }
    free(had);
    while (list) {
        attempt *a = list;
        while (status >= 0 && !a->job.done && !ot_context_stopped(run->o))
            ot_builder_wait(run->builder, &a->job, 0.2);
        if (ot_context_stopped(run->o) && status >= 0)
            status = optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        if (a->job.done && a->job.status < 0 && status >= 0)
            status = renew(run, task, b, a, err);
        if (a->job.done && a->job.status >= 0)
            conclude(run, b, a);
        else if (!a->job.done)
            ot_builder_forget(run->builder, &a->job);
        list = a->next;
        free(a);
    }
    ot_space_close(space);
    return status;
}

/* ---- the report -------------------------------------------------------------------------- */

static void add_text(const built *b, ot_text *text)
{
    ot_text_printf(text, "%-30s %5d built %4d failed", b->impl->name, b->n, b->failed);
    ot_text_printf(text, " %4.0f%% refused", b->drawn ? 100.0 * b->refused / b->drawn : 0.0);
    for (int i = 0; i < OT_COUNT(fields); i++)
        if (b->range[i].known)
            ot_text_printf(text, "  %s %lld..%lld", fields[i], (long long)b->range[i].low,
                           (long long)b->range[i].high);
    if (b->spilling)
        ot_text_printf(text, "  (%d spill)", b->spilling);
    ot_text_add(text, "\n");
    if (b->refused)
        ot_text_printf(text, "    refused by arithmetic, for one: %s\n", b->refusal);
    if (b->warned)
        ot_text_printf(text, "    the compiler warns %d times, for one: %s\n", b->warned,
                       b->warning);
    if (b->failed)
        ot_text_printf(text, "    does not compile, for one: %s\n", b->failure);
    ot_compiled_table(b->configs, text);
}

static json_t *built_json(const built *b)
{
    json_t *json = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "impl", b->impl->name,
                             "built", b->n, "failed", b->failed, "drawn", b->drawn, "refused",
                             b->refused, "spilling", b->spilling, "warned", b->warned);
    for (int i = 0; i < OT_COUNT(fields); i++)
        json_object_set_new(json, fields[i],
                            b->range[i].known ? json_pack("[I, I]", (json_int_t)b->range[i].low,
                                                          (json_int_t)b->range[i].high)
                                              : json_null());
    json_object_set_new(json, "failure", b->failed ? json_string(b->failure) : json_null());
    json_object_set_new(json, "warning", b->warned ? json_string(b->warning) : json_null());
    json_object_set_new(json, "refusal", b->refused ? json_string(b->refusal) : json_null());
    json_object_set(json, "configs", b->configs);
    return json;
}

static bool wanted_impl(const ot_run *run, const ot_candidate *c)
{
    const char *const *only = run->options->impls;
    bool wanted = !only || !only[0];
    for (int i = 0; only && only[i]; i++)
        wanted = wanted || !strcmp(only[i], c->impl->name);
    return wanted && (c->refusal == OT_VALID || c->refusal == OT_REFUSED_LIBRARY);
}

static int one_workload(ot_run *run, const optune_call *call, ot_text *text, json_t *list,
                        optune_err *err)
{
    const optune_task task = {call, &run->o->target, &run->o->device};
    ot_candidate *c = ot_alloc(OT_MAX_CANDIDATES * sizeof *c);
    int n = 0, some = 0;
    ot_text name = {0};
    ot_call_print(call, &name);
    ot_text_printf(text, "%s\n", ot_text_str(&name));
    json_t *impls = json_array();
    int status = ot_candidates(&task, c, &n, err);
    for (int i = 0; i < n; i++)
        some += wanted_impl(run, &c[i]);
    for (int i = 0; i < n && status >= 0; i++) {
        if (!wanted_impl(run, &c[i])) {
            ot_text_printf(text, "%-30s not here: %s\n", c[i].impl->name, c[i].why);
            continue;
        }
        built b = {.impl = c[i].impl, .configs = json_array()};
        status = build(run, &task, &b, (int)fmax(1, run->trials / some), err);
        add_text(&b, text);
        json_array_append_new(impls, built_json(&b));
        json_decref(b.configs);
    }
    json_array_append_new(list,
                          json_pack("{s:s, s:o}", "call", ot_text_str(&name), "impls", impls));
    ot_text_release(&name);
    free(c);
    return status;
}

int ot_compile_only(ot_run *run, optune_result **result, optune_err *err)
{
    ot_text text = {0}, target = {0};
    json_t *list = json_array();
    int status = OPTUNE_OK;
    for (int i = 0; i < run->n_workloads && status >= 0; i++)
        status = one_workload(run, &run->call[i], &text, list, err);
    ot_target_print(&run->o->target, false, &target);
    const char *unread = ot_compiled_unread(list);
    if (unread)
        ot_text_printf(&text, "machine code was not read: %s\n", unread);
    ot_text_printf(&text, "%lld compilers ran, %.1f s, for %s\n",
                   (long long)ot_builder_compiles(run->builder), ot_now() - run->started,
                   run->o->device.name);
    json_t *json = json_pack("{s:s, s:s, s:o}", "target", ot_text_str(&target), "device",
                             run->o->device.key, "workloads", list);
    if (status >= 0 || status == OPTUNE_EINTERRUPTED) { /* what there is by then */
        *result = ot_result_new(text.s, json);
    } else {
        ot_text_release(&text);
        json_decref(json);
    }
    ot_text_release(&target);
    return status;
}
