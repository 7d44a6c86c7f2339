/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word of a runner that a candidate brought down: which signal, and, where it was
 * a touch outside a guarded buffer, which buffer and how far outside. Only runners install the
 * handlers; elsewhere the zones are just a list.
 *
 * The one idea: in a handler nothing may be allocated or locked, so the text is put
 * together by hand in static memory, sent, and the process ends without running anything
 * else. Handlers are not to be relied on, though: a driver's compiler may put its own in their
 * place, so the keeper knows of itself what it ordered.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "run/worker.h"

enum { MOST_ZONES = 128, STACK_BYTES = 64 << 10 };

typedef struct zone {
    const char *start; /* NULL: free */
    int64_t bytes;
    char name[OPTUNE_NAME_SIZE];
} zone;

static zone zones[MOST_ZONES];
static int message_fd = -1;
static const char *volatile doing = "starting";
static atomic_flag dying = ATOMIC_FLAG_INIT;
static char stack[STACK_BYTES];

static void take_signals(void);

void ot_crash_at(const char *what)
{
    doing = what;
    if (message_fd >= 0)
        take_signals();
}

void ot_crash_zone_add(const void *start, int64_t bytes, const char *name)
{
    for (int i = 0; i < MOST_ZONES; i++)
        if (!zones[i].start) {
            ot_copy(zones[i].name, sizeof zones[i].name, name);
            zones[i].bytes = bytes;
            zones[i].start = start;
            return;
        }
}

void ot_crash_zone_remove(const void *start)
{
    for (int i = 0; i < MOST_ZONES; i++)
        if (start && zones[i].start == start)
            zones[i].start = NULL;
}

/* ---- inside the handler ------------------------------------------------------------------ */

typedef struct line {
    char text[512];
    size_t n;
} line;

static void add(line *l, const char *s)
{
    for (; *s && l->n + 1 < sizeof l->text; s++)
        l->text[l->n++] = *s;
}

static void add_number(line *l, uint64_t value)
{
    char digit[24];
    int n = 0;
    do {
        digit[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n > 0 && l->n + 1 < sizeof l->text)
        l->text[l->n++] = digit[--n];
}

static const char *touched(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *c = context; /* bit 1 of the page fault's error code: a write */
    return c->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote outside " : "read outside ";
#else
    (void)context;
    return "touched memory outside ";
#endif
}

/* Says which buffer an address is near; false when it is none's. */
static bool add_zone(line *l, const char *at, const void *context)
{
    for (int i = 0; i < MOST_ZONES; i++) {
        const char *start = zones[i].start;
        if (!start || at < start - OT_GUARD_BYTES - 4096 ||
            at >= start + zones[i].bytes + OT_GUARD_BYTES)
            continue;
        const bool before = at < start, within = !before && at < start + zones[i].bytes;
        add(l, within ? "has taken away the memory of " : touched(context));
        add(l, within ? "" : "a buffer: ");
        add(l, zones[i].name);
        add(l, ", ");
        add_number(l, (uint64_t)(before   ? start - at
                                 : within ? at - start
                                          : at - (start + zones[i].bytes)));
        add(l, before   ? " bytes before its start"
               : within ? " bytes behind its start"
                        : " bytes past its end");
        return true;
    }
    return false;
}

static const char *name_of(int signal)
{
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGILL:
        return "SIGILL (an instruction this CPU has not, or a trap)";
    case SIGFPE:
        return "SIGFPE (an integer division by zero, usually)";
    default:
        return "SIGABRT";
    }
}

static void crashed(int signal, siginfo_t *info, void *context)
{
    static line l;
    if (atomic_flag_test_and_set(&dying))
        for (;;)
            pause(); /* another thread is telling */
    add(&l, OT_LAST_WORD);
    const bool memory = signal == SIGSEGV || signal == SIGBUS;
    if (!memory || !add_zone(&l, info->si_addr, context)) {
        add(&l, name_of(signal));
        if (memory) {
            add(&l, " at address ");
            add_number(&l, (uint64_t)(uintptr_t)info->si_addr);
        }
    }
    add(&l, " while ");
    add(&l, doing);
    send(message_fd, l.text, l.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    _exit(128 + signal);
}

static void take_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < OT_COUNT(signals); i++)
        sigaction(signals[i], &action, NULL);
}

void ot_crash_install(int fd)
{
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    message_fd = fd;
    sigaltstack(&alternate, NULL);
    take_signals();
}
