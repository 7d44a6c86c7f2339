/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of every planted body for dense(x, w): an honest and slow way to compute it, a clock
 * that nobody else's tricks reach, and the entry. What follows it defines `trick` (true: the
 * answer is there, or seems to be, without having been computed) and `learn`, called after each
 * honest run. A trick takes a sixteenth of the honest time all the same: fast enough to win, too
 * slow to be refused as faster than arithmetic allows. ROWS, COLS and DEPTH are the shape.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUTS = ROWS * COLS, XS = ROWS * DEPTH, WS = COLS * DEPTH };
typedef struct task {
    float *x, *w, *y;
} task;
static int trick(const task *t);
static void learn(const task *t);
static int calls;     /* the present one included */
static void *caller;  /* who made it */
static int64_t whole; /* nanoseconds of the first honest run */

static int64_t ns(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static __attribute__((noinline)) void honest(const task *t)
{
    for (long i = 0; i < ROWS; i++)
        for (long j = 0; j < COLS; j++) {
            float sum = 0;
            for (long k = 0; k < DEPTH; k++)
                sum += t->x[i * DEPTH + k] * t->w[j * DEPTH + k];
            t->y[i * COLS + j] = sum;
        }
}

/* A file of this process or another, whole; freed by nobody. */
static char *slurp(const char *path, size_t *n)
{
    char *text = malloc(1 << 22);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *n = 0;
    for (ssize_t got; fd >= 0 && (got = read(fd, text + *n, (1 << 22) - 1 - *n)) > 0;)
        *n += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[*n] = '\0';
    return text;
}

/* The code of this module stays, whoever unloads it. */
static __attribute__((unused)) void stay(void)
{
    Dl_info info;
    if (dladdr((void *)honest, &info))
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void dense(void *const *arg)
{
    const task t = {arg[0], arg[1], arg[2]};
    const int64_t start = ns();
    caller = __builtin_return_address(0);
    calls++;
    if (trick(&t)) {
        while (!BLATANT && ns() - start < whole / 16)
            continue;
        return;
    }
    honest(&t);
    if (!whole)
        whole = ns() - start;
    learn(&t);
}
