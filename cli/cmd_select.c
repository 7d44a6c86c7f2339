/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune select`: which implementation and config would be used for a workload, and why. Reads
 * the store only: it measures nothing and changes nothing.
 */
#include "cli/cli.h"

typedef struct select_values {
    bool explain, json;
} select_values;

static const ot_option options[] = {
    {.name = "explain",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(select_values, explain),
     .help = "every implementation with its cost, or why it was refused"},
    {.name = "json",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(select_values, json),
     .help = "one JSON document instead of text"},
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const select_values *values = cli->values;
    optune_err err = {0};
    optune_selection *selection = NULL;
    if (optune_select(cli->handle, cli->words[0], &selection, &err) < 0)
        return ot_say_failure(&err);
    ot_print_text(values->json ? optune_selection_json(selection)
                               : optune_selection_text(selection, values->explain));
    optune_selection_free(selection);
    return OT_EXIT_DONE;
}

OT_CMD(select) = {
    .name = "select",
    .summary = "print which implementation would be used, and why",
    .arguments = "WORKLOAD",
    .min_words = 1,
    .max_words = 1,
    .missing = "a workload, such as 'dense(f32[128,768], const f32[3072,768])'",
    .options = options,
    .values_size = sizeof(select_values),
    .notes =
        "A workload with a current record gets the fastest measured one; without a record the\n"
        "implementation of the highest priority level with its fallback config.\n",
    .run = run,
};
