/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of itself while it goes on, and which failures end it. */
#include <math.h>

#include "tuner/tuning.h"

void ot_run_report(ot_run *run, const char *phase, const char *note)
{
    if (!run->options->progress)
        return;
    run->progress.phase = phase;
    run->progress.note = note;
    run->progress.failures = run->failures;
    run->progress.left = isfinite(run->end) ? fmax(0, run->end - ot_now()) : -1;
    run->options->progress(run->options->progress_arg, &run->progress);
}

/* Whatever else befalls a workload is its own problem: the others go on. */
bool ot_run_ends_all(const ot_run *run, int status)
{
    return status == OPTUNE_EINTERRUPTED || status == OPTUNE_ETOOL ||
           status == OPTUNE_ECONFLICT || run->broken ||
           (run->builder && ot_builder_refused(run->builder));
}

bool ot_run_is_late(const ot_run *run, int status)
{
    return status == OPTUNE_EINTERRUPTED && !ot_context_stopped(run->o) && run->until > 0 &&
           ot_now() >= run->until;
}

void ot_run_fail_alone(ot_run *run, ot_tuned *tuned, const optune_err *err)
{
    tuned->failed = true;
    ot_copy(tuned->problem, sizeof tuned->problem, err->text);
    ot_run_report(run, run->progress.phase ? run->progress.phase : "preparing", tuned->problem);
}
