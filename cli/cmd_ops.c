/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune ops`: what operators there are; with a name, everything registered about one:
 * arguments, attributes, presets, samples. Reads tables only, never the database.
 */
#include "cli/cli.h"

typedef struct list_values {
    bool json;
} list_values;

static const ot_option options[] = {
    {.name = "json",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(list_values, json),
     .help = "one JSON document instead of text"},
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const list_values *values = cli->values;
    return ot_print_list(cli, "ops", values->json);
}

OT_CMD(ops) = {
    .name = "ops",
    .summary = "list the operators, or print one in full",
    .arguments = "[NAME]",
    .max_words = 1,
    .options = options,
    .values_size = sizeof(list_values),
    .run = run,
};
