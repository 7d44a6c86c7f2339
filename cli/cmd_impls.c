/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune impls`: the ways to compute an operator, with the strategies that name them and the
 * digest that their records depend on. Reads tables only, never the database.
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
    return ot_print_list(cli, "impls", values->json);
}

OT_CMD(impls) = {
    .name = "impls",
    .summary = "list the implementations, or those of one operator",
    .arguments = "[OP]",
    .max_words = 1,
    .options = options,
    .values_size = sizeof(list_values),
    .run = run,
};
