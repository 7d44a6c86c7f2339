/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune query`: the best current record of a workload. Never falls back to a default: when
 * there is no record, or only stale ones, it says which and exits with 3. With --tvm the question
 * is AutoTVM's, and so is the answer: a line of its log.
 */
#include <string.h>

#include "cli/cli.h"

typedef struct query_values {
    bool batch, tvm;
    ot_form form;
} query_values;

static const ot_option options[] = {
    {.name = "batch",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(query_values, batch),
     .help = OT_BATCH_HELP},
    {.name = "tvm",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(query_values, tvm),
     .help =
         "the workload is what AutoTVM asks, [TARGET, TEMPLATE, [ARGUMENT...], {}]; the best "
         "record of that template as a line of its log"},
    OT_FORM_OPTIONS(query_values),
    {.name = NULL},
};

/* One piece of several lines, such as what a record depends on. */
static void print_lines(const char *lines)
{
    while (lines && *lines) {
        const size_t n = strcspn(lines, "\n");
        printf("  %.*s\n", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

static void print_found(const optune_found *found)
{
    const optune_record *r = &found->record;
    char config[16384] = "";
    optune_config_write(&r->config, config, sizeof config, NULL);
    printf("%s\n  %s %s\n", r->call, r->impl, config);
    const double unit = found->minimised ? 1 : 1e-6;
    printf("  %.4g%s%s [%.4g, %.4g], %d samples", r->cost / unit,
           found->minimised ? " of " : " us", found->minimised ? found->minimised : "",
           r->low / unit, r->high / unit, r->n_samples);
    if (found->flops > 0)
        printf(", %.1f GFLOP/s", found->flops / r->cost * 1e-9);
    printf("\n  on %s, %s\n", r->device, r->target);
    print_lines(r->depends);
    if (found->doubt)
        printf("  unverified here: %s\n", found->doubt);
}

static int answer(const ot_cli *cli, const char *workload, optune_err *err)
{
    const query_values *values = cli->values;
    optune_found *found = NULL;
    optune_result *json = NULL;
    int status = values->tvm ? optune_query_tvm(cli->handle, workload, &json, err)
                             : optune_query(cli->handle, workload, &found, err);
    if (status >= 0 && !values->tvm)
        status = optune_found_json(found, &json, err);
    if (status >= 0) {
        fputs("{\"workload\":", stdout);
        ot_json_text(workload, stdout);
        fputs(",\"answer\":", stdout);
        ot_json_line(optune_result_json(json), stdout);
        putchar('}');
    }
    optune_result_free(json);
    optune_found_free(found);
    return status;
}

/* In a form for other programs; an exit code. */
static int print_document(const ot_cli *cli, const optune_found *found, const ot_form *form)
{
    optune_err err = {0};
    optune_result *json = NULL;
    if (optune_found_json(found, &json, &err) < 0)
        return ot_say_failure(&err);
    const int code = ot_print_form(cli, json, form);
    optune_result_free(json);
    return code;
}

static int print_tvm(const ot_cli *cli, const ot_form *form)
{
    optune_err err = {0};
    optune_result *line = NULL;
    int code = OT_EXIT_DONE;
    if (optune_query_tvm(cli->handle, cli->words[0], &line, &err) < 0)
        code = ot_say_failure(&err);
    else
        code = ot_print_form(cli, line, form);
    optune_result_free(line);
    return code;
}

static int run(const ot_cli *cli)
{
    const query_values *values = cli->values;
    const ot_form *form = &values->form;
    if (values->batch == (cli->n_words > 0))
        return ot_say_usage(cli->cmd,
                            values->batch
                                ? "--batch reads workloads from stdin and takes none as a word"
                                : "query needs a workload, such as "
                                  "'dense(f32[128,768], const f32[3072,768])', or --batch");
    if (values->batch)
        return ot_batch_run(cli, answer);
    if (values->tvm)
        return print_tvm(cli, form);
    if (!strchr(cli->words[0], '('))
        return ot_say_usage(cli->cmd, "query needs a whole workload, such as 'relu(f32[64,128])'; "
                                      "'optune list OP' lists those that were tuned");
    optune_err err = {0};
    optune_found *found = NULL;
    int code = OT_EXIT_DONE;
    if (optune_query(cli->handle, cli->words[0], &found, &err) < 0)
        return ot_say_failure(&err);
    if (form->json || form->csv || form->markdown)
        code = print_document(cli, found, form);
    else
        print_found(found);
    optune_found_free(found);
    return code;
}

OT_CMD(query) = {
    .name = "query",
    .summary = "print the best current record of a workload",
    .arguments = "WORKLOAD | --batch",
    .max_words = 1,
    .list = "list",
    .options = options,
    .values_size = sizeof(query_values),
    .notes = "Exits with 3 when there is none; the message says what is stale and why. With\n"
             "--batch failures are lines with `status` and `error`, and the exit code is 0.\n",
    .run = run,
};
