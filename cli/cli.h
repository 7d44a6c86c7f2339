/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: a thin layer over optune/optune.h that knows words, exit codes and the
 * terminal, and nothing of what an operator or a record is. A command is one file,
 * cmd_<name>.c, defining one row; an option is a row of its command. Parsing, the help pages
 * and the messages for wrong words are made from the rows, so they cannot disagree with them.
 */
#ifndef OPTUNE_CLI_H
#define OPTUNE_CLI_H

#include <signal.h>
#include <stdio.h>

#include "optune/optune.h"

/* A contract: scripts rely on these. */
enum {
    OT_EXIT_DONE = 0,
    OT_EXIT_FAILED = 1,
    OT_EXIT_USAGE = 2,
    OT_EXIT_ABSENT = 3,
    OT_EXIT_NO_DEVICE = 4,
    OT_EXIT_INTERRUPTED = 130,
};

/* ---- options.c: rows to values, rows to help --------------------------------------------- */

enum { OT_MAX_REPEATS = 63 };

/* The values of an option that may be repeated, in order; item[n] is NULL. */
typedef struct ot_repeats {
    int n;
    const char *item[OT_MAX_REPEATS + 1];
} ot_repeats;

typedef enum ot_option_type {
    OT_OPTION_FLAG,    /* bool; takes no argument */
    OT_OPTION_TEXT,    /* const char * */
    OT_OPTION_REPEATS, /* ot_repeats */
    OT_OPTION_COUNT,   /* int, 1 or more */
    OT_OPTION_AMOUNT,  /* int, 0 or more; 0 becomes -1, which means none */
    OT_OPTION_SECONDS, /* double; 0 becomes -1, which means no limit, unless there is a most */
    OT_OPTION_SEED,    /* uint64_t */
    OT_OPTION_LEVEL,   /* optune_log_level */
} ot_option_type;

typedef struct ot_option {
    const char *name; /* without its dashes; NULL ends a list */
    char letter;      /* `-o` as a second spelling; 0: none */
    ot_option_type type;
    size_t offset;        /* of its value in the command's (or the global) struct */
    const char *argument; /* what it is called in help: "N"; NULL for flags */
    const char *help;     /* one line */
    double most;          /* of SECONDS, which are then above 0; 0: as many as one likes */
    /* What shells offer for the argument; nothing of these: nothing. */
    const char *list;          /* `optune LIST --names` */
    bool narrowed;             /* those of the command's first word, where it has such */
    const char *const *values; /* these, NULL-terminated */
    bool files;                /* paths */
    bool standard;             /* and `-`, which is standard output */
} ot_option;

/* Rows and the struct their offsets count from. */
typedef struct ot_option_set {
    const ot_option *rows; /* NULL: none */
    void *values;
} ot_option_set;

/* What every command accepts, before or after its name. */
typedef struct ot_globals {
    const char *target;
    const char *threads; /* as the target takes them */
    const char *device;
    const char *policy;
    const char *db;
    optune_log_level log_level;
    ot_repeats plugins;
    bool help, version;
} ot_globals;
extern const ot_option ot_global_options[];

struct ot_cmd;

typedef struct ot_cli {
    const struct ot_cmd *cmd;
    optune *handle;
    const ot_globals *globals;
    int n_words;
    const char *const
        *words;   /* what is no option, the command's name left out; NULL-terminated */
    void *values; /* the command's options, values_size bytes */
} ot_cli;

typedef struct ot_cmd {
    const char *name;
    const char *summary;           /* one line */
    const char *arguments;         /* "OP [WORKLOAD...]" */
    int min_words, max_words;      /* max negative: any number */
    const char *missing;           /* what to say when there are fewer: "an operator" */
    const char *list;              /* what its words may be, as for options; */
    const char *const *words;      /* or these, NULL-terminated; */
    bool files;                    /* or, beside a list, paths */
    const ot_option *options;      /* ends at a NULL name; NULL: none */
    size_t values_size;            /* zeroed before parsing */
    const char *notes;             /* paragraphs for its help page; NULL: none */
    bool offline;                  /* opens a handle of its own, or asks nothing of one */
    int (*run)(const ot_cli *cli); /* returns an exit code; its message is printed already */
} ot_cmd;
extern const ot_cmd *const ot_cmd_table[]; /* generated, by name; ends with NULL */

/* The option of a command whose values have `bool json`. */
#define OT_JSON_OPTION(values)                                                                 \
    {                                                                                          \
        .name = "json", .type = OT_OPTION_FLAG, .offset = offsetof(values, json),              \
        .help = "one JSON document on stdout instead of text"                                  \
    }

#define OT_CMD(id)                                                                             \
    extern const ot_cmd ot_cmd_##id;                                                           \
    const ot_cmd ot_cmd_##id

/* Consumes the option at argv[*at] and its argument. Returns 0 with *at behind it, or
 * OT_EXIT_USAGE with a message in `err`. */
int ot_options_take(const ot_option_set *set, int n_sets, char *const *argv, int *at,
                    optune_err *err);
const ot_cmd *ot_cmd_find(const char *name, optune_err *err); /* NULL: names the nearest */
void ot_help_all(void);
void ot_help_cmd(const ot_cmd *cmd);

/* ---- print.c: what people and scripts see ------------------------------------------------ */

/* `optune: <message>` on stderr. */
void ot_say(const char *format, ...) OPTUNE_PRINTF(1, 2);
/* Says a failure of the library and returns the exit code that belongs to it. */
int ot_say_failure(const optune_err *err);
/* Says what was wrong with the words and where help is; returns OT_EXIT_USAGE. */
int ot_say_usage(const ot_cmd *cmd, const char *message);
void ot_say_log(void *unused, optune_log_level level, const char *text);
/* A result to stdout, ending in a newline. */
void ot_print_text(const char *text);
void ot_print_result(const optune_result *result, bool json);
/* The same for people: on a terminal lines are broken where its width ends (lines.c). */
void ot_print_lines(const char *text);
void ot_print_lines_within(const char *text, int width);
/* Columns that a table on stdout may have: the terminal's; 0: it is none, as wide as it wants. */
int ot_output_width(void);
/* What a command takes whose one option is --json. */
typedef struct ot_json_values {
    bool json;
} ot_json_values;
extern const ot_option ot_json_options[];
/* The form of a result of rows. */
typedef struct ot_form {
    bool json, csv, markdown, names;
} ot_form;
/* A row of a command whose values have `ot_form form`; of these, as many as make sense. */
#define OT_FORM_OPTION(values, field, text)                                                    \
    {                                                                                          \
        .name = #field, .type = OT_OPTION_FLAG, .offset = offsetof(values, form.field),        \
        .help = text                                                                           \
    }
#define OT_FORM_OPTIONS(values)                                                                \
    OT_FORM_OPTION(values, json, "one JSON document on stdout instead of text"),               \
        OT_FORM_OPTION(values, csv, "a table of comma-separated values"),                      \
        OT_FORM_OPTION(values, markdown, "a table in Markdown")
/* Prints it, or says what is wrong; an exit code. */
int ot_print_form(const ot_cli *cli, const optune_result *result, const ot_form *form);
typedef struct ot_list_values {
    ot_form form;
} ot_list_values;
extern const ot_option ot_list_options[];
/* Commands that list a table are their row, these, and what lays it out as text: the other forms
 * are optune_list's of the command's own name. The first word (NULL: none) narrows it. */
int ot_list_run(const ot_cli *cli,
                int (*print)(optune *handle, const char *name, optune_err *err));
/* Flushes stdout; a reader that went away is fine, a full disk is not. */
int ot_print_finish(int code);
/* ---- out.c: stdout, in which the first refusal is kept ------------------------------------- */
void ot_out_open(void);
/* Flushes; says what was refused, and why, unless nobody reads any more. The exit code then. */
int ot_out_close(int code);

/* ---- options.c: which records ------------------------------------------------------------ */
/* Those of the operator that is the first word, if there is one, of `impl` (NULL: any), and of what
 * the global options name. */
optune_export_options ot_wanted_records(const ot_cli *cli, const char *impl);

/* ---- batch.c: many questions, an answer a line ------------------------------------------- */
/* Prints the answer of one line as JSON on one line, without its end; or nothing, and fails. */
typedef int (*ot_batch_answer)(const ot_cli *cli, const char *workload, optune_err *err);
int ot_batch_run(const ot_cli *cli, ot_batch_answer answer);
void ot_json_text(const char *text, FILE *to); /* as a JSON string, quotes included */
void ot_json_line(const char *json,
                  FILE *to); /* a document without its line ends and indents */
#define OT_BATCH_HELP "a workload a line on stdin, a line of JSON for each on stdout"

/* The progress of a run on stderr: one line rewritten in place on a terminal, else a plain line
 * per change of workload or phase. `board`: an ot_board (board.h), whose table stands above the
 * line; in a pipe a plain line every 10 s, too; NULL: none. ot_progress_end removes what is
 * live. */
void ot_progress_show(void *board, const optune_progress *progress);
/* What is said in front of the first progress, so of nothing that is refused before it begins. */
void ot_progress_preface(void (*tell)(const void *arg), const void *arg);
void ot_progress_end(void);
/* "41.3 us 812 GFLOP/s", or without the rate where `flops` is 0. */
void ot_best_text(double best, double flops, char *to, size_t size);
/* The parts of the live line that fit into `width` columns; never longer. */
/* `picture`: of the best so far, in UTF-8, a column a letter; "": none. */
void ot_progress_line(const optune_progress *progress, const char *picture, int width, char *to,
                      size_t size);

/* ---- main.c ------------------------------------------------------------------------------ */

/* A handle as the global options say; `target` where they name none. */
int ot_open_handle(const ot_globals *globals, const char *target, optune **handle,
                   optune_err *err);
/* While `handle` is not NULL the first Ctrl-C asks its run to end, and the second one exits. */
void ot_on_interrupt(optune *handle);
/* cut.c: from now on a file that is cut off while it is read in memory is named on stderr, and ends
 * this process as what failed. */
void ot_tell_cuts(void);
/* In a handler: says so and ends the command where the signal is that of such a file. */
void ot_end_by_cut(const siginfo_t *info);
/* crash.c: from now on a plugin whose code ends this process is named on stderr. */
void ot_tell_crashes(const ot_globals *globals);

#endif
