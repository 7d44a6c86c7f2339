/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that share a kernel's parallel loops, of which each caller's thread has its own.
 *
 * A loop is cut into parts, some for each of the kernel's threads, and a part belongs to nobody:
 * whoever comes first takes it, the caller too, and the caller waits only for parts that somebody
 * began. So a helper that the system does not run, as another process has its core, costs what it
 * would have done and no more, and a core that is slower than the other does less. libgomp's teams
 * wait for every thread, which on a shared machine is for ever.
 *
 * A job is open while parts of it are left: part i may be taken while claim[i] is the job's number
 * with its lowest bit clear. The caller starts no other job before all parts are done, so what a
 * thread reads behind a claim that it got is that job's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/process.h"
#include "target/target.h"

/* Idle helpers, and callers whose last part somebody else computes, look for so long before they
 * sleep: longer than most gaps between kernels of a model, little of a core that others want. */
static const double LOOK_S = 2e-4;

typedef struct helper {
    struct team *team;
    pthread_t thread;
    unsigned index; /* of the thread, the caller's being 0 */
} helper;

typedef struct team {
    unsigned n, n_parts; /* threads, the caller among them; parts of a loop */
    unsigned n_helpers, forks;
    int64_t looks;
    helper *helper;
    void (*body)(void *);
    void *arg;
    uint32_t number;                   /* of the last job, the caller's */
    _Alignas(64) _Atomic uint32_t job; /* the same, told; helpers sleep on it */
    _Atomic uint32_t asleep;           /* helpers */
    _Atomic bool over;
    _Alignas(64) _Atomic uint32_t left; /* parts that are not done; the caller sleeps on it */
    _Atomic bool waits;
    _Alignas(64) _Atomic uint32_t claim[];
} team;

static _Thread_local struct {
    int number, count; /* of the part at hand; count 0: no part is */
    int thread;
} here;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t mine;
static bool keeps; /* there is a place for each thread's team */
static _Atomic unsigned forks;

static void sleep_on(_Atomic uint32_t *at, uint32_t while_it_is)
{
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_it_is, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *at, int n)
{
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static inline void look_again(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void does(team *t, unsigned part)
{
    here.number = (int)part;
    here.count = (int)t->n_parts;
    t->body(t->arg);
    here.number = here.count = 0;
    if (atomic_fetch_sub(&t->left, 1) == 1 && atomic_load(&t->waits))
        wake(&t->left, 1);
}

static void does_if_open(team *t, uint32_t job, unsigned part)
{
    uint32_t open = job;
    if (atomic_load_explicit(&t->claim[part], memory_order_relaxed) == open &&
        atomic_compare_exchange_strong(&t->claim[part], &open, job | 1))
        does(t, part);
}

/* Its own parts first, then those that others have not come to, of each the last first. */
static void does_some(team *t, uint32_t job, unsigned thread)
{
    const unsigned each = OT_TEAM_PARTS;
    here.thread = (int)thread;
    for (unsigned i = 0; i < each; i++)
        does_if_open(t, job, thread * each + i);
    for (unsigned other = 1; other < t->n; other++)
        for (unsigned i = each; i-- > 0;)
            does_if_open(t, job, (thread + other) % t->n * each + i);
}

/* ---- helpers -------------------------------------------------------------------------------- */

/* The next job's number. */
static uint32_t next_job(team *t, uint32_t seen)
{
    for (int64_t i = 0; i < t->looks; i++) {
        const uint32_t job = atomic_load_explicit(&t->job, memory_order_acquire);
        if (job != seen)
            return job;
        look_again();
    }
    atomic_fetch_add(&t->asleep, 1);
    uint32_t job;
    while ((job = atomic_load(&t->job)) == seen)
        sleep_on(&t->job, seen);
    atomic_fetch_sub(&t->asleep, 1);
    return job;
}

static void *helps(void *arg)
{
    const helper *h = arg;
    team *t = h->team;
    for (uint32_t seen = 0;;) {
        seen = next_job(t, seen);
        if (atomic_load(&t->over))
            return NULL;
        does_some(t, seen, h->index);
    }
}

/* In a process that is the target's, on a core of its own. */
static void place(pthread_attr_t *how, unsigned index)
{
    const int at = ot_process_claimed() ? ot_cpu_place((int)index) : -1;
    cpu_set_t *set = at >= 0 ? CPU_ALLOC(at + 1) : NULL;
    if (!set)
        return;
    const size_t bytes = CPU_ALLOC_SIZE(at + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)at, bytes, set);
    pthread_attr_setaffinity_np(how, bytes, set);
    CPU_FREE(set);
}

/* Signals that are sent to a process are for threads of its own. */
static int start(helper *h)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most, before;
    pthread_attr_t how;
    if (pthread_attr_init(&how) != 0)
        return ENOMEM;
    place(&how, h->index);
    sigfillset(&most);
    for (size_t i = 0; i < OT_COUNT(faults); i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    const int rc = pthread_create(&h->thread, &how, helps, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    return rc;
}

/* ---- teams ---------------------------------------------------------------------------------- */

static void stop(team *t)
{
    atomic_store(&t->over, true);
    atomic_store(&t->job, t->number += 2);
    wake(&t->job, INT_MAX);
    for (unsigned i = 0; i < t->n_helpers; i++)
        pthread_join(t->helper[i].thread, NULL);
    t->n_helpers = 0;
}

/* Behind a fork the helpers of before are not there; their team's memory is left. */
static bool is_of_this_process(const team *t)
{
    return t->forks == atomic_load(&forks);
}

static void end(void *arg)
{
    team *t = arg;
    if (!is_of_this_process(t))
        return;
    stop(t);
    free(t->helper);
    free(t);
}

static void forked(void)
{
    atomic_fetch_add(&forks, 1);
}

/* Helpers must not outlive the code that they run, wherever it was loaded from. */
static void stay_loaded(void)
{
    Dl_info is;
    if (dladdr((void *)(uintptr_t)forked, &is) && is.dli_fname)
        dlopen(is.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void prepare(void)
{
    keeps = pthread_key_create(&mine, end) == 0;
    pthread_atfork(NULL, NULL, forked);
    stay_loaded();
}

/* NULL: there is no memory for one. */
static team *make(unsigned n)
{
    const unsigned parts = n * OT_TEAM_PARTS;
    const size_t bytes = sizeof(team) + parts * sizeof(uint32_t);
    team *t = aligned_alloc(64, (bytes + 63) / 64 * 64);
    helper *h = calloc(n, sizeof *h);
    if (!t || !h) {
        free(t);
        free(h);
        return NULL;
    }
    *t = (team){.n = n,
                .n_parts = parts,
                .helper = h,
                .forks = forks,
                .looks = ot_cpu_spins(LOOK_S)};
    for (unsigned i = 0; i < parts; i++)
        atomic_init(&t->claim[i], 1);
    if (ot_process_claimed()) {
        optune_err err = {0};
        ot_cpu_bind(0, 1, &err);
    }
    return t;
}

/* As many helpers as there may be. Fewer would be measured as what they are not: there, as with
 * libgomp, it is the end of the process. */
static void fill(team *t)
{
    while (t->n_helpers + 1 < t->n) {
        helper *h = &t->helper[t->n_helpers];
        *h = (helper){.team = t, .index = t->n_helpers + 1};
        if (start(h) != 0) {
            if (ot_process_claimed())
                _exit(1);
            return;
        }
        t->n_helpers++;
    }
}

static team *team_of(unsigned n)
{
    if (!keeps)
        return NULL;
    team *t = pthread_getspecific(mine);
    if (t && t->n == n && is_of_this_process(t))
        return t;
    if (t)
        end(t);
    t = make(n);
    if (pthread_setspecific(mine, t) != 0 && t) {
        end(t);
        t = NULL;
    }
    if (t)
        fill(t);
    return t;
}

static void alone(void (*body)(void *), void *arg, int number, int count)
{
    const int before[] = {here.number, here.count};
    here.number = number;
    here.count = count;
    body(arg);
    here.number = before[0];
    here.count = before[1];
}

static void wait_for_parts(team *t)
{
    for (int64_t i = 0; i < t->looks; i++) {
        if (atomic_load_explicit(&t->left, memory_order_acquire) == 0)
            return;
        look_again();
    }
    atomic_store(&t->waits, true);
    uint32_t left;
    while ((left = atomic_load(&t->left)) != 0)
        sleep_on(&t->left, left);
    atomic_store(&t->waits, false);
}

static void run_in(team *t, void (*body)(void *), void *arg)
{
    t->body = body;
    t->arg = arg;
    t->number += 2;
    atomic_store_explicit(&t->left, t->n_parts, memory_order_relaxed);
    for (unsigned i = 0; i < t->n_parts; i++)
        atomic_store_explicit(&t->claim[i], t->number, memory_order_release);
    atomic_store(&t->job, t->number);
    if (atomic_load(&t->asleep) > 0)
        wake(&t->job, INT_MAX);
    does_some(t, t->number, 0);
    wait_for_parts(t);
}

/* A loop within a part is all of the thread's that has the part, as in OpenMP. */
static void run(void (*body)(void *), void *arg, unsigned n)
{
    const bool within = here.count > 0;
    team *t = within || n < 2 ? NULL : team_of(n);
    if (t)
        run_in(t, body, arg);
    else if (within)
        alone(body, arg, 0, 1);
    else
        for (unsigned i = 0; i < n * OT_TEAM_PARTS; i++)
            alone(body, arg, (int)i, (int)(n * OT_TEAM_PARTS));
}

static int number(void)
{
    return here.number;
}

static int count(void)
{
    return here.count ? here.count : 1;
}

static int thread(void)
{
    return here.thread;
}

void ot_cpu_team_give(void *module)
{
    static const ot_cpu_team calls = {run, number, count, thread};
    void *const found = dlsym(module, "ot_team");
    if (!found)
        return;
    pthread_once(&once, prepare);
    *(const ot_cpu_team **)found = &calls;
}

void ot_cpu_team_rest(void)
{
    pthread_once(&once, prepare);
    team *t = keeps ? pthread_getspecific(mine) : NULL;
    if (!t)
        return;
    pthread_setspecific(mine, NULL);
    end(t);
}

void ot_process_rest(void)
{
    enum { SOFT = 1 }; /* omp_pause_soft */
    if (ot_process_claimed())
        ot_cpu_team_rest();
    int (*rest)(int) = NULL;
    void *library =
        ot_process_claimed() ? dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, "omp_pause_resource_all") : NULL;
    if (found) { /* since OpenMP 5 */
        memcpy(&rest, &found, sizeof rest);
        rest(SOFT);
    }
    if (library)
        dlclose(library);
}
