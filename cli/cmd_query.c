/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune query`: the best current record of a workload. Never falls back to a default: when
 * there is no record, or only stale ones, it says which and exits with 3.
 */
#include "cli/cli.h"

static int run(const ot_cli *cli)
{
    const ot_json_values *values = cli->values;
    optune_err err = {0};
    optune_result *result = NULL;
    if (optune_query(cli->handle, cli->words[0], &result, &err) < 0)
        return ot_say_failure(&err);
    ot_print_result(result, values->json);
    optune_result_free(result);
    return OT_EXIT_DONE;
}

OT_CMD(query) = {
    .name = "query",
    .summary = "print the best current record of a workload",
    .arguments = "WORKLOAD",
    .min_words = 1,
    .max_words = 1,
    .missing = "a workload, such as 'dense(f32[128,768], const f32[3072,768])'",
    .options = ot_json_options,
    .values_size = sizeof(ot_json_values),
    .notes = "Exits with 3 when there is none; the message says what is stale and why.\n",
    .run = run,
};
