/* SPDX-License-Identifier: Apache-2.0 */
/* What is other in the rows of a program: it is built and run, and there is no tensor to judge. */
#include <string.h>

#include "bring/bring.h"

#define BLANKS " \t\r\n"

/* The item at *p of a list in brackets, without the blanks around it; *p is behind it then. */
static size_t take_item(const char **p, const char **item)
{
    const char *start = *p + strspn(*p, BLANKS), *end = start;
    if (*start == '\'' || *start == '"')
        end = strchr(start + 1, *start);
    end = end ? end + strcspn(end, ",]") : start + strlen(start);
    *p = end + (*end == ',');
    while (end > start && strchr(BLANKS, end[-1]))
        end--;
    *item = start;
    return (size_t)(end - start);
}

/* How its values are passed: as they are written where they are written one by one, 1.10 and 1e-3
 * as these, else as Python would print them. */
void ot_program_spell(ot_brought *b, ot_brought_knob *knob, const char *list)
{
    const int n = knob->list.n;
    const char **text = ot_arena_alloc(&b->arena, (size_t)n * sizeof *text), *item = NULL;
    const char *p = *list == '[' ? list + 1 : "";
    bool plain = true;
    for (int i = 0; i < n; i++) {
        const ot_expr_value *value = &knob->list.item[i];
        const size_t length = plain ? take_item(&p, &item) : 0;
        char word[OPTUNE_WORD_SIZE];
        double real;
        plain = length > 0;
        text[i] = value->kind == OT_VALUE_BOOL ? value->i ? "True" : "False" : knob->text[i];
        if (!plain || length >= sizeof word || value->kind != OT_VALUE_REAL)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)length, item);
        plain = ot_parse_real(word, &real) && real == value->f;
        text[i] = plain ? ot_arena_copy(&b->arena, word) : text[i];
    }
    knob->text = text;
}

/* How the knob's value is passed. */
static const char *written(const ot_brought_knob *knob, const ot_expr_value *value)
{
    for (int i = 0; i < knob->list.n; i++) {
        const ot_expr_value *item = &knob->list.item[i];
        if (item->kind == value->kind &&
            (item->kind == OT_VALUE_WORD   ? strcmp(item->s, value->s) == 0
             : item->kind == OT_VALUE_REAL ? item->f == value->f
                                           : item->i == value->i))
            return knob->text[i];
    }
    return "";
}

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
        ot_text_clear(&text);
        if (size)
            ot_value_print(&own.value[i], &text);
        else
            ot_text_add(&text, written(&b->knob[k], &own.value[i]));
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
