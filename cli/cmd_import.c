/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune import`: reads tuning logs, ours or AutoTVM's, Kernel Tuner's caches and T4 results, from
 * files or https addresses. One source that cannot be read, or of which nothing was taken, does not
 * keep the others out; it makes the exit code 1.
 */
#include <string.h>

#include "cli/cli.h"

/* As JSON, an array with an object for each source that could be read. */
static int run(const ot_cli *cli)
{
    const ot_json_values *values = cli->values;
    int code = OT_EXIT_DONE, n = 0;
    for (int i = 0; i < cli->n_words && code != OT_EXIT_INTERRUPTED; i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        const char *source = strcmp(cli->words[i], "-") == 0 ? "/dev/stdin" : cli->words[i];
        ot_on_interrupt(cli->handle);
        const int status = optune_import(cli->handle, source, &result, &err);
        ot_on_interrupt(NULL);
        if (result && values->json)
            ot_print_text(n++ ? "," : "[");
        if (result)
            ot_print_result(result, values->json);
        optune_result_free(result);
        if (status < 0)
            code = ot_say_failure(&err) == OT_EXIT_INTERRUPTED ? OT_EXIT_INTERRUPTED
                                                               : OT_EXIT_FAILED;
    }
    if (values->json)
        ot_print_text(n ? "]" : "[]");
    return code;
}

OT_CMD(import) = {
    .name = "import",
    .summary = "read tuning logs into the database",
    .arguments = "FILE-or-https-URL...",
    .min_words = 1,
    .max_words = -1,
    .missing = "a log: a file or an https address",
    .options = ot_json_options,
    .values_size = sizeof(ot_json_values),
    .notes =
        "Logs of ours and of AutoTVM; Kernel Tuner's caches and T4 results, whose kernel has "
        "to be\n"
        "known here by its name (optune tune FILE). '-' is a log on stdin.\n"
        "Says line by line what was not taken and why. Exits with 1 when a source could "
        "not be\n"
        "read, or when it has lines and none was taken. What was taken before Ctrl-C, or "
        "before a\n"
        "pipe to which nobody wrote for a minute, is kept.\n",
    .files = true,
    .run = run,
};
