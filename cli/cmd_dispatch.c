/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune dispatch`: a workload whose dims are ranges. Tunes a few shapes, makes the table of what
 * to use where, and writes it as C; or, with --load, reads a table and answers from it without
 * measuring anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tuning.h"

typedef struct dispatch_values {
    const char *output, *search, *log, *at;
    int trials, points, regret;
    double seconds;
    uint64_t seed;
    bool no_regret, load, json;
} dispatch_values;

static const ot_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(dispatch_values, output),
     .argument = "FILE.c",
     .help = "write the table as C source, with its header and FILE.json beside it",
     .files = true},
    {.name = "points",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(dispatch_values, points),
     .argument = "N",
     .help = "shapes to tune, at most (default 8)"},
    {.name = "trials",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(dispatch_values, trials),
     .argument = "N",
     .help = "trials per shape, shared among its implementations (default 48)"},
    {.name = "time",
     .type = OT_OPTION_SECONDS,
     .offset = offsetof(dispatch_values, seconds),
     .argument = "SECONDS",
     .help = "time for all of it (default 240); 0: no limit"},
    {.name = "regret",
     .type = OT_OPTION_COUNT,
     .offset = offsetof(dispatch_values, regret),
     .argument = "N",
     .help = "compare N other shapes with tuning of their own (default 4)"},
    {.name = "no-regret",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(dispatch_values, no_regret),
     .help = "compare none"},
    {.name = "search",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(dispatch_values, search),
     .argument = "NAME",
     .help = "how configs are chosen (default forest), see 'optune searches'",
     .list = "searches"},
    {.name = "seed",
     .type = OT_OPTION_SEED,
     .offset = offsetof(dispatch_values, seed),
     .argument = "N",
     .help = "of the search (default 0)"},
    {.name = "log",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(dispatch_values, log),
     .argument = "FILE",
     .help = "also append every record to this file",
     .files = true},
    {.name = "load",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(dispatch_values, load),
     .help = "measure nothing: print the table of a workload, or of a file"},
    {.name = "at",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(dispatch_values, at),
     .argument = "SIZES",
     .help = "with --load: print what is used for m=100 or b=4,m=100"},
    OT_JSON_OPTION(dispatch_values),
    {.name = NULL},
};

/* "b=4,m=100" in any order, each dim once. */
static bool read_sizes(const optune_dispatch *d, const char *text, int64_t *size)
{
    const int n = optune_dispatch_dims(d);
    int given = 0;
    for (int i = 0; i < n; i++) {
        const char *name = optune_dispatch_dim(d, i), *p = text;
        const size_t length = strlen(name);
        while (p && !(strncmp(p, name, length) == 0 && p[length] == '=')) {
            p = strchr(p, ',');
            p = p ? p + 1 : NULL;
        }
        char *end = NULL;
        if (p)
            size[i] = strtoll(p + length + 1, &end, 10);
        given += p && end > p + length + 1 && (*end == ',' || !*end);
    }
    int words = 1;
    for (const char *p = text; *p; p++)
        words += *p == ',';
    return given == n && words == n;
}

static int answer(const ot_cli *cli, const optune_dispatch *d, const char *at)
{
    int64_t size[OPTUNE_MAX_SYMBOLS];
    char line[2 * OPTUNE_TEXT_SIZE];
    if (!read_sizes(d, at, size))
        return ot_say_usage(cli->cmd, "--at needs one size for each dim: --at m=100");
    const int row = optune_dispatch_select(d, size);
    if (row < 0) {
        ot_say("%s is outside the table's ranges", at);
        return OT_EXIT_ABSENT;
    }
    snprintf(line, sizeof line, "row %d: %s %s", row, optune_dispatch_impl(d, row),
             optune_dispatch_config(d, row));
    ot_print_text(line);
    return OT_EXIT_DONE;
}

static int load(const ot_cli *cli, const dispatch_values *values)
{
    optune_err err = {0};
    optune_dispatch *d = NULL;
    int code = OT_EXIT_DONE;
    if (optune_dispatch_open(cli->handle, cli->words[0], &d, &err) < 0)
        return ot_say_failure(&err);
    if (values->at)
        code = answer(cli, d, values->at);
    else if (values->json)
        ot_print_text(optune_dispatch_json(d));
    else
        ot_print_lines(optune_dispatch_text(d));
    optune_dispatch_close(d);
    return code;
}

static int run(const ot_cli *cli)
{
    const dispatch_values *values = cli->values;
    if (values->load)
        return load(cli, values);
    if (values->at)
        return ot_say_usage(cli->cmd, "--at goes with --load");
    const optune_dispatch_options how = {
        .size = sizeof(how),
        .workload = cli->words[0],
        .output = values->output,
        .search = values->search,
        .trials = values->trials,
        .seconds = values->seconds,
        .points = values->points,
        .regret = values->no_regret ? -1 : values->regret,
        .seed = values->seed,
        .log = values->log,
        .progress = ot_progress_show,
    };
    optune_err err = {0};
    optune_result *result = NULL;
    ot_on_interrupt(cli->handle);
    const int status = optune_dispatch_tune(cli->handle, &how, &result, &err);
    ot_long_ended(result, true, values->json);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

OT_CMD(dispatch) = {
    .name = "dispatch",
    .summary = "tune a workload with ranges; write a table of what to use where, as C",
    .arguments = "WORKLOAD [-o FILE.c] | --load WORKLOAD|FILE",
    .min_words = 1,
    .max_words = 1,
    .missing =
        "a workload with ranges, such as 'dense(f32[?m:1..4096,768], const f32[3072,768])'",
    .files = true,
    .options = options,
    .values_size = sizeof(dispatch_values),
    .notes =
        "Every trial is stored: an interrupted command goes on where it stopped. The table is\n"
        "kept in the database, where optune_dispatch_open finds it by its workload.\n",
    .run = run,
};
