/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: what one config becomes. The builder's functions never fail; the first misuse is kept
 * and reported once the plan is whole, when everything a stage refers to is known. A plan that
 * passes can be built and run without asking the implementation again.
 */
#include <assert.h>
#include <string.h>

#include "strategy/inside.h"

static void misuse(optune_plan *plan, int status, const char *what, const char *subject)
{
    if (plan->problem.status == OPTUNE_OK)
        optune_fail(&plan->problem, status, "%s '%s'", what, subject);
}

/* ---- building ---------------------------------------------------------------------------- */

int optune_plan_module(optune_plan *plan)
{
    if (plan->n_modules == OPTUNE_MAX_MODULES) {
        misuse(plan, OPTUNE_ELIMIT, "too many modules in a plan of", plan->impl->name);
        return 0;
    }
    return plan->n_modules++;
}

static ot_module *module_at(optune_plan *plan, int module, const char *subject)
{
    if (module >= 0 && module < plan->n_modules)
        return &plan->module[module];
    misuse(plan, OPTUNE_EUSAGE, "no such module for", subject);
    return NULL;
}

static uint16_t keep(optune_plan *plan, const char *text)
{
    const int at = plan->n_text;
    memcpy(plan->text + at, text, strlen(text) + 1);
    plan->n_text += (int)strlen(text) + 1;
    return (uint16_t)at;
}

/* Neither broken nor going on behind its end. */
static bool is_one_line(const char *text)
{
    const size_t n = strlen(text);
    return !strchr(text, '\n') && (!n || text[n - 1] != '\\');
}

void optune_plan_define_text(optune_plan *plan, int module, const char *macro, const char *text)
{
    ot_module *m = module_at(plan, module, macro ? macro : "a macro");
    if (!m)
        return;
    if (!macro || !text) {
        misuse(plan, OPTUNE_EUSAGE,
               "a macro without a name or a text:", macro ? macro : "NULL");
        return;
    }
    for (int i = 0; i < m->n_defines; i++)
        if (strcmp(ot_plan_text(plan, m->define[i].name), macro) == 0) {
            misuse(plan, OPTUNE_EUSAGE, "macro defined twice:", macro);
            return;
        }
    if (m->n_defines == OPTUNE_MAX_DEFINES) {
        misuse(plan, OPTUNE_ELIMIT, "too many macros, at", macro);
        return;
    }
    if (!ot_is_identifier(macro) || !is_one_line(text))
        misuse(plan, OPTUNE_EUSAGE, "not a macro:", macro);
    else if (strlen(macro) >= OPTUNE_KNOB_NAME_SIZE || strlen(text) >= OT_DEFINE_SIZE)
        misuse(plan, OPTUNE_ELIMIT, "macro too long:", macro);
    else if (plan->n_text + strlen(macro) + strlen(text) + 2 > sizeof plan->text)
        misuse(plan, OPTUNE_ELIMIT, "too much text in macros, at", macro);
    else
        m->define[m->n_defines++] = (ot_define){keep(plan, macro), keep(plan, text)};
}

void optune_plan_define(optune_plan *plan, int module, const char *macro, int64_t value)
{
    char text[32];
    /* C has no literal of the least integer. */
    if (value == INT64_MIN)
        snprintf(text, sizeof text, "(%lld-1)", (long long)value + 1);
    else
        snprintf(text, sizeof text, value < 0 ? "(%lld)" : "%lld", (long long)value);
    optune_plan_define_text(plan, module, macro, text);
}

void optune_plan_flag(optune_plan *plan, int module, const char *flag)
{
    ot_module *m = module_at(plan, module, flag);
    if (!m)
        return;
    if (m->n_flags == OT_COUNT(m->flag) ||
        !ot_copy(m->flag[m->n_flags], sizeof m->flag[0], flag))
        misuse(plan, OPTUNE_ELIMIT, "too many or too long compiler flags, at", flag);
    else
        m->n_flags++;
}

int optune_plan_scratch(optune_plan *plan, const char *name, int64_t bytes, bool constant)
{
    if (plan->n_scratch == OPTUNE_MAX_SCRATCH) {
        misuse(plan, OPTUNE_ELIMIT, "too many scratch buffers, at", name);
        return 0;
    }
    ot_scratch *scratch = &plan->scratch[plan->n_scratch];
    *scratch = (ot_scratch){.bytes = bytes, .constant = constant};
    if (!ot_copy(scratch->name, sizeof scratch->name, name))
        misuse(plan, OPTUNE_ELIMIT, "name too long for scratch", name);
    if (bytes < 1)
        misuse(plan, OPTUNE_EUSAGE, "no bytes in scratch", name);
    return plan->n_scratch++;
}

void optune_plan_stage(optune_plan *plan, const optune_stage *stage)
{
    if (plan->n_stages == OPTUNE_MAX_STAGES)
        misuse(plan, OPTUNE_ELIMIT, "too many stages in a plan of", plan->impl->name);
    else
        plan->stage[plan->n_stages++] = *stage;
}

void optune_plan_repeat(optune_plan *plan, int input, uint64_t along)
{
    plan->repeat = (ot_repeat){.asked = true, .input = input, .along = along};
}

int optune_plan_dims(optune_plan *plan, const optune_arg *dim, int n)
{
    if (plan->n_lists == OPTUNE_MAX_DIM_LISTS || n < 1 || n > OT_PLAN_DIMS - plan->n_dims) {
        misuse(plan, OPTUNE_ELIMIT, "none or too many dims in a list of", plan->impl->name);
        return 0;
    }
    plan->list[plan->n_lists] = (ot_dim_list){.first = plan->n_dims, .n = n};
    for (int k = 0; k < n; k++) {
        if (dim[k].kind != OPTUNE_ARG_DIM)
            misuse(plan, OPTUNE_EUSAGE, "what is no dim in a list of", plan->impl->name);
        plan->dim[plan->n_dims++] = dim[k].index;
    }
    return plan->n_lists++;
}

int optune_plan_tensor_map(optune_plan *plan, const optune_tensor_map *map)
{
    if (plan->n_maps == OPTUNE_MAX_TENSOR_MAPS) {
        misuse(plan, OPTUNE_ELIMIT, "too many tensor maps in a plan of", plan->impl->name);
        return 0;
    }
    plan->map[plan->n_maps] = *map;
    return plan->n_maps++;
}
