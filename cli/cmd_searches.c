/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune searches`: the search strategies that `optune run --search` knows. Reads tables only,
 * never the database.
 */
#include "cli/cli.h"

OT_CMD(searches) = {
    .name = "searches",
    .summary = "list the ways to choose what to try next",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = ot_list_run,
};
