/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune_query: the best current record of a workload, as values and as JSON. Never falls back to a
 * default and never measures. The one idea: what is found shares its texts with the kept answer,
 * which never changes and lives as long as somebody refers to it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "base/record.h"

/* What is given out, and what it is made of. */
typedef struct finding {
    optune_found found; /* first: its address is the whole's */
    const ot_answer *answer;
} finding;

/* Takes the caller's use of the answer. */
static optune_found *found_of(const ot_answer *a)
{
    finding *f = malloc(sizeof *f); /* all that has a meaning is set */
    if (!f)
        return NULL;
    const ot_fact *fact = a->choice.row[a->choice.winner].fact;
    ot_record_copy(&f->found.record, &fact->record);
    f->found.tier = ot_tier_name(a->choice.tier);
    f->found.doubt = a->choice.tier == OT_TIER_UNVERIFIED ? fact->why : NULL;
    f->found.flops = ot_answer_flops(a);
    f->found.minimised = a->op->unitless ? a->op->minimised : NULL;
    f->answer = a;
    return &f->found;
}

static int nothing(const ot_answer *a, optune_err *err)
{
    const char *why = a->n_facts ? "no trial of what may be selected here succeeded"
                                 : "it was never tuned here; `optune run` does that";
    const optune_record *stale = NULL;
    char text[OPTUNE_WHY_SIZE];
    for (int i = 0; i < a->choice.n; i++) {
        const ot_choice_row *row = &a->choice.row[i];
        if (row->stale && (!stale || row->stale->record.cost < stale->cost)) {
            stale = &row->stale->record;
            why = ot_choice_stale_why(row, text);
        }
    }
    return optune_fail(err, OPTUNE_ENOENT, "no current record of %s: %s", a->question.call,
                       why);
}

int optune_query(optune *o, const char *workload, optune_found **found, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"workload", workload}, {"found", found});
    *found = NULL;
    const ot_answer *a = NULL;
    int status = ot_answer_record(o, workload, &a, err);
    if (status < 0)
        return status;
    if (ot_choice_measured(&a->choice)) {
        *found = found_of(a);
        if (*found)
            return OPTUNE_OK;
        status = optune_fail(err, OPTUNE_ENOMEM, "no memory for a record");
    } else if (a->choice.unread) {
        status = optune_fail(err, a->choice.unread, "%s", a->choice.unread_why);
    } else {
        status = nothing(a, err);
    }
    ot_answer_drop(a);
    return status;
}

void optune_found_free(optune_found *found)
{
    finding *f = (finding *)found;
    if (!f)
        return;
    ot_answer_drop(f->answer);
    free(f);
}

int optune_found_json(const optune_found *found, optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"found", found}, {"result", result});
    const optune_record *r = &found->record;
    ot_text line = {0};
    ot_record_line(r, &line);
    json_t *json = json_object();
    json_object_set_new(json, "call", json_string(r->call));
    json_object_set_new(json, "impl", json_string(r->impl));
    json_object_set_new(json, "tier", json_string(found->tier));
    json_object_set_new(json, "cost", json_real(r->cost));
    json_object_set_new(json, "low", json_real(r->low));
    json_object_set_new(json, "high", json_real(r->high));
    json_object_set_new(json, "record", json_loads(ot_text_str(&line), 0, NULL));
    ot_text_release(&line);
    *result = ot_result_new(NULL, json);
    return OPTUNE_OK;
}

int optune_config_write(const optune_config *config, char *text, size_t size, optune_err *err)
{
    OT_ENTER(err, {"config", config}, {"text", text});
    ot_text all = {0};
    ot_config_print_short(config, &all);
    const bool fits = ot_copy(text, size, ot_text_str(&all));
    ot_text_release(&all);
    return fits ? OPTUNE_OK
                : optune_fail(err, OPTUNE_ELIMIT,
                              "the config's text does not fit into %zu bytes", size);
}
