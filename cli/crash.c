/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word of a command that a plugin brought down: its rows run in this process, where no
 * worker stands between. Which object it was, the frames tell. Handlers are there only where
 * plugins are; the process ends by its signal, as it would without them.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST_FRAMES = 64, STACK_BYTES = 256 << 10 };

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"},
             {SIGBUS, "SIGBUS"},
             {SIGILL, "SIGILL"},
             {SIGFPE, "SIGFPE"},
             {SIGABRT, "SIGABRT"}};
enum { N_FATAL = sizeof fatal / sizeof *fatal };

/* Objects that are no plugin: the program, the library, libc, what stands in front of it. */
enum { KNOWN = 4 };
static const char *known[KNOWN];

static void put(const char *text)
{
    const ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

static bool is_known(const char *object)
{
    for (int i = 0; i < KNOWN; i++)
        if (known[i] && !strcmp(known[i], object))
            return true;
    return false;
}

/* Ends the process for whoever threw an exception that nobody catches. */
static bool is_runtime(const char *object)
{
    static const char *const runtime[] = {"libstdc++.", "libgcc_s.", "libc++.", "libc++abi.",
                                          "libunwind."};
    const char *slash = strrchr(object, '/'), *name = slash ? slash + 1 : object;
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (!strncmp(name, runtime[i], strlen(runtime[i])))
            return true;
    return false;
}

/* Innermost first, so that of a plugin in a library's call back it is the plugin. */
static void on_fatal(int number, siginfo_t *info, void *context)
{
    void *frame[MOST_FRAMES];
    Dl_info in;
    (void)context;
    ot_end_by_cut(info); /* which is nobody's fault here */
    const int n = backtrace(frame, MOST_FRAMES);
    for (int i = 0; i < n; i++) {
        if (!dladdr(frame[i], &in) || !in.dli_fname || is_known(in.dli_fname) ||
            is_runtime(in.dli_fname))
            continue;
        put("optune: ended by ");
        for (int k = 0; k < N_FATAL; k++)
            put(fatal[k].number == number ? fatal[k].name : "");
        put(" in '");
        put(in.dli_fname);
        put(in.dli_sname ? "', " : "'");
        put(in.dli_sname ? in.dli_sname : "");
        put("; a plugin's rows run in this process, see where with: gdb --args optune ...\n");
        break;
    }
    raise(number); /* the handler is gone: by its signal */
}

static const char *object_of(const void *address)
{
    Dl_info in;
    return dladdr(address, &in) ? in.dli_fname : NULL;
}

void ot_tell_crashes(const ot_globals *globals)
{
    void *frame[1];
    static char stack[STACK_BYTES];
    const char *said = getenv("OPTUNE_PLUGINS");
    if (!globals->plugins.n && (!said || !*said))
        return;
    known[0] = object_of((const void *)(uintptr_t)ot_tell_crashes);
    known[1] = object_of((const void *)(uintptr_t)optune_open);
    known[2] = object_of((const void *)(uintptr_t)abort);
    known[3] = object_of((const void *)(uintptr_t)backtrace);
    backtrace(frame, 1); /* what it loads is not to be loaded in a handler */
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_sigaction = on_fatal,
                               .sa_flags =
                                   (int)(SA_RESETHAND | SA_NODEFER) | SA_ONSTACK | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_FATAL; i++)
        sigaction(fatal[i].number, &action, NULL);
}
