/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune report`: what is stored of workloads, of an operator, of a kernel of one's own or of all
 * of a graph, as one page to look at. Measures nothing.
 */
#include <string.h>

#include "cli/graph_words.h"

typedef struct report_values {
    const char *graph, *tune, *output;
    ot_graph_words words;
    bool json;
} report_values;

static const ot_option options[] = {
    {.name = "graph",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(report_values, graph),
     .argument = "FILE",
     .help = "every operator of this graph",
     .files = true},
    OT_GRAPH_OPTIONS(report_values, words),
    {.name = "tune",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(report_values, tune),
     .argument = "NAME|FILE",
     .help = "a kernel of one's own, as 'optune tune' knows it",
     .files = true},
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(report_values, output),
     .argument = "FILE",
     .help = "the page (default report.html)",
     .files = true},
    OT_JSON_OPTION(report_values),
    {.name = NULL},
};

static int give(const ot_cli *cli, optune_report_options *how)
{
    const report_values *values = cli->values;
    const char *path = values->output ? values->output : "report.html";
    optune_err err = {0};
    optune_result *result = NULL;
    size_t bytes = 0;
    how->size = sizeof(*how);
    int status = optune_report(cli->handle, how, &result, &err);
    if (status >= 0 && values->json)
        ot_print_result(result, true);
    else if (status >= 0)
        status = optune_report_write(optune_result_json(result), path, &bytes, &err);
    if (status >= 0 && !values->json)
        printf("%s%s: %zu kB\n", optune_result_text(result), path, (bytes + 999) / 1000);
    optune_result_free(result);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

static int of_graph(const ot_cli *cli)
{
    const report_values *values = cli->values;
    optune_err err = {0};
    optune_graph *graph = NULL;
    const char *slash = strrchr(values->graph, '/');
    optune_report_options how = {.title = slash ? slash + 1 : values->graph};
    int status = ot_open_graph(values->graph, &values->words, &graph, &err);
    if (status >= 0)
        status = optune_partition_open(cli->handle, graph, &how.partition, &err);
    const int code = status < 0 ? ot_say_failure(&err) : give(cli, &how);
    optune_partition_close(how.partition);
    optune_graph_close(graph);
    return code;
}

/* A path is read; anything else is the name of an operator. */
static int of_kernel(const ot_cli *cli, const char *name)
{
    optune_err err = {0};
    optune_brought brought = {.size = sizeof brought};
    if (!strpbrk(name, "./"))
        return give(cli, &(optune_report_options){.op = name, .title = name});
    if (optune_bring(name, NULL, &brought, &err) < 0)
        return ot_say_failure(&err);
    return give(cli, &(optune_report_options){.op = brought.op, .title = name});
}

static int run(const ot_cli *cli)
{
    const report_values *values = cli->values;
    if (!!values->graph + !!values->tune + !!cli->n_words != 1)
        return ot_say_usage(cli->cmd,
                            "report needs one of: workloads, an operator, --graph FILE, "
                            "--tune NAME");
    if (ot_graph_words_given(&values->words) && !values->graph)
        return ot_say_usage(cli->cmd, "--bind, --precision and --partial go with --graph");
    if (values->graph)
        return of_graph(cli);
    if (values->tune)
        return of_kernel(cli, values->tune);
    if (cli->n_words == 1 && !strchr(cli->words[0], '('))
        return give(cli, &(optune_report_options){.op = cli->words[0], .title = cli->words[0]});
    return give(cli, &(optune_report_options){.workloads = cli->words});
}

OT_CMD(report) = {
    .name = "report",
    .summary = "draw what is stored of workloads or of a graph: one HTML file",
    .arguments = "WORKLOAD... | OP | --graph FILE | --tune NAME",
    .max_words = -1,
    .list = "ops",
    .options = options,
    .values_size = sizeof(report_values),
    .notes =
        "The page opens offline and holds its data as JSON, too. Of a workload: the best so "
        "far\n"
        "against the time spent, the finalists' samples, the time by each knob and which "
        "knobs\n"
        "matter, the roofline where the peak is known, failures by kind; of a graph also the "
        "time\n"
        "of every layer. Charts are drawn by Chart.js, embedded from where it is installed "
        "(the\n"
        "package libjs-chart.js, or the file that OPTUNE_CHART_JS names). Nothing is "
        "measured.\n",
    .run = run,
};
