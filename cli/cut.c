/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word of a command one of whose files was cut off while it lay in the process's memory,
 * or whose disk refused to give it: the system has but a signal to say so (SIGBUS). A database is
 * asked how long it is before it is read, but a long reading does not ask for each byte. Which file
 * it was, the process's own map tells. Any other SIGBUS stays what it is.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void put(const char *text)
{
    const ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

static const char *take_hex(const char *at, uintptr_t *value)
{
    for (*value = 0;; at++) {
        const char c = *at;
        if (c >= '0' && c <= '9')
            *value = *value * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return at;
    }
}

/* Of a line of the map, the file that lies at the address; NULL: none. */
static const char *file_of(const char *line, uintptr_t address)
{
    uintptr_t from, to;
    const char *at = take_hex(line, &from);
    if (*at++ != '-')
        return NULL;
    take_hex(at, &to);
    return address >= from && address < to ? strchr(line, '/') : NULL;
}

/* Without stdio: this runs in a handler. False: nobody knows. */
static bool put_file(uintptr_t address)
{
    static char block[4096], line[4096 + 256];
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const char *file = NULL;
    size_t n = 0;
    ssize_t got;
    while (fd >= 0 && !file && (got = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < got && !file; i++) {
            const bool ends = block[i] == '\n';
            line[n] = ends ? '\0' : block[i];
            file = ends ? file_of(line, address) : NULL;
            n = ends ? 0 : n + (n + 1 < sizeof line);
        }
    if (fd >= 0)
        close(fd);
    if (file) {
        put("'");
        put(file);
        put("'");
    }
    return file;
}

void ot_end_by_cut(const siginfo_t *info)
{
    if (info->si_signo != SIGBUS || info->si_code != BUS_ADRERR)
        return;
    put("optune: ");
    if (!put_file((uintptr_t)info->si_addr))
        put("a file");
    put(" was cut off while it was read, or its disk is full or failed; of a database "
        "`optune db rebuild` makes the store anew from its logs\n");
    _exit(OT_EXIT_FAILED);
}

static void on_cut(int number, siginfo_t *info, void *context)
{
    (void)context;
    ot_end_by_cut(info);
    raise(number); /* the handler is gone: by its signal */
}

void ot_tell_cuts(void)
{
    struct sigaction action = {.sa_sigaction = on_cut,
                               .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
