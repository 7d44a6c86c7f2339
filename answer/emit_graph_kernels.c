/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels compute each group of an emitted graph: what is selected for its workload, or,
 * where its dims are ranges that a dispatch table knows, those of the table's rows.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/emit_graph.h"

/* What would be selected if no library could be: under the first policy with anything measured. */
static int without_libraries(const ot_emission *e, ot_emitted_kernel *k, optune_err *err)
{
    optune_partition *p = e->partition;
    ot_choice *choice = ot_alloc(sizeof *choice);
    int status = OPTUNE_OK;
    bool found = false;
    for (int i = 0; status >= 0 && !found; i++) {
        ot_arena arena = {0};
        ot_fact *fact = NULL;
        int n = 0;
        ot_choice_release(choice);
        status = ot_context_choose(p->o, &k->source.task, p->asked[i], &arena, &fact, &n,
                                   choice, err);
        found = !p->asked[i] || ot_choice_measured(choice);
        ot_arena_release(&arena);
    }
    if (status >= 0) {
        k->source.impl = choice->row[choice->winner].candidate.impl;
        ot_config_copy(&k->config, choice->config);
        k->tier = ot_tier_name(choice->tier);
    }
    ot_choice_free(choice);
    return status;
}

/* Its plan, once implementation and config are known. */
static int make_plan(const ot_emission *e, const ot_emitted_choice *c, int number,
                     const optune_call *call, optune_err *err)
{
    ot_emitted_kernel *k = &e->kernel[number];
    int status = OPTUNE_OK;
    k->source.task = (optune_task){call, &e->target, &e->partition->o->device};
    if (k->source.impl->library) {
        k->instead_of = k->source.impl->name;
        status = without_libraries(e, k, err);
    }
    k->source.shared = true;
    k->source.dims = &c->names;
    k->source.over = c->over;
    snprintf(k->source.name, sizeof k->source.name, "%s_k%d", e->name, number);
    k->source.plan = ot_alloc(sizeof *k->source.plan);
    if (status >= 0)
        status = ot_plan_make(&k->source.task, k->source.impl, &k->config, k->source.plan, err);
    if (status >= 0)
        status = ot_source_sized(&k->source, err);
    if (status >= 0)
        ot_source_layout(&k->source);
    return status;
}

static int new_kernel(ot_emission *e)
{
    e->kernel = ot_room(e->kernel, e->n_kernels, &e->kernels_capacity, sizeof *e->kernel);
    e->kernel[e->n_kernels] = (ot_emitted_kernel){0};
    return e->n_kernels++;
}

static int choose_one(ot_emission *e, ot_emitted_choice *c, const optune_call *call,
                      optune_err *err)
{
    optune_partition *p = e->partition;
    const ot_answer *answer;
    int status = ot_answer_call_at(p->o, call, p->asked, &answer, err);
    if (status < 0)
        return status;
    const int number = c->kernel[c->n++] = new_kernel(e);
    ot_emitted_kernel *k = &e->kernel[number];
    const ot_choice choice = ot_answer_choice(answer, &k->config);
    k->source.impl = choice.row[choice.winner].candidate.impl;
    if (choice.config != &k->config)
        ot_config_copy(&k->config, choice.config);
    k->tier = ot_tier_name(choice.tier);
    ot_answer_drop(answer);
    return make_plan(e, c, number, call, err);
}

static int choose_row(ot_emission *e, ot_emitted_choice *c, int row, optune_err *err)
{
    const ot_dispatch_row *r = &c->table->row[row];
    const int number = c->kernel[c->n] = new_kernel(e);
    ot_emitted_kernel *k = &e->kernel[number];
    c->when[c->n++] = r->when;
    k->row = ot_alloc(sizeof *k->row);
    k->source.impl = r->impl;
    ot_config_copy(&k->config, &r->config);
    k->tier = r->tier;
    const int status = ot_call_narrow(&c->table->call, &r->range, k->row, err);
    return status < 0 ? status : make_plan(e, c, number, k->row, err);
}

/* The rows that are used. */
static int choose_rows(ot_emission *e, ot_emitted_choice *c, optune_err *err)
{
    const int n = c->table->n;
    bool *used = ot_alloc((size_t)n * sizeof *used);
    ot_text unused = {0};
    int status = OPTUNE_OK;
    ot_dispatch_check(c->table, &unused, used);
    for (int i = 0; i < n && status >= 0; i++)
        if (used[i])
            status = choose_row(e, c, i, err);
    ot_text_release(&unused);
    free(used);
    return status;
}

static int choose(ot_emission *e, int group, optune_err *err)
{
    const optune_partition *p = e->partition;
    const optune_call *call = p->groups.group[group].call;
    ot_emitted_choice *c = e->choice;
    int status = OPTUNE_OK;
    while (c < e->choice + e->n_choices && strcmp(c->text, p->row[group].text))
        c++;
    if (c == e->choice + e->n_choices) {
        *c = (ot_emitted_choice){.text = p->row[group].text,
                                 .table = ot_dispatch_of(p->o, call)};
        e->n_choices++;
        const size_t most = c->table ? (size_t)c->table->n : 1;
        c->kernel = ot_arena_alloc(&e->arena, most * sizeof *c->kernel);
        c->when = ot_arena_alloc(&e->arena, most * sizeof *c->when);
        c->names = ot_emitted_names;
        if (c->table) {
            status = ot_emitted_renamed(e, call, &c->names, err);
        } else if (!ot_call_static(call)) {
            c->over = ot_arena_alloc(&e->arena, sizeof *c->over);
            ot_emitted_symbols(e, call, c->over);
        }
        if (status >= 0)
            status = c->table ? choose_rows(e, c, err) : choose_one(e, c, call, err);
    }
    ot_emitted_group *to = &e->group[group];
    to->n = c->n;
    to->names = &c->names;
    to->use = ot_arena_alloc(&e->arena, (size_t)(c->n + 1) * sizeof *to->use);
    for (int u = 0; u < c->n; u++)
        to->use[u] = (ot_emitted_use){.kernel = c->kernel[u], .when = c->when[u]};
    return status;
}

int ot_emitted_choose(ot_emission *e, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < e->partition->groups.n && status >= 0; i++) {
        optune_err inner = {0};
        if (!ot_emitted_runs(e, i))
            continue;
        status = choose(e, i, &inner);
        if (status < 0)
            ot_graph_fail(e->graph, e->partition->groups.group[i].node[0], -1, status,
                          inner.text, err);
    }
    for (int i = 0; i < e->n_kernels; i++) /* they have moved while there were more and more */
        e->kernel[i].source.config = &e->kernel[i].config;
    return status;
}
