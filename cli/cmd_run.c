/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune run`: tunes workloads, of one operator or of several, or all of a graph. Progress goes to
 * stderr, the final table or the JSON document to stdout. A run that was interrupted prints what it
 * has and exits with 130.
 */
#include <stdio.h>
#include <string.h>

#include "cli/graph_words.h"
#include "cli/tuning.h"

typedef struct run_values {
    const char *preset, *graph;
    ot_repeats impls;
    ot_graph_words words;
    ot_tuning_values how;
} run_values;

static const ot_option options[] = {
    {.name = "preset",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(run_values, preset),
     .argument = "NAME",
     .help = "the layers of a network, see 'optune ops OP' (default: its first)",
     .list = "ops --presets",
     .narrowed = true},
    {.name = "impl",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(run_values, impls),
     .argument = "NAME",
     .help = "only this implementation; may be repeated",
     .list = "impls",
     .narrowed = true},
    {.name = "graph",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(run_values, graph),
     .argument = "FILE",
     .help = "every distinct workload of this graph, instead of one operator's",
     .files = true},
    OT_GRAPH_OPTIONS(run_values, words),
    OT_TUNING_OPTIONS(run_values),
};

/* Whether the first word is no operator's name but a workload, which says its own operator. */
static bool is_workload(const char *word)
{
    return strchr(word, '(') != NULL;
}

/* `graph`: the partition whose workloads these are, or NULL. */
static int tune(const ot_cli *cli, const char *op, const char *const *workloads,
                optune_partition *graph)
{
    const run_values *values = cli->values;
    optune_run_options how = {
        .size = sizeof(how),
        .op = op,
        .workloads = workloads,
        .preset = values->preset,
        .impls = values->impls.n ? values->impls.item : NULL,
        .policy = graph ? optune_partition_policy(graph) : NULL,
        .graph = graph,
    };
    return ot_tuning_run(cli->handle, &values->how, &how, false);
}

static int tune_graph(const ot_cli *cli, const char *path)
{
    const run_values *values = cli->values;
    optune_err err = {0};
    optune_graph *graph = NULL;
    optune_partition *partition = NULL;
    const char *const *workloads;
    int code = OT_EXIT_DONE;
    ot_progress_show(NULL, &(optune_progress){.phase = "starting", .left = -1});
    int status = ot_open_graph(path, &values->words, &graph, &err);
    if (status >= 0)
        status = optune_partition_open(cli->handle, graph, &partition, &err);
    if (status >= 0)
        status = optune_partition_workloads(partition, &workloads, &err);
    if (status < 0)
        code = ot_say_failure(&err);
    else
        code = tune(cli, NULL, workloads, partition);
    optune_partition_close(partition);
    optune_graph_close(graph);
    return code;
}

static int run(const ot_cli *cli)
{
    const run_values *values = cli->values;
    int code = ot_tuning_check(cli, &values->how);
    if (code != OT_EXIT_DONE)
        return code;
    if (values->graph && (cli->n_words || values->preset))
        return ot_say_usage(cli->cmd,
                            "--graph names all workloads: no operator, workload or preset");
    if (values->graph)
        return tune_graph(cli, values->graph);
    if (cli->n_words == 1 && !values->preset && ot_is_file(cli->words[0]))
        return tune_graph(cli, cli->words[0]);
    if (!cli->n_words)
        return ot_say_usage(cli->cmd,
                            "run needs an operator; 'optune ops' lists them; or --graph FILE");
    if (ot_graph_words_given(&values->words))
        return ot_say_usage(cli->cmd, "--bind, --precision and --partial go with --graph");
    if (!is_workload(cli->words[0]))
        return tune(cli, cli->words[0], cli->n_words > 1 ? cli->words + 1 : NULL, NULL);
    if (values->preset)
        return ot_say_usage(cli->cmd, "--preset goes with an operator, not with workloads");
    return tune(cli, NULL, cli->words, NULL);
}

OT_CMD(run) = {
    .name = "run",
    .summary = "tune workloads of an operator and store what is measured",
    .arguments = "OP [WORKLOAD...] | WORKLOAD... | --graph FILE | FILE",
    .max_words = -1,
    .list = "ops",
    .files = true,
    .options = options,
    .values_size = sizeof(run_values),
    .notes =
        "Without a WORKLOAD the operator's default preset is taken. Ctrl-C ends the run with\n"
        "everything measured so far stored; the same command goes on where it stopped and\n"
        "measures no config twice, unless --again is given. --time T is kept to: first trials\n"
        "come first, the default's before the libraries'; then the search. Exit codes: 1 when "
        "a\n"
        "workload failed or has no time (the others are tuned, the table says why), 130 after\n"
        "Ctrl-C. The table fits the terminal, or $COLUMNS; in a pipe it is as wide as it "
        "wants.\n"
        "Groups of a graph whose dims are ranges (--bind n=1..64) get dispatch tables, as\n"
        "'optune dispatch' makes them, and are computed by these.\n",
    .run = run,
};
