/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune export`: records as a tuning log, to a file or to stdout. AutoTVM reads the same
 * lines. The global options --target, --threads, --device and --policy say which records, when
 * they are given. Never changes the database.
 */
#include <string.h>

#include "cli/cli.h"

typedef struct export_values {
    bool best, tvm, json;
    const char *impl, *output, *format;
} export_values;

static const char *const forms[] = {"t4", "kernel-tuner", NULL};
static const ot_option options[] = {
    {.name = "best",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(export_values, best),
     .help = "only what would be selected for each device, target and workload"},
    {.name = "impl",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(export_values, impl),
     .argument = "NAME",
     .help = "only records of this implementation",
     .list = "impls",
     .narrowed = true},
    {.name = "tvm",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(export_values, tvm),
     .help = "only what AutoTVM can use: its templates, measured warm"},
    {.name = "format",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(export_values, format),
     .argument = "FORM",
     .help = "t4 or kernel-tuner (a cache), of one implementation and workload",
     .values = forms},
    {.name = "output",
     .letter = 'o',
     .type = OT_OPTION_TEXT,
     .offset = offsetof(export_values, output),
     .argument = "FILE",
     .help = "write here instead of stdout, which is '-'",
     .files = true,
     .standard = true},
    OT_JSON_OPTION(export_values),
    {.name = NULL},
};

static int run(const ot_cli *cli)
{
    const export_values *values = cli->values;
    const char *path = values->output && strcmp(values->output, "-") ? values->output : NULL;
    if (values->json && !path)
        return ot_say_usage(cli->cmd, "export --json needs -o FILE: without it the log, lines "
                                      "of JSON, is what goes to stdout");
    optune_err err = {0};
    optune_result *result = NULL;
    optune_export_options wanted = ot_wanted_records(cli, values->impl);
    wanted.best = values->best;
    wanted.tvm = values->tvm;
    wanted.path = path;
    wanted.format = values->format;
    if (optune_export_records(cli->handle, &wanted, &result, &err) < 0)
        return ot_say_failure(&err);
    ot_print_result(result, values->json);
    optune_result_free(result);
    return OT_EXIT_DONE;
}

OT_CMD(export) = {
    .name = "export",
    .summary = "write records as a tuning log",
    .arguments = "[OP | WORKLOAD]",
    .min_words = 0,
    .max_words = 1,
    .list = "ops",
    .options = options,
    .values_size = sizeof(export_values),
    .notes =
        "--target, --threads, --device and --policy, when given, say which records; without\n"
        "them all are written. With --best, -libs of the target says which libraries may be\n"
        "best, as in 'optune select'.\n",
    .run = run,
};
