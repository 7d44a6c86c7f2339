/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of an implementation for a task, and the config that is used untuned: what the row
 * declares, and the knob that every small CPU call has (team.c).
 */
#include "strategy/inside.h"

static int open_space(const optune_task *task, const optune_impl *impl,
                      const optune_config *sought, optune_space **space, optune_err *err)
{
    optune_space *made = ot_space_blank();
    made->task = task;
    made->impl = impl;
    made->sought = sought;
    *space = NULL;
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
        ot_space_close(made);
        return status;
    }
    *space = made;
    return OPTUNE_OK;
}

int ot_space_open(const optune_task *task, const optune_impl *impl, optune_space **space,
                  optune_err *err)
{
    return open_space(task, impl, NULL, space, err);
}

bool ot_space_has(const optune_task *task, const optune_impl *impl, optune_config *config)
{
    optune_space *space = NULL;
    const int64_t index = config->index;
    const bool has = open_space(task, impl, index < 0 ? NULL : config, &space, NULL) >= 0 &&
                     ot_space_index_of(space, config, NULL) >= 0 &&
                     ot_space_valid(space, config, NULL);
    ot_space_close(space);
    if (index >= 0)
        config->index = index; /* of the whole space */
    return has;
}

bool ot_space_fallback(const optune_space *space, optune_config *config, char *why)
{
    optune_err err = {0};
    ot_space_nth(space, 0, config);
    if (space->impl && space->impl->fallback) {
        ot_slip_taken(NULL);
        space->impl->fallback(space->task, space, config);
        if (ot_slip_taken(why)) {
            ot_space_nth(space, 0, config);
            return false;
        }
        if (ot_space_index_of(space, config, &err) < 0) {
            ot_space_nth(space, 0, config);
            return optune_refuse(why, "it is not in its own space: %s", err.text);
        }
    }
    ot_team_fallback(space, config);
    return ot_space_valid(space, config, why);
}
