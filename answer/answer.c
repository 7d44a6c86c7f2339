/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sees of answers: optune_select, what would be used, and why. Answers are made
 * and kept in answer/answers.c; this file never decides and never measures.
 */
#include <math.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"

struct optune_selection {
    const ot_answer *answer;
    ot_text text;
    char *json;
};

static void log_answer(optune *o, const ot_answer *answer)
{
    if (!o->log || o->log_level < OPTUNE_LOG_INFO)
        return;
    ot_text lines = {0};
    optune_call *call = ot_alloc_raw(sizeof *call);
    optune_config config;
    const optune_task task = ot_answer_task(answer, call);
    const ot_choice choice = ot_answer_choice(answer, &config);
    ot_choice_log(&task, &choice, &lines);
    free(call);
    for (char *line = lines.s, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end ? (*end = 0, 1) : 0;
        ot_context_log(o, OPTUNE_LOG_INFO, "%s", line);
    }
    ot_text_release(&lines);
}

static int give(optune *o, int status, const ot_answer *answer, optune_selection **selection,
                optune_err *err)
{
    *selection = NULL;
    if (status < 0)
        return status;
    optune_selection *made = ot_alloc(sizeof *made);
    made->answer = answer;
    log_answer(o, answer);
    status = ot_memory_end(OPTUNE_OK, err);
    if (status < 0)
        optune_selection_free(made);
    else
        *selection = made;
    return status;
}

int optune_select(optune *o, const char *workload, optune_selection **selection,
                  optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"workload", workload}, {"selection", selection});
    const ot_answer *answer = NULL;
    const int status = ot_answer_text(o, workload, &answer, err);
    return give(o, status, answer, selection, err);
}

int optune_select_call(optune *o, const optune_call *call, optune_selection **selection,
                       optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"handle", o}, {"selection", selection});
    return ot_selection_of(o, call, NULL, selection, err);
}

int ot_selection_of(optune *o, const optune_call *call, const char *const *policies,
                    optune_selection **selection, optune_err *err)
{
    const ot_answer *answer = NULL;
    const int status = ot_answer_call_at(o, call, policies, &answer, err);
    return give(o, status, answer, selection, err);
}

void optune_selection_free(optune_selection *s)
{
    if (!s)
        return;
    ot_answer_drop(s->answer);
    ot_text_release(&s->text);
    free(s->json);
    free(s);
}

static const ot_choice_row *winner(const ot_answer *a)
{
    return &a->choice.row[a->choice.winner];
}

const char *optune_selection_impl(const optune_selection *s)
{
    if (!s)
        return NULL;
    return winner(s->answer)->candidate.impl->name;
}

const char *optune_selection_tier(const optune_selection *s)
{
    if (!s)
        return NULL;
    return ot_tier_name(s->answer->choice.tier);
}

const char *optune_selection_config(const optune_selection *s)
{
    if (!s)
        return NULL;
    return ot_answer_config(s->answer);
}

double optune_selection_cost(const optune_selection *s)
{
    if (!s)
        return INFINITY;
    const ot_choice_row *row = winner(s->answer);
    return !ot_choice_measured(&s->answer->choice) || !row->fact ? INFINITY
                                                                 : row->fact->record.cost;
}

const char *optune_selection_text(optune_selection *s, bool explain)
{
    OT_DEFAULT_FENV;
    if (!s)
        return NULL;
    ot_text_clear(&s->text);
    optune_call *call = ot_alloc_raw(sizeof *call);
    optune_config config;
    ot_arena arena = {0};
    const optune_task task = ot_answer_task(s->answer, call);
    const ot_choice choice = explain ? ot_answer_explained(s->answer, &arena, &config)
                                     : ot_answer_choice(s->answer, &config);
    ot_choice_text(&task, &choice, explain, &s->text);
    ot_arena_release(&arena);
    free(call);
    return ot_text_str(&s->text);
}

const char *optune_selection_json(optune_selection *s)
{
    OT_DEFAULT_FENV;
    if (!s)
        return NULL;
    if (!s->json) {
        optune_call *call = ot_alloc_raw(sizeof *call);
        optune_config config;
        ot_arena arena = {0};
        const optune_task task = ot_answer_task(s->answer, call);
        const ot_choice choice = ot_answer_explained(s->answer, &arena, &config);
        json_t *json = ot_choice_json(&task, &choice);
        ot_arena_release(&arena);
        free(call);
        s->json = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        json_decref(json);
    }
    return s->json;
}
