/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune emit`: the selected implementation as C source that builds without optune. Writes
 * into the directory that was named and nowhere else; compiles nothing.
 */
#include "cli/cli.h"

typedef struct emit_values {
    const char *output;
    bool json;
} emit_values;

static const ot_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(emit_values, output),
     .argument = "DIR",
     .help = "where the files go; made when absent"},
    OT_JSON_OPTION(emit_values),
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const emit_values *values = cli->values;
    if (!values->output)
        return ot_say_usage(cli->cmd, "emit needs a directory: -o DIR");
    optune_err err = {0};
    optune_result *result = NULL;
    if (optune_emit(cli->handle, cli->words[0], values->output, &result, &err) < 0)
        return ot_say_failure(&err);
    ot_print_result(result, values->json);
    optune_result_free(result);
    return OT_EXIT_DONE;
}

OT_CMD(emit) = {
    .name = "emit",
    .summary = "write the selected implementation as source that builds without optune",
    .arguments = "WORKLOAD -o DIR",
    .min_words = 1,
    .max_words = 1,
    .missing = "a workload, such as 'dense(f32[128,768], const f32[3072,768])'",
    .options = options,
    .values_size = sizeof(emit_values),
    .notes = "Writes the C source, its header and plan.json, and prints their names.\n",
    .run = run,
};
