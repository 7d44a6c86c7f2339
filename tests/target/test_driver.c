/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that ends the process that starts it, over a stand-in for CUDA's: this process stays and
 * says so, and one that starts is tried once and again after each change of it.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "target/cuda.h"

static char dir[1024], asked[1100];

/* A worker program that writes down that it was started, and is the real one then. */
static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text script = {0}, path = {0};
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(asked, sizeof asked, "%s/asked", dir);
    ot_text_printf(&path, "%s/worker", dir);
    ot_text_printf(&script, "#!/bin/sh\necho \"$*\" >> '%s'\nexec '%s' \"$@\"\n", asked,
                   OT_WORKER);
    check_ok(ot_write_file(path.s, script.s, script.n, &err));
    assert_return_code(chmod(path.s, 0700), 0);
    setenv("OPTUNE_WORKER", path.s, 1);
    setenv("XDG_CACHE_HOME", dir, 1);
    unsetenv("OPTUNE_CACHE");
    ot_text_release(&script);
    ot_text_release(&path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

/* In a process of its own, as a process opens one driver: its exit status, 1 where the driver does
 * not open and `why` is not said, 2 where it does not open and it is. */
static int opened(const char *file, const char *const *why, int n)
{
    const pid_t child = fork();
    if (child == 0) {
        const ot_cuda *cu;
        optune_err err = {0};
        setenv("OPTUNE_CUDA_DRIVER", file, 1);
        if (ot_cuda_open(&cu, &err) >= 0)
            _exit(0);
        int said = 0;
        for (int i = 0; i < n; i++)
            said += strstr(err.text, why[i]) != NULL;
        if (said < n)
            fprintf(stderr, "%s\n", err.text);
        _exit(said == n ? 2 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int times_asked(void)
{
    ot_text text = {0};
    optune_err err = {0};
    int n = 0;
    if (ot_read_file(asked, &text, 1 << 16, &err) >= 0)
        for (const char *at = text.s; (at = strchr(at, '\n')); at++)
            n++;
    ot_text_release(&text);
    return n;
}

static void test_crash(void **state)
{
    (void)state;
    static const char *const why[] = {"does not survive its start", "signal 6",
                                      "after it said 'no firmware'", "OPTUNE_CUDA_DRIVER"};
    const char *file = stand_in_build(dir, "fake_cuda.c", "libcrash.so", "-DCRASHES");
    const int before = times_asked();
    assert_int_equal(opened(file, why, OT_COUNT(why)), 2);
    assert_int_equal(opened(file, why, OT_COUNT(why)), 2); /* it may start the next time */
    assert_int_equal(times_asked(), before + 2);
}

static void test_noted(void **state)
{
    (void)state;
    const char *file = stand_in_build(dir, "fake_cuda.c", "libgood.so", NULL);
    const int before = times_asked();
    assert_int_equal(opened(file, NULL, 0), 0);
    assert_int_equal(opened(file, NULL, 0), 0);
    assert_int_equal(times_asked(), before + 1);
    stand_in_build(dir, "fake_cuda.c", "libgood.so", NULL); /* it was installed anew */
    assert_int_equal(opened(file, NULL, 0), 0);
    assert_int_equal(times_asked(), before + 2);
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    assert_int_equal(opened(file, NULL, 0), 0);
    assert_int_equal(times_asked(), before + 3);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* Nothing can run on a device without the worker program, so nobody tries. */
static void test_without_worker(void **state)
{
    (void)state;
    const char *file = stand_in_build(dir, "fake_cuda.c", "libalone.so", NULL);
    char was[1200];
    ot_copy(was, sizeof was, getenv("OPTUNE_WORKER"));
    setenv("OPTUNE_WORKER", "/nowhere/optune-worker", 1);
    assert_int_equal(opened(file, NULL, 0), 0);
    setenv("OPTUNE_WORKER", was, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_noted),
        cmocka_unit_test(test_without_worker),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
