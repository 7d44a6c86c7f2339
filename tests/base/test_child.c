/* SPDX-License-Identifier: Apache-2.0 */
/* Children: output, exit, time limits, groups; and messages on a socket. */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strays.h"

#define ARGV(...) ((char *const[]){__VA_ARGS__, NULL})

static void output_and_status(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    check_ok(ot_run_program(ARGV("sh", "-c", "echo out; echo err >&2"), 30, &text, &err));
    assert_string_equal(text.s, "out\nerr\n");
    assert_int_equal(ot_run_program(ARGV("sh", "-c", "echo bad: $0; echo more; exit 3", "; rm"),
                                    30, &text, &err),
                     OPTUNE_ETOOL);
    check_contains(err.text, "'sh' ended with status 3: bad: ; rm");
    assert_null(strstr(err.text, "more"));
    assert_string_equal(text.s, "bad: ; rm\nmore\n");
    assert_int_equal(ot_run_program(ARGV("sh", "-c", "kill -11 $$"), 30, NULL, &err),
                     OPTUNE_ETOOL);
    check_contains(err.text, "signal 11");
    assert_int_equal(ot_run_program(ARGV("no-such-program"), 30, NULL, &err), OPTUNE_ETOOL);
    check_contains(err.text, "cannot run 'no-such-program': not found");
    ot_text_release(&text);
}

/* Until the process is dead, as it soon must be; false when it lives on. */
static bool dies(pid_t pid)
{
    int fd = pidfd_open(pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    bool dead = poll(&entry, 1, 30000) == 1;
    close(fd);
    return dead;
}

static void time_limit_kills_the_group(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    /* The grandchild holds the output open and would outlive the shell. */
    assert_int_equal(
        ot_run_program(ARGV("sh", "-c", "sleep 1000 & echo $!; sleep 1000"), 0.2, &text, &err),
        OPTUNE_ETIMEOUT);
    check_contains(err.text, "0.2 s");
    int64_t grandchild = 0;
    text.s[strcspn(text.s, "\n")] = 0;
    assert_true(ot_parse_int(text.s, &grandchild));
    assert_true(dies((pid_t)grandchild));
    ot_text_release(&text);
}

static void leftovers_die_with_the_leader(void **state)
{
    (void)state;
    optune_err err;
    ot_child child;
    check_ok(ot_child_start(&child, ARGV("sh", "-c", "sleep 1000 & echo $!"), 0, &err));
    ot_child *one = &child;
    while (!ot_child_poll(&child))
        ot_child_wait_any(&one, 1, 10);
    assert_true(WIFEXITED(child.status));
    assert_int_equal(child.out, -1);
    int64_t grandchild = 0;
    child.text.s[strcspn(child.text.s, "\n")] = 0;
    assert_true(ot_parse_int(child.text.s, &grandchild));
    assert_true(dies((pid_t)grandchild));
    ot_child_release(&child);
    assert_null(child.text.s);
}

static void inherits_nothing(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    int leaked = open("/dev/null", O_RDONLY); /* without close-on-exec, on purpose */
    assert_true(leaked > 2);
    assert_int_equal(dup2(leaked, 42), 42);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    check_ok(ot_run_program(ARGV("sh", "-c",
                                 "test -e /proc/$$/fd/42 && echo leak;"
                                 "cat; grep SigBlk /proc/self/status"),
                            30, &text, &err));
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    close(42);
    close(leaked);
    assert_string_equal(text.s, "SigBlk:\t0000000000000000\n");
    ot_text_release(&text);
}

/* A caller may have closed its standard files: the pipe to the child then has such a number. */
static void temporary_files_have_a_folder(void **state)
{
    (void)state;
    optune_err err;
    ot_child child;
    check_ok(ot_child_start_in(&child, ARGV("sh", "-c", "echo $TMPDIR $HOME"), "/some/where", 0,
                               &err));
    ot_child *one = &child;
    while (!ot_child_poll(&child))
        ot_child_wait_any(&one, 1, 10);
    ot_text expected = {0};
    ot_text_printf(&expected, "/some/where %s\n", getenv("HOME") ? getenv("HOME") : "");
    assert_string_equal(ot_text_str(&child.text), expected.s);
    ot_text_release(&expected);
    ot_child_release(&child);
}

static void standard_files_may_be_closed(void **state)
{
    (void)state;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        optune_err err;
        ot_text text = {0};
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        const int status =
            ot_run_program(ARGV("sh", "-c", "echo out; echo err >&2; cat"), 30, &text, &err);
        _exit(status == OPTUNE_OK && strcmp(ot_text_str(&text), "out\nerr\n") == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void long_output_is_bounded(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    check_ok(ot_run_program(ARGV("sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"), 30,
                            &text, &err));
    assert_int_equal(text.n, 64 << 10);
    ot_text_release(&text);
}

static void waiting_for_any(void **state)
{
    (void)state;
    optune_err err;
    ot_child slow, fast;
    check_ok(ot_child_start(&slow, ARGV("sleep", "1000"), 0, &err));
    check_ok(ot_child_start(&fast, ARGV("sh", "-c", "exec >&- 2>&-; exit 7"), 0, &err));
    ot_child *both[] = {&slow, &fast};
    while (!fast.ended)
        ot_child_wait_any(both, 2, 100);
    assert_false(slow.ended);
    assert_int_equal(WEXITSTATUS(fast.status), 7);
    ot_child_kill(&slow);
    assert_true(slow.ended);
    assert_true(WIFSIGNALED(slow.status));
    assert_false(slow.timed_out);
    ot_child_release(&slow);
    ot_child_release(&fast);
    ot_child none = {0};
    ot_child_release(&none); /* never started */
}

/* Whether there are `quiet_s` without a word within 10 s. */
static bool falls_silent(ot_child *child, double quiet_s)
{
    const double until = ot_now() + 10;
    size_t n = child->text.n;
    for (double last = ot_now(); ot_now() < until; usleep(10000)) {
        ot_child_poll(child);
        if (child->text.n != n)
            last = ot_now();
        else if (ot_now() - last > quiet_s)
            return true;
        n = child->text.n;
    }
    return false;
}

static bool prints(ot_child *child)
{
    const double until = ot_now() + 10;
    const size_t n = child->text.n;
    while (ot_now() < until && child->text.n == n) {
        ot_child_poll(child);
        usleep(10000);
    }
    return child->text.n > n;
}

/* `timeout` goes into a group of its own, and what it runs with it. */
static void a_group_within(void **state)
{
    (void)state;
    optune_err err;
    ot_child child;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* whom it leaves comes here */
    check_ok(ot_child_start(
        &child,
        ARGV("sh", "-c", "timeout 60 sh -c 'echo $$; while :; do echo; sleep 0.01; done'; :"),
        0, &err));
    assert_true(prints(&child));
    const pid_t within = (pid_t)atoi(ot_text_str(&child.text));
    assert_true(within > 1 && getpgid(within) != child.pid);
    ot_trees_signal(&child.pid, 1, SIGSTOP);
    assert_true(falls_silent(&child, 0.5));
    ot_trees_signal(&child.pid, 1, SIGCONT);
    assert_true(prints(&child));
    ot_child_kill(&child);
    int status = 0;
    for (int i = 0; i < 1000 && waitpid(within, &status, WNOHANG) <= 0; i++)
        usleep(10000);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    ot_child_release(&child);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* The kernel takes the status of each child of such a program, and nothing waits for it. */
static void others_take_the_status(void **state)
{
    (void)state;
    enum { LIMIT_S = 5 };
    optune_err err = {0};
    ot_text text = {0};
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    const int status =
        ot_run_program((char *[]){(char *)"echo", (char *)"here", NULL}, LIMIT_S, &text, &err);
    signal(SIGCHLD, before);
    check_ok(status);
    assert_string_equal(text.s, "here\n");
    ot_text_release(&text);
}

static void messages_round_trip(void **state)
{
    (void)state;
    optune_err err;
    int pair[2];
    ot_text text = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    check_ok(ot_message_send(pair[0], "one", 3, &err));
    check_ok(ot_message_send(pair[0], "", 0, &err));
    check_ok(ot_message_send(pair[0], "t\0o", 3, &err));
    check_ok(ot_message_receive(pair[1], &text, 10, &err));
    assert_string_equal(text.s, "one");
    check_ok(ot_message_receive(pair[1], &text, -1, &err));
    assert_int_equal(text.n, 0);
    check_ok(ot_message_receive(pair[1], &text, 10, &err));
    assert_int_equal(text.n, 3);
    assert_memory_equal(text.s, "t\0o", 3);
    assert_int_equal(ot_message_receive(pair[1], &text, 0.02, &err), OPTUNE_ETIMEOUT);
    close(pair[0]);
    assert_int_equal(ot_message_receive(pair[1], &text, 10, &err), OPTUNE_EWORKER);
    assert_int_equal(ot_message_send(pair[1], "x", 1, &err), OPTUNE_EWORKER);
    close(pair[1]);
    ot_text_release(&text);
}

static void *send_large(void *arg)
{
    char *large = ot_alloc(3 << 20);
    memset(large, 'y', 3 << 20);
    intptr_t status = ot_message_send(*(int *)arg, large, 3 << 20, NULL);
    free(large);
    return (void *)status;
}

static void large_messages(void **state)
{
    (void)state;
    optune_err err;
    int pair[2];
    ot_text text = {0};
    pthread_t thread;
    void *status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_large, &pair[0]), 0);
    check_ok(ot_message_receive(pair[1], &text, 30, &err));
    pthread_join(thread, &status);
    assert_null(status);
    assert_int_equal(text.n, 3 << 20);
    assert_int_equal(text.s[text.n - 1], 'y');
    assert_int_equal(ot_message_send(pair[0], "", (size_t)OT_MESSAGE_LIMIT + 1, &err),
                     OPTUNE_ELIMIT);
    close(pair[0]);
    close(pair[1]);
    ot_text_release(&text);
}

static void bad_messages(void **state)
{
    (void)state;
    optune_err err;
    int pair[2];
    ot_text text = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[0], "\xff\xff\xff\xff", 4), 4);
    assert_int_equal(ot_message_receive(pair[1], &text, 10, &err), OPTUNE_ELIMIT);
    assert_int_equal(write(pair[0], "\0\0\0\5ab", 6), 6);
    close(pair[0]); /* in the middle of a message */
    assert_int_equal(ot_message_receive(pair[1], &text, 10, &err), OPTUNE_EWORKER);
    close(pair[1]);
    ot_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status),
        cmocka_unit_test(time_limit_kills_the_group),
        cmocka_unit_test(leftovers_die_with_the_leader),
        cmocka_unit_test(inherits_nothing),
        cmocka_unit_test(temporary_files_have_a_folder),
        cmocka_unit_test(standard_files_may_be_closed),
        cmocka_unit_test(long_output_is_bounded),
        cmocka_unit_test(waiting_for_any),
        cmocka_unit_test(a_group_within),
        cmocka_unit_test(others_take_the_status),
        cmocka_unit_test(messages_round_trip),
        cmocka_unit_test(large_messages),
        cmocka_unit_test(bad_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
