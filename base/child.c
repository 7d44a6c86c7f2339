/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other programs: started with an argument vector, never through a shell, each the leader of a
 * process group of its own, so that killing it kills what it started, in groups of their own, too.
 * A child inherits nothing but its three standard streams. Nothing here blocks without a limit
 * except ot_child_kill, which waits for a process that was just sent SIGKILL.
 *
 * A server is a child whose stdin is a socket: each request on it is answered with one byte,
 * after all that there is to print about it was printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <paths.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/remedy.h"
#include "base/strays.h"

extern char **environ;

enum { TEXT_LIMIT = 64 << 10, MOST_WAITED = 256 };

/* Files that the child gets lie above the numbers they are given: none is overwritten by another,
 * even where the caller's standard files are closed. */
static int lift(int fd, int n)
{
    return fd < 0 || fd >= n ? fd : fcntl(fd, F_DUPFD_CLOEXEC, n);
}

/* The environment with another TMPDIR, and in the language that its messages are looked for in; the
 * texts are the environment's own, but for `own`. A process without a PATH finds programs where the
 * system has them; what these start is looked for there, too. */
static char **environment(const char *temp, ot_text *own)
{
    int n = 0, to = 0;
    while (environ && environ[n]) /* NULL: clearenv left nothing */
        n++;
    char **all = ot_alloc((size_t)(n + 4) * sizeof *all);
    for (int i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0 && strncmp(environ[i], "LC_ALL=", 7) != 0)
            all[to++] = environ[i];
    ot_text_printf(own, "TMPDIR=%s", temp);
    all[to++] = own->s;
    all[to++] = (char *)"LC_ALL=C";
    if (!getenv("PATH"))
        all[to++] = (char *)"PATH=" _PATH_DEFPATH;
    all[to] = NULL;
    return all;
}

int ot_spawn(pid_t *pid, char *const *argv, const char *temp, const int *file, int n)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int lifted[OT_SPAWN_FILES], why = 0;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < n; i++) {
        lifted[i] = lift(file[i], n);
        if (file[i] < 0)
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY,
                                             0);
        else if (lifted[i] < 0)
            why = errno;
        else
            posix_spawn_file_actions_adddup2(&actions, lifted[i], i);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, n);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    ot_text own = {0};
    char **variables = temp ? environment(temp, &own) : NULL;
    if (!why)
        why = posix_spawnp(pid, argv[0], &actions, &attributes, argv,
                           variables ? variables : environ);
    free(variables);
    ot_text_release(&own);
    for (int i = 0; i < n; i++)
        if (lifted[i] >= 0 && lifted[i] != file[i])
            close(lifted[i]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

static void set_limit(ot_child *child, double limit_s)
{
    child->started = ot_now();
    child->deadline = limit_s > 0 ? child->started + limit_s : 0;
}

static int start(ot_child *child, char *const *argv, const char *temp, int in, optune_err *err)
{
    *child = (ot_child){.out = -1, .talk = -1};
    int pipe_end[2];
    if (pipe2(pipe_end, O_CLOEXEC) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot make a pipe: %s", strerror(errno));
    int why = ot_spawn(&child->pid, argv, temp, (int[]){in, pipe_end[1], pipe_end[1]}, 3);
    close(pipe_end[1]);
    if (why) {
        close(pipe_end[0]);
        child->pid = 0;
        return optune_fail(err, OPTUNE_ETOOL, "cannot run '%s': %s%s", argv[0],
                           why == ENOENT ? "not found" : strerror(why), ot_start_remedy(why));
    }
    fcntl(pipe_end[0], F_SETFL, O_NONBLOCK);
    child->out = pipe_end[0];
    return OPTUNE_OK;
}

int ot_child_start_in(ot_child *child, char *const *argv, const char *temp, double limit_s,
                      optune_err *err)
{
    const int status = start(child, argv, temp, -1, err);
    if (status >= 0)
        set_limit(child, limit_s);
    return status;
}

int ot_child_start(ot_child *child, char *const *argv, double limit_s, optune_err *err)
{
    return ot_child_start_in(child, argv, NULL, limit_s, err);
}

int ot_child_start_server(ot_child *child, char *const *argv, optune_err *err)
{
    int end[2];
    *child = (ot_child){.out = -1, .talk = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot make a socket: %s", strerror(errno));
    const int status = start(child, argv, NULL, end[1], err);
    close(end[1]);
    if (status >= 0)
        child->talk = end[0];
    else
        close(end[0]);
    return status;
}

int ot_child_ask(ot_child *child, const char *request, size_t n, double limit_s,
                 optune_err *err)
{
    child->answered = false;
    ot_text_clear(&child->text);
    set_limit(child, limit_s);
    return ot_message_send(child->talk, request, n, err);
}

/* Takes what is there; the pipe is closed at its end. What exceeds the limit is dropped, so
 * that a talkative child is not stopped by a full pipe. */
static void collect(ot_child *child)
{
    char piece[4096];
    while (child->out >= 0) {
        ssize_t n = read(child->out, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(child->out);
            child->out = -1;
            return;
        }
        size_t room = TEXT_LIMIT - child->text.n;
        ot_text_add_n(&child->text, piece, (size_t)n < room ? (size_t)n : room);
    }
}

static void hang_up(ot_child *child)
{
    if (child->talk >= 0)
        close(child->talk);
    child->talk = -1;
}

/* What it printed before it answered is in the pipe by then. */
static void take_answer(ot_child *child)
{
    struct pollfd entry = {.fd = child->talk, .events = POLLIN};
    ot_text answer = {0};
    optune_err err = {0};
    if (child->talk < 0 || child->answered || poll(&entry, 1, 0) <= 0)
        return;
    if (ot_message_receive(child->talk, &answer, 1, &err) >= 0 && answer.n == 1) {
        child->answer = (unsigned char)answer.s[0];
        child->answered = true;
        child->deadline = 0;
    } else {
        hang_up(child); /* it is ending: its status will say how */
    }
    ot_text_release(&answer);
}

/* The group is killed before its leader is reaped: until then its number cannot be taken by
 * anyone else. One that is reaped already left no status: it ended, nobody knows how. */
static void reap(ot_child *child, bool reaped)
{
    if (!reaped)
        kill(-child->pid, SIGKILL);
    while (!reaped && waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
    child->ended = true;
    collect(child);
    if (child->out >= 0)
        close(child->out);
    child->out = -1;
    hang_up(child);
}

/* While its leader lives, those that left its group are still known by it. */
static void end(ot_child *child)
{
    ot_trees_signal(&child->pid, 1, SIGKILL);
    reap(child, false);
}

bool ot_child_poll(ot_child *child)
{
    if (child->ended || child->pid == 0)
        return true;
    take_answer(child);
    collect(child);
    siginfo_t info = {0};
    const int found = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    /* A program that ignores SIGCHLD, or waits for all children that it has, took it. */
    const bool reaped = found < 0 && errno == ECHILD;
    if (reaped || (found == 0 && info.si_pid == child->pid)) {
        reap(child, reaped);
    } else if (child->deadline > 0 && ot_now() >= child->deadline) {
        child->timed_out = true;
        end(child);
    }
    return child->ended || child->answered;
}

/* The C library has a function for it from 2.36 on only; bundles run with older ones. */
static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void ot_child_wait_any(ot_child *const *children, int n, double seconds)
{
    double until = ot_now() + seconds;
    struct pollfd watched[3 * MOST_WAITED];
    int pidfd[MOST_WAITED];
    if (n > MOST_WAITED)
        n = MOST_WAITED; /* the others are seen by the caller's next poll */
    for (int i = 0; i < n; i++)
        pidfd[i] = children[i]->ended || !children[i]->pid ? -1 : open_pidfd(children[i]->pid);
    for (;;) {
        bool any = n == 0;
        double wake = until;
        for (int i = 0; i < n; i++) {
            any |= ot_child_poll(children[i]);
            if (children[i]->deadline > 0 && children[i]->deadline < wake)
                wake = children[i]->deadline;
            watched[3 * i] = (struct pollfd){.fd = children[i]->out, .events = POLLIN};
            watched[3 * i + 1] = (struct pollfd){.fd = pidfd[i], .events = POLLIN};
            watched[3 * i + 2] = (struct pollfd){.fd = children[i]->talk, .events = POLLIN};
            /* Without a pidfd (an old kernel) the end is found by looking again soon. */
            if (pidfd[i] < 0 && ot_now() + 0.01 < wake)
                wake = ot_now() + 0.01;
        }
        double left = wake - ot_now();
        if (any || ot_now() >= until)
            break;
        poll(watched, (nfds_t)(3 * n), left > 0 ? (int)ceil(fmin(left, 1e6) * 1000) : 0);
    }
    for (int i = 0; i < n; i++)
        if (pidfd[i] >= 0)
            close(pidfd[i]);
}

void ot_child_kill(ot_child *child)
{
    if (child->pid && !child->ended)
        end(child);
}

void ot_child_release(ot_child *child)
{
    ot_child_kill(child);
    if (child->out >= 0 && child->pid)
        close(child->out);
    ot_text_release(&child->text);
    *child = (ot_child){.out = -1, .talk = -1};
}

int ot_run_program(char *const *argv, double limit_s, ot_text *text, optune_err *err)
{
    return ot_run_program_in(argv, NULL, limit_s, text, err);
}

int ot_run_program_in(char *const *argv, const char *temp, double limit_s, ot_text *text,
                      optune_err *err)
{
    ot_child child;
    int status = ot_child_start_in(&child, argv, temp, limit_s, err);
    if (status < 0)
        return status;
    ot_child *one = &child;
    while (!ot_child_poll(&child))
        ot_child_wait_any(&one, 1, 60);
    const char *said = ot_text_str(&child.text);
    int line = (int)strcspn(said, "\n");
    if (child.timed_out)
        status =
            optune_fail(err, OPTUNE_ETIMEOUT, "'%s' did not end within %g s", argv[0], limit_s);
    else if (WIFSIGNALED(child.status))
        status = optune_fail(err, OPTUNE_ETOOL, "'%s' was ended by signal %d (%s)", argv[0],
                             WTERMSIG(child.status), strsignal(WTERMSIG(child.status)));
    else if (WEXITSTATUS(child.status) != 0)
        status = optune_fail(err, OPTUNE_ETOOL, "'%s' ended with status %d: %.*s", argv[0],
                             WEXITSTATUS(child.status), line, said);
    if (text) {
        ot_text_clear(text);
        ot_text_add_n(text, said, child.text.n);
    }
    ot_child_release(&child);
    return status;
}
