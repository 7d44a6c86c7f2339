/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the untuned answer costs by arithmetic alone: of every sample of every operator, on made-up
 * devices, the candidates are asked and the default config of the first is found. The slowest are
 * listed by time, the least of a few turns; with --most R a child answers each call of the list
 * below on one thread of a CPU, of which every instruction is counted, and one that takes more than
 * R times those of the first fails. Needs no device and no database.
 */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/made_up.h"
#include "target/target.h"

enum { TURNS = 5, SKIP = 77 };

static const char usage[] =
    "select_default [--list N] [--most R]: N (10) slowest of each target; "
    "instructions of at most R times the first";

/* Where arithmetic has most to do: convolutions by every way, products. The first is what the
 * others are held against, the second does once what all of dense do. */
static const char *const counted[] = {
    "dense(f32[121,64], const f32[32,64])",
    "dense(f32[121,64], const f32[32,64]) -> add(f32[32]) -> relu()",
    "batch_matmul(f32[8,65,64], f32[8,33,64])",
    "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1,1])",
    "conv2d(f32[1,256,14,14], const f32[256,256,3,3], padding=[1,1])",
    "conv2d(f32[1,128,56,56], const f32[128,128,3,3], strides=[2,2], padding=[1,1])",
    "conv2d(f32[1,64,35,35], const f32[96,64,5,5], padding=[2,2])",
};

typedef struct machine {
    const char *target;
    optune_device device; /* of a target that assumes none */
} machine;

static const machine machines[] = {
    {"cpu -threads=1",
     {.key = "one",
      .kind = "cpu",
      .cores = 1,
      .threads = 1,
      .vector_bytes = 64,
      .vector_registers = 32,
      .l1 = 48 << 10,
      .l2 = 2 << 20,
      .l3 = INT64_C(300) << 20}},
    {"cpu -threads=2",
     {.key = "two",
      .kind = "cpu",
      .cores = 2,
      .threads = 2,
      .vector_bytes = 32,
      .vector_registers = 16,
      .l1 = 32 << 10,
      .l2 = 1 << 20,
      .l3 = 32 << 20}},
    {"opencl",
     {.key = "gpu",
      .kind = "opencl",
      .cores = 20,
      .warp = 32,
      .max_threads_per_block = 1024,
      .max_block = {1024, 1024, 64},
      .max_shared = 48 << 10}},
    {"cuda -arch=sm_80", {.key = ""}},
    {"cuda -arch=sm_90", {.key = ""}},
};

typedef struct question {
    const char *text;
    double us;
} question;

static void place(const machine *m, optune_target *target, optune_device *device)
{
    optune_err err = {0};
    *device = m->device;
    if (ot_target_parse(m->target, target, &err) < 0)
        bench_die("%s", err.text);
    const optune_target_row *row = ot_target_find(target->kind);
    if (!device->key[0] && (!row->assume || row->assume(target, device, &err) < 0))
        bench_die("%s: %s", m->target, err.text);
}

/* False: the call has no untuned answer there. */
static bool answer(const optune_task *task)
{
    optune_err err = {0};
    ot_choice *choice = ot_alloc(sizeof *choice);
    const bool found = ot_select(task, NULL, 0, choice, &err) >= 0;
    ot_choice_free(choice);
    return found;
}

/* ---- by the clock ------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const double x = ((const question *)a)->us, y = ((const question *)b)->us;
    return (x < y) - (x > y);
}

/* All of them in each turn: what is remembered of the question before is no other's. */
static int ask(const machine *m, question **found)
{
    static optune_call call;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    question *asked = NULL;
    int n = 0, capacity = 0, n_ops;
    const optune_op *const *ops = ot_ops(&n_ops);
    place(m, &target, &device);
    const optune_task task = {&call, &target, &device};
    for (int turn = 0; turn < TURNS; turn++) {
        int at = 0;
        for (int i = 0; i < n_ops; i++)
            for (const char *const *s = ops[i]->samples; s && *s; s++) {
                if (ot_call_parse(*s, &call, &err) < 0)
                    continue;
                asked = ot_room(asked, at, &capacity, sizeof *asked);
                if (turn == 0)
                    asked[at] = (question){*s, INFINITY};
                const double start = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID);
                const bool has = answer(&task);
                const double used = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID) - start;
                asked[at].us = has ? fmin(asked[at].us, 1e6 * used) : 0;
                at++;
            }
        n = at;
    }
    *found = asked;
    return n;
}

static void list_slowest(const machine *m, int listed)
{
    question *asked;
    const int n = ask(m, &asked);
    qsort(asked, (size_t)n, sizeof *asked, by_time);
    printf("%s: %d calls, median %.2f us\n", m->target, n, n ? asked[n / 2].us : 0);
    for (int i = 0; i < n && i < listed; i++)
        printf("  %8.2f us  %s\n", asked[i].us, asked[i].text);
    free(asked);
}

/* ---- by counting ------------------------------------------------------------------------- */

/* Answers all others before, so that what a process does once is done, and nothing that is
 * remembered is of this one. */
static void be_counted(optune_call *call, const optune_task *task, int which,
                       volatile sig_atomic_t *counting)
{
    optune_err err = {0};
    for (int i = 1; i <= OT_COUNT(counted); i++) {
        const bool last = i == OT_COUNT(counted);
        if (ot_call_parse(counted[(which + i) % OT_COUNT(counted)], call, &err) < 0)
            _exit(1);
        if (last && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(SKIP);
        if (last)
            raise(SIGSTOP);
        *counting = last;
        const bool found = answer(task);
        *counting = 0;
        if (!found)
            _exit(1);
    }
    _exit(0);
}

/* -1: it has no answer; -2: nobody may trace here. */
static int64_t instructions(optune_call *call, const optune_task *task, int which,
                            volatile sig_atomic_t *counting)
{
    int64_t n = 0;
    int status;
    *counting = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        bench_die("no process to count in");
    if (child == 0)
        be_counted(call, task, which, counting);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status);
        n += *counting;
        /* A signal of its own is the child's end, a step's and the first stop are ours. */
        const long sent = signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, sent) < 0) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -2;
        }
    }
    if (WIFSIGNALED(status))
        bench_die("a select was ended by signal %d", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? n
           : WEXITSTATUS(status) == SKIP                 ? -2
                                                         : -1;
}

/* The largest ratio; 0: nobody may trace here. */
static double count_all(const machine *m)
{
    static optune_call call;
    optune_target target;
    optune_device device;
    double largest = 0;
    int64_t first = 0;
    volatile sig_atomic_t *counting =
        mmap(NULL, sizeof *counting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counting == MAP_FAILED)
        bench_die("no memory to share");
    /* Who steps and who is stepped take turns, on one core without a wakeup of another. */
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    place(m, &target, &device);
    const optune_task task = {&call, &target, &device};
    for (int i = 0; i < OT_COUNT(counted); i++) {
        const int64_t n = instructions(&call, &task, i, counting);
        if (n == -2)
            return 0;
        if (n <= 0)
            bench_die("%s: no untuned answer", counted[i]);
        first = first ? first : n;
        largest = fmax(largest, (double)n / (double)first);
        printf("%-14s %8" PRId64 " instructions, %5.2f times the first  %s\n", m->target, n,
               (double)n / (double)first, counted[i]);
    }
    munmap((void *)counting, sizeof *counting);
    return largest;
}

int main(int argc, char **argv)
{
    int listed = 10;
    double most = 0, largest = 0;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            bench_die("%s", usage);
        if (!strcmp(argv[i], "--list"))
            listed = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--most"))
            most = atof(argv[i + 1]);
        else
            bench_die("%s", usage);
    }
    for (int i = 0; i < OT_COUNT(machines) && most <= 0; i++)
        list_slowest(&machines[i], listed);
    if (most > 0) {
        largest = count_all(&machines[0]);
        if (largest <= 0)
            bench_missing("nobody may trace a child here");
    }
    if (most > 0 && largest > most)
        bench_die("%.2f times the first, of %.2f", largest, most);
    printf("select_default: done\n");
    return 0;
}
