/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune db`: what is done to the database as a whole. The logs are its truth; each deed keeps
 * them and the store in step.
 */
#include <string.h>

#include "cli/cli.h"

typedef struct db_values {
    bool mend, json;
    int history, days;
    const char *impl;
} db_values;

static const ot_option options[] = {
    {.name = "mend",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(db_values, mend),
     .help = "check: put right what is wrong, from the records and the logs"},
    {.name = "history",
     .type = OT_OPTION_AMOUNT,
     .offset = offsetof(db_values, history),
     .argument = "N",
     .help = "prune: older measurements of a workload that stay (default 64)"},
    {.name = "days",
     .type = OT_OPTION_AMOUNT,
     .offset = offsetof(db_values, days),
     .argument = "D",
     .help = "prune: failed trials of so many days stay (default 30)"},
    {.name = "impl",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(db_values, impl),
     .argument = "NAME",
     .help = "forget: only records of this implementation",
     .list = "impls"},
    OT_JSON_OPTION(db_values),
    {.name = NULL},
};

/* Days of which nothing is left: those of a moment. */
static const double MOMENT = 1e-9;

static int run(const ot_cli *cli)
{
    const db_values *values = cli->values;
    const optune_database_options wanted = {
        .size = sizeof wanted,
        .what = cli->words[0],
        .words = cli->words + 1,
        .mend = values->mend,
        .history = values->history,
        .days = values->days < 0 ? MOMENT : values->days,
        .impl = values->impl,
    };
    const bool listed = !strcmp(cli->words[0], "rebuild");
    const int most = !strcmp(cli->words[0], "forget") ? 2 : 1;
    if (!listed && cli->n_words > most)
        return ot_say_usage(cli->cmd, "db: there is one word too many");
    if (most == 2 && cli->n_words < 2)
        return ot_say_usage(cli->cmd, "db forget needs a workload");
    optune_err err = {0};
    optune_result *result = NULL;
    ot_on_interrupt(cli->handle);
    const int status = optune_database(cli->handle, &wanted, &result, &err);
    ot_on_interrupt(NULL);
    if (result)
        ot_print_result(result, values->json);
    optune_result_free(result);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

static const char *const deeds[] = {"check", "stat",   "compact", "rebuild",
                                    "prune", "forget", NULL};

OT_CMD(db) = {
    .name = "db",
    .summary = "check, count, compact, rebuild or prune the database, or forget records",
    .arguments = "check | stat | compact | rebuild [LOG...] | prune | forget WORKLOAD",
    .min_words = 1,
    .max_words = -1,
    .missing = "what to do: check, stat, compact, rebuild, prune or forget",
    .words = deeds,
    .files = true,
    .options = options,
    .values_size = sizeof(db_values),
    .notes =
        "check looks at every record and every entry of the index, and exits with 1 when\n"
        "something does not agree; what is damaged goes into quarantine with --mend, and "
        "comes\n"
        "back from the logs. compact writes the store anew while others read. rebuild makes "
        "it\n"
        "from all logs of the database, or from those named. prune removes\n"
        "measurements that newer ones of the same config replaced, and old failures, from the\n"
        "logs and the store; what decides an answer stays. forget removes the records of a\n"
        "workload for this target and device, for good.\n",
    .run = run,
};
