/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process of a candidate may not do to others: a filter of system calls that the kernel
 * applies to it and to all that it starts, for good. Signals, limits, priorities and memory of
 * other processes are refused with EPERM; its own stay its own business. No right is needed for
 * it; where a kernel has none, or on another architecture, runs go on without.
 *
 * The one idea: whoever runs candidates is alive and as it was afterwards, even when both belong
 * to root. A filter cannot look into memory, so that only numbers decide.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/worker/worker_keeper.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH
enum { MOST_STEPS = 160 };
typedef struct filter {
    struct sock_filter step[MOST_STEPS];
    unsigned short n;
} filter;

static void add(filter *f, unsigned short code, uint32_t value, int yes, int no)
{
    f->step[f->n++] = (struct sock_filter){code, (unsigned char)yes, (unsigned char)no, value};
}

static void load(filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void refuse(filter *f)
{
    add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* The call `number` is refused, whatever its arguments. */
static void never(filter *f, long number)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    refuse(f);
}

/* It is refused unless its argument is 0 or this process. */
static void only_own(filter *f, long number, int argument)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 1, 0);
    refuse(f);
    load(f, offsetof(struct seccomp_data, nr));
}

/* It is refused where its argument is this one. */
static void not_with(filter *f, long number, int argument, uint32_t value)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(f);
    load(f, offsetof(struct seccomp_data, nr));
}

/* It is refused for these processes: threads of this one, whose numbers nobody knows yet, are
 * placed by number, too. */
static void not_for(filter *f, long number, const pid_t *pid, int n)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 2 + 2 * n);
    load(f, offsetof(struct seccomp_data, args));
    for (int i = 0; i < n; i++) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)pid[i], 0, 1);
        refuse(f);
    }
    load(f, offsetof(struct seccomp_data, nr));
}

/* Rights that root would have over other processes and the machine. */
static void drop_rights(void)
{
    static const int dropped[] = {CAP_KILL,     CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_SYS_RESOURCE,
                                  CAP_SYS_TIME, CAP_SYS_ADMIN,  CAP_SYS_BOOT, CAP_SYS_MODULE};
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return;
    for (int i = 0; i < OT_COUNT(dropped); i++) {
        const uint32_t bit = 1u << (dropped[i] % 32);
        prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0);
        data[dropped[i] / 32].effective &= ~bit;
        data[dropped[i] / 32].permitted &= ~bit;
        data[dropped[i] / 32].inheritable &= ~bit;
    }
    syscall(SYS_capset, &head, data);
}

void ot_runner_fence(const pid_t *above, int n)
{
    filter f = {.n = 0};
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    refuse(&f);
    load(&f, offsetof(struct seccomp_data, nr));
    never(&f, SYS_ptrace);
    never(&f, SYS_process_vm_readv);
    never(&f, SYS_process_vm_writev);
    never(&f, SYS_tkill);
    never(&f, SYS_pidfd_open);
    never(&f, SYS_pidfd_send_signal);
    never(&f, SYS_pidfd_getfd);
    never(&f, SYS_kcmp);
    only_own(&f, SYS_kill, 0);
    only_own(&f, SYS_tgkill, 0);
    only_own(&f, SYS_rt_sigqueueinfo, 0);
    only_own(&f, SYS_rt_tgsigqueueinfo, 0);
    only_own(&f, SYS_prlimit64, 0);
    only_own(&f, SYS_setpriority, 1);
    only_own(&f, SYS_ioprio_set, 1);
    /* What a child computed is added to its parent's account where that one waits for it: nobody
     * may have its children reaped unseen. */
    not_with(&f, SYS_rt_sigaction, 0, SIGCHLD);
    not_for(&f, SYS_sched_setaffinity, above, n);
    not_for(&f, SYS_sched_setscheduler, above, n);
    not_for(&f, SYS_sched_setparam, above, n);
    not_for(&f, SYS_sched_setattr, above, n);
    add(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const struct sock_fprog program = {.len = f.n, .filter = f.step};
    drop_rights();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
void ot_runner_fence(const pid_t *above, int n)
{
    (void)above;
    (void)n;
}
#endif
