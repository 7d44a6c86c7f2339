/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that run in the group of the process that starts them, as build commands do: what counts
 * of their time, and what becomes of those that they leave running.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "target/program.h"

/* 0: it ended well, 1: it did not, 2: it was killed for its time. What it printed goes
 * to `said`, unless that is -1. */
static int run(const char *script, double limit_s, int said)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    const ot_program_order order = {
        .argv = argv, .exe = -1, .limit_s = limit_s, .in_group = true};
    ot_program_end end;
    optune_err err = {0};
    if (ot_program_run(&order, &end, &err) < 0)
        return 1;
    const char *text = ot_text_str(&end.printed);
    const bool told = said < 0 || write(said, text, strlen(text)) == (ssize_t)strlen(text);
    ot_text_release(&end.printed);
    return end.late ? 2 : end.status || !told;
}

/* In a process that leads its group. */
static pid_t started(const char *script, double limit_s, int said)
{
    const pid_t leader = fork();
    if (leader == 0) {
        setpgid(0, 0);
        _exit(run(script, limit_s, said));
    }
    assert_true(leader > 0);
    setpgid(leader, leader);
    return leader;
}

static int end_of(pid_t leader)
{
    int status = 0;
    assert_int_equal(waitpid(leader, &status, 0), leader);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void time_while_stopped_is_none_of_its_own(void **state)
{
    (void)state;
    const pid_t leader = started("for i in 1 2 3 4; do sleep 0.05; done", 0.6, -1);
    usleep(60000);
    assert_int_equal(kill(-leader, SIGSTOP), 0);
    usleep(700000);
    assert_int_equal(kill(-leader, SIGCONT), 0);
    assert_int_equal(end_of(leader), 0);
    assert_int_equal(end_of(started("sleep 60", 0.1, -1)), 2);
}

/* What the script prints is the number of a process: whether that is there once all is over. */
static bool leaves(const char *script, double limit_s, int expected, pid_t *pid)
{
    char text[32] = "";
    int64_t left = 0;
    int end[2];
    assert_int_equal(pipe(end), 0);
    const pid_t leader = started(script, limit_s, end[1]);
    close(end[1]);
    assert_int_equal(end_of(leader), expected);
    assert_true(read(end[0], text, sizeof text - 1) > 0);
    close(end[0]);
    text[strcspn(text, "\n")] = '\0';
    assert_true(ot_parse_int(text, &left) && left > 1);
    *pid = (pid_t)left;
    return kill(*pid, 0) == 0;
}

static void what_it_leaves_ends_with_it(void **state)
{
    (void)state;
    pid_t pid;
    assert_false(leaves("sleep 60 & echo $!", 30, 0, &pid));
    assert_false(leaves("(sleep 60 & echo $!) & wait; exit 3", 30, 1, &pid));
    assert_false(leaves("sleep 60 & echo $!; sleep 60", 1, 2, &pid));
    /* A group of its own changes nothing, a session does: it is a server. */
    assert_false(leaves("timeout 60 sh -c 'sleep 60 & echo $!'", 30, 0, &pid));
    assert_true(leaves("p=$(setsid sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1' &);"
                       "echo $p",
                       30, 0, &pid));
    kill(pid, SIGKILL);
}

/* Once more where this process's session began outside, as in many containers: it is session 0. */
static void the_same_in_a_container(void **state)
{
    (void)state;
    const char *inside = "unshare --user --map-root-user --pid --fork --mount-proc";
    char self[4096], command[8192];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    snprintf(command, sizeof command, "%s true 2>/dev/null", inside);
    if (getsid(0) == 0 || system(command) != 0)
        skip();
    snprintf(command, sizeof command, "%s '%s'", inside, self);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_while_stopped_is_none_of_its_own),
        cmocka_unit_test(what_it_leaves_ends_with_it),
        cmocka_unit_test(the_same_in_a_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
