/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vandals that break things: the conversation with the other side, processes, memory, files. Each
 * does it in its third call. What they start is called plant-<SHARED_NAME>, and ends within a
 * minute; whom they stop goes on after that long; they touch no process but theirs and those
 * called optune*.
 */
#define LIFE_S 60

/* An ancestor called optune*, `up` of them above this process; 0: there is none. */
static pid_t ancestor(int up)
{
    pid_t pid = getpid();
    for (int i = 0; i <= up; i++) {
        char path[64], name[64] = "";
        size_t n;
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        char *text = slurp(path, &n), *end = strrchr(text, ')');
        if (end)
            sscanf(end + 1, " %*c %d", &parent);
        free(text);
        snprintf(path, sizeof path, "/proc/%d/comm", parent);
        text = slurp(path, &n);
        snprintf(name, sizeof name, "%s", text);
        free(text);
        if (parent <= 1 || strncmp(name, "optune", 6) != 0)
            return 0;
        pid = parent;
    }
    return pid;
}

/* The program that asked, which no check survives the end of. */
static int is_program(pid_t pid)
{
    char path[64];
    size_t n;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    char *text = slurp(path, &n);
    const int is = strcmp(text, "optune\n") == 0;
    free(text);
    return is;
}

static int64_t life(void)
{
    return ns() + (int64_t)LIFE_S * 1000000000;
}

static void burn(void)
{
    for (const int64_t end = life(); ns() < end;)
        continue;
}

/* A process out of reach: another session, another name, no file in common. True in it. */
static int away(void)
{
    const pid_t pid = fork();
    if (pid != 0) {
        if (pid > 0)
            waitpid(pid, NULL, 0);
        return 0;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    prctl(PR_SET_NAME, "plant-" SHARED_NAME);
    prctl(PR_SET_PDEATHSIG, 0);
    for (int fd = 0; fd < 256; fd++)
        close(fd);
    return 1;
}

static void rescue(pid_t pid)
{
    if (away()) {
        sleep(LIFE_S);
        kill(pid, SIGCONT);
        _exit(0);
    }
}

/* To whatever takes bytes. */
static void pour(const void *bytes, size_t n, int from)
{
    for (int fd = from; fd < 256; fd++)
        if (send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == ENOTSOCK) {
            struct stat info;
            if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode)) {
                signal(SIGPIPE, SIG_IGN);
                fcntl(fd, F_SETFL, O_NONBLOCK);
                if (write(fd, bytes, n) < 0)
                    continue;
            }
        }
}

static void each_module(void (*with)(const char *path, const char *other))
{
    DIR *dir = opendir(CACHE);
    struct dirent *e;
    Dl_info own; /* is left for last: what it runs on is in there */
    char path[PATH_MAX], last[PATH_MAX] = "";
    dladdr((void *)each_module, &own);
    while (dir && (e = readdir(dir))) {
        if (!strstr(e->d_name, ".so") ||
            snprintf(path, sizeof path, "%s/%s", CACHE, e->d_name) >= PATH_MAX ||
            strcmp(own.dli_fname, path) == 0)
            continue;
        with(path, last);
        snprintf(last, sizeof last, "%s", path);
    }
    if (dir)
        closedir(dir);
    with(own.dli_fname, last);
}

static void cut(const char *path, const char *other)
{
    (void)other;
    truncate(path, 4096);
}

/* Bytes of its code, so that it loads and does something else. */
static void flip(const char *path, const char *other)
{
    (void)other;
    struct stat info;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    static char zero[512];
    if (fd >= 0 && fstat(fd, &info) == 0)
        for (off_t at = 0x1000; at < info.st_size; at += 0x1000)
            pwrite(fd, zero, sizeof zero, at + 0x100);
    if (fd >= 0)
        close(fd);
}

static void drop(const char *path, const char *other)
{
    (void)other;
    unlink(path);
}

static void swap(const char *path, const char *other)
{
    char aside[PATH_MAX + 8];
    snprintf(aside, sizeof aside, "%s.aside", path);
    if (other[0] && rename(path, aside) == 0 && rename(other, path) == 0)
        rename(aside, other);
}

static void *crash_soon(void *arg)
{
    (void)arg;
    usleep(400000);
    *(volatile int *)16 = 1;
    return NULL;
}

static void *scribble_soon(void *arg)
{
    const task *t = arg;
    for (int i = 0; i < 3000; i++) {
        usleep(1000);
        memset(t->y, 0x3c, sizeof(float) * OUTPUTS);
        t->x[i % XS] = 5;
    }
    return NULL;
}

#ifdef PLANT_at_load
__attribute__((constructor)) static void at_load(void)
{
    abort();
}
#endif
#ifdef PLANT_at_unload
__attribute__((destructor)) static void at_unload(void)
{
    for (;;)
        pause();
}
#endif

static jmp_buf earlier;

static void wreck(const task *t)
{
    static const unsigned char garbage[64] =
        "\0\0\0\x3cthis is no JSON at all, and it is sent all the same";
    (void)garbage;
    (void)rescue;
#if defined PLANT_garbage
    pour(garbage, sizeof garbage, 3);
#elif defined PLANT_half_message
    pour("\0\0\x10\0{\"outco", 12, 3);
#elif defined PLANT_huge_length
    pour("\xff\xff\xff\xff{\"outcome\":", 15, 3);
#elif defined PLANT_close_all
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
#elif defined PLANT_replace_all
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 256; fd++)
        if (fd != null && fcntl(fd, F_GETFD) >= 0)
            dup2(null, fd);
#elif defined PLANT_exit
    exit(0);
#elif defined PLANT_exit_now
    _exit(0);
#elif defined PLANT_abort
    abort();
#elif defined PLANT_kill_self
    kill(getpid(), SIGKILL);
#elif defined PLANT_kill_group
    if (getpgrp() == getpid() || getpgrp() == getppid())
        kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
#elif defined PLANT_kill_parent
    if (ancestor(0))
        kill(ancestor(0), SIGKILL);
#elif defined PLANT_stop_self
    kill(getpid(), SIGSTOP);
#elif defined PLANT_stop_parent
    const pid_t parent = ancestor(0);
    if (parent) {
        rescue(parent);
        kill(parent, SIGSTOP);
    }
    raise(SIGSTOP);
#elif defined PLANT_term_ancestors
    for (int up = 3; up >= 0; up--)
        if (ancestor(up))
            kill(ancestor(up), SIGTERM);
#elif defined PLANT_trace_parent
    const pid_t parent = ancestor(0);
    if (parent && ptrace(PTRACE_SEIZE, parent, 0, 0) == 0) {
        ptrace(PTRACE_INTERRUPT, parent, 0, 0);
        sleep(LIFE_S);
    }
#elif defined PLANT_starve_parent
    for (int up = 0; ancestor(up); up++) {
        const pid_t parent = ancestor(up);
        cpu_set_t last;
        CPU_ZERO(&last);
        CPU_SET(1, &last);
        setpriority(PRIO_PROCESS, (id_t)parent, 19);
        sched_setaffinity(parent, sizeof last, &last);
        sched_setscheduler(parent, SCHED_IDLE, &(struct sched_param){0});
    }
#elif defined PLANT_limit_parent
    for (int up = 0; ancestor(up); up++) {
        const struct rlimit none = {0, 0}, second = {1, 1};
        prlimit(ancestor(up), RLIMIT_FSIZE, &none, NULL);
        prlimit(ancestor(up), RLIMIT_NOFILE, &none, NULL);
        prlimit(ancestor(up), RLIMIT_CPU, &second, NULL);
    }
#elif defined PLANT_pthread_exit
    pthread_exit(NULL);
#elif defined PLANT_longjmp
    longjmp(earlier, 1);
#elif defined PLANT_unmap_stack
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)4095;
    munmap((void *)(here - 65536), 131072);
#elif defined PLANT_no_heap || defined PLANT_unmap_libc
    size_t n;
    char *maps = slurp("/proc/self/maps", &n);
    for (char *line = maps; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long lo, hi;
        const char *end = strchr(line, '\n');
#ifdef PLANT_no_heap
        const char *name = "[heap]";
#else
        const char *name = "libc.so";
#endif
        const char *found = strstr(line, name);
        if (found && end && found < end && sscanf(line, "%lx-%lx", &lo, &hi) == 2)
            syscall(SYS_mprotect, lo, hi - lo, PROT_NONE);
    }
#elif defined PLANT_double_free
    char *p = malloc(5000), *q = malloc(5000);
    free(p);
    free(p);
    free(q);
    free((char *)malloc(100) + 8);
#elif defined PLANT_smash_heap
    memset((char *)malloc(64) - 64, 0x77, 8192);
#elif defined PLANT_overflow
    volatile char deep[4096];
    deep[0] = 1;
    wreck(t);
    deep[1] = deep[0];
#elif defined PLANT_unload
    Dl_info info;
    if (dladdr((void *)wreck, &info)) {
        void *self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        for (int i = 0; self && i < 8; i++)
            dlclose(self);
    }
#elif defined PLANT_endless
    for (volatile int i = 0;; i++)
        continue;
#elif defined PLANT_sleep
    sleep(10 * LIFE_S);
#elif defined PLANT_eat
    for (int i = 0; i < 32; i++) {
        char *some = malloc(64 << 20);
        for (size_t at = 0; some && at < 64 << 20; at += 4096)
            some[at] = 1;
    }
#elif defined PLANT_forks
    for (int i = 0; i < 50; i++)
        if (fork() == 0) {
            prctl(PR_SET_NAME, "plant-" SHARED_NAME);
            prctl(PR_SET_PDEATHSIG, 0);
            if (i % 2)
                setsid();
            if (i == 0)
                burn();
            signal(SIGALRM, SIG_DFL);
            alarm(LIFE_S);
            pause();
            _exit(0);
        }
#elif defined PLANT_daemon || defined PLANT_daemon_kill
    for (int i = 0; i < 2; i++)
        if (away()) {
            burn();
            _exit(0);
        }
#ifdef PLANT_daemon_kill
    for (int up = 0; up < 2; up++) /* this process's parent, and what is there instead */
        if (ancestor(0) && !is_program(ancestor(0)))
            kill(ancestor(0), SIGKILL);
#endif
#elif defined PLANT_daemon_lock
    if (away()) {
        DIR *dir = opendir(RUNTIME);
        struct dirent *e;
        char path[PATH_MAX];
        while (dir && (e = readdir(dir)))
            if (strstr(e->d_name, ".lock") &&
                snprintf(path, sizeof path, "%s/%s", RUNTIME, e->d_name) < PATH_MAX)
                flock(open(path, O_RDWR), LOCK_EX);
        sleep(LIFE_S);
        _exit(0);
    }
#elif defined PLANT_fill_files
    const char *where[] = {".", getenv("TMPDIR") ? getenv("TMPDIR") : "."};
    static char piece[1 << 20];
    for (int i = 0; i < 64; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/plant-" SHARED_NAME "-%d", where[i % 2], i);
        const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && write(fd, piece, sizeof piece) >= 0)
            close(fd);
    }
#elif defined PLANT_cut_cache
    each_module(cut);
#elif defined PLANT_flip_cache
    each_module(flip);
#elif defined PLANT_remove_cache
    each_module(drop);
#elif defined PLANT_swap_cache
    each_module(swap);
#elif defined PLANT_chatter
    static char text[1 << 16];
    memset(text, '{', sizeof text);
    for (int i = 0; i < 128; i++)
        for (int fd = 0; fd < 3; fd++)
            if (write(fd, text, sizeof text) < 0)
                continue;
    for (int i = 0; i < 1000; i++)
        printf("%s", "\"winner\": {\n");
    fflush(stdout);
#elif defined PLANT_after_return || defined PLANT_segv_thread
    static task later;
    later = *t;
    pthread_t thread;
#ifdef PLANT_segv_thread
    pthread_create(&thread, NULL, crash_soon, NULL);
#else
    pthread_create(&thread, NULL, scribble_soon, &later);
#endif
#endif
    (void)t;
}

static int trick(const task *t)
{
    if (calls == 1 && setjmp(earlier))
        return 2;
    if (calls != 3)
        return 0;
    honest(t);
    wreck(t);
    return 2;
}

static void learn(const task *t)
{
    (void)t;
}
