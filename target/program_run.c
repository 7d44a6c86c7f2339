/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a program, never through a shell: started, listened to, timed, ended.
 *
 * The one idea: its time is the time between its start and its end as the kernel tells it; what it
 * prints is taken meanwhile, so that a full pipe stops nobody, and whoever it leaves behind ends
 * with it.
 */
#include "base/strays.h"
#include "target/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_PRINTED = 16 << 20, SLICE_MS = 50 };

/* ---- starting ---------------------------------------------------------------------------- */

typedef struct starting {
    const ot_program_order *order;
    char *const *environment;
    char path[64]; /* of `exe` */
    int in, out;
    pid_t parent;
} starting;

/* In the child, before it is somebody else: calls of the kernel only. */
static _Noreturn void become(const starting *s)
{
    const ot_program_order *o = s->order;
    if (!o->in_group)
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent || (o->folder && chdir(o->folder) < 0) || dup2(s->in, 0) < 0 ||
        dup2(s->out, 1) < 0 || dup2(s->out, 2) < 0)
        _exit(127);
    if (o->exe >= 0)
        fcntl(o->exe, F_SETFD, 0); /* a script's interpreter opens it again */
    execvpe(o->exe >= 0 ? s->path : o->argv[0], o->argv, s->environment);
    const char *said[] = {"'", o->argv[0], "' cannot be run: ", strerrordesc_np(errno), "\n"};
    for (int i = 0; i < OT_COUNT(said); i++)
        if (write(2, said[i], strlen(said[i])) < 0)
            _exit(126);
    _exit(127);
}

/* A function of its own, as whatever it keeps in registers is the child's, too. */
static __attribute__((noinline)) pid_t start(const starting *s)
{
    const pid_t pid = fork();
    if (pid == 0)
        become(s);
    return pid;
}

/* `more` goes before what is there. NULL-terminated; the array is the caller's. */
static char **environment(char *const *more)
{
    int n = 0, m = 0;
    while (environ && environ[n])
        n++;
    while (more && more[m])
        m++;
    char **all = ot_alloc((size_t)(n + m + 1) * sizeof *all);
    int k = 0;
    for (int i = 0; i < m; i++)
        all[k++] = more[i];
    for (int i = 0; i < n; i++) {
        bool taken = false;
        const size_t name = strcspn(environ[i], "=") + 1;
        for (int j = 0; j < m; j++)
            taken = taken || strncmp(more[j], environ[i], name) == 0;
        if (!taken)
            all[k++] = environ[i];
    }
    return all;
}

static int open_input(const char *text)
{
    if (!text)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fd = memfd_create("input", MFD_CLOEXEC);
    size_t done = 0;
    const size_t n = strlen(text);
    while (fd >= 0 && done < n) {
        const ssize_t wrote = write(fd, text + done, n - done);
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* ---- listening --------------------------------------------------------------------------- */

/* What is there to read; false: nobody will write any more. */
static bool take(int fd, ot_program_end *end)
{
    char piece[65536];
    const ssize_t n = read(fd, piece, sizeof piece);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    for (ssize_t i = 0; i < n; i++) /* texts end at a zero */
        piece[i] = piece[i] ? piece[i] : ' ';
    ot_text_add_n(&end->printed, piece, (size_t)n);
    if (end->printed.n > MOST_PRINTED) { /* what is told is told at the end */
        ot_text last = {0};
        ot_text_add_n(&last, end->printed.s + end->printed.n - MOST_PRINTED / 2,
                      MOST_PRINTED / 2);
        ot_text_release(&end->printed);
        end->printed = last;
        end->cut = true;
    }
    return true;
}

static bool is_socket(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

/* Of its limit. While this process is stopped, what runs in its group is, too, and that may be for
 * longer than the limit: between two looks no more counts than lies between them otherwise. */
static double used_up(double passed, bool in_group)
{
    const double most = 2 * SLICE_MS * 1e-3;
    return in_group && passed > most ? most : passed;
}

/* `whole`: what is killed, it or its group. */
static void listen_until_ended(pid_t pid, pid_t whole, int pidfd, int out, double left,
                               ot_program_end *end)
{
    bool open = true;
    double last = ot_now();
    const bool asked = whole == pid && is_socket(STDIN_FILENO);
    for (;;) {
        const pid_t ended = wait4(pid, &end->status, WNOHANG, &end->used);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return;
        const double now = ot_now();
        left -= used_up(now - last, whole == pid);
        last = now;
        if (left <= 0 && !end->late) {
            end->late = true;
            kill(whole, SIGKILL);
        }
        struct pollfd entry[] = {{.fd = open ? out : -1, .events = POLLIN},
                                 {.fd = pidfd, .events = POLLIN},
                                 {.fd = asked ? STDIN_FILENO : -1, .events = POLLRDHUP}};
        poll(entry, 3, pidfd >= 0 && left * 1000 > SLICE_MS ? SLICE_MS : 1);
        if (entry[2].revents & (POLLRDHUP | POLLHUP | POLLERR))
            kill(0, SIGKILL); /* who asked was killed: this process leads the group */
        if (open && entry[0].revents)
            open = take(out, end);
    }
}

/* What a pipe holds, and no more: somebody who got away may go on writing. */
static void drain(int out, ot_program_end *end)
{
    enum { MOST_PIECES = 64 };
    struct pollfd entry = {.fd = out, .events = POLLIN};
    for (int i = 0; i < MOST_PIECES && poll(&entry, 1, 0) > 0 && entry.revents & POLLIN; i++)
        if (!take(out, end))
            return;
}

/* ---- all --------------------------------------------------------------------------------- */

int ot_program_run(const ot_program_order *order, ot_program_end *end, optune_err *err)
{
    int pipe_end[2] = {-1, -1};
    *end = (ot_program_end){0};
    starting s = {.order = order, .in = open_input(order->input), .parent = getpid()};
    if (s.in < 0 || pipe2(pipe_end, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(s.in);
        return optune_fail(err, OPTUNE_EIO, "no files for '%s': %s", order->argv[0],
                           strerror(errno));
    }
    fcntl(pipe_end[1], F_SETFL, 0); /* the program's end blocks, as it expects */
    s.out = pipe_end[1];
    s.environment = environment(order->more);
    snprintf(s.path, sizeof s.path, "/proc/self/fd/%d", order->exe);
    if (order->in_group)
        ot_strays_adopt();
    const double began = ot_now();
    const pid_t pid = start(&s);
    const int why = errno;
    close(pipe_end[1]);
    close(s.in);
    if (pid > 0) {
        const pid_t whole = order->in_group ? pid : -pid;
        if (!order->in_group)
            setpgid(pid, pid);
        const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        listen_until_ended(pid, whole, pidfd, pipe_end[0], order->limit_s, end);
        end->wall = ot_now() - began;
        if (!order->in_group)
            kill(whole, SIGKILL); /* whoever is left of it */
        else
            ot_strays_end_of_session();
        drain(pipe_end[0], end);
        if (pidfd >= 0)
            close(pidfd);
    }
    close(pipe_end[0]);
    free((void *)s.environment);
    return pid > 0 ? OPTUNE_OK
                   : optune_fail(err, OPTUNE_ETOOL, "'%s' cannot be started: %s",
                                 order->argv[0], strerror(why));
}

void ot_program_last_line(const ot_text *printed, char *line, size_t size)
{
    const char *text = ot_text_str(printed), *end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1]))
        end--;
    const char *start = end;
    while (start > text && start[-1] != '\n')
        start--;
    snprintf(line, size, "%.*s", (int)(end - start), start);
}

int ot_program_check_end(const ot_program_end *end, const char *what, double limit_s,
                         optune_err *err)
{
    char last[200];
    ot_program_last_line(&end->printed, last, sizeof last);
    const char *colon = *last ? ": " : "";
    if (end->late)
        return optune_fail(err, OPTUNE_ETIMEOUT, "%s did not end within %g s%s%s", what,
                           limit_s, colon, last);
    if (WIFSIGNALED(end->status))
        return optune_fail(err, OPTUNE_EWORKER, "%s was ended by signal %d (%s)%s%s", what,
                           WTERMSIG(end->status), strsignal(WTERMSIG(end->status)), colon,
                           last);
    if (WEXITSTATUS(end->status) != 0)
        return optune_fail(err, OPTUNE_EIO, "%s ended with exit status %d%s%s", what,
                           WEXITSTATUS(end->status), colon, last);
    return OPTUNE_OK;
}
