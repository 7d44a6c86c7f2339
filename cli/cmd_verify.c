/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune verify`: what is selected, measured once more. Rows go to stdout when all is over,
 * progress to stderr, as of a run.
 */
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/tuning.h"

typedef struct verify_values {
    double seconds;
    int sample, max_age;
    uint64_t seed;
    bool idle, json;
} verify_values;

static const ot_option options[] = {
    {.name = "time",
     .type = OT_OPTION_SECONDS,
     .offset = offsetof(verify_values, seconds),
     .argument = "SECONDS",
     .help = "time for all (default 150; none with --idle); 0: no limit"},
    {.name = "sample",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(verify_values, sample),
     .argument = "N",
     .help = "at most so many winners, those measured longest ago (default all)"},
    {.name = "seed",
     .type = OT_OPTION_SEED,
     .offset = offsetof(verify_values, seed),
     .argument = "N",
     .help = "the sample is drawn by this, whatever their age"},
    {.name = "max-age",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(verify_values, max_age),
     .argument = "DAYS",
     .help = "leave alone what was measured within so many days"},
    {.name = "idle",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(verify_values, idle),
     .help = "at the lowest priority, and only while the cores are idle"},
    OT_JSON_OPTION(verify_values),
    {.name = NULL},
};

/* Whatever else runs comes first; children inherit it. Who may not has the priority they have. */
static void step_back(void)
{
    const struct sched_param none = {0};
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &none);
}

static int run(const ot_cli *cli)
{
    const verify_values *values = cli->values;
    const optune_verify_options how = {
        .size = sizeof how,
        .what = cli->words,
        .seconds = values->seconds,
        .sample = values->sample,
        .seed = values->seed,
        .max_age = values->max_age,
        .idle = values->idle,
        .progress = ot_progress_show,
    };
    optune_err err = {0};
    optune_result *result = NULL;
    if (values->idle)
        step_back();
    ot_on_interrupt(cli->handle);
    const int status = optune_verify(cli->handle, &how, &result, &err);
    ot_long_ended(result, true, values->json);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

OT_CMD(verify) = {
    .name = "verify",
    .summary = "measure stored winners again: what holds, what moved and why",
    .arguments = "[OP | WORKLOAD]...",
    .max_words = -1,
    .list = "ops",
    .options = options,
    .values_size = sizeof(verify_values),
    .notes =
        "Winners of this target, device and policy are measured as the finals of a run are,\n"
        "oldest first. The new measurement counts; the older one is history, which 'select\n"
        "--explain' shows with its reason. Where a winner moved, who is selected in its place\n"
        "is measured, too. Exit codes: 0 also when something moved, 1 when a winner no longer\n"
        "computes the right thing (it is selected no more), 3 when there is nothing to "
        "verify,\n"
        "130 after Ctrl-C, with what was measured stored.\n",
    .run = run,
};
