/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers that stay: one process serves many commands, is ended when idle, and is not missed
 * when it dies; a candidate is blamed for a death only by a process that knew no other. The
 * worker program here is this one: what it is asked to do is its first word.
 */
#include "support/check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/compiler.h"

static ot_compilers all;
static char self[4096];

static optune_argv command(const char *what)
{
    optune_argv argv = {0};
    const char *const words[] = {self, "--compile", "mill", what, "word"};
    for (int i = 0; i < OT_COUNT(words); i++)
        optune_argv_add(&argv, words[i]);
    return argv;
}

static ot_compiler *start(const optune_argv *argv, double limit_s)
{
    ot_compiler *c = NULL;
    optune_err err = {0};
    check_ok(ot_compiler_start(&all, argv, limit_s, &c, &err));
    return c;
}

static void wait_for(ot_compiler *c)
{
    ot_child *child = &c->child;
    while (!ot_compiler_done(c))
        ot_child_wait_any(&child, 1, 60);
}

/* Runs a command from start to end and says which process did it. */
static pid_t run(const char *what, bool good, const char *says)
{
    optune_argv argv = command(what);
    ot_compiler *c = start(&argv, 60);
    wait_for(c);
    const pid_t pid = c->child.pid;
    assert_int_equal(ot_compiler_succeeded(c), good);
    assert_string_equal(ot_text_str(&c->child.text), says);
    ot_compiler_put(&all, c);
    optune_argv_release(&argv);
    return pid;
}

static void one_serves_many(void **state)
{
    (void)state;
    const pid_t first = run("good", true, "made word\n");
    assert_int_equal(run("good", true, "made word\n"), first);
    assert_int_equal(run("bad", false, "error: no\n"), first);
    assert_int_equal(run("good", true, "made word\n"), first);
    ot_compilers_end_idle(&all, 1000);
    assert_non_null(all.idle);
    ot_compilers_end_idle(&all, 0);
    assert_null(all.idle);
    assert_int_equal(kill(first, 0), -1);
}

static void two_at_once(void **state)
{
    (void)state;
    optune_argv argv = command("good");
    ot_compiler *a = start(&argv, 60), *b = start(&argv, 60);
    wait_for(a);
    wait_for(b);
    assert_int_not_equal(a->child.pid, b->child.pid);
    ot_compiler_put(&all, a);
    ot_compiler_put(&all, b);
    const pid_t last = run("good", true, "made word\n");
    assert_int_equal(last, b->child.pid);
    optune_argv_release(&argv);
    ot_compilers_end_idle(&all, 0);
}

static void who_dies_is_asked_again_afresh(void **state)
{
    (void)state;
    const pid_t first = run("tired", true, "made word\n");
    const pid_t second = run("tired", true, "made word\n"); /* kills one that served before */
    assert_int_not_equal(first, second);
    optune_argv argv = command("die");
    ot_compiler *c = start(&argv, 60);
    assert_int_equal(c->child.pid, second);
    wait_for(c);
    assert_int_not_equal(c->child.pid, second);
    assert_true(c->child.ended && WIFSIGNALED(c->child.status));
    assert_int_equal(WTERMSIG(c->child.status), SIGKILL);
    assert_false(ot_compiler_succeeded(c));
    ot_compiler_put(&all, c);
    assert_null(all.idle);
    optune_argv_release(&argv);
}

static void dead_while_idle(void **state)
{
    (void)state;
    const pid_t first = run("good", true, "made word\n");
    siginfo_t info;
    kill(first, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    assert_int_not_equal(run("good", true, "made word\n"), first);
    ot_compilers_end_idle(&all, 0);
}

static void limit(void **state)
{
    (void)state;
    run("good", true, "made word\n");
    optune_argv argv = command("hang");
    ot_compiler *c = start(&argv, 0.2);
    assert_false(ot_compiler_done(c));
    wait_for(c);
    assert_true(c->child.timed_out);
    assert_false(ot_compiler_succeeded(c));
    ot_compiler_put(&all, c);
    assert_null(all.idle);

    c = start(&argv, 60); /* no longer wanted */
    const pid_t pid = c->child.pid;
    ot_compiler_put(&all, c);
    assert_null(all.idle);
    assert_int_equal(kill(pid, 0), -1);
    optune_argv_release(&argv);
}

static void other_commands_end(void **state)
{
    (void)state;
    optune_argv argv = {0};
    const char *const words[] = {"sh", "-c", "echo once; exit 0", "sh"};
    for (int i = 0; i < OT_COUNT(words); i++)
        optune_argv_add(&argv, words[i]);
    ot_compiler *c = start(&argv, 60);
    wait_for(c);
    assert_true(c->child.ended && ot_compiler_succeeded(c));
    assert_string_equal(ot_text_str(&c->child.text), "once\n");
    ot_compiler_put(&all, c);
    assert_null(all.idle);
    optune_argv_release(&argv);

    optune_err err = {0};
    optune_argv none = {0};
    optune_argv_add(&none, "no-such-compiler");
    assert_int_equal(ot_compiler_start(&all, &none, 1, &c, &err), OPTUNE_ETOOL);
    optune_argv_release(&none);
}

/* Drivers leak: none serves for ever. */
static void served_enough(void **state)
{
    (void)state;
    const pid_t first = run("good", true, "made word\n");
    int more = 0;
    while (more < 1000 && run("good", true, "made word\n") == first)
        more++;
    assert_in_range(more, 50, 999);
    ot_compilers_end_idle(&all, 0);
}

static char serve_one(const ot_text *request, int served)
{
    const char *what = request->s, *word = what + strlen(what) + 1;
    if (strcmp(what, "die") == 0 || (strcmp(what, "tired") == 0 && served))
        raise(SIGKILL);
    if (strcmp(what, "hang") == 0)
        pause();
    if (strcmp(what, "bad") == 0)
        puts("error: no");
    else
        printf("made %s\n", word);
    fflush(stdout);
    return strcmp(what, "bad") == 0;
}

static int serve(void)
{
    optune_err err = {0};
    ot_text request = {0};
    for (int n = 0; ot_message_receive(STDIN_FILENO, &request, -1, &err) >= 0; n++) {
        const char answer = serve_one(&request, n);
        if (ot_message_send(STDIN_FILENO, &answer, 1, &err) < 0)
            break;
    }
    ot_text_release(&request);
    return 0;
}

static void what_went_wrong(void **state)
{
    (void)state;
    static const char *const said[][2] = {
        {"a.c: In function 'f':\na.c:1:2: error: no\na.c:2:2: error: more\n",
         "a.c:1:2: error: no"},
        {"/usr/bin/ld: cannot find -lx: No such file\ncollect2: error: ld returned 1 exit "
         "status\n",
         "/usr/bin/ld: cannot find -lx: No such file"},
        {"ld.lld: unable to find library -lx\nclang: error: linker command failed with exit "
         "code 1\n",
         "ld.lld: unable to find library -lx"},
        {"collect2: error: ld returned 1 exit status\n",
         "collect2: error: ld returned 1 exit status"},
    };
    for (int i = 0; i < OT_COUNT(said); i++) {
        char line[128];
        size_t n = 0;
        const char *error = ot_compiler_error(said[i][0], &n);
        snprintf(line, sizeof line, "%.*s", (int)n, error);
        assert_string_equal(line, said[i][1]);
    }
    assert_null(ot_compiler_error("warning: all is well\n", &(size_t){0}));
    size_t n = 0;
    const char *macro =
        ot_compiler_macro("k.c:1:11: error: expected ')' before numeric constant\n"
                          "   12 | #define N 64\n      |           ^~\n",
                          &n);
    assert_non_null(macro);
    assert_int_equal(n, strlen("#define N 64"));
    assert_memory_equal(macro, "#define N 64", n);
    assert_null(ot_compiler_macro("a.c:1:2: error: no\n    1 | int f(\n", &n));
    assert_null(ot_compiler_macro("a.c:1:2: error: no", &n));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--compile") == 0)
        return serve();
    if (!realpath("/proc/self/exe", self) || setenv("OPTUNE_WORKER", self, 1))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_serves_many),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(who_dies_is_asked_again_afresh),
        cmocka_unit_test(dead_while_idle),
        cmocka_unit_test(limit),
        cmocka_unit_test(other_commands_end),
        cmocka_unit_test(served_enough),
        cmocka_unit_test(what_went_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
