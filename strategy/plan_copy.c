/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that are kept. One has room for the largest there is, some 120 KB, and a network has
 * hundreds of kernels, most of them of one stage.
 */
#include <stddef.h>
#include <string.h>

#include "strategy/strategy.h"

static void copy_stage(optune_stage *to, const optune_stage *from)
{
    const size_t behind = offsetof(optune_stage, arg) + sizeof from->arg;
    memcpy(to, from, offsetof(optune_stage, arg));
    memcpy((char *)to + behind, (const char *)from + behind, sizeof *to - behind);
    for (int k = 0; k < from->n_args; k++)
        if (from->arg[k].kind == OPTUNE_ARG_DIM)
            to->arg[k] = (optune_arg){.kind = OPTUNE_ARG_DIM, .index = from->arg[k].index};
        else
            to->arg[k] = from->arg[k];
}

void ot_plan_copy(optune_plan *to, const optune_plan *from)
{
    memcpy(to, from, offsetof(optune_plan, scratch));
    memcpy(to->scratch, from->scratch, (size_t)from->n_scratch * sizeof *to->scratch);
    for (int i = 0; i < from->n_stages; i++)
        copy_stage(&to->stage[i], &from->stage[i]);
    memcpy(to->map, from->map, (size_t)from->n_maps * sizeof *to->map);
    memcpy(to->list, from->list, (size_t)from->n_lists * sizeof *to->list);
    memcpy(to->dim, from->dim, (size_t)from->n_dims * sizeof *to->dim);
    if (from->repeat.asked)
        to->repeat = from->repeat;
    if (from->problem.status)
        to->problem = from->problem;
    memcpy(to->module, from->module, (size_t)from->n_modules * sizeof *to->module);
    memcpy(to->text, from->text, (size_t)from->n_text);
}
