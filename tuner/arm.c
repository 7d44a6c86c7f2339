/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One implementation of one workload under search. Configs come from, in order: the fallback,
 * hints from earlier records, the search. What was measured before is never handed out again;
 * the set of seen indices makes that so whatever a search asks for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/tune.h"

static bool seen(const ot_arm *arm, int64_t index)
{
    const uint64_t mask = (uint64_t)arm->seen_capacity - 1;
    for (uint64_t i = (uint64_t)index * 0x9e3779b97f4a7c15u;; i++) {
        const int64_t at = arm->seen[i & mask];
        if (at == index)
            return true;
        if (at < 0)
            return false;
    }
}

static void mark(ot_arm *arm, int64_t index);

static void grow(ot_arm *arm)
{
    int64_t *old = arm->seen;
    const int64_t n = arm->seen_capacity;
    arm->seen_capacity = n ? 2 * n : 64;
    arm->seen = ot_alloc((size_t)arm->seen_capacity * sizeof *arm->seen);
    for (int64_t i = 0; i < arm->seen_capacity; i++)
        arm->seen[i] = -1;
    arm->n_seen = 0;
    for (int64_t i = 0; i < n; i++)
        if (old[i] >= 0)
            mark(arm, old[i]);
    free(old);
}

static void mark(ot_arm *arm, int64_t index)
{
    if (2 * (arm->n_seen + 1) > arm->seen_capacity)
        grow(arm);
    if (seen(arm, index))
        return;
    const uint64_t mask = (uint64_t)arm->seen_capacity - 1;
    uint64_t i = (uint64_t)index * 0x9e3779b97f4a7c15u;
    while (arm->seen[i & mask] >= 0)
        i++;
    arm->seen[i & mask] = index;
    arm->n_seen++;
}

static bool valid_index(const ot_arm *arm, int64_t index)
{
    optune_config config;
    if (!arm->impl->valid)
        return true;
    ot_space_nth(arm->space, index, &config);
    return ot_space_valid(arm->space, &config, NULL);
}

static bool fresh(const optune_search_view *view, int64_t index)
{
    const ot_arm *arm = view->core;
    return index >= 0 && index < optune_space_size(arm->space) && !seen(arm, index) &&
           valid_index(arm, index);
}

static double estimate(const optune_search_view *view, int64_t index)
{
    const ot_arm *arm = view->core;
    optune_config config;
    ot_space_nth(arm->space, index, &config);
    return ot_space_estimate(arm->space, &config);
}

int ot_queue_depth(int compilers)
{
    const int n = compilers > 0 ? compilers : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n < OT_QUEUE - 2 ? (n > 0 ? n : 1) + 2 : OT_QUEUE;
}

int ot_arm_open(ot_arm *arm, const optune_task *task, const ot_candidate *candidate,
                const optune_search *search, uint64_t seed, optune_err *err)
{
    *arm = (ot_arm){
        .candidate = candidate, .impl = candidate->impl, .search = search, .best = INFINITY};
    int status = ot_space_open(task, arm->impl, &arm->space, err);
    arm->spaceless = status < 0;
    if (status < 0)
        return status;
    grow(arm);
    arm->view = (optune_search_view){
        .space = arm->space,
        /* Each implementation walks its own path, whatever others there are. */
        .seed = seed ^ ot_hash64(arm->impl->name, strlen(arm->impl->name)),
        .state = search->state_size ? ot_alloc(search->state_size) : NULL,
        .fresh = fresh,
        .core = arm,
        .estimate = arm->impl->estimate ? estimate : NULL,
    };
    arm->has_fallback = ot_space_fallback(arm->space, &arm->fallback, arm->fallback_why);
    if (arm->has_fallback)
        ot_arm_hint(arm, &arm->fallback);
    if (search->start)
        status = search->start(&arm->view);
    if (status < 0) {
        arm->search = NULL;
        ot_arm_close(arm);
        return optune_fail(err, status, "search '%s' cannot start on '%s'", search->name,
                           candidate->impl->name);
    }
    return OPTUNE_OK;
}

void ot_sources_free(optune_source *source, int n)
{
    for (int i = 0; i < n; i++)
        free((void *)source[i].trial);
    free(source);
}

void ot_arm_close(ot_arm *arm)
{
    if (arm->search && arm->search->stop && arm->space)
        arm->search->stop(&arm->view);
    free(arm->view.state);
    ot_sources_free(arm->source, arm->source ? arm->view.n_sources : 0);
    free(arm->queue);
    free(arm->asked);
    free(arm->unseen);
    free(arm->seen);
    ot_space_close(arm->space);
    *arm = (ot_arm){.best = INFINITY};
}

static void note(ot_arm *arm, const optune_config *config, const optune_told *how)
{
    if (how->cost < arm->best) {
        arm->best = how->cost;
        ot_config_copy(&arm->best_config, config);
        arm->since = 0;
    }
    if (how->seconds > 0) {
        arm->seconds += how->seconds;
        arm->timed++;
    }
    optune_told told = *how;
    told.index = config->index;
    if (arm->search->tell)
        arm->search->tell(&arm->view, &told);
}

bool ot_arm_know(ot_arm *arm, const optune_config *config, const optune_told *how)
{
    optune_config own;
    ot_config_copy(&own, config);
    if (ot_space_index_of(arm->space, &own, NULL) < 0 || seen(arm, own.index) ||
        !ot_space_valid(arm->space, &own, NULL))
        return false;
    mark(arm, own.index);
    arm->trials++;
    note(arm, &own, how);
    return true;
}

static void show_pending(ot_arm *arm)
{
    arm->view.n_pending = arm->pending;
    arm->view.pending = arm->asked;
}

static void add_pending(ot_arm *arm, int64_t index)
{
    arm->asked = ot_room(arm->asked, arm->pending, &arm->asked_capacity, sizeof *arm->asked);
    arm->asked[arm->pending++] = index;
    show_pending(arm);
}

static void drop_pending(ot_arm *arm, int64_t index)
{
    int at = 0;
    while (at < arm->pending - 1 && arm->asked[at] != index)
        at++;
    arm->pending--;
    for (; at < arm->pending; at++)
        arm->asked[at] = arm->asked[at + 1];
    show_pending(arm);
}

void ot_arm_hint(ot_arm *arm, const optune_config *config)
{
    optune_config own;
    ot_config_copy(&own, config);
    if (ot_space_index_of(arm->space, &own, NULL) < 0 ||
        !ot_space_valid(arm->space, &own, NULL))
        return;
    arm->queue = ot_room(arm->queue, arm->n_queue, &arm->queue_capacity, sizeof *arm->queue);
    arm->queue[arm->n_queue++] = own.index;
}

/* A search of a plugin is held to its contract by nobody else. */
static void say_slip(ot_arm *arm, int64_t index)
{
    const int64_t size = optune_space_size(arm->space);
    optune_refuse(arm->slip,
                  "search '%s' asked for config %lld of '%s', which %s; its search ends here",
                  arm->search->name, (long long)index, arm->impl->name,
                  index >= size      ? "is beyond the last of its space"
                  : seen(arm, index) ? "was tried or asked for before"
                                     : "its `valid` refuses");
}

bool ot_arm_next(ot_arm *arm, optune_config *config)
{
    int64_t index = -1;
    while (index < 0 && arm->next_queue < arm->n_queue) {
        index = arm->queue[arm->next_queue++];
        if (seen(arm, index))
            index = -1;
    }
    if (index < 0)
        index = arm->search->ask(&arm->view);
    if (index >= 0 && !fresh(&arm->view, index)) {
        say_slip(arm, index);
        index = -1;
    }
    if (index < 0) {
        arm->exhausted = true;
        return false;
    }
    mark(arm, index);
    add_pending(arm, index);
    ot_space_nth(arm->space, index, config);
    return true;
}

void ot_arm_hope(const optune_search_view *view, double cost)
{
    ot_arm *arm = view->core;
    arm->hoped = cost;
}

void ot_arm_tell(ot_arm *arm, const optune_config *config, const optune_told *how)
{
    drop_pending(arm, config->index);
    arm->trials++;
    arm->since++;
    note(arm, config, how);
}
