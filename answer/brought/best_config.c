/* SPDX-License-Identifier: Apache-2.0 */
/* What would be used for a workload, as a program takes it: a C header, a JSON object, CSV. */
#include <ctype.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "bring/bring.h"

typedef struct form {
    const char *name;
    void (*write)(const ot_answer *answer, ot_text *to);
} form;

static void add_entity(const optune_entity *e, const char *between, ot_text *to)
{
    if (e->kind != OPTUNE_KNOB_OTHER) {
        for (int i = 0; i < e->n; i++)
            ot_text_printf(to, "%s%lld", i ? between : "", (long long)e->v[i]);
    } else if (e->scalar == OPTUNE_SCALAR_WORD) {
        ot_text_add(to, e->word);
    } else if (e->scalar == OPTUNE_SCALAR_FLOAT) {
        ot_text_add_real(to, e->f);
    } else {
        ot_text_printf(to, "%lld", (long long)e->v[0]);
    }
}

static double cost_of(const ot_answer *answer)
{
    const ot_fact *fact = answer->choice.row[answer->choice.winner].fact;
    return fact ? fact->record.cost : 0;
}

static const char *impl_of(const ot_answer *answer)
{
    return answer->choice.row[answer->choice.winner].candidate.impl->name;
}

/* Comments hold texts of others: none ends one. */
static void write_header(const ot_answer *answer, ot_text *to)
{
    ot_text_printf(to, "/* %s\n * %s on %s, %s: ", answer->question.call, impl_of(answer),
                   answer->place->device.name, ot_tier_name(answer->choice.tier));
    if (cost_of(answer) > 0) {
        ot_text_add_real(to, cost_of(answer));
        ot_text_add(to, answer->op->unitless ? " */\n" : " s */\n");
    } else {
        ot_text_add(to, "never measured */\n");
    }
    optune_config room;
    const optune_config *config = ot_answer_choice(answer, &room).config;
    for (int i = 0; i < config->n; i++) {
        const optune_entity *e = &config->entity[i];
        const bool one = e->kind == OPTUNE_KNOB_OTHER;
        for (int k = 0; k < (one ? 1 : e->n); k++) {
            ot_text_printf(to, one ? "#define %s " : "#define %s_%d ", e->name, k);
            if (one)
                add_entity(e, "", to);
            else
                ot_text_printf(to, "%lld", (long long)e->v[k]);
            ot_text_add(to, "\n");
        }
    }
}

/* Whether the word of somebody's knob is one of its real values, and written as JSON has numbers.
 * What is given in quotes, '1.10', is a text. */
static bool is_number(const ot_answer *answer, const optune_entity *e)
{
    const ot_brought *b = ot_brought_of_op(answer->op->name);
    json_t *number =
        b && ot_brought_real(b, e) ? json_loads(e->word, JSON_DECODE_ANY, NULL) : NULL;
    const bool is = json_is_number(number);
    json_decref(number);
    return is;
}

static void write_json(const ot_answer *answer, ot_text *to)
{
    optune_config room;
    const optune_config *config = ot_answer_choice(answer, &room).config;
    ot_text_add(to, "{");
    for (int i = 0; i < config->n; i++) {
        const optune_entity *e = &config->entity[i];
        const bool list = e->kind != OPTUNE_KNOB_OTHER;
        ot_text_add(to, i ? ", " : "");
        ot_text_add_json(to, e->name);
        ot_text_add(to, list ? ": [" : ": ");
        if (!list && e->scalar == OPTUNE_SCALAR_WORD && !is_number(answer, e))
            ot_text_add_json(to, e->word);
        else if (!list && e->scalar == OPTUNE_SCALAR_BOOL)
            ot_text_add(to, e->v[0] ? "true" : "false");
        else
            add_entity(e, ", ", to);
        ot_text_add(to, list ? "]" : "");
    }
    ot_text_add(to, "}\n");
}

/* In quotes where a comma or a quote would make two of one. */
static void add_cell(const optune_entity *e, ot_text *to)
{
    ot_text text = {0};
    add_entity(e, " ", &text);
    const char *p = ot_text_str(&text);
    const bool quoted = strpbrk(p, ",\"") != NULL;
    ot_text_add(to, quoted ? "\"" : "");
    for (; *p; p++)
        ot_text_printf(to, quoted && *p == '"' ? "\"%c" : "%c", *p);
    ot_text_add(to, quoted ? "\"" : "");
    ot_text_release(&text);
}

static void write_csv(const ot_answer *answer, ot_text *to)
{
    optune_config room;
    const optune_config *config = ot_answer_choice(answer, &room).config;
    for (int i = 0; i < config->n; i++)
        ot_text_printf(to, "%s,", config->entity[i].name);
    ot_text_add(to, answer->op->unitless ? "cost\n" : "seconds\n");
    for (int i = 0; i < config->n; i++) {
        add_cell(&config->entity[i], to);
        ot_text_add(to, ",");
    }
    if (cost_of(answer) > 0)
        ot_text_add_real(to, cost_of(answer));
    ot_text_add(to, "\n");
}

int optune_best_config(optune *o, const char *workload, const char *format,
                       optune_result **result, optune_err *err)
{
    static const form forms[] = {
        {"header", write_header}, {"json", write_json}, {"csv", write_csv}};
    const char *names[OT_COUNT(forms)];
    int k = 0;
    OT_ENTER(err, {"handle", o}, {"workload", workload}, {"format", format},
             {"result", result});
    *result = NULL;
    for (; k < OT_COUNT(forms) && strcmp(forms[k].name, format) != 0; k++)
        names[k] = forms[k].name;
    if (k == OT_COUNT(forms))
        return ot_no_such(err, "format of a config", format, names, k);
    const ot_answer *answer;
    OT_RETURN_UNLESS_OK(ot_answer_text(o, workload, &answer, err));
    ot_text text = {0}, json = {0};
    forms[k].write(answer, &text);
    write_json(answer, &json);
    *result =
        ot_result_new(ot_strdup(ot_text_str(&text)), json_loads(ot_text_str(&json), 0, NULL));
    ot_text_release(&text);
    ot_text_release(&json);
    ot_answer_drop(answer);
    return OPTUNE_OK;
}
