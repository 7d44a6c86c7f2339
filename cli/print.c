/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people and scripts see: messages and progress on stderr, answers on stdout. Never asks
 * the library anything. The one idea: live lines, one or a table's, are the last on the screen;
 * whoever writes to stderr takes them away first, and the next progress draws them anew.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/board.h"
#include "cli/cli.h"
#include "cli/spark.h"

static int lines_shown; /* the cursor is in the last one */

/* To the start of the first live line. */
static void go_up(void)
{
    if (lines_shown > 1)
        fprintf(stderr, "\033[%dA", lines_shown - 1);
    fputs("\r", stderr);
}

static void clear_line(void)
{
    if (lines_shown) {
        go_up();
        fputs(lines_shown > 1 ? "\033[J" : "\033[K", stderr);
    }
    lines_shown = 0;
}

/* Colours are for a terminal that has them, where nobody said otherwise (no-color.org). */
static bool is_colored(int file)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return isatty(file) && term && strcmp(term, "dumb") != 0 && !(no && *no);
}

static const char RED[] = "\033[1;31m", YELLOW[] = "\033[1;33m", PLAIN[] = "";

static void say(const char *color, const char *format, va_list list)
{
    clear_line();
    const bool colored = *color && is_colored(STDERR_FILENO);
    fprintf(stderr, "%soptune:%s ", colored ? color : "", colored ? "\033[0m" : "");
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

static void say_as(const char *color, const char *format, ...) OPTUNE_PRINTF(2, 3);
static void say_as(const char *color, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(color, format, list);
    va_end(list);
}

void ot_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(PLAIN, format, list);
    va_end(list);
}

int ot_say_failure(const optune_err *err)
{
    say_as(RED, "%s", err->text[0] ? err->text : "failed");
    switch (err->status) {
    case OPTUNE_EUSAGE:
    case OPTUNE_ESYNTAX:
    case OPTUNE_ETYPE:
        return OT_EXIT_USAGE;
    case OPTUNE_ENOENT:
        return OT_EXIT_ABSENT;
    case OPTUNE_ENODEV:
        return OT_EXIT_NO_DEVICE;
    case OPTUNE_EINTERRUPTED:
        return OT_EXIT_INTERRUPTED;
    default:
        return OT_EXIT_FAILED;
    }
}

int ot_say_usage(const ot_cmd *cmd, const char *message)
{
    say_as(RED, "%s", message);
    if (cmd)
        fprintf(stderr, "usage: optune %s%s%s%s; see 'optune %s --help'\n", cmd->name,
                *cmd->arguments ? " " : "", cmd->arguments, cmd->options ? " [options]" : "",
                cmd->name);
    else
        fputs("usage: optune COMMAND [arguments] [options]; see 'optune --help'\n", stderr);
    return OT_EXIT_USAGE;
}

void ot_say_log(void *unused, optune_log_level level, const char *text)
{
    (void)unused;
    static const char *const name[] = {"error", "warning", "info", "debug"};
    int i = level >= OPTUNE_LOG_ERROR && level <= OPTUNE_LOG_DEBUG ? (int)level : 0;
    const char *color = i == OPTUNE_LOG_ERROR ? RED : i == OPTUNE_LOG_WARNING ? YELLOW : PLAIN;
    say_as(color, "%s: %s", name[i], text);
}

void ot_print_text(const char *text)
{
    size_t n = strlen(text);
    fwrite(text, 1, n, stdout);
    if (n && text[n - 1] != '\n')
        fputc('\n', stdout);
}

void ot_print_result(const optune_result *result, bool json)
{
    if (json)
        ot_print_text(optune_result_json(result));
    else
        ot_print_lines(optune_result_text(result));
}

const ot_option ot_json_options[] = {
    OT_JSON_OPTION(ot_json_values),
    {.name = NULL},
};

const ot_option ot_list_options[] = {
    OT_FORM_OPTIONS(ot_list_values),
    OT_FORM_OPTION(ot_list_values, names, "what each is called, one a line"),
    {.name = NULL},
};

int ot_print_form(const ot_cli *cli, const optune_result *result, const ot_form *form)
{
    const char *as = form->csv ? "csv" : form->markdown ? "markdown" : "names";
    optune_result *table = NULL;
    optune_err err = {0};
    if (form->json + form->csv + form->markdown + form->names > 1)
        return ot_say_usage(cli->cmd, "only one form of output at a time");
    if (!form->csv && !form->markdown && !form->names)
        ot_print_result(result, form->json);
    else if (optune_result_table(result, as, &table, &err) < 0)
        return ot_say_failure(&err);
    else
        fputs(optune_result_text(table), stdout);
    optune_result_free(table);
    return OT_EXIT_DONE;
}

/* What `print` says, as lines of the terminal's. */
static int list_text(const ot_cli *cli,
                     int (*print)(optune *handle, const char *name, optune_err *err),
                     const char *name)
{
    char *text = NULL;
    size_t size = 0;
    optune_err err = {0};
    FILE *const out = stdout, *const all = open_memstream(&text, &size);
    if (all)
        stdout = all;
    const int status = print(cli->handle, name, &err);
    stdout = out;
    if (all && fclose(all) == 0)
        ot_print_lines(text);
    free(text);
    return status < 0 ? ot_say_failure(&err) : OT_EXIT_DONE;
}

int ot_list_run(const ot_cli *cli,
                int (*print)(optune *handle, const char *name, optune_err *err))
{
    const ot_form *form = &((const ot_list_values *)cli->values)->form;
    const char *name = cli->n_words ? cli->words[0] : NULL;
    optune_err err = {0};
    optune_result *result = NULL;
    if (!form->json && !form->csv && !form->markdown && !form->names)
        return list_text(cli, print, name);
    if (optune_list(cli->handle, cli->cmd->name, name, &result, &err) < 0)
        return ot_say_failure(&err);
    const int code = ot_print_form(cli, result, form);
    optune_result_free(result);
    return code;
}

int ot_print_finish(int code)
{
    clear_line();
    return ot_out_close(code);
}

/* ---- progress ---------------------------------------------------------------------------- */

static void print_seconds(double s, char *to, size_t size)
{
    if (s < 1e-3)
        snprintf(to, size, "%.4g us", s * 1e6);
    else if (s < 1)
        snprintf(to, size, "%.4g ms", s * 1e3);
    else
        snprintf(to, size, "%.4g s", s);
}

static void print_left(double s, char *to, size_t size)
{
    long whole = s < 1e9 ? (long)(s + 0.5) : 1000000000L;
    if (whole >= 3600)
        snprintf(to, size, "%ld:%02ld:%02ld left", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(to, size, "%ld:%02ld left", whole / 60, whole % 60);
}

void ot_best_text(double best, double flops, char *to, size_t size)
{
    char time[32], rate[48] = "";
    print_seconds(best, time, sizeof time);
    if (flops > 0)
        snprintf(rate, sizeof rate, " %.*f GFLOP/s", flops / best < 1e11 ? 2 : 0,
                 flops / best * 1e-9);
    snprintf(to, size, "%s%s", time, rate);
}

/* "41.3 us 812 GFLOP/s dense_pack.x86"; empty when nothing was good yet. */
static void print_best(const optune_progress *p, bool with_impl, char *to, size_t size)
{
    to[0] = 0;
    if (!(p->best > 0) || !isfinite(p->best))
        return;
    char best[80];
    if (p->unitless)
        snprintf(best, sizeof best, "%.4g", p->best);
    else
        ot_best_text(p->best, p->flops, best, sizeof best);
    bool named = with_impl && p->best_impl;
    snprintf(to, size, "%s%s%s", best, named ? " " : "", named ? p->best_impl : "");
}

enum { PARTS = 8, PART_SIZE = 160, NARROWEST = 40 };

/* In the order they are shown; when there is no room the least important goes first. */
typedef struct part {
    int importance;
    char text[PART_SIZE];
} part;

/* Columns that a text takes: bytes that go on with a letter take none. */
static int columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void ot_progress_line(const optune_progress *p, const char *picture, int width, char *to,
                      size_t size)
{
    part parts[PARTS] = {
        {.importance = 9}, {.importance = 8}, {.importance = 7}, {.importance = 3},
        {.importance = 4}, {.importance = 6}, {.importance = 5}, {.importance = 1},
    };
    char best[PART_SIZE - 8] = "";
    if (p->call) {
        snprintf(parts[0].text, PART_SIZE, "%d/%d %s", p->workload, p->workloads,
                 p->phase ? p->phase : "");
        if (p->trials > 0)
            snprintf(parts[1].text, PART_SIZE, "trial %d/%d", p->trial, p->trials);
        print_best(p, false, best, sizeof best);
    } else { /* of no workload, so no figure is of one */
        snprintf(parts[0].text, PART_SIZE, "%s", p->phase ? p->phase : "");
    }
    if (best[0])
        snprintf(parts[2].text, PART_SIZE, "best %s", best);
    if (best[0] && p->best_impl)
        snprintf(parts[4].text, PART_SIZE, "%s", p->best_impl);
    if (best[0])
        snprintf(parts[3].text, PART_SIZE, "%s", picture);
    if (p->failures > 0)
        snprintf(parts[5].text, PART_SIZE, "%d failed", p->failures);
    if (p->left >= 0)
        print_left(p->left, parts[6].text, PART_SIZE);
    if (p->call)
        snprintf(parts[7].text, PART_SIZE, "%s", p->call);

    int room = width < (int)size - 1 ? width : (int)size - 1;
    for (;;) {
        int length = 0, shown = 0, least = -1;
        for (int i = 0; i < PARTS; i++) {
            if (!parts[i].text[0])
                continue;
            length += columns(parts[i].text) + (shown++ ? 2 : 0);
            if (least < 0 || parts[i].importance < parts[least].importance)
                least = i;
        }
        if (length <= room || shown <= 1)
            break;
        /* What remains of the workload's text is still of use; of the others it is not. */
        int rest = room - (length - (int)strlen(parts[least].text));
        if (parts[least].importance == 1 && rest >= 16)
            memcpy(parts[least].text + rest - 3, "...", 4);
        else
            parts[least].text[0] = 0;
    }
    /* Only the last one left may be too wide, and it is plain. */
    int n = 0, taken = 0;
    to[0] = 0;
    for (int i = 0; i < PARTS && taken < room && n < (int)size - 1; i++) {
        if (!parts[i].text[0])
            continue;
        const int letters = columns(parts[i].text), bytes = (int)strlen(parts[i].text);
        const int fits = letters == bytes && letters > room - taken ? room - taken : bytes;
        n += snprintf(to + n, size - (size_t)n, "%s%.*s", n ? "  " : "", fits, parts[i].text);
        taken += letters + 2;
    }
}

/* Of the terminal that this file is; 0: it does not say. */
static int width_of(int file)
{
    struct winsize window;
    return ioctl(file, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

static int terminal_width(void)
{
    const int width = width_of(STDERR_FILENO);
    return width > 0 ? width : 80;
}

static int terminal_height(void)
{
    struct winsize window;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row ? window.ws_row : 24;
}

int ot_output_width(void)
{
    if (!isatty(STDOUT_FILENO))
        return 0;
    /* Who sets it means it; below this a table is no table. */
    const char *columns = getenv("COLUMNS");
    const int asked = columns ? atoi(columns) : 0, told = width_of(STDOUT_FILENO);
    const int width = asked > 0 ? asked : told > 0 ? told : 80;
    return width < NARROWEST ? NARROWEST : width;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void show_plain(const optune_progress *p)
{
    char best[PART_SIZE];
    if (!p->call) { /* of no workload, so no figure is of one */
        fprintf(stderr, "%s\n", p->phase);
        return;
    }
    print_best(p, true, best, sizeof best);
    fprintf(stderr, "workload %d of %d: %s: %s", p->workload, p->workloads, p->phase, p->call);
    if (p->trial > 0)
        fprintf(stderr, ", %d trial%s", p->trial, p->trial == 1 ? "" : "s");
    if (best[0])
        fprintf(stderr, ", best %s", best);
    if (p->failures > 0)
        fprintf(stderr, ", %d failed", p->failures);
    fputc('\n', stderr);
}

static bool is_terminal(void)
{
    static int live = -1;
    if (live < 0) {
        const char *term = getenv("TERM");
        live = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    }
    return live;
}

/* The table of a watched run, in place; how many lines. A line at the screen's bottom stays free
 * of it, since what scrolled away cannot be drawn again. */
static int draw_table(const ot_board *board, int width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return 0;
    const int n = ot_board_print(board, width, terminal_height() - 2, ot_spark_fits(), to);
    fclose(to);
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1)
        fprintf(stderr, "%.*s\033[K\n", (int)(end - line), line);
    free(text);
    return n;
}

static void draw(const optune_progress *p, const ot_spark *spark, const ot_board *board,
                 bool waiting)
{
    char line[512], picture[OT_SPARK_SIZE] = "";
    if (ot_spark_fits())
        ot_spark_print(spark, picture);
    /* One column stays free: a terminal wraps after its last one. */
    int width = terminal_width() - 1;
    if (waiting)
        snprintf(line, width < (int)sizeof(line) ? (size_t)width + 1 : sizeof(line), "%s",
                 p->note);
    else
        ot_progress_line(p, picture, width, line, sizeof(line));
    go_up();
    const int table = board ? draw_table(board, width) : 0;
    fprintf(stderr, "%s\033[K%s", line, board ? "\033[J" : "");
    fflush(stderr);
    lines_shown = table + 1;
}

/* The first word, before anything is known of the work. */
static void show_start(void)
{
    static const char text[] = "starting: looking at this machine and its libraries";
    if (!is_terminal()) {
        fprintf(stderr, "%s\n", text);
        return;
    }
    clear_line();
    fprintf(stderr, "\r%.*s\033[K", terminal_width() - 1, text);
    fflush(stderr);
    lines_shown = 1;
}

/* Of a watched run in a pipe. */
static const double EVERY_S = 10;

static void (*preface)(const void *arg);
static const void *preface_arg;

void ot_progress_preface(void (*tell)(const void *arg), const void *arg)
{
    preface = tell;
    preface_arg = arg;
}

void ot_progress_show(void *arg, const optune_progress *p)
{
    if (preface)
        preface(preface_arg);
    preface = NULL;
    ot_board *board = arg;
    static int last_workload, waited_at;
    static char last_phase[32];
    static double drawn;
    static ot_spark spark;
    const char *phase = p->phase ? p->phase : "";
    /* Waiting comes and goes between trials, with a new note each time: it is no change of phase,
     * and worth one plain line a workload. Any other note is told when it comes. */
    bool waiting = strcmp(phase, "waiting") == 0 && p->note;
    if (p->workload != last_workload)
        spark = (ot_spark){0};
    ot_spark_add(&spark, p->trial, p->best);
    if (board)
        ot_board_add(board, p);
    bool changed = !waiting && (p->workload != last_workload || strcmp(phase, last_phase) != 0);
    if (changed) {
        last_workload = p->workload;
        snprintf(last_phase, sizeof last_phase, "%s", phase);
    }
    if (p->note && (!waiting || (!is_terminal() && waited_at != p->workload)))
        ot_say("%s", p->note);
    if (waiting)
        waited_at = p->workload;
    if (strcmp(phase, "done") == 0)
        return;
    if (p->workload < 1) {
        if (changed)
            show_start();
        return;
    }
    if (!is_terminal()) {
        if (!changed && !(board && now() - drawn >= EVERY_S))
            return;
        show_plain(p);
        drawn = now();
        return;
    }
    if (!changed && lines_shown && now() - drawn < (board ? 0.3 : 0.1))
        return;
    draw(p, &spark, board, waiting);
    drawn = now();
}

void ot_progress_end(void)
{
    clear_line();
}
