/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the machine was, from files planted here: each kind of disturbance is told, on the cores
 * that were used only; and from the real ones, with a process that takes the core away.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/planted_files.h"
#include "target/target.h"

static const int core[] = {0, 1};
static const pid_t pids[] = {42, 50, 51};

/* The machine at `at` seconds, as it is planted. */
static ot_cpu_load look(double at)
{
    ot_cpu_load load;
    ot_cpu_load_read(planted_root, pids, OT_COUNT(pids), core, 2, &load);
    load.at = at;
    return load;
}

static ot_disturbance between(const ot_cpu_load *before, double at)
{
    const ot_cpu_load after = look(at);
    ot_disturbance d;
    ot_cpu_load_between(before, &after, &d);
    return d;
}

static void plant(const char *cores, const char *own, const char *first, const char *second)
{
    planted_write("proc/stat", cores);
    planted_write("proc/42/stat", own);
    if (first)
        planted_write("proc/42/task/42/schedstat", first);
    if (second)
        planted_write("proc/42/task/43/schedstat", second);
}

#define QUIET                                                                                  \
    "cpu  9 9 9 9 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n"
#define OWN(ticks) "42 (an (odd) name) R 1 42 42 0 -1 0 0 0 0 0 " ticks " 0 0 0 20 0 1 0 5\n"

static void test_nothing(void **state)
{
    (void)state;
    ot_cpu_load before = look(0); /* no file at all */
    ot_disturbance d = between(&before, 1);
    assert_false(ot_disturbed(&d));
    plant(QUIET, OWN("150"), "1000 5000000 3\n", NULL);
    before = look(0);
    plant(QUIET, OWN("150"), "9000 6000000 4\n", NULL);
    d = between(&before, 1);
    assert_float_equal(d.seconds, 1, 1e-12);
    assert_float_equal(d.waited, 0.001, 1e-9);
    assert_false(ot_disturbed(&d)); /* a thousandth is nothing */
}

static void test_waited(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), "1000 5000000 3\n", NULL);
    const ot_cpu_load before = look(10);
    /* The thread that waited most counts, and one that is new counts from its beginning. */
    plant(QUIET, OWN("150"), "9000 105000000 4\n", "9000 620000000 4\n");
    const ot_disturbance d = between(&before, 12);
    assert_float_equal(d.waited, 0.31, 1e-9);
    assert_true(ot_disturbed(&d));
    assert_float_equal(ot_disturbance_share(&d), 0.31, 1e-9);
}

/* Threads of one process wait beside each other, processes take turns. */
static void test_several(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), "0 5000000 3\n", NULL);
    planted_write("proc/50/task/50/schedstat", "0 1000000 1\n");
    planted_write("proc/51/task/51/schedstat", "0 1000000 1\n");
    planted_write("proc/51/task/52/schedstat", "0 1000000 1\n");
    planted_write("proc/60/task/60/schedstat", "0 1000000 1\n");
    const ot_cpu_load before = look(0);
    planted_write("proc/50/task/50/schedstat", "0 101000000 1\n");
    planted_write("proc/51/task/51/schedstat", "0 51000000 1\n");
    planted_write("proc/51/task/52/schedstat", "0 101000000 1\n");
    planted_write("proc/60/task/60/schedstat", "0 911000000 1\n"); /* a stranger */
    const ot_disturbance d = between(&before, 1);
    assert_float_equal(d.waited, 0.1 + 0.1, 1e-9);
}

static void test_stolen(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), "0 0 0\n", NULL);
    const ot_cpu_load before = look(0);
    /* 50 ticks of two cores in a second; what happens on a third is nobody's business. */
    plant(
        "cpu0 100 0 0 0 0 0 0 30 0 0\ncpu1 100 0 0 0 0 0 0 20 0 0\ncpu2 0 0 0 0 0 0 0 99 0 0\n",
        OWN("150"), "0 0 0\n", NULL);
    const ot_disturbance d = between(&before, 1);
    assert_float_equal(d.stolen, 50.0 / (double)sysconf(_SC_CLK_TCK) / 2, 1e-9);
    assert_true(ot_disturbed(&d));
}

/* Where the kernel does not count waiting, what runs on the cores and is not ours. */
static void test_shared(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), NULL, NULL);
    const ot_cpu_load before = look(0);
    plant("cpu0 140 10 20 0 0 0 0 0 0 0\ncpu1 150 0 0 0 0 0 0 0 0 0\n", OWN("210"), NULL, NULL);
    ot_disturbance d = between(&before, 1);
    assert_float_equal(d.shared, 60.0 / (double)sysconf(_SC_CLK_TCK) / 2, 1e-9);
    assert_true(ot_disturbed(&d));
    d = between(&before, 100); /* the same over a long time is nothing */
    assert_false(ot_disturbed(&d));
}

static void test_throttled(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), "0 0 0\n", NULL);
    planted_write("proc/42/cgroup", "4:cpu,cpuacct:/box\n0::/job\n");
    planted_write("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat",
                  "nr_periods 1\nnr_throttled 1\nthrottled_time 1000000\n");
    planted_write("sys/fs/cgroup/job/cpu.stat", "usage_usec 7\nthrottled_usec 5\n");
    const ot_cpu_load before = look(0);
    planted_write("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat",
                  "nr_periods 9\nnr_throttled 5\nthrottled_time 201000000\n");
    ot_disturbance d = between(&before, 1);
    assert_float_equal(d.throttled, 0.2, 1e-9);
    planted_write("sys/fs/cgroup/job/cpu.stat", "usage_usec 7\nthrottled_usec 300005\n");
    d = between(&before, 1);
    assert_float_equal(d.throttled, 0.5, 1e-9);
    assert_true(ot_disturbed(&d));
}

static void test_hot(void **state)
{
    (void)state;
    plant(QUIET, OWN("150"), "0 0 0\n", NULL);
    planted_write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n");
    planted_write("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "7\n");
    const ot_cpu_load before = look(0);
    planted_write("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "9\n");
    ot_disturbance d = between(&before, 1);
    assert_false(ot_disturbed(&d));
    planted_write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "8\n");
    d = between(&before, 1);
    assert_true(d.hot == 1 && ot_disturbed(&d));
}

static void test_sum(void **state)
{
    (void)state;
    ot_disturbance sum = {0};
    ot_disturbance_add(&sum, &(ot_disturbance){.seconds = 1, .waited = 0.4});
    assert_float_equal(sum.waited, 0.4, 1e-12);
    ot_disturbance_add(&sum, &(ot_disturbance){.seconds = 3, .stolen = 0.2});
    assert_float_equal(sum.seconds, 4, 1e-12);
    assert_float_equal(sum.waited, 0.1, 1e-12);
    assert_float_equal(sum.stolen, 0.15, 1e-12);
    ot_disturbance_add(&sum, &(ot_disturbance){0});
    assert_float_equal(sum.waited, 0.1, 1e-12);
}

/* A process on the same core as a burner waits about half its time; alone it may or may not. */
static void test_burner(void **state)
{
    (void)state;
    if (access("/proc/self/schedstat", R_OK) < 0)
        skip();
    const int here = sched_getcpu();
    const pid_t me = getpid();
    cpu_set_t set, old;
    CPU_ZERO(&set);
    CPU_SET(here, &set);
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
    const pid_t burner = fork();
    if (burner == 0)
        for (volatile int i = 0;; i++)
            continue;
    ot_cpu_load before, after;
    ot_disturbance d;
    ot_cpu_load_read("", &me, 1, &here, 1, &before);
    for (const double end = ot_now() + 0.5; ot_now() < end;)
        continue;
    ot_cpu_load_read("", &me, 1, &here, 1, &after);
    ot_cpu_load_between(&before, &after, &d);
    kill(burner, SIGKILL);
    waitpid(burner, NULL, 0);
    sched_setaffinity(0, sizeof old, &old);
    assert_true(after.tells_waits);
    assert_true(d.waited > 0 && ot_disturbed(&d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_waited, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_several, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_stolen, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_shared, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_throttled, planted_setup, planted_teardown),
        cmocka_unit_test_setup_teardown(test_hot, planted_setup, planted_teardown),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_burner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
