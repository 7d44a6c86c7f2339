/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune searches`: the search strategies that `optune run --search` knows. Reads tables only,
 * never the database.
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
    return ot_print_list(cli, "searches", values->json);
}

OT_CMD(searches) = {
    .name = "searches",
    .summary = "list the ways to choose what to try next",
    .arguments = "",
    .max_words = 0,
    .options = options,
    .values_size = sizeof(list_values),
    .run = run,
};
