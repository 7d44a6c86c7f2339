/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of a command that is left without what it reads: a file is cut off in this process's
 * own memory, so that each try meets it.
 */
#include "support/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cut.c"

enum { BYTES = 1 << 20, FIRST = 4096 };

/* What a child says to stderr that reads a file's last byte once that was cut off, or that kills
 * itself. */
static int end_of(const char *file, bool kills, char *said, size_t size)
{
    int pipe_of[2], status;
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipe_of[1], STDERR_FILENO);
        ot_tell_cuts();
        const int fd = open(file, O_RDWR);
        const volatile char *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (fd < 0 || map == MAP_FAILED || map[BYTES - 1] != 'x' || ftruncate(fd, FIRST) < 0)
            _exit(99);
        if (kills)
            kill(getpid(), SIGBUS);
        _exit(map[BYTES - 1] == 'x' ? 98 : 97);
    }
    close(pipe_of[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(pipe_of[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(pipe_of[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_a_cut_is_told(void **state)
{
    (void)state;
    char file[] = "/tmp/optune-cut-XXXXXX", said[1024], named[64];
    char *text = malloc(BYTES);
    const int fd = mkstemp(file);
    assert_true(fd >= 0);
    memset(text, 'x', BYTES);
    for (int kills = 0; kills < 2; kills++) {
        assert_int_equal(pwrite(fd, text, BYTES, 0), BYTES);
        const int status = end_of(file, kills, said, sizeof said);
        if (kills) { /* a signal that somebody sent stays one */
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
            assert_string_equal(said, "");
            continue;
        }
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), OT_EXIT_FAILED);
        snprintf(named, sizeof named, "optune: '%s' was cut off", file);
        assert_ptr_equal(strstr(said, named), said);
        check_contains(said, "optune db rebuild");
    }
    unlink(file);
    close(fd);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_cut_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
