/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of an implementation for a task, and the config that is used untuned: what the row
 * declares, and the knob that every small CPU call has (team.c).
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

/* In memory of the caller's, of which is known what there is; where it fails there is nothing to
 * end. */
static int open_in(optune_space *made, const optune_task *task, const optune_impl *impl,
                   const optune_config *sought, optune_err *err)
{
    ot_space_begin(made);
    made->task = task;
    made->impl = impl;
    made->sought = sought;
    if (impl->applies && ot_may_widen(task)) {
        ot_widened *wide = ot_alloc_raw(sizeof *wide);
        if (ot_widens(impl, task, wide)) {
            made->wide = wide;
            made->task = task = &wide->task;
        } else {
            free(wide);
        }
    }
    char slip[OPTUNE_WHY_SIZE];
    ot_slip_taken(NULL);
    if (impl->space)
        impl->space(task, made);
    if (ot_slip_taken(slip) && made->problem.status >= 0)
        optune_fail(&made->problem, OPTUNE_EUSAGE, "%s", slip);
    ot_team_space(made);
    if (made->problem.status < 0) {
        const int status = optune_fail(err, made->problem.status, "config space of '%s': %s",
                                       impl->name, made->problem.text);
        ot_space_end(made);
        return status;
    }
    return OPTUNE_OK;
}

int ot_space_open(const optune_task *task, const optune_impl *impl, optune_space **space,
                  optune_err *err)
{
    optune_space *made = ot_alloc_raw(sizeof *made);
    ot_space_forget(made);
    const int status = open_in(made, task, impl, NULL, err);
    if (status < 0)
        free(made);
    *space = status < 0 ? NULL : made;
    return status;
}

const optune_config *ot_space_has(const optune_task *task, const optune_impl *impl,
                                  const optune_config *config, optune_config *room)
{
    optune_space own, *space = ot_space_lend(impl, &own);
    const optune_config *found = NULL;
    const int64_t index = config->index;
    if (open_in(space, task, impl, index < 0 ? NULL : config, NULL) >= 0) {
        if (index >= 0 && ot_space_writes(space, config, NULL)) {
            found = config;
        } else {
            if (room != config)
                ot_config_copy(room, config);
            found = ot_space_index_of(space, room, NULL) < 0 ? NULL : room;
            if (index >= 0)
                room->index = index; /* of the whole space */
        }
        found = found && ot_space_valid(space, found, NULL) ? found : NULL;
        ot_space_end(space);
    }
    ot_space_take_back(impl, space, &own);
    return found;
}

/* Whether it is the config that was found to be in the space and valid. */
static bool is_found(const optune_space *space, const optune_config *config)
{
    const optune_config *found = space->found;
    return found && found->n == config->n &&
           !memcmp(found->entity, config->entity, (size_t)config->n * sizeof *config->entity);
}

bool ot_space_fallback(const optune_space *space, optune_config *config, char *why)
{
    optune_err err;
    bool changed = true;
    ot_space_nth(space, 0, config);
    if (space->impl && space->impl->fallback) {
        ot_slip_taken(NULL);
        space->impl->fallback(space->task, space, config);
        if (ot_slip_taken(why)) {
            ot_space_nth(space, 0, config);
            return false;
        }
        changed = !is_found(space, config);
        if (!changed) {
            config->index = space->found->index;
        } else if (ot_space_index_of(space, config, &err) < 0) {
            ot_space_nth(space, 0, config);
            return optune_refuse(why, "it is not in its own space: %s", err.text);
        }
    }
    changed = ot_team_fallback(space, config) || changed;
    return !changed || ot_space_valid(space, config, why);
}

bool ot_task_fallback(const optune_task *task, const optune_impl *impl, optune_config *config,
                      char *why)
{
    optune_space own, *space = ot_space_lend(impl, &own);
    optune_config found;
    optune_err err;
    found.n = -1;
    const bool open = open_in(space, task, impl, NULL, &err) >= 0;
    space->found = &found;
    const bool usable =
        open ? ot_space_fallback(space, config, why) : optune_refuse(why, "%s", err.text);
    if (open)
        ot_space_end(space);
    ot_space_take_back(impl, space, &own);
    return usable;
}
