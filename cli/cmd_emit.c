/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune emit`: the selected implementation of a workload, or a whole graph with what is selected
 * for each of its groups, as C source that builds without optune. Writes into the directory that
 * was named and nowhere else; compiles nothing.
 */
#include "cli/graph_words.h"

typedef struct emit_values {
    const char *output, *graph, *name;
    ot_graph_words words;
    bool random_weights, force, json;
} emit_values;

static const ot_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(emit_values, output),
     .argument = "DIR",
     .help = "where the files go; made when absent",
     .files = true},
    {.name = "graph",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(emit_values, graph),
     .argument = "FILE",
     .help = "a whole graph or model.onnx instead of one workload",
     .files = true},
    OT_GRAPH_OPTIONS(emit_values, words),
    {.name = "name",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(emit_values, name),
     .argument = "NAME",
     .help = "of the graph: NAME.c, NAME_run() ... (default model)"},
    {.name = "random-weights",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(emit_values, random_weights),
     .help = "made-up elements for constants of the graph that have none"},
    {.name = "force",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(emit_values, force),
     .help = "write the graph into a directory with files of others, which stay"},
    OT_JSON_OPTION(emit_values),
    {.name = NULL},
};

static int emit_graph(const ot_cli *cli, optune_result **result, optune_err *err)
{
    const emit_values *values = cli->values;
    optune_graph *graph = NULL;
    optune_partition *partition = NULL;
    int status = ot_open_graph(values->graph, &values->words, &graph, err);
    if (status >= 0)
        status = optune_partition_open(cli->handle, graph, &partition, err);
    if (status >= 0 && values->random_weights)
        status = optune_graph_fill(graph, 1, err);
    if (status >= 0)
        status = optune_partition_emit(partition, values->output, values->name, values->force,
                                       result, err);
    optune_partition_close(partition);
    optune_graph_close(graph);
    return status;
}

static int run(const ot_cli *cli)
{
    const emit_values *values = cli->values;
    optune_err err = {0};
    optune_result *result = NULL;
    if (!values->output)
        return ot_say_usage(cli->cmd, "emit needs a directory: -o DIR");
    if (!values->graph && !cli->n_words)
        return ot_say_usage(cli->cmd,
                            "emit needs a workload, such as 'dense(f32[128,768], const "
                            "f32[3072,768])', or --graph FILE");
    if (values->graph && cli->n_words)
        return ot_say_usage(cli->cmd, "--graph names all workloads: no workload beside it");
    if (!values->graph && (ot_graph_words_given(&values->words) || values->name ||
                           values->random_weights || values->force))
        return ot_say_usage(cli->cmd, "--bind, --precision, --partial, --name, "
                                      "--random-weights and --force go with --graph");
    ot_on_interrupt(cli->handle);
    const int status =
        values->graph ? emit_graph(cli, &result, &err)
                      : optune_emit(cli->handle, cli->words[0], values->output, &result, &err);
    ot_on_interrupt(NULL);
    if (status < 0)
        return ot_say_failure(&err);
    ot_print_result(result, values->json);
    optune_result_free(result);
    return OT_EXIT_DONE;
}

OT_CMD(emit) = {
    .name = "emit",
    .summary = "write what is selected as source that builds without optune",
    .arguments = "WORKLOAD -o DIR | --graph FILE -o DIR",
    .max_words = 1,
    .list = "list",
    .options = options,
    .values_size = sizeof(emit_values),
    .notes =
        "Writes the C source, its header and plan.json, and prints their names.\n"
        "Of a graph: NAME.c and NAME.h (open, run in any number of threads, close), a file a\n"
        "kernel, NAME.weights, which is mapped, main.c, which times it, Makefile, "
        "CMakeLists.txt\n"
        "and emitted.json. The directory is written whole or not at all. Implementations that\n"
        "call a library give way to the best of our own, which is said. Of dims that are "
        "ranges\n"
        "(--bind n=1..64) a run is told the sizes. docs/emit.md has more.\n",
    .run = run,
};
