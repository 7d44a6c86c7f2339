/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output as a stream that remembers why its first write was refused: the C library tells
 * that to the call that met it, in the middle of the output, and to nobody afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static int refused;

static ssize_t write_out(void *cookie, const char *text, size_t n)
{
    (void)cookie;
    size_t done = 0;
    while (done < n && !refused) {
        const ssize_t m = write(STDOUT_FILENO, text + done, n - done);
        if (m < 0 && errno != EINTR)
            refused = errno;
        done += m > 0 ? (size_t)m : 0;
    }
    errno = refused ? refused : errno;
    return (ssize_t)done;
}

void ot_out_open(void)
{
    static char buffer[64 << 10];
    FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_out});
    if (!out)
        return;
    setvbuf(out, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
    fflush(stdout);
    stdout = out;
}

int ot_out_close(int code)
{
    char path[512], name[600] = "";
    struct stat told;
    errno = 0;
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    const int why = refused ? refused : errno;
    if (!failed || why == EPIPE)
        return code;
    const ssize_t n = fstat(STDOUT_FILENO, &told) == 0 && S_ISREG(told.st_mode)
                          ? readlink("/proc/self/fd/1", path, sizeof path - 1)
                          : 0;
    if (n > 0) {
        path[n] = '\0';
        snprintf(name, sizeof name, " '%s'", path);
    }
    ot_say("cannot write to standard output%s: %s", name, why ? strerror(why) : "write failed");
    return code == OT_EXIT_DONE ? OT_EXIT_FAILED : code;
}
