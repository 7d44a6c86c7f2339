/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune hub`: records of other machines, in packs that a plain file server holds. Results go to
 * stdout, the bytes of a long transfer to stderr where that is a terminal.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

typedef struct hub_values {
    ot_repeats keys, ops;
    const char *key_file, *s3_region;
    bool hints, anybody, plain_http, all_devices, finals, imported, json;
} hub_values;

static const ot_option options[] = {
    {.name = "key",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(hub_values, keys),
     .argument = "K",
     .help = "add: take packs that this public key signed, also of a hub that is there; "
             "remove: none any more; may be repeated"},
    {.name = "hints",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, hints),
     .help = "add: its records start searches, and are never selected"},
    {.name = "unsigned",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, anybody),
     .help = "add: take anybody's packs, as hints"},
    {.name = "s3",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(hub_values, s3_region),
     .argument = "REGION",
     .help = "add: sign requests as S3 wants it, with AWS_ACCESS_KEY_ID and its secret"},
    {.name = "plain-http",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, plain_http),
     .help = "add: allow an http:// address"},
    {.name = "op",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(hub_values, ops),
     .argument = "OP",
     .help = "pull, push, verify: packs or records of this operator; may be repeated",
     .list = "ops"},
    {.name = "all-devices",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, all_devices),
     .help = "pull, push, verify: of every device, not of the target's alone"},
    {.name = "finals",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, finals),
     .help = "push: measurements of finalists alone"},
    {.name = "imported",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(hub_values, imported),
     .help = "push: also what was imported here"},
    {.name = "key-file",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(hub_values, key_file),
     .argument = "FILE",
     .help = "push, key: your secret key (default $OPTUNE_KEY, else optune/key in "
             "$XDG_CONFIG_HOME)",
     .files = true},
    OT_JSON_OPTION(hub_values),
    {.name = NULL},
};

static bool shown; /* something stands on the line of the terminal */

static void show(void *arg, const char *hub, int64_t done, int64_t total)
{
    enum { LEAST = 1 << 20 }; /* what is short needs no word */
    (void)arg;
    if (done < LEAST && !shown)
        return;
    if (total > 0)
        fprintf(stderr, "\r\033[K%s: %.1f of %.1f MB", hub, (double)done / 1e6,
                (double)total / 1e6);
    else
        fprintf(stderr, "\r\033[K%s: %.1f MB", hub, (double)done / 1e6);
    shown = true;
}

static int run(const ot_cli *cli)
{
    const hub_values *values = cli->values;
    const optune_hub_options wanted = {
        .size = sizeof wanted,
        .what = cli->words[0],
        .words = cli->words + 1,
        .keys = values->keys.item,
        .hints = values->hints,
        .anybody = values->anybody,
        .plain_http = values->plain_http,
        .s3_region = values->s3_region,
        .ops = values->ops.item,
        .all_devices = values->all_devices,
        .finals = values->finals,
        .imported = values->imported,
        .key_file = values->key_file,
        .progress = isatty(STDERR_FILENO) ? show : NULL,
    };
    optune_err err = {0};
    optune_result *result = NULL;
    ot_on_interrupt(cli->handle);
    const int status = optune_hub(cli->handle, &wanted, &result, &err);
    ot_on_interrupt(NULL);
    if (shown)
        fputs("\r\033[K", stderr);
    if (result)
        ot_print_result(result, values->json);
    optune_result_free(result);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

static const char *const deeds[] = {"add",  "remove", "list", "pull",
                                    "push", "verify", "key",  NULL};

OT_CMD(hub) = {
    .name = "hub",
    .summary = "share records: pull signed packs from a hub, push your own",
    .arguments = "add NAME URL | remove NAME | list [NAME] | pull [NAME] | push NAME | "
                 "verify [NAME] | key",
    .min_words = 1,
    .max_words = -1,
    .missing = "what to do: add, remove, list, pull, push, verify or key",
    .words = deeds,
    .options = options,
    .values_size = sizeof(hub_values),
    .notes =
        "A hub is files behind https:// (or file:///): any file server is one. Packs are "
        "signed;\n"
        "those of the hub's keys are taken, records that cannot be are refused one by one, "
        "and\n"
        "nothing of a pack is executed. What comes is kept apart from your own records and "
        "asked\n"
        "after them: selected where the device is of the very same kind, else a hint for "
        "searches.\n"
        "A giver that changes its key: add NAME --key NEW, and remove NAME --key OLD once all "
        "is\n"
        "signed anew. push sends what was measured here with operators of optune; kernels, "
        "programs\n"
        "and plugins of your own stay. OPTUNE_HUB_TOKEN is sent as a bearer token. Exits with "
        "1 "
        "when\n"
        "a pack or a hub was refused.\n",
    .run = run,
};
