/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that a candidate's process could not have: found out when it ended, in a process of the
 * same user, that starts as many. Never in front of a candidate, as hundreds take their time.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/worker/worker_keeper.h"

static void *idle(void *gate)
{
    pthread_barrier_wait(gate);
    return NULL;
}

/* All of them at once; what refused one, or 0. */
static int start_threads(int n)
{
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        const int why = pthread_create(&thread, NULL, idle, &gate);
        if (why)
            return why;
    }
    return 0;
}

int ot_runner_threads(int threads, optune_err *err)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(start_threads(threads - 1));
    int why = pid < 0 ? errno : 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return OPTUNE_OK;
    if (pid > 0 && WIFEXITED(status))
        why = WEXITSTATUS(status);
    return why ? optune_fail(err, OPTUNE_ETOOL,
                             "this user may not start the %d threads that candidates compute "
                             "with: %s; raise the limit (ulimit -u, pids.max of the control "
                             "group), or ask for fewer with --threads",
                             threads, strerror(why))
               : OPTUNE_OK;
}
