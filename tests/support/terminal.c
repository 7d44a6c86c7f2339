/* SPDX-License-Identifier: Apache-2.0 */
#include "support/terminal.h"

#include <pty.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

ot_text terminal_start(int rows, int columns, const char *const *argv, int *code)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    ot_text all = {0};
    int master, status;
    char some_text[4096];
    fflush(NULL);
    const pid_t pid = forkpty(&master, NULL, NULL, &size);
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("COLUMNS");
        execv(OT_CLI, (char *const *)argv);
        _exit(98);
    }
    for (ssize_t n; (n = read(master, some_text, sizeof some_text - 1)) > 0;) {
        some_text[n] = 0;
        ot_text_add(&all, some_text);
    }
    close(master);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return all;
}
