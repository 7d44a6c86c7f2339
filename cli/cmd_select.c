/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune select`: which implementation and config would be used for a workload, and why. Reads
 * the store only: it measures nothing and changes nothing.
 */
#include <math.h>

#include "cli/graph_words.h"

typedef struct select_values {
    const char *graph;
    ot_graph_words words;
    bool explain, batch, json;
} select_values;

static const ot_option options[] = {
    {.name = "graph",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(select_values, graph),
     .argument = "FILE",
     .help = "for every operator of this graph instead of one workload",
     .files = true},
    OT_GRAPH_OPTIONS(select_values, words),
    {.name = "explain",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(select_values, explain),
     .help = "every implementation with its cost, or why it was refused"},
    {.name = "batch",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(select_values, batch),
     .help = OT_BATCH_HELP},
    OT_JSON_OPTION(select_values),
    {.name = NULL},
};

static int select_graph(const ot_cli *cli, const select_values *values)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    optune_partition *partition = NULL;
    int status = ot_open_graph(values->graph, &values->words, &graph, &err);
    if (status >= 0)
        status = optune_partition_open(cli->handle, graph, &partition, &err);
    if (status >= 0)
        status = optune_partition_select(partition, &err);
    if (status >= 0 && values->json)
        ot_print_text(optune_partition_json(partition));
    else if (status >= 0)
        ot_print_lines(optune_partition_text(partition, values->explain));
    optune_partition_close(partition);
    optune_graph_close(graph);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

/* What a program needs to go on; with --explain all that there is to say. */
static int answer(const ot_cli *cli, const char *workload, optune_err *err)
{
    const select_values *values = cli->values;
    optune_selection *s = NULL;
    const int status = optune_select(cli->handle, workload, &s, err);
    if (status < 0)
        return status;
    fputs("{\"workload\":", stdout);
    ot_json_text(workload, stdout);
    if (values->explain) {
        fputs(",\"answer\":", stdout);
        ot_json_line(optune_selection_json(s), stdout);
    } else {
        printf(",\"impl\":\"%s\",\"tier\":\"%s\",\"config\":%s,\"cost\":",
               optune_selection_impl(s), optune_selection_tier(s), optune_selection_config(s));
        printf(isfinite(optune_selection_cost(s)) ? "%.9g" : "null", optune_selection_cost(s));
    }
    putchar('}');
    optune_selection_free(s);
    return status;
}

static int run(const ot_cli *cli)
{
    const select_values *values = cli->values;
    if (values->batch &&
        (values->graph || cli->n_words || ot_graph_words_given(&values->words)))
        return ot_say_usage(cli->cmd, "--batch reads workloads from stdin: no word, no graph");
    if (values->batch)
        return ot_batch_run(cli, answer);
    if (!values->graph == !cli->n_words)
        return ot_say_usage(
            cli->cmd, values->graph ? "--graph FILE and a workload exclude each other"
                                    : "select needs a workload, such as 'dense(f32[128,768], "
                                      "const f32[3072,768])', or --graph FILE");
    if (values->graph)
        return select_graph(cli, values);
    if (ot_graph_words_given(&values->words))
        return ot_say_usage(cli->cmd, "--bind, --precision and --partial go with --graph");
    optune_err err = {0};
    optune_selection *selection = NULL;
    if (optune_select(cli->handle, cli->words[0], &selection, &err) < 0)
        return ot_say_failure(&err);
    if (values->json)
        ot_print_text(optune_selection_json(selection));
    else
        ot_print_lines(optune_selection_text(selection, values->explain));
    optune_selection_free(selection);
    return OT_EXIT_DONE;
}

OT_CMD(select) = {
    .name = "select",
    .summary = "print which implementation would be used, and why",
    .arguments = "WORKLOAD | --graph FILE | --batch",
    .max_words = 1,
    .list = "list",
    .options = options,
    .values_size = sizeof(select_values),
    .notes =
        "A workload with a current record gets the fastest measured one; without a record what "
        "an\n"
        "imported log of AutoTVM or Kernel Tuner recommends (`hinted`), else the "
        "implementation\n"
        "of the highest priority level with its fallback config. --log-level=info prints the\n"
        "cost of every implementation that has one, and the choice, for each operator. With\n"
        "--batch failures are lines with `status` and `error`, and the exit code is 0.\n",
    .run = run,
};
