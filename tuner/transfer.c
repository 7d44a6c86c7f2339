/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source is what was measured alike: one implementation, one call, one device, one policy. Few of
 * many sources serve a task, so their configs stay text until one does.
 */
#include "tuner/speed.h"
#include "tuner/transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FROM_STORE = 4096, /* sources, those that are met first */
    MOST_SOURCES = FROM_STORE + 1024,
    SLOTS = 2 * MOST_SOURCES,
    MOST_TRIALS = 256, /* of a source: the best of them, and what else came first */
    SERVING = 6,       /* sources that a search is told */
    FIRST = 4,         /* configs of each source of the same call that are tried first */
};
static const double LEAST_LIKENESS = 0.1;

typedef struct kept {
    const char *config; /* its JSON, in the arena */
    double cost;
} kept;

typedef struct gathered {
    const char *impl, *call, *device, *policy;
    bool parsed, usable; /* the call below */
    optune_call *at;
    int n, capacity;
    kept *trial;
} gathered;

struct ot_transfer {
    ot_arena arena;
    int n, capacity;
    gathered *source;
    int slot[SLOTS]; /* number of the source whose hash leads here, from 1 on */
};

ot_transfer *ot_transfer_open(void)
{
    return ot_alloc(sizeof(ot_transfer));
}

void ot_transfer_close(ot_transfer *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n; i++) {
        free(t->source[i].at);
        free(t->source[i].trial);
    }
    free(t->source);
    ot_arena_release(&t->arena);
    free(t);
}

/* ---- gathering ----------------------------------------------------------------------------- */

static const char *policy_of(const optune_record *r)
{
    return r->policy ? r->policy : ot_policy_warm.name;
}

static bool is_of(const gathered *g, const optune_record *r)
{
    return !strcmp(g->call, r->call) && !strcmp(g->impl, r->impl) &&
           !strcmp(g->device, r->device) && !strcmp(g->policy, policy_of(r));
}

static uint64_t hash_of(const optune_record *r)
{
    const char *const word[] = {r->call, r->impl, r->device, policy_of(r)};
    uint64_t hash = 0;
    for (int i = 0; i < OT_COUNT(word); i++)
        hash = hash * 31 + ot_hash64(word[i], strlen(word[i]));
    return hash;
}

/* The record's source, a new one where there is room; NULL: there is none. */
static gathered *gathered_of(ot_transfer *t, const optune_record *r, int most)
{
    uint64_t at = hash_of(r) % SLOTS;
    while (t->slot[at] && !is_of(&t->source[t->slot[at] - 1], r))
        at = (at + 1) % SLOTS;
    if (t->slot[at])
        return &t->source[t->slot[at] - 1];
    if (t->n >= most)
        return NULL;
    t->source = ot_room(t->source, t->n, &t->capacity, sizeof *t->source);
    t->source[t->n] = (gathered){.impl = ot_arena_copy(&t->arena, r->impl),
                                 .call = ot_arena_copy(&t->arena, r->call),
                                 .device = ot_arena_copy(&t->arena, r->device),
                                 .policy = ot_arena_copy(&t->arena, policy_of(r))};
    t->slot[at] = ++t->n;
    return &t->source[t->n - 1];
}

/* Where there is no room, the dearest goes. */
static kept *room_for(gathered *g, double cost)
{
    if (g->n < MOST_TRIALS) {
        g->trial = ot_room(g->trial, g->n, &g->capacity, sizeof *g->trial);
        return &g->trial[g->n++];
    }
    kept *dearest = g->trial;
    for (int i = 1; i < g->n; i++)
        if (g->trial[i].cost > dearest->cost)
            dearest = &g->trial[i];
    return dearest->cost > cost ? dearest : NULL;
}

void ot_transfer_add(ot_transfer *t, const optune_record *r, bool own)
{
    const double cost = r->outcome == OPTUNE_OUTCOME_OK ? ot_speed_even(r) : INFINITY;
    gathered *g = r->final ? NULL : gathered_of(t, r, own ? MOST_SOURCES : FROM_STORE);
    kept *to = g ? room_for(g, cost) : NULL;
    if (!to)
        return;
    ot_text config = {0};
    ot_config_print(&r->config, &config);
    *to = (kept){ot_arena_copy(&t->arena, ot_text_str(&config)), cost};
    ot_text_release(&config);
}

/* ---- how alike ------------------------------------------------------------------------------ */

static double apart(double a, double b)
{
    return a == b ? 0 : fabs(log2((fabs(a) + 1) / (fabs(b) + 1))) + ((a < 0) != (b < 0));
}

static double types_apart(const optune_tensor *a, const optune_tensor *b)
{
    double sum = 0;
    if (a->rank != b->rank || a->rank < 0 || !optune_dtype_equal(a->dtype, b->dtype))
        return INFINITY;
    for (int i = 0; i < a->rank; i++)
        sum += apart((double)a->dim[i].max, (double)b->dim[i].max);
    return sum;
}

static double attrs_apart(const optune_attr *a, const optune_attr *b)
{
    double sum = 0;
    if (a->kind != b->kind || a->n != b->n || a->none != b->none)
        return 2;
    switch (a->kind) {
    case OPTUNE_ATTR_WORD:
        return strcmp(a->word, b->word) ? INFINITY : 0;
    case OPTUNE_ATTR_FLOAT:
        return a->f == b->f ? 0 : 0.5;
    case OPTUNE_ATTR_DTYPE:
        return optune_dtype_equal(a->dtype, b->dtype) ? 0 : INFINITY;
    default:
        for (int i = 0; i < (a->kind == OPTUNE_ATTR_INTS ? a->n : 1); i++)
            sum += apart((double)a->i[i], (double)b->i[i]);
        return sum;
    }
}

double ot_likeness(const optune_call *a, const optune_call *b)
{
    static const double HALVED = 4; /* factors of two that halve it */
    if (a->op != b->op || a->n_inputs != b->n_inputs)
        return 0;
    double sum = a->n_epilogues == b->n_epilogues ? 0 : 1;
    for (int i = 0; i < a->n_inputs; i++)
        sum += types_apart(&a->input[i].type, &b->input[i].type) +
               (a->input[i].is_const != b->input[i].is_const);
    for (int i = 0; i < a->n_attrs; i++)
        sum += attrs_apart(&a->attr[i], &b->attr[i]);
    return exp2(-sum / HALVED);
}

/* ---- serving -------------------------------------------------------------------------------- */

static const optune_call *call_of(gathered *g)
{
    if (!g->parsed) {
        optune_err err;
        g->parsed = true;
        g->at = ot_alloc(sizeof *g->at);
        g->usable = ot_call_parse(g->call, g->at, &err) >= 0;
        if (!g->usable) {
            free(g->at);
            g->at = NULL;
        }
    }
    return g->at;
}

typedef struct serving {
    gathered *source;
    double likeness;
} serving;

static int more_alike(const void *a, const void *b)
{
    const serving *x = a, *y = b;
    return (x->likeness < y->likeness) - (x->likeness > y->likeness);
}

static int by_index(const void *a, const void *b)
{
    const optune_transfer *x = a, *y = b;
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                : (x->cost > y->cost) - (x->cost < y->cost);
}

static int cheaper(const void *a, const void *b)
{
    const kept *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
                              : strcmp(x->config, y->config);
}

/* Its trials as configs of the arm's space, each once. */
static int translate(const gathered *g, const ot_arm *arm, optune_transfer *to)
{
    int n = 0, once = 0;
    for (int i = 0; i < g->n; i++) {
        optune_config config;
        if (ot_config_parse(g->trial[i].config, &config, NULL) < 0)
            continue;
        const int64_t index = ot_space_like(arm->space, &config);
        if (index < 0)
            continue;
        ot_space_nth(arm->space, index, &config);
        if (ot_space_valid(arm->space, &config, NULL))
            to[n++] = (optune_transfer){index, g->trial[i].cost};
    }
    qsort(to, (size_t)n, sizeof *to, by_index);
    for (int i = 0; i < n; i++)
        if (!once || to[i].index != to[once - 1].index)
            to[once++] = to[i];
    return once;
}

static void try_first(gathered *g, ot_arm *arm)
{
    optune_config config;
    qsort(g->trial, (size_t)g->n, sizeof *g->trial, cheaper);
    for (int i = 0; i < g->n && i < FIRST && isfinite(g->trial[i].cost); i++)
        if (ot_config_parse(g->trial[i].config, &config, NULL) >= 0)
            ot_arm_hint(arm, &config);
}

int ot_transfer_sources(ot_transfer *t, const optune_task *task, const char *policy,
                        ot_arm *arm, optune_source **source)
{
    static const double OF_ANOTHER_DEVICE = 0.7;
    serving *list = ot_alloc((size_t)(t->n + 1) * sizeof *list);
    ot_text call = {0};
    int n = 0, served = 0;
    ot_call_print(task->call, &call);
    for (int i = 0; i < t->n; i++) {
        gathered *g = &t->source[i];
        const bool same_call = !strcmp(g->call, ot_text_str(&call));
        const bool here = task->device && !strcmp(g->device, task->device->key);
        if (strcmp(g->impl, arm->impl->name) ||
            (same_call && here && !strcmp(g->policy, policy)))
            continue;
        if (same_call)
            try_first(g, arm);
        const optune_call *other = same_call ? task->call : call_of(g);
        const double likeness =
            other ? ot_likeness(task->call, other) * (here ? 1 : OF_ANOTHER_DEVICE) : 0;
        if (likeness >= LEAST_LIKENESS && g->n > 1)
            list[n++] = (serving){g, likeness};
    }
    qsort(list, (size_t)n, sizeof *list, more_alike);
    *source = ot_alloc((size_t)(n + 1) * sizeof **source);
    for (int i = 0; i < n && served < SERVING; i++) {
        optune_transfer *trial = ot_alloc((size_t)list[i].source->n * sizeof *trial);
        const int trials = translate(list[i].source, arm, trial);
        if (trials > 1)
            (*source)[served++] = (optune_source){list[i].likeness, trials, trial};
        else
            free(trial);
    }
    free(list);
    ot_text_release(&call);
    return served;
}
