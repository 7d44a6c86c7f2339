/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune graph`: reads a graph, infers every type and prints it back; or computes it with the
 * selected implementations. Stores nothing.
 */
#include "cli/graph_words.h"

typedef struct graph_values {
    ot_graph_words words;
    bool gradient, plain, groups, execute, profile, json;
} graph_values;

static const ot_option options[] = {
    OT_GRAPH_OPTIONS(graph_values, words),
    {.name = "grad",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(graph_values, gradient),
     .help = "with the gradients of its variables and constants as further outputs"},
    {.name = "plain",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(graph_values, plain),
     .help = "without the inferred types: the shortest file of the same graph"},
    {.name = "groups",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(graph_values, groups),
     .help = "what is computed as one, and its workload"},
    {.name = "execute",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(graph_values, execute),
     .help = "compute it with what is selected: errors and time instead of the graph"},
    {.name = "profile",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(graph_values, profile),
     .help = "time each group while the whole runs and by itself, beside what it was measured"},
    OT_JSON_OPTION(graph_values),
    {.name = NULL},
};

static int execute(optune_partition *partition, const graph_values *values, bool *wrong,
                   optune_err *err)
{
    optune_result *result = NULL;
    const int status = values->profile ? optune_partition_profile(partition, 1, &result, err)
                                       : optune_partition_execute(partition, 1, &result, err);
    *wrong = status == 1;
    if (status >= 0)
        ot_print_result(result, values->json);
    if (*wrong)
        ot_say("what was computed is not within its error bound");
    optune_result_free(result);
    return status;
}

static void print_groups(optune_partition *partition, bool json)
{
    if (json)
        ot_print_text(optune_partition_json(partition));
    for (int i = 0; i < optune_partition_size(partition) && !json; i++) {
        const char *place = optune_partition_place(partition, i);
        printf("%s:%s%s\n    %s\n", optune_partition_nodes(partition, i), place ? " " : "",
               place ? place : "", optune_partition_workload(partition, i));
    }
}

static int on_target(const ot_cli *cli, optune_graph *graph, bool *wrong, optune_err *err)
{
    const graph_values *values = cli->values;
    optune_partition *partition = NULL;
    int status = optune_partition_open(cli->handle, graph, &partition, err);
    if (status >= 0 && values->groups)
        print_groups(partition, values->json);
    else if (status >= 0)
        status = execute(partition, values, wrong, err);
    optune_partition_close(partition);
    return status;
}

/* The graph becomes the one that computes its gradients, too. */
static int differentiate(optune_graph **graph, optune_err *err)
{
    optune_graph *with = NULL;
    const int status = optune_graph_gradient(*graph, NULL, 0, &with, err);
    if (status < 0)
        return status;
    optune_graph_close(*graph);
    *graph = with;
    return OPTUNE_OK;
}

static int run(const ot_cli *cli)
{
    const graph_values *values = cli->values;
    optune_err err = {0};
    optune_graph *graph = NULL;
    if (values->groups + values->execute + values->profile > 1)
        return ot_say_usage(cli->cmd, "--groups, --execute and --profile exclude each other");
    bool wrong = false;
    int status = ot_open_graph(cli->words[0], &values->words, &graph, &err);
    if (status >= 0 && values->gradient)
        status = differentiate(&graph, &err);
    if (status >= 0 && (values->groups || values->execute || values->profile))
        status = on_target(cli, graph, &wrong, &err);
    else if (status >= 0)
        ot_print_text(values->json ? optune_graph_json(graph)
                                   : optune_graph_text(graph, !values->plain));
    optune_graph_close(graph);
    return status < 0 ? ot_say_failure(&err) : wrong ? OT_EXIT_FAILED : OT_EXIT_DONE;
}

OT_CMD(graph) = {
    .name = "graph",
    .summary = "check a graph of calls and print it with all its types",
    .arguments = "FILE",
    .min_words = 1,
    .max_words = 1,
    .missing = "a graph file or a model.onnx; examples/ has some, docs/formats.md the grammar",
    .files = true,
    .options = options,
    .values_size = sizeof(graph_values),
    .notes =
        "What is unknown (`?`, `?m`) is solved where consumers or producers tell it.\n"
        "With ranges --execute computes at sizes in them.\n"
        "--execute ends with 1 when what a group computes is outside its error bound, and "
        "names "
        "it.\n"
        "--grad prints a graph that computes, after the outputs, the gradient of the sum of "
        "all\n"
        "their elements with respect to every variable and constant of a floating type.\n"
        "'optune select --graph FILE' and 'optune run --graph FILE' take the same files.\n",
    .run = run,
};
