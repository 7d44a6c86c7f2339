/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The honest one. In its first call it writes one line to the file REPORT: all that it can see of
 * its process that somebody before it may have changed. Two clean runs give the same line.
 */
#include <xmmintrin.h>

static char line[8192];
static size_t used;

static __attribute__((format(printf, 1, 2))) void say(const char *form, ...)
{
    va_list values;
    va_start(values, form);
    const int n = vsnprintf(line + used, sizeof line - used, form, values);
    va_end(values);
    if (n > 0 && used + (size_t)n < sizeof line)
        used += (size_t)n;
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir)))
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void signals(void)
{
    sigset_t blocked, pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        if (sigismember(&blocked, i) == 1)
            say(" blocked=%d", i);
        if (sigismember(&pending, i) == 1)
            say(" pending=%d", i);
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            say(" %s=%d", action.sa_handler == SIG_IGN ? "ignored" : "handled", i);
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    say(" altstack=%d", !(stack.ss_flags & SS_DISABLE));
}

static void timers(void)
{
    size_t n;
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval left;
        if (getitimer(which, &left) == 0 && (left.it_value.tv_sec || left.it_value.tv_usec))
            say(" itimer=%d", which);
    }
    char *text = slurp("/proc/self/timers", &n);
    say(" timers=%d", n > 0);
    free(text);
    struct timespec quick;
    clock_gettime(CLOCK_MONOTONIC, &quick);
    const int64_t off = ns() - ((int64_t)quick.tv_sec * 1000000000 + quick.tv_nsec);
    say(" clock=%d", off > -100000000 && off < 1000000000);
}

static void limits(void)
{
    for (int i = 0; i < 16; i++) {
        struct rlimit limit;
        if (i != RLIMIT_NICE && getrlimit((__rlimit_resource_t)i, &limit) == 0)
            say(" limit%d=%llx/%llx", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
}

extern char **environ;

static void witness(void)
{
    cpu_set_t cpus;
    memset(&cpus, 0, sizeof cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    say("nice=%d policy=%d", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    for (int i = 0; i < 64; i++)
        if (CPU_ISSET(i, &cpus))
            say(" cpu=%d", i);
    say(" slack=%d dumpable=%d subreaper=", prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE));
    int reaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    say("%d", reaper);
    signals();
    timers();
    limits();
    char cwd[PATH_MAX] = "gone";
    if (!getcwd(cwd, sizeof cwd) || strcmp(cwd, "/proc") == 0)
        say(" cwd=%s", cwd);
    const mode_t mask = umask(0);
    umask(mask);
    say(" umask=%o locale=%s point=%s", mask, setlocale(LC_ALL, NULL),
        localeconv()->decimal_point);
    say(" round=%d mxcsr=%x", fegetround(), _mm_getcsr() & ~0x3fu);
    int variables = 0;
    for (char **e = environ; e && *e; e++)
        variables++;
    const char *names[] = {"PATH", "LD_PRELOAD", "OMP_NUM_THREADS", "OMP_DYNAMIC",
                           "PLANT_WAS_HERE"};
    say(" variables=%d", variables);
    for (int i = 0; i < 5; i++)
        say(" %s=%s", names[i], getenv(names[i]) ? getenv(names[i]) : "-");
    /* A worker has a folder of its own for temporary files: where that is. */
    const char *own = getenv("TMPDIR"), *end = own ? strrchr(own, '/') : NULL;
    say(" TMPDIR=%.*s", end ? (int)(end - own) : 0, own ? own : "");
    say(" tasks=%d files=%d session=%d", entries("/proc/self/task"), entries("/proc/self/fd"),
        getsid(0) == getpid());
    int (*omp)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    say(" omp=%d", omp ? omp() : 0);
    void *some = malloc(1 << 20);
    say(" malloc=%d\n", some != NULL);
    free(some);
}

static int trick(const task *t)
{
    (void)t;
    if (calls == 1) {
        witness();
        const int fd = open(REPORT, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && write(fd, line, used) == (ssize_t)used)
            close(fd);
    }
    return 0;
}

static void learn(const task *t)
{
    (void)t;
}
