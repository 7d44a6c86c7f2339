/* SPDX-License-Identifier: Apache-2.0 */
/* What is other in the rows of a program: it is built and run, and there is no tensor to judge. */
#include <string.h>

#include "bring/bring.h"

/* Only what has a place in the build command decides what is built: two configs that differ in
 * nothing else share it. */
static void program_module(const ot_brought *b, const ot_values *values, bool built,
                           optune_plan *plan, int module)
{
    ot_values own = *values;
    ot_text text = {0};
    for (int i = 0; i < OT_BROUGHT_VALUES; i++) {
        const bool size = i < OT_BROUGHT_SIZES;
        const int k = size ? i : i - OT_BROUGHT_SIZES;
        if ((size ? k >= b->n_sizes : k >= b->n_knobs) || (built && !b->program.built[i]))
            continue;
        const ot_expr_value *value = &own.value[i];
        ot_text_clear(&text);
        if (value->kind == OT_VALUE_BOOL)
            ot_text_printf(&text, "%d", value->i != 0);
        else if (value->kind == OT_VALUE_WORD)
            ot_text_add(&text, value->s);
        else
            ot_value_print(value, &text);
        optune_plan_define_text(plan, module, size ? b->size[k].name : b->knob[k].name,
                                ot_text_str(&text));
    }
    ot_text_release(&text);
}

static void program_plan(const optune_task *task, const optune_config *config, optune_plan *to)
{
    const ot_brought *b = (const ot_brought *)task->call->op;
    ot_values values;
    ot_values_of(b, task->call, config, &values);
    if (b->program.build.n) {
        const int module = optune_plan_module(to);
        program_module(b, &values, true, to, module);
        optune_plan_define(to, module, "OPTUNE_BUILD", 1);
        optune_plan_stage(
            to,
            &(optune_stage){.phase = OPTUNE_TIMED, .module = module, .function = "program"});
    }
    const int module = optune_plan_module(to);
    program_module(b, &values, false, to, module);
    optune_plan_stage(to, &(optune_stage){.phase = OPTUNE_TIMED,
                                          .module = module,
                                          .function = "run",
                                          .n_args = 1,
                                          .arg = {optune_output_arg(0)}});
}

/* Nothing is compared: what the target says of a run that it does not look at. */
static void nothing(const optune_call *call, const void *const *in, int out_index,
                    const optune_region *region, double *out, double *magnitude)
{
    int64_t n = 1;
    (void)call;
    (void)in;
    (void)out_index;
    for (int d = 0; d < region->rank; d++)
        n *= region->hi[d] - region->lo[d];
    for (int64_t i = 0; i < n; i++)
        out[i] = magnitude[i] = 0;
}

static double no_rate(const optune_call *call)
{
    (void)call;
    return 0;
}

/* What a config's cost is, in words. */
static const char *minimised(ot_brought *b)
{
    const ot_program *p = &b->program;
    if (strcmp(p->objective, "time") != 0)
        return p->objective;
    for (int i = 0; i < p->n_read; i++)
        for (int k = 0; k < p->read[i].n; k++)
            if (strcmp(p->read[i].name[k], "time") == 0)
                return ot_arena_printf(&b->arena, "time, which it prints as '%s'",
                                       p->read[i].text);
    return "its wall time";
}

void ot_program_rows(ot_brought *b)
{
    b->impl.plan = program_plan;
    b->op.bytes = no_rate; /* its output is no tensor that anybody moves */
    b->op.minimised = minimised(b);
    b->op.unitless = strcmp(b->program.objective, "time") != 0;
    b->op.judge = ot_arena_printf(
        &b->arena, "its exit status%s%s", b->program.check.n ? ", the check command" : "",
        b->program.same_output ? ", what the default config prints" : "");
    if (!b->program.same_output) {
        b->op.standard = NULL;
        b->op.reference = nothing;
    }
}
