/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune impls`: the ways to compute an operator, with the strategies that name them and the
 * digest that their records depend on. Reads tables only, never the database.
 */
#include "cli/cli.h"

OT_CMD(impls) = {
    .name = "impls",
    .summary = "list the implementations, or those of one operator",
    .arguments = "[OP]",
    .max_words = 1,
    .list = "ops",
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = ot_list_run,
};
