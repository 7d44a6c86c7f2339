/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and ending what was left behind (base/strays.h), by what /proc says of parents. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/strays.h"

static const double MOST_S = 5;
static pid_t adopting;

void ot_strays_adopt(void)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0)
        adopting = getpid(); /* what is forked of it adopts nobody */
}

bool ot_strays_adopted(void)
{
    return adopting == getpid();
}

pid_t ot_parent_of(pid_t pid)
{
    char path[64], line[1024];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    /* Behind the name, which may hold anything: ") S 123". */
    return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool is_one_of(pid_t pid, const pid_t *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == pid)
            return true;
    return false;
}

/* A session, too, may be 0: that of a process in a container that began outside of it. */
static const pid_t ANY_SESSION = -1;

/* Which processes are looked for. */
typedef bool (*wanted_fn)(pid_t pid, const void *arg);

static int processes(pid_t *to, int most, wanted_fn wanted, const void *arg)
{
    int n = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && n < most && (entry = readdir(dir))) {
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && wanted(pid, arg))
            to[n++] = pid;
    }
    if (dir)
        closedir(dir);
    return n;
}

typedef struct own {
    pid_t self, session; /* only those that are in it, or ANY_SESSION */
    const pid_t *kept;
    int n_kept;
} own;

static bool is_own(pid_t pid, const void *arg)
{
    const own *o = arg;
    return ot_parent_of(pid) == o->self && !is_one_of(pid, o->kept, o->n_kept) &&
           (o->session == ANY_SESSION || getsid(pid) == o->session);
}

static int children(pid_t *to, int most, const pid_t *kept, int n_kept, pid_t session)
{
    const own o = {.self = getpid(), .session = session, .kept = kept, .n_kept = n_kept};
    return processes(to, most, is_own, &o);
}

static bool has_children(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int ot_children_of_this(pid_t *to, int most)
{
    return has_children() ? children(to, most, NULL, 0, ANY_SESSION) : 0;
}

static int end_all(const pid_t *kept, int n_kept, pid_t session)
{
    static pid_t found[OT_MOST_STRAYS];
    const double until = ot_now() + MOST_S;
    int total = 0, n;
    if (!n_kept && !has_children())
        return 0;
    while ((n = children(found, OT_MOST_STRAYS, kept, n_kept, session)) > 0 &&
           ot_now() < until) {
        for (int i = 0; i < n; i++)
            kill(found[i], SIGSTOP); /* so that none starts another meanwhile */
        for (int i = 0; i < n; i++)
            kill(found[i], SIGKILL);
        for (int i = 0; i < n; i++)
            while (waitpid(found[i], NULL, 0) < 0 && errno == EINTR)
                continue;
        total += n;
    }
    return total;
}

int ot_strays_end(const pid_t *kept, int n_kept)
{
    return end_all(kept, n_kept, ANY_SESSION);
}

int ot_strays_end_of_session(void)
{
    const int n = end_all(NULL, 0, getsid(0));
    while (waitpid(-1, NULL, WNOHANG) > 0) /* servers that ended by themselves */
        continue;
    return n;
}

typedef struct trees {
    const pid_t *root, *known;
    int n_roots, n_known;
    pid_t session;
} trees;

/* The kernel's own calls first: they say of nearly all processes, and at little cost, that they are
 * none of these. */
static bool left_group(pid_t pid, const void *arg)
{
    const trees *t = arg;
    if (getsid(pid) != t->session || is_one_of(getpgid(pid), t->root, t->n_roots) ||
        is_one_of(pid, t->known, t->n_known))
        return false;
    while (pid > 1 && !is_one_of(pid, t->root, t->n_roots))
        pid = ot_parent_of(pid);
    return is_one_of(pid, t->root, t->n_roots);
}

/* With a group that it leads: what a process is forking is stopped with its group alone, and a
 * group whose last parent outside ends goes on. */
static void signal_one(pid_t pid, int number)
{
    kill(getpgid(pid) == pid ? -pid : pid, number);
}

void ot_trees_signal(const pid_t *root, int n_roots, int number)
{
    pid_t found[OT_MOST_STRAYS];
    trees t = {.root = root, .known = found, .n_roots = n_roots};
    int n;
    if (n_roots == 0)
        return;
    t.session = getsid(root[0]);
    for (int i = 0; i < n_roots; i++)
        kill(-root[i], SIGSTOP); /* so that none starts another meanwhile */
    while ((n = processes(found + t.n_known, OT_MOST_STRAYS - t.n_known, left_group, &t)) > 0) {
        for (int i = t.n_known; i < t.n_known + n; i++)
            signal_one(found[i], SIGSTOP);
        t.n_known += n;
    }
    if (number == SIGSTOP)
        return;
    for (int i = t.n_known - 1; i >= 0; i--)
        signal_one(found[i], number);
    for (int i = 0; i < n_roots; i++)
        kill(-root[i], number);
}
