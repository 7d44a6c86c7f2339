/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune targets`: the kinds of places where code can run, and the strategy keys each
 * inherits. It probes nothing: `optune devices` does.
 */
#include "cli/cli.h"

OT_CMD(targets) = {
    .name = "targets",
    .summary = "list the kinds of targets",
    .arguments = "",
    .max_words = 0,
    .options = ot_list_options,
    .values_size = sizeof(ot_list_values),
    .run = ot_list_run,
};
