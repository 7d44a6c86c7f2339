/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of an implementation for a task, and the config that is used untuned: what the row
 * declares, and the knob that every small CPU call has (team.c).
 */
#include "strategy/inside.h"

int ot_space_open(const optune_task *task, const optune_impl *impl, optune_space **space,
                  optune_err *err)
{
    optune_space *made = ot_space_blank();
    made->task = task;
    made->impl = impl;
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
