/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker process as seen from outside: starting it, one request and its answer, and how it
 * ended when there is none. It never decides what an end means for a candidate.
 *
 * The one idea: the child gets its socket as file 3 and nothing else, in a process group of its
 * own, so that one kill ends everything a candidate may have started.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/worker_process.h"

enum { SOCKET = 3, SLICE_MS = 100, IDLE_MS = 5 };
static const double MESSAGE_S = 10; /* for the rest of a message that has begun */

/* What a candidate or a library prints must not end up in the caller's output. */
static int spawn(const char *program, int fd, pid_t *pid)
{
    char number[16], parent[24], option[] = "--serve", *path = ot_strdup(program);
    snprintf(number, sizeof number, "%d", (int)SOCKET);
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    char *argv[] = {path, option, number, parent, NULL};
    const int why = ot_spawn(pid, argv, (int[]){-1, -1, -1, [SOCKET] = fd}, SOCKET + 1);
    free(path);
    return why;
}

int ot_process_start(ot_process *p, const char *program, optune_err *err)
{
    int end[2];
    *p = (ot_process){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot make a socket pair: %s", strerror(errno));
    const int why = spawn(program, end[1], &p->pid);
    close(end[1]);
    if (why) {
        close(end[0]);
        p->pid = 0;
        return optune_fail(err, OPTUNE_ETOOL, "cannot run '%s': %s", program, strerror(why));
    }
    p->fd = end[0];
    return OPTUNE_OK;
}

void ot_process_stop(ot_process *p)
{
    if (!p->pid)
        return;
    /* Before it is reaped its number belongs to it, and so does the group's. */
    kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
        continue;
    close(p->fd);
    p->pid = 0;
    p->fd = -1;
}

static bool has_ended(const ot_process *p)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == p->pid;
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

/* Nothing that `alone` can stop runs beside a measurement: it waits for the word. */
static int begin_phase(ot_process *p, const ot_worker_options *options, const json_t *message)
{
    ot_copy(p->doing, sizeof p->doing, ot_wire_text(message, "doing"));
    set_alone(p, options, json_is_true(json_object_get(message, "alone")));
    return p->alone ? ot_wire_send(p->fd, json_pack("{s:b}", "go", 1), NULL) : OPTUNE_OK;
}

static int ask(ot_process *p, json_t *request, double limit_s, const ot_worker_options *options,
               json_t **answer, optune_err *err)
{
    *answer = NULL;
    p->crash[0] = p->doing[0] = '\0';
    p->at = -1;
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
        if (at) { /* one candidate's turn: the time limit is each one's own */
            p->at = (int)json_integer_value(at);
            deadline = ot_now() + limit_s;
            json_decref(message);
            continue;
        }
        if (json_object_get(message, "crash")) {
            snprintf(p->crash, sizeof p->crash, "%s", ot_wire_text(message, "crash"));
            json_decref(message);
            status = optune_fail(err, OPTUNE_EWORKER, "%s", p->crash);
            break;
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
    if (p->crash[0] || !WIFSIGNALED(p->status))
        return false;
    const int signal = WTERMSIG(p->status);
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

void ot_process_end_text(const ot_process *p, char *text, size_t size)
{
    const char *during = p->doing[0] ? " while " : "";
    if (p->crash[0])
        snprintf(text, size, "%s", p->crash);
    else if (WIFSIGNALED(p->status))
        snprintf(text, size, "ended by signal %d (%s)%s%s", WTERMSIG(p->status),
                 strsignal(WTERMSIG(p->status)), during, p->doing);
    else
        snprintf(text, size, "the candidate ended its process with exit status %d%s%s",
                 WEXITSTATUS(p->status), during, p->doing);
}
