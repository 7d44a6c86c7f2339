/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small tensors by one thread: to wake a team takes about a microsecond, in which one thread
 * computes a thousand elements and more. Where a call is small, every CPU row that runs a team gets
 * a knob that says whether it does; where it is tiny, one thread is the default.
 *
 * The one idea: a plan for one thread is the plan for a device that has one, so that no row knows
 * of this knob.
 */
#include <string.h>

#include "strategy/inside.h"

static const char knob_name[] = "team", one[] = "one";

/* Both are tried up to here: more takes a core longer than any team takes to start. */
static const double MOST_BYTES = 256 << 10, MOST_FLOPS = 2e6;
/* One thread is done with as much in about two microseconds. */
static const double TINY_BYTES = 32 << 10, TINY_FLOPS = 5e4;

/* AutoTVM's templates keep the knobs that AutoTVM knows; constraints count the knobs they know. */
static bool may_choose(const optune_space *space)
{
    const optune_task *task = space->task;
    const optune_impl *impl = space->impl;
    return task && task->device && task->call && task->device->warp == 0 &&
           task->device->threads > 1 && !impl->library && !impl->task_args && !space->where &&
           ot_call_static(task->call) && ot_call_bytes(task->call) <= MOST_BYTES &&
           ot_call_flops(task->call) <= MOST_FLOPS && space->n_knobs < OPTUNE_MAX_KNOBS &&
           ot_space_knob(space, knob_name) < 0 && ot_impl_has(impl, OT_BODY_TEAM);
}

void ot_team_space(optune_space *space)
{
    if (space->problem.status < 0 || !may_choose(space))
        return;
    optune_space_words(space, knob_name, 2, (const char *const[]){"all", one});
    space->team = space->problem.status >= 0;
}

bool ot_team_fallback(const optune_space *space, optune_config *config)
{
    const bool tiny = space->team && ot_call_bytes(space->task->call) <= TINY_BYTES &&
                      ot_call_flops(space->task->call) <= TINY_FLOPS;
    if (tiny)
        optune_config_choose_word(config, space, knob_name, one);
    return tiny;
}

bool ot_team_alone(const optune_space *space, const optune_config *config)
{
    return space->team && strcmp(optune_config_word(config, knob_name), one) == 0;
}
