/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner from outside: forked, ordered, watched, ended with everything it started. What an end
 * means for a candidate is worker_serve.c's business.
 *
 * The one idea: all that is believed of a runner is one sealed report for each order, the keeper's
 * own clock around it, and what the kernel says of its process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/remedy.h"
#include "base/strays.h"
#include "run/worker/worker_keeper.h"

enum { SLICE_MS = 100, MOST_RESTS = 100, REST_NS = 400000 };

static ot_seal *new_seal(void)
{
    void *map =
        mmap(NULL, sizeof(ot_seal), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void free_seal(ot_seal *seal)
{
    if (seal)
        munmap(seal, sizeof *seal);
}

static bool draw(void *to, size_t n)
{
    return getrandom(to, n, 0) == (ssize_t)n;
}

/* ---- starting ---------------------------------------------------------------------------- */

int ot_runner_start(ot_runner *r, const ot_runner_setup *setup, optune_err *err)
{
    int end[2];
    char path[64];
    *r = (ot_runner){.fd = -1, .pidfd = -1, .waits = -1, .own_waits = -1};
    ot_runner_setup mine = *setup;
    mine.keeper = getpid();
    mine.client = getppid();
    ot_seal *theirs = new_seal();
    r->seal = new_seal();
    if (!theirs || !r->seal || !draw(theirs->key, sizeof theirs->key) ||
        madvise(r->seal, sizeof *r->seal, MADV_DONTFORK) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) < 0) {
        const int why = errno;
        free_seal(theirs);
        free_seal(r->seal);
        return optune_fail(err, OPTUNE_EIO, "cannot prepare a process for candidates: %s%s",
                           strerror(why), ot_errno_remedy(why));
    }
    memcpy(r->seal->key, theirs->key, sizeof theirs->key);
    mprotect(theirs, sizeof *theirs, PROT_NONE);
    r->pid = fork();
    if (r->pid == 0)
        ot_runner_main(end[1], theirs, &mine);
    const int why = errno;
    close(end[1]);
    free_seal(theirs);
    r->fd = end[0];
    if (r->pid < 0) {
        r->pid = 0;
        close(r->fd);
        free_seal(r->seal);
        return optune_fail(err, OPTUNE_ETOOL, "cannot fork for a candidate: %s%s",
                           strerror(why), ot_start_remedy(why));
    }
    r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    r->clocked = clock_getcpuclockid(r->pid, &r->clock) == 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)r->pid);
    r->waits = open(path, O_RDONLY | O_CLOEXEC);
    r->own_waits = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    draw(&r->serial, sizeof r->serial);
    return OPTUNE_OK;
}

/* ---- asking ------------------------------------------------------------------------------ */

static bool has_died(const ot_runner *r)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == r->pid;
}

static bool is_stopped(const ot_runner *r)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)r->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == r->pid;
}

/* What is there to read: a report, a last word, or something else. NONE: nothing yet. */
static ot_end take(ot_runner *r, uint64_t serial, bool *got)
{
    static char packet[OT_PACKET_BYTES];
    const size_t word = strlen(OT_LAST_WORD);
    const ssize_t n = recv(r->fd, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || errno == EWOULDBLOCK ? OT_END_NONE
                                                                         : OT_END_CLOSED;
    if (n == 0)
        return OT_END_CLOSED;
    if ((size_t)n > word && (size_t)n < word + sizeof r->word &&
        memcmp(packet, OT_LAST_WORD, word) == 0) {
        snprintf(r->word, sizeof r->word, "%.*s", (int)((size_t)n - word), packet + word);
        for (char *p = r->word; *p; p++)
            if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
                *p = '?';
        return OT_END_DIED;
    }
    if (n != sizeof r->seal->report)
        return OT_END_FORGED;
    memcpy(&r->seal->report, packet, sizeof r->seal->report);
    *got = r->seal->report.serial == serial && r->seal->report.seal == ot_seal_of(r->seal);
    return *got ? OT_END_NONE : OT_END_FORGED;
}

/* Its connection ended: did it, too? It is about to. */
static ot_end closed(ot_runner *r)
{
    for (int i = 0; i < 100 && !has_died(r); i++)
        poll(NULL, 0, 5);
    return has_died(r) ? OT_END_DIED : OT_END_CLOSED;
}

static ot_end wait_report(ot_runner *r, uint64_t serial, double deadline, int asker)
{
    for (;;) {
        bool got = false;
        const bool died = has_died(r); /* before what it may have sent is looked for */
        const ot_end end = take(r, serial, &got);
        if (got)
            return OT_END_NONE;
        if (end == OT_END_CLOSED || end == OT_END_DIED)
            return closed(r);
        if (end != OT_END_NONE)
            return end;
        if (died)
            return OT_END_DIED;
        if (is_stopped(r))
            return OT_END_STOPPED;
        const double left = deadline - ot_now();
        if (left <= 0)
            return OT_END_LATE;
        struct pollfd entry[] = {{.fd = r->fd, .events = POLLIN},
                                 {.fd = r->pidfd, .events = POLLIN},
                                 {.fd = asker, .events = POLLRDHUP}};
        poll(entry, OT_COUNT(entry),
             left * 1000 < SLICE_MS ? (int)(left * 1000) + 1 : SLICE_MS);
        if (asker >= 0 && ot_wire_hung_up(asker))
            return OT_END_ALONE;
    }
}

static double seconds_waited(int file)
{
    char text[128];
    unsigned long long waited = 0;
    const ssize_t n = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
    if (n > 0) {
        text[n] = '\0';
        if (sscanf(text, "%*u %llu", &waited) != 1)
            waited = 0;
    }
    return (double)waited * 1e-9;
}

static ot_spent spent_until_now(const ot_runner *r)
{
    struct timespec t = {0};
    if (r->clocked && clock_gettime(r->clock, &t) < 0)
        t = (struct timespec){0};
    return (ot_spent){.wall = ot_now(),
                      .cpu = (double)t.tv_sec + (double)t.tv_nsec * 1e-9,
                      .waited = seconds_waited(r->waits),
                      .kept = seconds_waited(r->own_waits)};
}

ot_end ot_runner_ask(ot_runner *r, ot_order *order, const ot_enclosed *enclosed,
                     double deadline, int asker, ot_report *report, ot_spent *spent)
{
    static char packet[OT_PACKET_BYTES];
    const char *text = enclosed && enclosed->text ? enclosed->text : "";
    const size_t n = strlen(text);
    bool got = false;
    *report = (ot_report){0};
    *spent = (ot_spent){0};
    if (n + sizeof *order > sizeof packet)
        return OT_END_CLOSED;
    /* What nobody asked for is not an answer. */
    const ot_end stray = take(r, r->serial + 1, &got);
    if (got || stray == OT_END_FORGED)
        return OT_END_FORGED;
    order->serial = ++r->serial;
    memcpy(packet, order, sizeof *order);
    memcpy(packet + sizeof *order, text, n);
    const ot_spent before = spent_until_now(r);
    if (!ot_packet_send(r->fd, packet, sizeof *order + n, enclosed ? enclosed->file : NULL,
                        enclosed ? enclosed->n_files : 0))
        return closed(r);
    const ot_end end = wait_report(r, order->serial, deadline, asker);
    const ot_spent after = spent_until_now(r);
    *spent = (ot_spent){.wall = after.wall - before.wall,
                        .cpu = fmax(after.cpu - before.cpu, 0),
                        .waited = fmax(after.waited - before.waited, 0),
                        .kept = fmax(after.kept - before.kept, 0)};
    if (end == OT_END_NONE) {
        *report = r->seal->report;
        report->text[sizeof report->text - 1] = report->why[sizeof report->why - 1] = '\0';
    }
    return end;
}

/* ---- what the kernel says of a process --------------------------------------------------- */

enum {
    FIRST_NUMBER = 4, /* its parent */
    CHILDREN_FAULTS = 11,
    CHILDREN_USER = 16,
    CHILDREN_SYSTEM = 17,
    NICE = 19,
    MOST_FIELDS = 20
};

/* The numbers of /proc/PID/stat, counted as in proc(5); all 0 where there is no such process.
 * Returns its state. */
static char read_stat(pid_t pid, long *field)
{
    char path[64], line[1024];
    memset(field, 0, MOST_FIELDS * sizeof *field);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const bool got = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    char *at = got ? strrchr(line, ')') : NULL; /* a name may hold anything */
    if (!at || strlen(at) < 4)
        return 0;
    const char state = at[2]; /* ") S " */
    at += 4;
    for (int i = FIRST_NUMBER; i < MOST_FIELDS; i++)
        field[i] = strtol(at, &at, 10);
    return state;
}

bool ot_runner_rest(const ot_runner *r)
{
    long field[MOST_FIELDS];
    for (int i = 0; i < MOST_RESTS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
        if (read_stat(r->pid, field) == 'S')
            return true;
    }
    return false;
}

ot_children ot_runner_children(const ot_runner *r)
{
    long field[MOST_FIELDS];
    read_stat(r->pid, field);
    const double ticks = (double)(field[CHILDREN_USER] + field[CHILDREN_SYSTEM]);
    return (ot_children){ticks / (double)sysconf(_SC_CLK_TCK), field[CHILDREN_FAULTS]};
}

/* ---- ending ------------------------------------------------------------------------------ */

/* Whoever loses its parent becomes a child of this process: nobody gets away by forking twice or
 * by a session of its own. */
static int sweep(const ot_runner *others, int n_others)
{
    pid_t live[OT_MOST_SLOTS];
    int n = 0;
    for (int i = 0; i < n_others && n < OT_MOST_SLOTS; i++)
        if (others[i].pid)
            live[n++] = others[i].pid;
    return ot_strays_end(live, n);
}

int ot_runner_end(ot_runner *r, const ot_runner *others, int n_others)
{
    if (!r->pid)
        return 0;
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR)
        continue;
    r->pid = 0;
    close(r->fd);
    if (r->pidfd >= 0)
        close(r->pidfd);
    if (r->waits >= 0)
        close(r->waits);
    if (r->own_waits >= 0)
        close(r->own_waits);
    r->fd = r->pidfd = r->waits = r->own_waits = -1;
    free_seal(r->seal);
    r->seal = NULL;
    free(r->state);
    r->state = NULL;
    return sweep(others, n_others);
}

/* ---- between candidates ------------------------------------------------------------------ */

/* What the kernel knows of a process and a kernel has no business with. Handlers of signals and
 * threads are the driver's, too. */
static char *read_state(const ot_runner *r)
{
    static const char *const wanted[] = {"Umask", "PPid", "Uid", "SigBlk", "Cpus_allowed"};
    ot_text text = {0};
    char path[64], place[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)r->pid);
    FILE *file = fopen(path, "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file))
        for (int i = 0; i < OT_COUNT(wanted); i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0 &&
                line[strlen(wanted[i])] == ':')
                ot_text_add(&text, line);
    if (file)
        fclose(file);
    long field[MOST_FIELDS];
    read_stat(r->pid, field);
    ot_text_printf(&text, "priority: %ld\n", field[NICE]);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)r->pid);
    const ssize_t n = readlink(path, place, sizeof place - 1);
    ot_text_printf(&text, "folder: %.*s\n", n > 0 ? (int)n : 0, place);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int children = 0;
    while (dir && (entry = readdir(dir)))
        if (atoi(entry->d_name) > 0 && ot_parent_of((pid_t)atoi(entry->d_name)) == r->pid)
            children++;
    if (dir)
        closedir(dir);
    ot_text_printf(&text, "children: %d\n", children);
    return text.s;
}

bool ot_runner_unchanged(ot_runner *r, char *what, size_t size)
{
    bool got = false;
    if (has_died(r) || is_stopped(r) || take(r, r->serial + 1, &got) != OT_END_NONE || got) {
        snprintf(what, size, "its process ended, or spoke unasked");
        return false;
    }
    char *now = read_state(r);
    if (!r->state) {
        r->state = now;
        return true;
    }
    const char *a = r->state, *b = now;
    while (*a && *b && strcspn(a, "\n") == strcspn(b, "\n") &&
           memcmp(a, b, strcspn(a, "\n")) == 0) {
        a += strcspn(a, "\n") + 1;
        b += strcspn(b, "\n") + 1;
    }
    const bool same = !*a && !*b;
    if (!same)
        snprintf(what, size, "%.*s became %.*s", (int)strcspn(a, "\n"), a,
                 (int)strcspn(b, "\n"), b);
    free(now);
    return same;
}

/* ---- words ------------------------------------------------------------------------------- */

bool ot_runner_was_killed(const ot_runner *r, ot_end end)
{
    if (end != OT_END_DIED || r->word[0] || !WIFSIGNALED(r->status))
        return false;
    const int signal = WTERMSIG(r->status);
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

void ot_runner_end_text(const ot_runner *r, ot_end end, const char *doing, char *text,
                        size_t size)
{
    const bool shut = WIFEXITED(r->status) && WEXITSTATUS(r->status) == OT_EXIT_CLOSED;
    if (r->word[0])
        snprintf(text, size, "%s", r->word);
    else if (end == OT_END_STOPPED)
        snprintf(text, size, "it stopped its process while %s", doing);
    else if (end == OT_END_FORGED)
        snprintf(text, size,
                 "it wrote on the connection of the process that measures it while %s", doing);
    else if (end == OT_END_CLOSED || shut)
        snprintf(text, size,
                 "it closed the connection of the process that measures it while %s", doing);
    else if (WIFSIGNALED(r->status))
        snprintf(text, size, "ended by signal %d (%s) while %s", WTERMSIG(r->status),
                 strsignal(WTERMSIG(r->status)), doing);
    else
        snprintf(text, size, "the candidate ended its process with exit status %d while %s",
                 WEXITSTATUS(r->status), doing);
}
