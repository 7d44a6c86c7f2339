/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune devices`: what was found on this machine, what is missing where nothing was, and the
 * devices that the database has records of. Their keys are what --device takes.
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
    return ot_print_list(cli, "devices", values->json);
}

OT_CMD(devices) = {
    .name = "devices",
    .summary = "list this machine's devices and those in the database",
    .arguments = "",
    .max_words = 0,
    .options = options,
    .values_size = sizeof(list_values),
    .run = run,
};
