/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune searches`: the search strategies that `optune run --search` knows. Reads tables only,
 * never the database.
 */
#include "cli/cli.h"

static int print(optune *handle, const char *name, optune_err *err)
{
    (void)name;
    int status;
    optune_listed_search row = {.size = sizeof row};
    for (int i = 0; (status = optune_list_search(handle, i, &row, err)) == OPTUNE_OK; i++)
        printf("%-12s %s\n", row.name, row.summary);
    return status;
}

static int run(const ot_cli *cli)
{
    return ot_list_run(cli, print);
}

OT_CMD(searches) = {
    .name = "searches",
    .summary = "list the ways to choose what to try next",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = run,
};
