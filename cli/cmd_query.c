/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune query`: the best current record of a workload. Never falls back to a default: when
 * there is no record, or only stale ones, it says which and exits with 3.
 */
#include "cli/cli.h"

typedef struct query_values {
    bool batch;
    ot_form form;
} query_values;

static const ot_option options[] = {
    {.name = "batch",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(query_values, batch),
     .help = OT_BATCH_HELP},
    OT_FORM_OPTIONS(query_values),
    {.name = NULL},
};

static int answer(const ot_cli *cli, const char *workload, optune_err *err)
{
    optune_result *result = NULL;
    const int status = optune_query(cli->handle, workload, &result, err);
    if (status >= 0) {
        fputs("{\"workload\":", stdout);
        ot_json_text(workload, stdout);
        fputs(",\"answer\":", stdout);
        ot_json_line(optune_result_json(result), stdout);
        putchar('}');
    }
    optune_result_free(result);
    return status;
}

static int run(const ot_cli *cli)
{
    const query_values *values = cli->values;
    if (values->batch == (cli->n_words > 0))
        return ot_say_usage(cli->cmd,
                            values->batch
                                ? "--batch reads workloads from stdin and takes none as a word"
                                : "query needs a workload, such as "
                                  "'dense(f32[128,768], const f32[3072,768])', or --batch");
    if (values->batch)
        return ot_batch_run(cli, answer);
    optune_err err = {0};
    optune_result *result = NULL;
    if (optune_query(cli->handle, cli->words[0], &result, &err) < 0)
        return ot_say_failure(&err);
    const int code = ot_print_form(cli, result, &values->form);
    optune_result_free(result);
    return code;
}

OT_CMD(query) = {
    .name = "query",
    .summary = "print the best current record of a workload",
    .arguments = "WORKLOAD | --batch",
    .max_words = 1,
    .options = options,
    .values_size = sizeof(query_values),
    .notes = "Exits with 3 when there is none; the message says what is stale and why. With\n"
             "--batch failures are lines with `status` and `error`, and the exit code is 0.\n",
    .run = run,
};
