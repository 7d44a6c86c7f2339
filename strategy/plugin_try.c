/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading somebody's code in a process that may not survive it, before it is loaded in the one
 * that has to: constructors run, and rows of another layout are followed to wherever they point.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strategy/inside.h"

static const double MOST_S = 30;

/* A copy of a process with several threads may find locks taken for ever, the loader's among them.
 * Of one thread there are three names in its folder: `.`, `..` and its own. */
static bool is_alone(void)
{
    struct stat info;
    return stat("/proc/self/task", &info) == 0 && info.st_nlink == 3;
}

static _Noreturn void be_inside(int (*deed)(void *arg), void *arg, int *done)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    for (int fd = 0; fd <= 2 && nowhere >= 0; fd++)
        dup2(nowhere, fd); /* what it says is heard when it is loaded in earnest */
    deed(arg);
    *done = 1;
    _exit(0);
}

/* Whether it came back; *how as waitpid(2) tells it. */
static bool came_back(pid_t pid, const int *done, int *how, bool *late)
{
    const double end = ot_now() + MOST_S;
    pid_t ended;
    *how = 0;
    *late = false;
    while ((ended = waitpid(pid, how, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (!*late && ot_now() > end) {
            *late = true;
            kill(pid, SIGKILL);
        }
        usleep(200);
    }
    return *(const volatile int *)done != 0;
}

int ot_plugin_try(int (*deed)(void *arg), void *arg, optune_err *err)
{
    int how;
    bool late, back = true;
    int *done = is_alone() ? mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                           : MAP_FAILED;
    if (done == MAP_FAILED)
        return OPTUNE_OK;
    fflush(NULL); /* else who exits in there writes what waits a second time */
    const pid_t pid = fork();
    if (pid == 0)
        be_inside(deed, arg, done);
    if (pid > 0)
        back = came_back(pid, done, &how, &late);
    munmap(done, sizeof *done);
    if (back)
        return OPTUNE_OK;
    if (late)
        return optune_fail(err, OPTUNE_EUSAGE, "it is not loaded within %g s", MOST_S);
    if (WIFSIGNALED(how))
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "loading it ends the process: %s; in a function of its own that runs "
            "then, or as its rows are of another version's headers",
            strsignal(WTERMSIG(how)));
    return optune_fail(err, OPTUNE_EUSAGE, "loading it ends the process, with exit status %d",
                       WEXITSTATUS(how));
}
