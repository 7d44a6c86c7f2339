/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker process as seen from outside: starting it, one request and its answer, and how it
 * ended when there is none. It never decides what an end means for a candidate.
 *
 * The one idea: the child gets its socket as file 3 and nothing else, in a process group of its
 * own; when the socket closes it ends everything that candidates may have started, and itself.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/remedy.h"
#include "run/worker/worker_process.h"

enum { SOCKET = 3, SLICE_MS = 100, IDLE_MS = 5 };
static const double MESSAGE_S = 10; /* for the rest of a message that has begun */

/* What a candidate or a library prints must not end up in the caller's output. */
static int spawn(const char *program, const char *temp, int fd, pid_t *pid)
{
    char number[16], parent[24], option[] = "--serve", *path = ot_strdup(program);
    snprintf(number, sizeof number, "%d", (int)SOCKET);
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    char *argv[] = {path, option, number, parent, NULL};
    const int why = ot_spawn(pid, argv, temp, (int[]){-1, -1, -1, [SOCKET] = fd}, SOCKET + 1);
    free(path);
    return why;
}

int ot_process_start(ot_process *p, const char *program, const char *temp, optune_err *err)
{
    int end[2];
    *p = (ot_process){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot make a socket pair: %s", strerror(errno));
    const int why = spawn(program, temp, end[1], &p->pid);
    close(end[1]);
    if (why) {
        close(end[0]);
        p->pid = 0;
        return optune_fail(err, OPTUNE_ETOOL, "cannot run '%s': %s%s", program, strerror(why),
                           ot_start_remedy(why));
    }
    p->fd = end[0];
    return OPTUNE_OK;
}

static bool has_ended(const ot_process *p)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == p->pid;
}

void ot_process_stop(ot_process *p)
{
    if (!p->pid)
        return;
    /* It ends what it started when its connection closes; it is not asked for long. */
    close(p->fd);
    for (int i = 0; i < 50 && !has_ended(p); i++)
        poll(NULL, 0, 10);
    /* Before it is reaped its number belongs to it, and so does the group's. */
    kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
        continue;
    p->pid = 0;
    p->fd = -1;
}

bool ot_process_alive(ot_process *p)
{
    if (p->pid && has_ended(p))
        ot_process_stop(p);
    return p->pid != 0;
}

/* The process closed its socket or is about to die of something: collects how. */
static void reap(ot_process *p)
{
    for (int i = 0; i < 200 && !has_ended(p); i++) /* two seconds, then by force */
        poll(NULL, 0, 10);
    ot_process_stop(p);
}

/* Waits for something to read in slices, so that a stop is seen soon and idle work gets done. */
static int wait_readable(const ot_process *p, double deadline, const ot_worker_options *options,
                         optune_err *err)
{
    const bool idles = options && options->idle && (!p->alone || options->spare);
    const int slice = idles ? IDLE_MS : SLICE_MS;
    for (;;) {
        if (options && options->stop && atomic_load(options->stop))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        if (ot_worker_time_is_over(options))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "its time is over");
        const double left = deadline - ot_now();
        if (left <= 0)
            return optune_fail(err, OPTUNE_ETIMEOUT, "no answer in time");
        struct pollfd entry = {.fd = p->fd, .events = POLLIN};
        const int n = poll(&entry, 1, left * 1000 < slice ? (int)(left * 1000) + 1 : slice);
        if (n > 0)
            return OPTUNE_OK;
        if (n < 0 && errno != EINTR)
            return optune_fail(err, OPTUNE_EIO, "poll failed: %s", strerror(errno));
        if (idles)
            options->idle(options->arg);
    }
}

static void set_alone(ot_process *p, const ot_worker_options *options, bool alone)
{
    if (options && options->alone && p->alone != alone)
        options->alone(options->arg, alone);
    p->alone = alone;
}

static void note_runner(ot_process *p, const json_t *message)
{
    p->runner = (pid_t)json_integer_value(json_object_get(message, "pid"));
    bool known = p->runner <= 0 || p->n_runners == OT_MOST_RUNNERS;
    for (int i = 0; i < p->n_runners && !known; i++)
        known = p->runners[i] == p->runner;
    if (!known)
        p->runners[p->n_runners++] = p->runner;
}

/* Nothing that `alone` can stop runs beside a measurement: it waits for the word. */
static int begin_phase(ot_process *p, const ot_worker_options *options, const json_t *message)
{
    ot_copy(p->doing, sizeof p->doing, ot_wire_text(message, "doing"));
    note_runner(p, message);
    set_alone(p, options, json_is_true(json_object_get(message, "alone")));
    return p->alone ? ot_wire_send(p->fd, json_pack("{s:b}", "go", 1), NULL) : OPTUNE_OK;
}

static int ask(ot_process *p, json_t *request, double limit_s, const ot_worker_options *options,
               json_t **answer, optune_err *err)
{
    *answer = NULL;
    p->doing[0] = '\0';
    p->at = -1;
    p->n_runners = 0;
    int status = ot_wire_send(p->fd, request, err);
    double deadline = ot_now() + limit_s;
    while (status >= 0) {
        json_t *message = NULL;
        status = wait_readable(p, deadline, options, err);
        if (status >= 0)
            status = ot_wire_receive(p->fd, MESSAGE_S, &message, err);
        if (status < 0)
            break;
        const json_t *at = json_object_get(message, "at");
        if (json_object_get(message, "doing")) {
            status = begin_phase(p, options, message);
            json_decref(message);
            continue;
        }
        if (json_object_get(message, "measured")) {
            if (options && options->measured)
                options->measured(options->arg);
            status = ot_wire_send(p->fd, json_pack("{s:b}", "go", 1), NULL);
            json_decref(message);
            continue;
        }
        if (at) { /* one candidate's turn: the time limit is each one's own */
            p->at = (int)json_integer_value(at);
            note_runner(p, message);
            deadline = ot_now() + limit_s;
            json_decref(message);
            continue;
        }
        *answer = message;
        return OPTUNE_OK;
    }
    if (status == OPTUNE_EWORKER)
        reap(p);
    else
        ot_process_stop(p);
    return status;
}

int ot_process_ask(ot_process *p, json_t *request, double limit_s,
                   const ot_worker_options *options, json_t **answer, optune_err *err)
{
    const int status = ask(p, request, limit_s, options, answer, err);
    set_alone(p, options, false);
    return status;
}

bool ot_process_was_killed(const ot_process *p)
{
    if (!WIFSIGNALED(p->status))
        return false;
    const int signal = WTERMSIG(p->status);
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

void ot_process_end_text(const ot_process *p, char *text, size_t size)
{
    const char *during = p->doing[0] ? " while " : "";
    if (WIFSIGNALED(p->status))
        snprintf(text, size, "ended by signal %d (%s)%s%s", WTERMSIG(p->status),
                 strsignal(WTERMSIG(p->status)), during, p->doing);
    else
        snprintf(text, size, "the worker ended with exit status %d%s%s", WEXITSTATUS(p->status),
                 during, p->doing);
}
