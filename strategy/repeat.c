/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch that is known at run time, for bodies that know one image: what a plan times becomes one
 * stage, whose function calls theirs once for each image. Whoever runs or writes a plan sees a plan
 * like any other, with a dim as its last argument.
 */
#include <string.h>

#include "strategy/inside.h"

static const char each[] = "ot_each";

/* Bytes behind dim 0, of one image; -1: dims behind it are not constant. */
static int64_t image_bytes(const optune_tensor *type)
{
    int64_t n = 1;
    for (int d = 1; d < type->rank; d++) {
        if (!optune_dim_known(&type->dim[d]))
            return -1;
        n *= type->dim[d].min;
    }
    return type->rank > 0 ? n * ((type->dtype.bits + 7) / 8) * type->dtype.lanes : -1;
}

/* Whether an input has an image of its own for each place: those that were named, and operands of
 * what is fused that have the output's batch. */
static bool goes_along(const optune_call *call, const ot_repeat *r, int input)
{
    if (input < call->n_inputs)
        return r->along >> input & 1;
    const optune_tensor *type = &call->input[input].type;
    return type->rank == call->output[0].rank && type->dim[0].max > 1;
}

static const char *add_arg(const optune_task *task, ot_repeat *r, const optune_arg *arg,
                           optune_stage *whole)
{
    if (whole->n_args == OPTUNE_MAX_ARGS - 1)
        return "what is repeated has too many arguments";
    int64_t step = 0;
    if (arg->kind == OPTUNE_ARG_OUTPUT)
        step = image_bytes(&task->call->output[arg->index]);
    else if (arg->kind == OPTUNE_ARG_INPUT && goes_along(task->call, r, arg->index))
        step = image_bytes(&task->call->input[arg->index].type);
    if (step < 0)
        return "what is repeated has dims that vary within an image";
    r->step[whole->n_args] = step;
    whole->arg[whole->n_args++] = *arg;
    return NULL;
}

static const char *join(const optune_task *task, optune_plan *plan)
{
    ot_repeat *r = &plan->repeat;
    optune_stage whole = {.phase = OPTUNE_TIMED, .module = -1, .function = each};
    int kept = 0;
    if (task->device->warp > 0)
        return "only what runs on CPUs can be repeated";
    for (int s = 0; s < plan->n_stages; s++) {
        const optune_stage *stage = &plan->stage[s];
        const char *what = NULL;
        if (stage->phase != OPTUNE_TIMED) {
            plan->stage[kept++] = *stage;
            continue;
        }
        if (whole.module >= 0 && stage->module != whole.module)
            return "what is repeated is in several modules";
        whole.module = stage->module;
        r->function[r->n] = stage->function;
        r->first_arg[r->n] = whole.n_args;
        r->n_args[r->n++] = stage->n_args;
        for (int a = 0; a < stage->n_args && !what; a++)
            what = add_arg(task, r, &stage->arg[a], &whole);
        if (what)
            return what;
    }
    if (!r->n)
        return "nothing is repeated";
    whole.arg[whole.n_args++] = optune_dim_arg(r->input, 0);
    plan->stage[kept++] = whole;
    plan->n_stages = kept;
    return NULL;
}

void ot_repeat_close(const optune_task *task, optune_plan *plan)
{
    const char *what =
        plan->repeat.asked && plan->problem.status >= 0 ? join(task, plan) : NULL;
    if (what)
        optune_fail(&plan->problem, OPTUNE_EUSAGE, "%s", what);
}

void ot_repeat_source(const optune_plan *plan, int module, ot_text *to)
{
    const ot_repeat *r = &plan->repeat;
    const optune_stage *whole = NULL;
    for (int s = 0; s < plan->n_stages && r->n; s++)
        if (plan->stage[s].function == each && plan->stage[s].module == module)
            whole = &plan->stage[s];
    if (!whole)
        return;
    const int count = whole->n_args - 1;
    ot_text_printf(to,
                   "\nvoid %s(void *const *arg)\n{\n"
                   "    const __INT64_TYPE__ images = *(const __INT64_TYPE__ *)arg[%d];\n"
                   "    for (__INT64_TYPE__ i = 0; i < images; i++) {\n"
                   "        void *const one[] = {",
                   each, count);
    for (int a = 0; a < count; a++)
        if (r->step[a])
            ot_text_printf(to, "%s(char *)arg[%d] + i * %lld", a ? ", " : "", a,
                           (long long)r->step[a]);
        else
            ot_text_printf(to, "%sarg[%d]", a ? ", " : "", a);
    ot_text_add(to, "};\n");
    for (int k = 0; k < r->n; k++)
        ot_text_printf(to, "        %s(one + %d);\n", r->function[k], r->first_arg[k]);
    ot_text_add(to, "    }\n}\n");
}
