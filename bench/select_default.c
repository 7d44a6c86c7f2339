/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the untuned answer costs by arithmetic alone: of every sample of every operator, on made-up
 * devices, the candidates are asked and the default config of the first is found. The slowest are
 * listed by time, the least of a few turns; with --most R a child answers each call of the table
 * below on three of them, of which every instruction of the program's own is counted, and one that
 * takes more than R times what the table says fails. Needs no device and no database.
 */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/made_up.h"
#include "bench/made_up_cpu.h"
#include "target/target.h"

enum { TURNS = 5, SKIP = 77 };

static const char usage[] =
    "select_default [--list N] [--most R]: N (10) slowest of each target; "
    "instructions of at most R times what the table says";

typedef struct machine {
    const char *target;
    int threads; /* of a CPU as bench/made_up_cpu.h describes it; 0: the device below */
    optune_device device; /* of a target that assumes none */
} machine;

enum { COUNTED = 3 }; /* the first so many are counted on, too */

static const machine machines[] = {
    {"cpu -threads=1", 1, {.key = ""}},
    {"cpu -threads=192", 192, {.key = ""}},
    {"cuda -arch=sm_90", 0, {.key = ""}},
    {"cuda -arch=sm_80", 0, {.key = ""}},
    {"cpu -threads=64", 64, {.key = ""}},
    {"cpu -threads=2",
     0,
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
     0,
     {.key = "gpu",
      .kind = "opencl",
      .cores = 20,
      .warp = 32,
      .max_threads_per_block = 1024,
      .max_block = {1024, 1024, 64},
      .max_shared = 48 << 10}},
};

/* Not compiled by gcc 12 with -O3 (OT_AS_TABLE, of CMake), or with what distributions add to check
 * stacks, jumps and texts, calls are longer by another factor than the fixed work. */
#if defined OT_AS_TABLE && !defined __CET__ && !defined __SSP_STRONG__ &&                      \
    !defined _FORTIFY_SOURCE
enum { AS_TABLE = 1 };
#else
enum { AS_TABLE = 0 };
#endif
static const double LOOSE = 2;   /* what they are held to */
static const double FEWER = 0.8; /* below is told, so that the table falls, too */

/* Where arithmetic has most to do, convolutions by every way and products, and what many calls are.
 * On each machine, instructions in pieces of the fixed work below, which is counted likewise, so
 * that it is compiled alike; 0: not counted, as each step takes microseconds. By gcc 12 and -O3. */
typedef struct cost {
    const char *call, *before; /* another one of the operator, asked before it is counted */
    double pieces[COUNTED];
} cost;

static const cost costs[] = {
    {"dense(f32[121,64], const f32[32,64])",
     "dense(f32[57,96], const f32[48,96])",
     {0.35, 0.40, 1.89}},
    {"batch_matmul(f32[8,65,64], f32[8,33,64])",
     "batch_matmul(f32[4,31,80], f32[4,70,80])",
     {0.30, 0, 0}},
    {"conv2d(f32[1,128,56,56], const f32[128,128,3,3], strides=[2,2], padding=[1,1])",
     "conv2d(f32[1,96,40,40], const f32[96,96,3,3], strides=[2,2], padding=[1,1])",
     {2.92, 0, 0}},
    {"conv2d(f32[1,64,35,35], const f32[96,64,5,5], padding=[2,2])",
     "conv2d(f32[1,48,27,27], const f32[64,48,5,5], padding=[2,2])",
     {1.67, 0, 0}},
    {"conv2d(f32[1,64,28,28], const f32[64,64,1,1])",
     "conv2d(f32[1,32,20,20], const f32[32,32,1,1])",
     {0.87, 3.70, 0}},
    {"quantized_conv2d(u8[1,20,20,64], i8[96,64,3,3], i32[96], f32[96], padding=[1,1])",
     "quantized_conv2d(u8[1,14,14,32], i8[64,32,3,3], i32[64], f32[64], padding=[1,1])",
     {0.41, 2.15, 0}},
    {"attention(f32[1,8,128,64], f32[1,8,128,64], f32[1,8,128,64])",
     "attention(f32[1,4,96,32], f32[1,4,96,32], f32[1,4,96,32])",
     {0.30, 0, 0.43}},
    {"transpose(f32[2,3,20,17], axes=[0,2,3,1])",
     "transpose(f32[1,5,9,30], axes=[0,2,3,1])",
     {0.51, 0.59, 0.47}},
    {"pad(f32[1,3,20,17], before=[0,0,1,2], after=[0,0,3,1])",
     "pad(f32[2,5,9,30], before=[0,0,2,1], after=[0,0,1,1])",
     {0.82, 0, 0}},
};

typedef struct question {
    const char *text;
    double us;
} question;

static void place(const machine *m, optune_target *target, optune_device *device)
{
    optune_err err = {0};
    *device = m->threads ? made_up_cpu(m->threads) : m->device;
    if (m->threads) {
        device->l3 = INT64_C(300) << 20;
        device->dots = OPTUNE_DOT_I8 | OPTUNE_DOT_BF16;
    }
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

/* What a select does most: texts compared, records copied, whole numbers divided, sums. */
static __attribute__((noinline)) bool fixed_work(void)
{
    enum { RECORDS = 32, ROUNDS = 2 };
    typedef struct record {
        char name[32];
        int64_t number[12];
        double value;
    } record;
    static record from[RECORDS], to[RECORDS];
    static volatile int64_t seed = 12345; /* nothing is known to the compiler */
    double sum = 0;
    for (int i = 0; i < RECORDS; i++) {
        for (int k = 0; k < 31; k++)
            from[i].name[k] = (char)('a' + (k < 8 ? 0 : (i + k) % 26));
        for (int k = 0; k < 12; k++)
            from[i].number[k] = (seed + i * k) % (k + 7);
        from[i].value = (double)seed / (i + 1);
    }
    for (int t = 0; t < ROUNDS; t++)
        for (int i = 0; i < RECORDS; i++) {
            int at = 0;
            while (at < 31 && from[i].name[at] == from[(i + t + 1) % RECORDS].name[at])
                at++;
            to[i] = from[(i + at) % RECORDS];
            for (int k = 0; k < 12; k++)
                to[i].number[k] = k % 4 ? to[i].number[k] + at : to[i].number[k] / (at + 1);
            sum += to[i].value > sum ? to[i].value : (double)to[i].number[at % 12];
        }
    return sum > 0;
}

enum { FIXED = -1 }; /* in place of a call */

static void read_call(const char *text, optune_call *call)
{
    optune_err err = {0};
    if (ot_call_parse(text, call, &err) < 0)
        bench_die("%s", err.text);
}

/* Answers others before, so that what a process does once is done, and nothing that is remembered
 * is of this one. */
static void be_counted(optune_call *call, const optune_task *task, int which,
                       volatile sig_atomic_t *counting)
{
    for (int i = 0; i < OT_COUNT(costs); i++) {
        read_call(costs[i].before, call);
        answer(task);
    }
    if (which != FIXED)
        read_call(costs[which].call, call);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(SKIP);
    raise(SIGSTOP);
    *counting = 1;
    const bool done = which == FIXED ? fixed_work() : answer(task);
    *counting = 0;
    _exit(done ? 0 : 1);
}

#ifdef __x86_64__
enum { COUNTS = 1 };

/* Where the next step begins, if it is in the program itself; 0: in libc or the loader, which have
 * other ways to copy and to search on other CPUs. A child has the addresses of its parent. */
static uintptr_t own_step(pid_t child)
{
    extern const char __executable_start[], etext[];
    const long at = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user, regs.rip), NULL);
    const uintptr_t step = (uintptr_t)at;
    return step >= (uintptr_t)__executable_start && step < (uintptr_t)etext ? step : 0;
}
#else
enum { COUNTS = 0 };

static uintptr_t own_step(pid_t child)
{
    (void)child;
    return 0;
}
#endif

static int64_t instructions(optune_call *call, const optune_task *task, int which,
                            volatile sig_atomic_t *counting)
{
    int64_t n = 0;
    int status;
    uintptr_t last = 0;
    *counting = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        bench_die("no process to count in");
    if (child == 0)
        be_counted(call, task, which, counting);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status);
        const uintptr_t step = *counting ? own_step(child) : 0;
        n += step && step != last; /* what repeats itself stops after each byte */
        last = step;
        /* A signal of its own is the child's end, a step's and the first stop are ours. */
        const long sent = signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, sent) < 0) {
            kill(child, SIGKILL);
            bench_missing("nobody may trace a child here");
        }
    }
    if (WIFSIGNALED(status))
        bench_die("a select was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == SKIP)
        bench_missing("nobody may trace a child here");
    if (WEXITSTATUS(status) != 0)
        bench_die("%s: no untuned answer", which == FIXED ? "fixed work" : costs[which].call);
    if (n == 0)
        bench_die("no step was counted");
    return n;
}

/* How many of the calls take more than `most` times what the table says. */
static int count_on(const machine *m, int column, int64_t *piece, double most,
                    volatile sig_atomic_t *counting)
{
    static optune_call call;
    optune_target target;
    optune_device device;
    int over = 0;
    place(m, &target, &device);
    const optune_task task = {&call, &target, &device};
    if (!*piece)
        *piece = instructions(&call, &task, FIXED, counting);
    for (int i = 0; i < OT_COUNT(costs); i++) {
        const double said = costs[i].pieces[column];
        if (said == 0)
            continue;
        const int64_t n = instructions(&call, &task, i, counting);
        const double pieces = (double)n / (double)*piece;
        const bool more = pieces > most * said, fewer = AS_TABLE && pieces < FEWER * said;
        const char *told = fewer ? ": the table may say fewer" : "";
        printf("%-16s %8" PRId64 " instructions, %6.3f pieces of %6.3f%s  %s\n", m->target, n,
               pieces, said, more ? ": TOO MANY" : told, costs[i].call);
        over += more;
    }
    return over;
}

/* Rows are looked for by their addresses first: the same in each run, where that is allowed. */
static void lie_still(char **argv)
{
    const int now = personality(0xffffffff);
    if (now >= 0 && !(now & ADDR_NO_RANDOMIZE) &&
        personality((unsigned)now | ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", argv);
}

static void count_all(double most)
{
    int over = 0;
    int64_t piece = 0; /* the fixed work, once counted */
    const double held = AS_TABLE ? most : fmax(most, LOOSE);
    if (!COUNTS)
        bench_missing("steps are told apart on x86-64 alone");
    volatile sig_atomic_t *counting =
        mmap(NULL, sizeof *counting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counting == MAP_FAILED)
        bench_die("no memory to share");
    /* Who steps and who is stepped take turns, on one core without a wakeup of another. */
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    for (int i = 0; i < COUNTED; i++)
        over += count_on(&machines[i], i, &piece, held, counting);
    munmap((void *)counting, sizeof *counting);
    if (!AS_TABLE)
        printf("the table is of gcc 12 and -O3 alone: held to %.2f times, not %.2f\n", held,
               most);
    if (over)
        bench_die(
            "%d calls (TOO MANY) take more than %.2f times what the table says: costs[] of "
            "bench/select_default.c, a column for each target, by gcc 12 and -O3; what is "
            "meant to take more gets its pieces there",
            over, held);
}

int main(int argc, char **argv)
{
    int listed = 10;
    double most = 0;
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
        lie_still(argv);
        count_all(most);
    }
    printf("select_default: done\n");
    return 0;
}
