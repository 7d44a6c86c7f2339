/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune tune`: tunes the kernel of a file that somebody brings. The file becomes an operator
 * of this process and is remembered beside the database; from there on it is a run like any other.
 */
#include <stdio.h>
#include <string.h>

#include "cli/tuning.h"

typedef struct tune_values {
    const char *format;
    ot_tuning how;
} tune_values;

static const ot_option options[] = {
    {.name = "format",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(tune_values, format),
     .argument = "FORM",
     .help = "print the best config alone: header (C macros), json or csv"},
    OT_TUNING_OPTIONS(tune_values),
};

/* The number of valid configs, and what is compared with what, before anything takes time. */
static void introduce(const optune_brought *b)
{
    char undefined[64] = "";
    if (b->undefined)
        snprintf(undefined, sizeof undefined, " (%lld: a constraint cannot be computed)",
                 (long long)b->undefined);
    fprintf(stderr, "%s: %s%lld of %.15g configs are valid%s; outputs are checked against %s\n",
            b->op, b->counted ? "" : "more than ", (long long)b->valid, b->combinations,
            undefined, b->reference);
}

static int print_best(optune *handle, const char *const *workloads, const char *format)
{
    for (int i = 0; workloads[i]; i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        if (optune_best_config(handle, workloads[i], format, &result, &err) < 0)
            return ot_say_failure(&err);
        ot_print_text(optune_result_text(result));
        optune_result_free(result);
    }
    return OT_EXIT_DONE;
}

static int tune(const ot_cli *cli, optune *handle, const optune_brought *b)
{
    const tune_values *values = cli->values;
    optune_err err = {0};
    const char *const own[] = {b->workload, NULL};
    const char *const *workloads = cli->n_words > 1 ? cli->words + 1 : own;
    optune_run_options how = {.size = sizeof(how), .op = b->op, .workloads = workloads};
    if (optune_remember(handle, cli->words[0], &err) < 0)
        return ot_say_failure(&err);
    const int code = ot_tuning_run(handle, &values->how, &how, values->format != NULL);
    if (!values->format || values->how.compile_only ||
        (code != OT_EXIT_DONE && code != OT_EXIT_INTERRUPTED))
        return code;
    const int printed = print_best(handle, workloads, values->format);
    return code == OT_EXIT_DONE ? printed : code;
}

static int check_format(const ot_cli *cli)
{
    const tune_values *values = cli->values;
    static const char *const forms[] = {"header", "json", "csv"};
    const char *format = values->format;
    if (!format)
        return OT_EXIT_DONE;
    if (values->how.json || values->how.csv || values->how.markdown)
        return ot_say_usage(cli->cmd, "--format prints the config alone: no --json, --csv or "
                                      "--markdown beside it");
    for (int i = 0; i < 3; i++)
        if (strcmp(format, forms[i]) == 0)
            return OT_EXIT_DONE;
    return ot_say_usage(cli->cmd, "--format is header, json or csv");
}

static int run(const ot_cli *cli)
{
    const tune_values *values = cli->values;
    const char *file = cli->words[0];
    optune_brought b = {.size = sizeof b};
    optune_err err = {0};
    optune *handle = NULL;
    int code = ot_tuning_check(cli, &values->how);
    if (code == OT_EXIT_DONE)
        code = check_format(cli);
    if (code != OT_EXIT_DONE)
        return code;
    for (int i = 0; i == 0 || (cli->n_words > 1 && i < cli->n_words - 1); i++) {
        b = (optune_brought){.size = sizeof b};
        if (optune_bring(file, cli->n_words > 1 ? cli->words[i + 1] : NULL, &b, &err) < 0)
            return ot_say_failure(&err);
        introduce(&b);
    }
    code = ot_open_handle(cli->globals, b.target, &handle, &err) < 0 ? ot_say_failure(&err)
                                                                     : tune(cli, handle, &b);
    optune_close(handle);
    return code;
}

OT_CMD(tune) = {
    .name = "tune",
    .summary = "tune the kernel of a file of your own",
    .arguments = "FILE [WORKLOAD...]",
    .min_words = 1,
    .max_words = -1,
    .missing = "a file: C (.c), OpenCL C (.cl), CUDA (.cu) or T1 (.json)",
    .options = options,
    .values_size = sizeof(tune_values),
    .offline = true,
    .notes = "The file says in comments which knobs, constraints, arguments and launch its "
             "kernel has:\n"
             "    // optune: kernel scale(x: f32[N], out y: f32[N])\n"
             "    // optune: size N = 1000000\n"
             "    // optune: knob UNROLL = [1, 2, 4, 8]\n"
             "docs/tune.md has all of it. Knobs and sizes are macros in the source. Without a "
             "WORKLOAD\n"
             "the file's sizes are taken. The target is the file's language's unless --target "
             "names\n"
             "one. The file is remembered beside the database: `optune query "
             "'scale(f32[1000000])'`\n"
             "answers later, from any process; an edit makes its records stale.\n",
    .run = run,
};
