/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option rows at work: words to values, rows to help pages, and messages that name the nearest
 * spelling. Knows no option by name. Values are written at a row's offset, so a new option
 * is a row and a field, and its help and its error messages come by themselves.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MAX_NAMES = 64, HELP_COLUMN = 24 };

static const char *const level_names[] = {
    [OPTUNE_LOG_ERROR] = "error",
    [OPTUNE_LOG_WARNING] = "warning",
    [OPTUNE_LOG_INFO] = "info",
    [OPTUNE_LOG_DEBUG] = "debug",
};
enum { LEVELS = sizeof level_names / sizeof level_names[0] };
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const policies[] = {"warm", "cold", "model-128M", NULL};

const ot_option ot_global_options[] = {
    {.name = "target",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(ot_globals, target),
     .argument = "T",
     .help = "where to run: 'cpu -threads=2', 'cuda', 'opencl'; see 'optune help targets'",
     .list = "targets"},
    {.name = "threads",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(ot_globals, threads),
     .argument = "N",
     .help = "shorthand for '-threads=N' in the target"},
    {.name = "device",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(ot_globals, device),
     .argument = "KEY",
     .help = "answer for this stored device instead of this machine",
     .list = "devices"},
    {.name = "policy",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(ot_globals, policy),
     .argument = "P",
     .help = "warm (default), cold, model-<N>M: in one of N MiB, graph-<HEX>: in that one",
     .values = policies},
    {.name = "db",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(ot_globals, db),
     .argument = "DIR[:DIR...]",
     .help = "database; others are read after it (default $OPTUNE_DB, else "
             "$XDG_DATA_HOME/optune)",
     .files = true},
    {.name = "plugin",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(ot_globals, plugins),
     .argument = "PATH",
     .help = "load a plugin; may be repeated (default $OPTUNE_PLUGINS)",
     .files = true},
    {.name = "log-level",
     .type = OT_OPTION_LEVEL,
     .offset = offsetof(ot_globals, log_level),
     .argument = "L",
     .help = "error, warning, info or debug (default warning)",
     .values = levels},
    {.name = "help",
     .letter = 'h',
     .type = OT_OPTION_FLAG,
     .offset = offsetof(ot_globals, help),
     .help = "print help and exit"},
    {.name = "version",
     .type = OT_OPTION_FLAG,
     .offset = offsetof(ot_globals, version),
     .help = "print the version and exit"},
    {.name = NULL},
};

/* ---- words to values --------------------------------------------------------------------- */

static int usage(optune_err *err, const char *format, const char *a, const char *b)
{
    err->status = OPTUNE_EUSAGE;
    snprintf(err->text, sizeof err->text, format, a, b);
    return OT_EXIT_USAGE;
}

/* Whole text, decimal, no sign, no overflow: strtoull alone would take "-1" and " 1". */
static bool read_unsigned(const char *text, uint64_t *value)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end = NULL;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0;
}

static int store_level(const char *text, optune_log_level *level, optune_err *err)
{
    for (int i = 0; i < LEVELS; i++)
        if (strcmp(text, level_names[i]) == 0) {
            *level = (optune_log_level)i;
            return 0;
        }
    const char *nearest = optune_nearest(text, level_names, LEVELS);
    if (nearest)
        return usage(err, "no log level '%s'; did you mean '%s'?", text, nearest);
    return usage(err, "no log level '%s'; there are error, warning, info and debug%s", text,
                 "");
}

/* A text as it may stand: `-` is no file's name, lest one be made that is hard to be rid of. */
static int check_text(const ot_option *row, const char *spelling, const char *text,
                      optune_err *err)
{
    if (!*text)
        return usage(err, "option '%s' needs %s, not an empty text", spelling, row->argument);
    if (row->files && !row->standard && strcmp(text, "-") == 0)
        return usage(
            err,
            "option '%s' needs %s, and neither reads nor writes a standard stream; one "
            "that is called '-' is './-'",
            spelling, row->argument);
    return 0;
}

static int count(const char *spelling, const char *text, uint64_t least, int *to,
                 optune_err *err)
{
    uint64_t number = 0;
    const bool read = read_unsigned(text, &number);
    if (*text && !text[strspn(text, "0123456789")] && (!read || number > INT32_MAX))
        return usage(err, "option '%s' takes 2147483647 at most, not '%s'", spelling, text);
    if (!read || number < least)
        return usage(err,
                     least ? "option '%s' needs a whole number of 1 or more, not '%s'"
                           : "option '%s' needs a whole number of 0 or more, not '%s'",
                     spelling, text);
    *to = (int)number;
    return 0;
}

static int store_seconds(const ot_option *row, const char *spelling, const char *text,
                         double *to, optune_err *err)
{
    char *end = NULL, wanted[64] = "0 or more";
    const double seconds = strtod(text, &end);
    const bool number = (text[0] >= '0' && text[0] <= '9') || text[0] == '.';
    if (row->most > 0)
        snprintf(wanted, sizeof wanted, "above 0 and up to %g", row->most);
    if (!number || *end || !isfinite(seconds) ||
        (row->most > 0 && (seconds <= 0 || seconds > row->most))) {
        err->status = OPTUNE_EUSAGE;
        snprintf(err->text, sizeof err->text, "option '%s' needs seconds, %s, not '%s'",
                 spelling, wanted, text);
        return OT_EXIT_USAGE;
    }
    *to = seconds > 0 ? seconds : -1;
    return 0;
}

static int store(const ot_option *row, const char *spelling, const char *text, void *values,
                 optune_err *err)
{
    void *to = (char *)values + row->offset;
    uint64_t number;
    switch (row->type) {
    case OT_OPTION_FLAG:
        *(bool *)to = true;
        return 0;
    case OT_OPTION_TEXT:
        if (check_text(row, spelling, text, err))
            return OT_EXIT_USAGE;
        *(const char **)to = text;
        return 0;
    case OT_OPTION_REPEATS: {
        ot_repeats *list = to;
        if (list->n == OT_MAX_REPEATS)
            return usage(err, "option '%s' is repeated too often%s", spelling, "");
        if (check_text(row, spelling, text, err))
            return OT_EXIT_USAGE;
        list->item[list->n++] = text;
        return 0;
    }
    case OT_OPTION_COUNT:
        return count(spelling, text, 1, to, err);
    case OT_OPTION_AMOUNT:
        if (count(spelling, text, 0, to, err))
            return OT_EXIT_USAGE;
        *(int *)to = *(int *)to ? *(int *)to : -1;
        return 0;
    case OT_OPTION_SECONDS:
        return store_seconds(row, spelling, text, to, err);
    case OT_OPTION_SEED:
        if (!read_unsigned(text, &number))
            return usage(err, "option '%s' needs a whole number of 0 or more, not '%s'",
                         spelling, text);
        *(uint64_t *)to = number;
        return 0;
    case OT_OPTION_LEVEL:
        return store_level(text, to, err);
    }
    assert(!"an option row of unknown type");
    return OT_EXIT_USAGE;
}

static bool matches(const ot_option *row, const char *name, size_t n, bool is_long)
{
    if (!is_long)
        return row->letter && n == 1 && name[0] == row->letter;
    return strlen(row->name) == n && strncmp(row->name, name, n) == 0;
}

static int unknown(const ot_option_set *set, int n_sets, const char *spelling, size_t n,
                   bool is_long, optune_err *err)
{
    const char *names[MAX_NAMES];
    int count = 0;
    for (int s = 0; s < n_sets; s++)
        for (const ot_option *row = set[s].rows; row && row->name && count < MAX_NAMES; row++)
            names[count++] = row->name;
    char word[OPTUNE_NAME_SIZE];
    snprintf(word, sizeof word, "%.*s", (int)n, spelling);
    /* `-trials` is near `--trials`: dashes are no part of the comparison. */
    const char *nearest = optune_nearest(word + strspn(word, "-"), names, count);
    if (nearest)
        return usage(err, "no option '%s'; did you mean '--%s'?", word, nearest);
    if (!is_long && strcspn(spelling, "=") > 2)
        return usage(err,
                     "no option '%s'%s; a target's own options go into its text: "
                     "--target 'cpu -threads=2'",
                     word, "");
    return usage(err, "no option '%s'%s", word, "");
}

int ot_options_take(const ot_option_set *set, int n_sets, char *const *argv, int *at,
                    optune_err *err)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t n = strcspn(name, "=");
    for (int s = 0; s < n_sets; s++)
        for (const ot_option *row = set[s].rows; row && row->name; row++) {
            if (!matches(row, name, n, is_long))
                continue;
            char spelling[OPTUNE_NAME_SIZE];
            snprintf(spelling, sizeof spelling, "%.*s", (int)(name + n - word), word);
            const char *text = name[n] == '=' ? name + n + 1 : NULL;
            (*at)++;
            if (row->type == OT_OPTION_FLAG) {
                if (text)
                    return usage(err, "option '%s' takes no argument, but got '%s'", spelling,
                                 text);
            } else if (!text) {
                text = argv[*at];
                /* The next option is hardly meant as a value; `--opt=--text` says it is. */
                if (!text || strncmp(text, "--", 2) == 0)
                    return usage(err, "option '%s' needs an argument, %s", spelling,
                                 row->argument);
                (*at)++;
            }
            return store(row, spelling, text, set[s].values, err);
        }
    return unknown(set, n_sets, word, (size_t)(name + n - word), is_long, err);
}

const ot_cmd *ot_cmd_find(const char *name, optune_err *err)
{
    const char *names[MAX_NAMES];
    int n = 0;
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        if (strcmp((*cmd)->name, name) == 0)
            return *cmd;
        if (n < MAX_NAMES)
            names[n++] = (*cmd)->name;
    }
    const char *nearest = optune_nearest(name, names, n);
    if (nearest)
        usage(err, "no command '%s'; did you mean '%s'?", name, nearest);
    else
        usage(err, "no command '%s'%s", name, "");
    return NULL;
}

/* ---- rows to help ------------------------------------------------------------------------ */

/* Help is read by people wherever it goes: through a pager it has the usual width. */
static int help_width(void)
{
    const int width = ot_output_width();
    return width ? width : 80;
}

/* At blanks, further lines beginning where the first one does. */
static void print_within(const char *text, int indent)
{
    const int width = help_width(), room = width >= indent + 16 ? width - indent : 0;
    while (room && strlen(text) > (size_t)room) {
        int n = room;
        while (n > 0 && text[n] != ' ')
            n--;
        if (n == 0)
            break;
        printf("%.*s\n%*s", n, text, indent, "");
        text += n + 1;
    }
    printf("%s\n", text);
}

static void print_row(const char *left, const char *right)
{
    int n = printf("  %s", left);
    if (n >= HELP_COLUMN) {
        printf("\n");
        n = 0;
    }
    printf("%*s", HELP_COLUMN - n, "");
    print_within(right, HELP_COLUMN);
}

static void print_options(const char *title, const ot_option *rows)
{
    printf("\n%s:\n", title);
    for (const ot_option *row = rows; row->name; row++) {
        char left[2 * OPTUNE_NAME_SIZE], letter[8] = "";
        if (row->letter)
            snprintf(letter, sizeof letter, "-%c, ", row->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        print_row(left, row->help);
    }
}

/* Paragraphs are filled anew; a line that begins with a blank stays one. */
static void print_notes(const char *notes)
{
    char *text = strdup(notes);
    for (char *line = text; line && *line;) {
        char *end = line + strcspn(line, "\n");
        const bool paragraph = !strchr(" \n", *line);
        while (paragraph && *end && end[1] && !strchr(" \n", end[1])) {
            *end = ' ';
            end += strcspn(end, "\n");
        }
        char *next = end + (*end == '\n');
        *end = '\0';
        if (paragraph)
            print_within(line, 0);
        else if (*line)
            ot_print_lines_within(line, help_width());
        else
            printf("\n");
        line = next;
    }
    free(text);
}

void ot_help_cmd(const ot_cmd *cmd)
{
    char usage_line[512];
    snprintf(usage_line, sizeof usage_line, "usage: optune %s%s%s%s", cmd->name,
             *cmd->arguments ? " " : "", cmd->arguments, cmd->options ? " [options]" : "");
    print_within(usage_line, 0);
    printf("\n");
    print_within(cmd->summary, 0);
    if (cmd->options)
        print_options("options", cmd->options);
    print_options("options of every command", ot_global_options);
    if (cmd->notes) {
        printf("\n");
        print_notes(cmd->notes);
    }
}

void ot_help_all(void)
{
    printf("usage: optune COMMAND [arguments] [options]\n\n"
           "Finds the fastest way to compute an operator on this machine by measuring, and\n"
           "remembers it.\n\ncommands:\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        print_row((*cmd)->name, (*cmd)->summary);
    print_row("help COMMAND", "what one command accepts");
    print_options("options of every command", ot_global_options);
    printf("\n");
    print_notes(
        "A WORKLOAD is an operator with its types, as text; what is at its default may be "
        "left\n"
        "out: 'dense(f32[128,768], const f32[3072,768])'.\n"
        "\nexit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 no such device,\n"
        "130 interrupted\n");
}

/* What --threads says is a number: a handle was opened with it. */
optune_export_options ot_wanted_records(const ot_cli *cli, const char *impl)
{
    return (optune_export_options){
        .size = sizeof(optune_export_options),
        .op = cli->n_words ? cli->words[0] : NULL,
        .impl = impl,
        .target = cli->globals->target,
        .threads = cli->globals->threads ? (int)strtol(cli->globals->threads, NULL, 10) : 0,
        .device = cli->globals->device,
        .policy = cli->globals->policy,
    };
}
