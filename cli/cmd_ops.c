/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune ops`: what operators there are; with a name, everything registered about one:
 * arguments, attributes, presets, samples. Reads tables only, never the database.
 */
#include "cli/cli.h"

OT_CMD(ops) = {
    .name = "ops",
    .summary = "list the operators, or print one in full",
    .arguments = "[NAME]",
    .max_words = 1,
    .list = "ops",
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = ot_list_run,
};
