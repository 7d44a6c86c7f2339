/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune simulate`: how searches do on spaces that were recorded before. Measures nothing and
 * writes to no database.
 */
#include "cli/tuning.h"

typedef struct simulate_values {
    ot_repeats searches;
    int repeats, trials;
    uint64_t seed;
    bool transfer;
    const char *plot, *workload, *log;
    bool json;
} simulate_values;

static const ot_option options[] = {
    {.name = "search",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(simulate_values, searches),
     .argument = "NAME",
     .help = "a search to replay (default: that of 'optune run'); may be repeated",
     .list = "searches"},
    {.name = "repeats",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(simulate_values, repeats),
     .argument = "N",
     .help = "runs of each search on each space (default 25)"},
    {.name = "trials",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(simulate_values, trials),
     .argument = "N",
     .help = "runs of so many trials: the best of them over the best there is, no score"},
    {.name = "seed",
     .type = OT_OPTION_SEED,
     .offset = offsetof(simulate_values, seed),
     .argument = "N",
     .help = "of the first run; the others count on from it (default 0)"},
    {.name = "transfer",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(simulate_values, transfer),
     .help = "every space learns from the others of the same kernel"},
    {.name = "workload",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(simulate_values, workload),
     .argument = "W",
     .help = "on what the database has measured of this workload"},
    {.name = "log",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(simulate_values, log),
     .argument = "FILE",
     .help = "on what this log has instead, of all workloads unless one is named",
     .files = true},
    {.name = "plot",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(simulate_values, plot),
     .argument = "FILE.svg",
     .help = "draw performance over time, by gnuplot",
     .files = true},
    OT_JSON_OPTION(simulate_values),
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const simulate_values *values = cli->values;
    if (!cli->n_words && !values->workload && !values->log)
        return ot_say_usage(cli->cmd,
                            "simulate needs a recorded space, or --workload or --log");
    const optune_simulate_options how = {
        .size = sizeof(how),
        .files = cli->words,
        .searches = values->searches.n ? values->searches.item : NULL,
        .repeats = values->repeats,
        .trials = values->trials,
        .seed = values->seed,
        .transfer = values->transfer,
        .plot = values->plot,
        .workload = values->workload,
        .log = values->log,
        .progress = ot_progress_show,
    };
    optune_err err = {0};
    optune_result *result = NULL;
    ot_on_interrupt(cli->handle);
    const int status = optune_simulate(cli->handle, &how, &result, &err);
    ot_long_ended(result, true, values->json);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

OT_CMD(simulate) = {
    .name = "simulate",
    .summary = "replay searches on recorded spaces and score them",
    .arguments = "CACHE... | --workload W | --log FILE",
    .max_words = -1,
    .files = true,
    .options = options,
    .values_size = sizeof(simulate_values),
    .notes =
        "A CACHE is a Kernel Tuner cache file or T4 results, gzipped or not. The score is 0\n"
        "for random search and 1 for the optimum at once: docs/search.md.\n",
    .run = run,
};
