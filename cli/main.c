/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: reads the words, opens a handle, runs one command and turns what happened into
 * an exit code. Never measures or decides anything. Commands come from the generated table, so
 * nothing here names one.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- signals ----------------------------------------------------------------------------- */

static optune *volatile running;
static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
    (void)number;
    optune *handle = running;
    if (handle && interrupts++ == 0)
        optune_interrupt(handle);
    else
        _exit(OT_EXIT_INTERRUPTED);
}

/* A closed pipe and a file at its size limit are errors of one write, said as such. A handler
 * instead of SIG_IGN: compilers and workers must not inherit what is ignored. */
static void on_write_refused(int number)
{
    (void)number;
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction was; /* `nohup` has it ignored */
    if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_write_refused;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    ot_tell_cuts();
}

void ot_on_interrupt(optune *handle)
{
    running = handle;
}

/* A standard stream that is closed would be the next file that is opened, a lock of the database's,
 * say, and what is said would be written into that. What takes its place refuses as it did. */
static void hold_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* ---- one command ------------------------------------------------------------------------- */

/* What the user's target is with `--threads` in it, as one word, whatever it is: the target says
 * which numbers it takes. free() it. */
static char *target_text(const ot_globals *globals, const char *otherwise)
{
    const char *target = globals->target ? globals->target : otherwise;
    const char *threads = globals->threads ? globals->threads : "";
    size_t size = strlen(target) + strlen(threads) + 32;
    char *text = malloc(size);
    if (!text)
        return NULL;
    if (*threads)
        snprintf(text, size, "%s -threads='%s'", target, threads);
    else
        snprintf(text, size, "%s", target);
    return text;
}

int ot_open_handle(const ot_globals *globals, const char *target, optune **handle,
                   optune_err *err)
{
    char *text = target_text(globals, target);
    if (!text) {
        snprintf(err->text, sizeof err->text, "out of memory");
        return err->status = OPTUNE_ENOMEM;
    }
    const optune_options options = {
        .size = sizeof options,
        .target = text,
        .db = globals->db,
        .device = globals->device,
        .policy = globals->policy,
        .plugins = globals->plugins.n ? globals->plugins.item : NULL,
        .log_level = globals->log_level,
        .log = ot_say_log,
    };
    const int status = optune_open(&options, handle, err);
    free(text);
    return status;
}

static int execute(const ot_cmd *cmd, ot_cli *cli)
{
    optune_err err = {0};
    int code = OT_EXIT_DONE;
    ot_tell_crashes(cli->globals);
    if (cmd->offline)
        code = cmd->run(cli);
    else if (ot_open_handle(cli->globals, "cpu", &cli->handle, &err) < 0)
        code = ot_say_failure(&err);
    else
        code = cmd->run(cli);
    optune_close(cli->handle);
    return code;
}

/* ---- words ------------------------------------------------------------------------------- */

static int check_words(const ot_cmd *cmd, const ot_cli *cli)
{
    char message[OPTUNE_ERR_SIZE];
    if (cli->n_words < cmd->min_words)
        snprintf(message, sizeof message, "%s needs %s", cmd->name, cmd->missing);
    else if (cmd->max_words >= 0 && cli->n_words > cmd->max_words)
        snprintf(message, sizeof message, "%s: '%s' is one word too many", cmd->name,
                 cli->words[cmd->max_words]);
    else
        return OT_EXIT_DONE;
    return ot_say_usage(cmd, message);
}

/* Reads all words: options of every command anywhere, a command's own behind its name. On
 * success *cmd may be NULL, when there was none. */
static int read_words(char **argv, const ot_cmd **cmd, ot_globals *globals, ot_cli *cli,
                      const char **words)
{
    ot_option_set set[2] = {{ot_global_options, globals}};
    optune_err err = {0};
    bool only_words = false;
    for (int i = 1; argv[i];) {
        const char *word = argv[i];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && word[0] == '-' && word[1]) {
            if (ot_options_take(set, *cmd ? 2 : 1, argv, &i, &err))
                return ot_say_usage(*cmd, err.text);
        } else if (!*cmd && !globals->help && strcmp(word, "help") == 0) {
            globals->help = true;
            i++;
        } else if (!*cmd) {
            *cmd = ot_cmd_find(word, &err);
            if (!*cmd)
                return ot_say_usage(NULL, err.text);
            cli->cmd = *cmd;
            cli->values = calloc(1, (*cmd)->values_size + 1);
            if (!cli->values) {
                ot_say("out of memory");
                return OT_EXIT_FAILED;
            }
            set[1] = (ot_option_set){(*cmd)->options, cli->values};
            i++;
        } else {
            words[cli->n_words++] = word;
            i++;
        }
    }
    return OT_EXIT_DONE;
}

/* ---- the stack --------------------------------------------------------------------------- */

enum { STACK_WANTED = 8 << 20, STACK_SMALL = 1 << 20, STACK_LEAST = 768 << 10 };

/* A limit too small for compilers, threads and this program is raised where that is allowed, and
 * the program begins anew, since threads take what held at its start. False: it cannot run so. */
static bool has_stack(char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_SMALL)
        return true;
    const rlim_t before = limit.rlim_cur;
    const struct rlimit more = {STACK_WANTED, limit.rlim_max > STACK_WANTED ? limit.rlim_max
                                                                            : STACK_WANTED};
    limit.rlim_cur = limit.rlim_max < STACK_WANTED ? limit.rlim_max : STACK_WANTED;
    if (setrlimit(RLIMIT_STACK, &more) == 0 ||
        (limit.rlim_cur > before && setrlimit(RLIMIT_STACK, &limit) == 0))
        execv("/proc/self/exe", argv);
    if (before >= STACK_LEAST)
        return true;
    ot_say("the stack is limited to %llu KiB, and %d are needed: ulimit -s %d",
           (unsigned long long)before >> 10, STACK_LEAST >> 10, STACK_WANTED >> 10);
    return false;
}

int main(int argc, char **argv)
{
    hold_closed_streams();
    if (!has_stack(argv))
        return OT_EXIT_FAILED;
    install_handlers();
    ot_out_open();
    ot_globals globals = {.log_level = OPTUNE_LOG_WARNING};
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    ot_cli cli = {.globals = &globals, .words = words};
    if (!words) {
        ot_say("out of memory");
        return OT_EXIT_FAILED;
    }
    const ot_cmd *cmd = NULL;
    int code = read_words(argv, &cmd, &globals, &cli, words);
    if (code != OT_EXIT_DONE)
        goto out;
    if (globals.version)
        printf("optune %s\n", optune_version());
    else if (globals.help && cmd)
        ot_help_cmd(cmd);
    else if (globals.help)
        ot_help_all();
    else if (!cmd)
        code = ot_say_usage(NULL, "no command given");
    else if ((code = check_words(cmd, &cli)) == OT_EXIT_DONE)
        code = execute(cmd, &cli);
out:
    free(cli.values);
    free(words);
    return ot_print_finish(code);
}
