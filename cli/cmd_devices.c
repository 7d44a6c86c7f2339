/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune devices`: what was found on this machine, what is missing where nothing was, and the
 * devices that the database has records of. Their keys are what --device takes.
 */
#include "cli/cli.h"

OT_CMD(devices) = {
    .name = "devices",
    .summary = "list this machine's devices and those in the database",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = ot_list_run,
};
