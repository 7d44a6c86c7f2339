/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune list`: what was tuned and what holds of it. The global options --target, --threads,
 * --device and --policy say which, when they are given.
 */
#include "cli/cli.h"

typedef struct list_values {
    ot_form form;
    const char *impl;
} list_values;

static const ot_option options[] = {
    {.name = "impl",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(list_values, impl),
     .argument = "NAME",
     .help = "only records of this implementation",
     .list = "impls",
     .narrowed = true},
    OT_FORM_OPTIONS(list_values),
    OT_FORM_OPTION(list_values, names, "the workloads alone, one a line"),
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const list_values *values = cli->values;
    const optune_export_options wanted = ot_wanted_records(cli, values->impl);
    optune_err err = {0};
    optune_result *result = NULL;
    if (optune_list_tuned(cli->handle, &wanted, ot_output_width(), &result, &err) < 0)
        return ot_say_failure(&err);
    const int code = ot_print_form(cli, result, &values->form);
    optune_result_free(result);
    return code;
}

OT_CMD(list) = {
    .name = "list",
    .summary = "list what was tuned: each workload's winner, and whether it holds",
    .arguments = "[OP | WORKLOAD]",
    .max_words = 1,
    .list = "ops",
    .options = options,
    .values_size = sizeof(list_values),
    .notes =
        "--target, --threads, --device and --policy, when given, say which; without them all are\n"
        "listed. A workload that is `stale` was measured with another body, compiler or library\n"
        "than there is now; `optune run` of it goes on from there.\n",
    .run = run,
};
