/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a share of the peak is a share of: measured once for a device at a number of threads, and
 * remembered in the database's folder, so that two runs compare with the same figure and a short
 * one need not spend its time on it.
 *
 * The one idea: a peak is the most that was ever seen, so a kernel that beats it shows that it was
 * measured at a bad moment: then it is measured again. What was measured while the machine was
 * shared is shown, and measured again by the next run.
 */
#include <math.h>
#include <string.h>

#include "answer/figures.h"
#include "tuner/tune.h"

enum { TRIES = 2 };
static const double AMPLE_S = 10;      /* a run this long has the time at its beginning */
static const double COSTS_S = 0.5;     /* about what a measurement takes */
static const double OF_THE_REST = 0.1; /* of the run's time, for one more try */
static const double MOST = 0.25;       /* of it at most, whatever the machine does meanwhile */
static const double DOUBTFUL = 1.25; /* a kernel this far beyond has not been measured right */

static void recall(ot_run *run)
{
    const ot_peak_known known = ot_peak_recall(run->o);
    run->peak =
        (ot_peaks){.flops = known.flops, .bandwidth = known.bandwidth, .tensor = known.tensor};
    run->peak_settled = known.settled;
    run->peak_told = known.told;
}

static void remember(const ot_run *run)
{
    char path[4096 + 64];
    ot_text target = {0};
    optune_err err = {0};
    ot_peak_path(run->o, path, sizeof path);
    ot_target_print(&run->o->target, true, &target);
    json_t *json = json_pack("{s:i, s:s, s:s, s:f, s:f, s:f, s:b, s:f}", "optune_peak",
                             (int)OT_PEAK_VERSION, "device", run->o->device.key, "target",
                             ot_text_str(&target), "flops", run->peak.flops, "bandwidth",
                             run->peak.bandwidth, "tensor", run->peak.tensor, "disturbed",
                             (int)!run->peak_settled, "time", ot_unix_time());
    char *text = json_dumps(json, JSON_INDENT(2));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int status = ot_make_dirs(path, &err);
    *slash = '/';
    if (status >= 0)
        status = ot_write_file(path, text, strlen(text), &err);
    if (status < 0)
        ot_context_log(run->o, OPTUNE_LOG_INFO, "the peak is not remembered: %s", err.text);
    free(text);
    json_decref(json);
    ot_text_release(&target);
}

static void measure(ot_run *run)
{
    optune_err err = {0};
    int status = OPTUNE_OK;
    const double began = ot_now();
    run->until = began + MOST * (run->end - began);
    for (int tries = 1; tries <= TRIES && status >= 0; tries++) {
        ot_peaks now = {0};
        run->watch.sum = (ot_disturbance){0};
        status = ot_worker_peak(run->worker, &now, &err);
        if (status < 0)
            break;
        run->peak.flops = fmax(run->peak.flops, now.flops);
        run->peak.bandwidth = fmax(run->peak.bandwidth, now.bandwidth);
        run->peak.tensor = fmax(run->peak.tensor, now.tensor);
        if (now.tensor_why[0])
            ot_context_log(run->o, OPTUNE_LOG_INFO, "the peak of tensor cores is not known: %s",
                           now.tensor_why);
        run->peak_settled = !ot_disturbed(&run->watch.sum);
        const double each = (ot_now() - began) / tries;
        if (run->peak_settled || each > OF_THE_REST * (run->end - ot_now()))
            break;
    }
    run->until = 0;
    if (status < 0)
        ot_context_log(run->o, OPTUNE_LOG_INFO, "the peak is not known: %s", err.text);
    else
        remember(run);
}

void ot_peak_begin(ot_run *run)
{
    const char *untold = ot_peak_untold();
    recall(run);
    if (untold)
        ot_context_log(run->o, OPTUNE_LOG_WARNING, "%s", untold);
    if (!run->peak_told && (!run->peak_settled || run->options->again) &&
        run->end - ot_now() > AMPLE_S)
        measure(run);
}

void ot_peak_end(ot_run *run, double fastest, const char *whose)
{
    const bool may = !run->peak_told && !ot_context_stopped(run->o) && !run->broken &&
                     ot_now() + COSTS_S < run->end;
    if (may && (run->peak.flops == 0 || fastest > run->peak.flops))
        measure(run);
    if (run->peak.flops > 0 && fastest > run->peak.flops * DOUBTFUL)
        ot_context_log(run->o, OPTUNE_LOG_WARNING,
                       "%s computes %.0f GFLOP/s, and the peak %s is %.0f: %s", whose,
                       fastest * 1e-9, run->peak_told ? "of OPTUNE_PEAK" : "measured here",
                       run->peak.flops * 1e-9,
                       run->peak_told ? "it is too small"
                                      : "one of the two was measured at a bad moment; --again "
                                        "measures both once more");
    if (run->peak.flops > 0)
        run->peak.flops = fmax(run->peak.flops, fastest);
}
