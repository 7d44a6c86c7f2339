/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune targets`: the kinds of places where code can run, and the strategy keys each
 * inherits. It probes nothing: `optune devices` does.
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
    return ot_print_list(cli, "targets", values->json);
}

OT_CMD(targets) = {
    .name = "targets",
    .summary = "list the kinds of targets",
    .arguments = "",
    .max_words = 0,
    .options = options,
    .values_size = sizeof(list_values),
    .run = run,
};
