/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From outcome to record: the one place where a trial is written down. The log comes first, then
 * the store, so that a store that refuses never loses a measurement.
 */
#include <math.h>
#include <string.h>

#include "tuner/transfer.h"

/* AutoTVM's `input`: [target, task, args, kwargs]. */
static char *task_text(const optune_task *task, const optune_impl *impl, ot_arena *arena)
{
    ot_text target = {0};
    if (!ot_target_to_tvm(task->target, task->device, &target))
        ot_target_print(task->target, true, &target);
    json_t *input = json_pack("[s,s,o,{}]", ot_text_str(&target), impl->name,
                              ot_task_args(task->call, impl));
    char *text = input ? json_dumps(input, JSON_COMPACT) : NULL;
    json_decref(input);
    ot_text_release(&target);
    char *copy = ot_arena_copy(arena, text);
    free(text);
    return copy;
}

void ot_run_host(const ot_run *run, ot_text *to)
{
    ot_cpu_state(run->watch.root, run->watch.n ? run->watch.core[0] : 0, to);
}

/* What was measured after an edit is no record of what the run began with. */
static int check_unchanged(const ot_run *run, const optune_impl *impl, optune_err *err)
{
    char text[2048];
    optune_err own = {0};
    const optune_target_row *row = run->o->row;
    return row->dependencies && row->dependencies(&run->o->target, impl, text, sizeof text,
                                                  &own) == OPTUNE_ECONFLICT
               ? optune_fail(err, OPTUNE_ECONFLICT, "%s", own.text)
               : OPTUNE_OK;
}

/* What is measured now comes behind what was measured before, also where a clock was set back
 * since: else it would be taken for the older one, and overtaken for ever. */
static double time_of(ot_run *run, const optune_record *record)
{
    static const double DAY_S = 86400, TICK_S = 1e-6;
    const double now = ot_unix_time();
    ot_store *store;
    const unsigned turn = ot_context_enter(run->o);
    const double before = ot_context_reader(run->o, &store, NULL, NULL) >= 0
                              ? ot_store_newest(store, record,
                                                ot_policy_is_graph(record->policy))
                              : -INFINITY;
    ot_context_leave(run->o, turn);
    if (before < now)
        return now;
    if (before > now + DAY_S)
        ot_context_warn_once(
            run->o,
            "%s was measured before by a clock %.0f days ahead of this machine's: what is "
            "measured now is dated behind that, so that it counts; once the clock is right, "
            "`optune db forget '%s'` removes what has wrong dates",
            record->call, (before - now) / DAY_S, record->call);
    return fmax(before + TICK_S, nextafter(before, INFINITY));
}

int ot_record_trial(ot_run *run, const ot_contender *who, const ot_trial_result *result,
                    double seconds, bool final, optune_err *err)
{
    const optune_task *task = who->task;
    const optune_impl *impl = who->impl;
    optune_task at = *task;
    OT_RETURN_UNLESS_OK(check_unchanged(run, impl, err));
    ot_arena arena = {0};
    if (who->at)
        at.call = who->at;
    ot_question question;
    ot_context_question(run->o, task, &question, &arena);
    const char *depends = ot_context_depends(run->o, impl, who->policy, &arena);
    ot_text host = {0};
    ot_run_host(run, &host);
    char digest[33];
    ot_call_digest(task, impl, digest);
    optune_record record = {
        .call = question.call,
        .op = task->call->op->name,
        .target = question.target,
        .device = question.device,
        .policy = who->policy ? who->policy : question.policy,
        .impl = impl->name,
        .digest = digest,
        .config = *who->config,
        .depends = depends ? depends : "",
        .final = final,
        .all_cost = seconds,
        .tool = "optune " OT_VERSION,
        .task = task_text(&at, impl, &arena),
        .source = "run",
        .host = ot_arena_copy(&arena, ot_text_str(&host)),
    };
    ot_text_release(&host);
    ot_trial_result_put(result, &record);
    record.time = time_of(run, &record);
    if (result->outcome != OPTUNE_OUTCOME_OK)
        record.cost = INFINITY;
    if (run->transfer)
        ot_transfer_add(run->transfer, &record, true);
    int status = ot_log_append(run->log, &record, err);
    if (status >= 0 && run->extra_log)
        status = ot_log_append(run->extra_log, &record, err);
    optune_err refused = {0};
    if (status >= 0)
        status = ot_log_sync(run->log, err); /* the log is the truth: it comes first */
    if (status >= 0 && ot_context_put(run->o, &record, 1, NULL, &refused) < 0)
        status = optune_fail(
            err, refused.status,
            "%s; the logs under '%s/logs' have everything, and the next run or import "
            "stores it once this is mended",
            refused.text, run->o->db);
    ot_arena_release(&arena);
    run->broken = run->broken || status < 0;
    return status;
}
