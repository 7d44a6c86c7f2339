/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune tune`: tunes the kernel of a file that somebody brings, or a program, which is declared
 * in a file beside the database first. The file becomes an operator of this process and is
 * remembered beside the database; from there on it is a run like any other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tuning.h"

typedef struct tune_values {
    const char *format;
    ot_repeats knobs, sizes, where, env, reads, depends;
    const char *build, *check, *objective, *name;
    double timeout;
    bool same_output;
    ot_tuning_values how;
} tune_values;

/* An option of programs, whose value is the field of that name. */
#define OF_PROGRAM(option, field, kind, what, says)                                            \
    {                                                                                          \
        .name = option, .type = kind, .offset = offsetof(tune_values, field),                  \
        .argument = what, .help = says                                                         \
    }

static const char *const forms[] = {"header", "json", "csv", NULL};
static const ot_option options[] = {
    OF_PROGRAM("knob", knobs, OT_OPTION_REPEATS, "NAME=V,...",
               "tune the program behind --, with {NAME} in its words; repeated"),
    OF_PROGRAM("build", build, OT_OPTION_TEXT, "COMMAND", "makes the program first"),
    OF_PROGRAM("env", env, OT_OPTION_REPEATS, "NAME=VALUE", "its environment; may be repeated"),
    OF_PROGRAM("read", reads, OT_OPTION_REPEATS, "PATTERN",
               "numbers that it prints: 'took {time} s'; may be repeated"),
    OF_PROGRAM("objective", objective, OT_OPTION_TEXT, "EXPR",
               "what is minimised: time (default), 1/rate, memory ..."),
    OF_PROGRAM("check", check, OT_OPTION_TEXT, "COMMAND",
               "judges each config by its exit status, with the output on stdin"),
    OF_PROGRAM("same-output", same_output, OT_OPTION_FLAG, NULL,
               "every config has to print what the default one prints"),
    OF_PROGRAM("where", where, OT_OPTION_REPEATS, "EXPR",
               "a constraint over knobs and sizes; may be repeated"),
    OF_PROGRAM("size", sizes, OT_OPTION_REPEATS, "NAME=N",
               "a number that the workload names; may be repeated"),
    {.name = "depends",
     .type = OT_OPTION_REPEATS,
     .offset = offsetof(tune_values, depends),
     .argument = "FILE",
     .help = "an edit of it makes records stale, too; may be repeated",
     .files = true},
    {.name = "timeout",
     .type = OT_OPTION_SECONDS,
     .offset = offsetof(tune_values, timeout),
     .argument = "S",
     .help = "of one run, above 0, up to 600 (default 10)",
     .most = 600},
    OF_PROGRAM("name", name, OT_OPTION_TEXT, "NAME", "the operator's (default the program's)"),
    {.name = "format",
     .type = OT_OPTION_TEXT,
     .offset = offsetof(tune_values, format),
     .argument = "FORM",
     .help = "print the best config alone: header (C macros), json or csv",
     .values = forms},
    OT_TUNING_OPTIONS(tune_values),
};

/* What is tuned: a file, the workloads named behind it, and what was found out of each. */
typedef struct subject {
    char path[4096];
    const char *const *workloads; /* NULL: the file's own */
    optune_brought *brought;      /* of each workload */
    int n;
} subject;

/* The number of valid configs, and what is compared with what, before anything takes time. */
static void introduce(const void *arg)
{
    const subject *what = arg;
    for (int i = 0; i < what->n; i++) {
        const optune_brought *b = &what->brought[i];
        char undefined[64] = "";
        if (b->undefined)
            snprintf(undefined, sizeof undefined, " (%lld: a constraint cannot be computed)",
                     (long long)b->undefined);
        fprintf(stderr,
                "%s: %s%lld of %.15g configs are valid%s; outputs are checked against %s\n",
                what->n > 1 ? what->workloads[i] : b->op, b->counted ? "" : "more than ",
                (long long)b->valid, b->combinations, undefined, b->reference);
    }
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

static int tune(const ot_cli *cli, optune *handle, const optune_brought *b, const subject *what)
{
    const tune_values *values = cli->values;
    optune_err err = {0};
    optune_listed_preset own = {.size = sizeof own}; /* its workload may be a long one */
    if (optune_list_preset(handle, b->op, 0, &own, &err) < 0)
        return ot_say_failure(&err);
    const char *const *workloads = what->workloads ? what->workloads : own.workloads;
    optune_run_options how = {.size = sizeof(how), .op = b->op, .workloads = workloads};
    if (optune_remember(handle, what->path, &err) < 0)
        return ot_say_failure(&err);
    ot_progress_preface(introduce, what);
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
    const char *format = values->format;
    if (!format)
        return OT_EXIT_DONE;
    if (values->how.json || values->how.csv || values->how.markdown)
        return ot_say_usage(cli->cmd, "--format prints the config alone: no --json, --csv or "
                                      "--markdown beside it");
    for (int i = 0; forms[i]; i++)
        if (strcmp(format, forms[i]) == 0)
            return OT_EXIT_DONE;
    return ot_say_usage(cli->cmd, "--format is header, json or csv");
}

static const char *const *list_of(const ot_repeats *repeats)
{
    return repeats->n ? repeats->item : NULL;
}

static int declare(const ot_cli *cli, subject *what)
{
    const tune_values *v = cli->values;
    optune_err err = {0};
    const optune_command program = {
        .size = sizeof program,
        .command = cli->words,
        .knobs = list_of(&v->knobs),
        .sizes = list_of(&v->sizes),
        .where = list_of(&v->where),
        .env = list_of(&v->env),
        .reads = list_of(&v->reads),
        .depends = list_of(&v->depends),
        .build = v->build,
        .check = v->check,
        .objective = v->objective,
        .name = v->name,
        .timeout = v->timeout,
        .same_output = v->same_output,
    };
    return optune_declare(cli->globals->db, &program, what->path, sizeof what->path, &err) < 0
               ? ot_say_failure(&err)
               : OT_EXIT_DONE;
}

/* With knobs all words are a command's; without, the first is a file. */
static int find_subject(const ot_cli *cli, subject *what)
{
    const tune_values *v = cli->values;
    if (v->knobs.n)
        return declare(cli, what);
    if (v->build || v->check || v->objective || v->name || v->same_output || v->env.n ||
        v->reads.n || v->where.n || v->sizes.n || v->depends.n || v->timeout != 0)
        return ot_say_usage(cli->cmd, "these options are of a program, which has knobs: --knob "
                                      "'threads=1,2,4' -- ./app --threads {threads}");
    if (snprintf(what->path, sizeof what->path, "%s", cli->words[0]) >= (int)sizeof what->path)
        return ot_say_usage(cli->cmd, "the file's path is too long");
    what->workloads = cli->n_words > 1 ? cli->words + 1 : NULL;
    return OT_EXIT_DONE;
}

/* The file is read, once for each workload. */
static int bring(subject *what)
{
    optune_err err = {0};
    int n = 0;
    while (what->workloads && what->workloads[n])
        n++;
    what->brought = calloc((size_t)n + 1, sizeof *what->brought);
    if (!what->brought)
        return ot_say_failure(&(optune_err){OPTUNE_ENOMEM, "out of memory"});
    for (int i = 0; i == 0 || i < n; i++) {
        optune_brought *b = &what->brought[what->n++];
        b->size = sizeof *b;
        if (optune_bring(what->path, n ? what->workloads[i] : NULL, b, &err) < 0)
            return ot_say_failure(&err);
    }
    return OT_EXIT_DONE;
}

static int run(const ot_cli *cli)
{
    const tune_values *values = cli->values;
    subject what = {.workloads = NULL};
    optune_err err = {0};
    optune *handle = NULL;
    int code = ot_tuning_check(cli, &values->how);
    if (code == OT_EXIT_DONE)
        code = check_format(cli);
    if (code == OT_EXIT_DONE)
        code = find_subject(cli, &what);
    if (code == OT_EXIT_DONE)
        code = bring(&what);
    if (code == OT_EXIT_DONE)
        code = ot_open_handle(cli->globals, what.brought[0].target, &handle, &err) < 0
                   ? ot_say_failure(&err)
                   : tune(cli, handle, &what.brought[0], &what);
    optune_close(handle);
    free(what.brought);
    return code;
}

OT_CMD(tune) = {
    .name = "tune",
    .summary = "tune the kernel of a file of your own, or a program",
    .arguments = "FILE [WORKLOAD...] | --knob NAME=V,... -- COMMAND",
    .min_words = 1,
    .max_words = -1,
    .missing = "a file: C (.c), OpenCL C (.cl), CUDA (.cu), T1 (.json), a program's (.tune); "
               "or --knob and a command behind --",
    .files = true,
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
             "answers later, from any process; an edit makes its records stale.\n"
             "A program: optune tune --knob threads=1,2,4 --knob O=-O2,-O3 --build 'gcc {O} -o "
             "app\n"
             "app.c' -- ./app --threads {threads}. It is an operator of the target `program`, "
             "called\n"
             "like it: optune query 'app()' --target program.\n",
    .run = run,
};
