/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune export`: records as a tuning log, to a file or to stdout. AutoTVM reads the same
 * lines. Never changes the database.
 */
#include "cli/cli.h"

typedef struct export_values {
    bool best, json;
    const char *output;
} export_values;

static const ot_option options[] = {
    {.name = "best",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(export_values, best),
     .help = "only the best record of each device and workload"},
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(export_values, output),
     .argument = "FILE",
     .help = "write here instead of stdout"},
    OT_JSON_OPTION(export_values),
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const export_values *values = cli->values;
    if (values->json && !values->output)
        return ot_say_usage(cli->cmd, "export --json needs -o FILE: without it the log, lines "
                                      "of JSON, is what goes to stdout");
    optune_err err = {0};
    optune_result *result = NULL;
    const char *op = cli->n_words ? cli->words[0] : NULL;
    if (optune_export(cli->handle, op, values->best, values->output, &result, &err) < 0)
        return ot_say_failure(&err);
    ot_print_result(result, values->json);
    optune_result_free(result);
    return OT_EXIT_DONE;
}

OT_CMD(export) = {
    .name = "export",
    .summary = "write records as a tuning log",
    .arguments = "[OP]",
    .min_words = 0,
    .max_words = 1,
    .options = options,
    .values_size = sizeof(export_values),
    .run = run,
};
